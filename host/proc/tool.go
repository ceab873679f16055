package proc

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// RunTool runs a program of this project beside this one, with what it starts: in a process group
// of its own, at low priority and, where the system can limit them, with all processors but one.
// When the context ends the program is asked to end, and killed once the grace is over; where the
// system can do it, it is killed when this process is gone. Its exit is in cmd.ProcessState. The error
// is that of the start or the cause of the context.
func RunTool(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	cmd.SysProcAttr = processAttributes(false)
	cmd.WaitDelay = drainLimit
	started, exited := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(exited)
		// The thread is never unlocked: it ends with this goroutine, low priority and all.
		lockThread()
		useCores(max(1, runtime.NumCPU()-1))
		err := startLow(cmd)
		started <- err
		if err != nil {
			return
		}
		awaitExit(cmd)
		killGroup(cmd.Process.Pid)
		_ = cmd.Wait() // the state holds more than the error
	}()
	if err := <-started; err != nil {
		return err
	}
	select {
	case <-exited:
		return nil
	case <-ctx.Done():
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	if !Await(exited, grace) {
		_ = cmd.Process.Kill()
		<-exited
	}
	return context.Cause(ctx)
}

// lowPriority is a nice value: a tool leaves the processors to whoever wants them.
const lowPriority = 10
