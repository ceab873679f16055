//go:build unix

package wire

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canLook reports whether a connection can be read from without waiting.
const canLook = true

// await sleeps until there is something to read, a signal comes or the time is over.
func await(fd uintptr, until time.Time) { _ = wait(int(fd), unix.POLLIN, until) }

func readNow(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }
