//go:build unix

package serve

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func joinStdout(stderr *os.File) {
	// Without it printing goes to a pipe that the host still empties; no reason to fail.
	_ = unix.Dup2(int(stderr.Fd()), 1)
}

// keepToOurselves keeps programs that the strategy starts from inheriting the descriptor.
func keepToOurselves(fd int) { syscall.CloseOnExec(fd) }
