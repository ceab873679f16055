package toxics

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends the process when the test binary ends, however that happens.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
