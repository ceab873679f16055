package attack

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// int80 makes a system call by the interrupt of 32-bit programs.
//
//go:noescape
func int80(number, a, b, c uintptr) int64

// foreignCall asks for a socket by the number that it has on i386: one that a filter of 64-bit
// numbers takes for another call.
func foreignCall(*Target) (string, error) {
	fd := int80(359, unix.AF_INET, unix.SOCK_STREAM, 0)
	if fd < 0 {
		fd = int80(20, 0, 0, 0) // getpid, which is allowed where the door is open at all
	}
	if fd < 0 {
		return "", unix.Errno(-fd)
	}
	return fmt.Sprintf("answered %d", fd), nil
}
