//go:build !linux

package toxics

import "os/exec"

// dieWithParent does nothing where the kernel cannot do it: a test that is killed leaves the process.
func dieWithParent(*exec.Cmd) {}
