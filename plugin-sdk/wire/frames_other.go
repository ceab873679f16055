//go:build !unix

package wire

import "errors"

// canLook reports whether a connection can be read from without waiting.
const canLook = false

func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
