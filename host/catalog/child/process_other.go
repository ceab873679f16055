//go:build unix && !linux

package child

import (
	"os"
	"os/exec"
	"syscall"
)

func lockThread() (unlock func()) { return func() {} }

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// executablePath is the verified copy's path: nothing here executes an open file.
func executablePath(binary *os.File) string { return binary.Name() }

// awaitExit reaps the process, since nothing here only looks whether it has ended.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
