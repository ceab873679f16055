package hosttest

import "syscall"

// endWithParent kills a process when the test binary ends, however that happens.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
