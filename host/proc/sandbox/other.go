//go:build !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// Supported reports whether this system has a sandbox.
func Supported() bool { return false }

// ParentEnv names the environment variable with the descriptor of the pipe whose
// end of file shows a plugin that its host is gone.
const ParentEnv = "ASSAY_PARENT_FD"

// Executable returns the program to start as the shim.
func Executable() string { return "" }

// HostNamespaces are those of this process; this system has none.
func HostNamespaces() map[string]string { return nil }

// PickUser draws a user for a plugin; this system has none to give.
func PickUser() int { return 0 }

// Isolate sets nothing.
func (r Rung) Isolate(*syscall.SysProcAttr) error { return nil }

// Start starts a command.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
