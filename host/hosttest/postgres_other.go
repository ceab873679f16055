//go:build !linux

package hosttest

import "syscall"

const nobody = 65534

// serverAttributes are none where the kernel cannot end a server with the test binary.
func serverAttributes() *syscall.SysProcAttr { return nil }
