//go:build !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// Supported says whether this system has a sandbox.
func Supported() bool { return false }

// MaybeShim does nothing on this system.
func MaybeShim() {}

// InShim says whether this process was started as the shim.
func InShim() bool { return false }

// Executable is the program to start as the shim.
func Executable() string { return "" }

// Start starts a command.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Isolation has the namespaces to try; this system has none.
func Isolation() []func(*syscall.SysProcAttr) { return nil }
