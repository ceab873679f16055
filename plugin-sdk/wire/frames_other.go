//go:build !unix

package wire

import (
	"errors"
	"time"
)

// canLook reports whether a connection can be read from without waiting.
const canLook = false

func await(uintptr, time.Time) {}

func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
