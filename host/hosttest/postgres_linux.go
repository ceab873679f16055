package hosttest

import (
	"os"
	"syscall"
)

// nobody is the user that a server runs as where the tests run as root.
const nobody = 65534

// serverAttributes end a server with the test binary, however that happens.
func serverAttributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return a
}
