package trade

import "syscall"

// exit ends a plugin without going through the runtime: a race detector sleeps for
// a second there, and cannot read in the sandbox that it should not.
func exit(code int) { _, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0) }
