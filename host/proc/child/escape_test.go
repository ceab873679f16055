package child

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// escape starts a descendant that leaves the process group and keeps the pipes.
func escape() {
	self, err := os.Executable()
	if err != nil {
		os.Exit(1)
	}
	c := &exec.Cmd{
		Path: self, Args: []string{"quiet"}, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := c.Start(); err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString(strconv.Itoa(c.Process.Pid) + "\n")
}

func TestEscapedDescendantDoesNotHoldUp(t *testing.T) {
	p := mustStart(t, config(t, "escape", sandbox.Off))
	begin := time.Now()
	select {
	case <-p.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the open pipes hold it up")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(p.FirstLine()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("there was nobody to escape: %v", err)
	}
	t.Logf("done after %s", time.Since(begin))
}

// TestParentPipe: the pipe is all a plugin has elsewhere, and where its parent is
// not the host any more.
func TestParentPipe(t *testing.T) {
	for _, mode := range modes() {
		p := mustStart(t, config(t, "parent", mode))
		<-p.Done()
		if p.FirstLine() != "open" || p.ExitCode() != 0 {
			t.Errorf("%s: it said %q and ended with %s", mode, p.FirstLine(), p.Exit())
		}
	}
}

// parent says whether the parent's end of the pipe is open.
func parent() {
	fd, err := strconv.Atoi(os.Getenv(sandbox.ParentEnv))
	if err != nil {
		os.Exit(1)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		os.Exit(2)
	}
	n, err := syscall.Read(fd, make([]byte, 1))
	if n == -1 && err == syscall.EAGAIN {
		os.Stdout.WriteString("open\n")
		return
	}
	os.Stdout.WriteString("ended\n")
}
