package sandbox

import (
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// starts are those under way that need this process to be dumpable.
var starts struct {
	sync.Mutex
	running int
	hidden  bool // the process was not dumpable before
}

// Start starts a command. A process that is not dumpable owns nothing under /proc, and neither
// does its child before it executes: unless it is root it could not write the child's user
// mapping. So such a process is dumpable while it starts one, some milliseconds.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil || len(cmd.SysProcAttr.UidMappings) == 0 {
		return cmd.Start()
	}
	starts.Lock()
	if starts.running == 0 {
		is, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if starts.hidden = err == nil && is == 0; starts.hidden {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) // without it the start says what fails
		}
	}
	starts.running++
	starts.Unlock()
	defer func() {
		starts.Lock()
		defer starts.Unlock()
		if starts.running--; starts.running == 0 && starts.hidden {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // it has no way to fail: 0 is a value it takes
		}
	}()
	return cmd.Start()
}
