//go:build !linux

package hosttest

import "syscall"

// endWithParent is nothing where the kernel cannot do it: a test that is killed leaves the process.
func endWithParent() *syscall.SysProcAttr { return nil }
