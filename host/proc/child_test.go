package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// TestMain makes the test binary the programs that are started, by name.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "talk":
		fmt.Println("hello")
		fmt.Println("and more")
		fmt.Fprintln(os.Stderr, "on stderr")
		os.Exit(5)
	case "quiet":
		time.Sleep(time.Minute)
	case "hoard":
		hoard()
	case "measured":
		measured(os.Args[1])
	case "escape":
		escape()
	case "parent":
		parent()
	case "endless":
		for {
			fmt.Print(strings.Repeat("x", 4096))
		}
	default:
		goleak.VerifyTestMain(m)
	}
}

func config(t *testing.T, name string, mode sandbox.Mode) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return Config{
		Binary: f, Name: name, SocketDir: t.TempDir(), Sandbox: mode, Libraries: true,
		Limits: sandbox.DefaultLimits(),
	}
}

func modes() []sandbox.Mode { return []sandbox.Mode{sandbox.Off, sandbox.Auto} }

func mustStart(t *testing.T, c Config) *Child {
	t.Helper()
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Done()
	})
	return p
}

func TestOutputAndExit(t *testing.T) {
	for _, mode := range modes() {
		p := mustStart(t, config(t, "talk", mode))
		first, err := io.ReadAll(p.Handshake())
		if err != nil || string(first) != "hello\n" {
			t.Errorf("%s: the handshake is %q, %v", mode, first, err)
		}
		<-p.Done()
		if p.FirstLine() != "hello" || p.ExitCode() != 5 || p.Exit() != "exit status 5" {
			t.Errorf("%s: %q, %d, %q", mode, p.FirstLine(), p.ExitCode(), p.Exit())
		}
		if _, err := p.Write([]byte("from elsewhere\n")); err != nil {
			t.Error(err)
		}
		tail := strings.Join(p.Tail(), "|")
		for _, want := range []string{"and more", "on stderr", "from elsewhere"} {
			if !strings.Contains(tail, want) {
				t.Errorf("%s: %q is not in the tail %q", mode, want, tail)
			}
		}
		if wantOff := sandbox.Unwalled(mode,
			false) != ""; wantOff != (p.Level().String() == sandbox.LevelOff) {
			t.Errorf("%s: level %s", mode, p.Level())
		}
		p.Kill() // its number may belong to another user by now: nothing happens
	}
}

func TestKill(t *testing.T) {
	for _, mode := range modes() {
		p := mustStart(t, config(t, "quiet", mode))
		if p.ExitCode() != -1 || p.Exit() != "" {
			t.Errorf("it has not ended: %d %q", p.ExitCode(), p.Exit())
		}
		p.Kill()
		select {
		case <-p.Done():
		case <-time.After(2 * time.Second):
			t.Fatal("it does not end")
		}
		if p.Exit() != "signal: killed" {
			t.Errorf("it ended with %s", p.Exit())
		}
	}
}

func TestEndlessOutputIsDrained(t *testing.T) {
	p := mustStart(t, config(t, "endless", sandbox.Off))
	line, err := bufio.NewReader(p.Handshake()).ReadString('\n')
	if err != nil || len(line) < maxFirstLine {
		t.Errorf("got %d bytes, %v", len(line), err)
	}
	time.Sleep(20 * time.Millisecond)
	p.Kill()
	<-p.Done()
	if n := len(strings.Join(p.Tail(), "")); n != tailBytes {
		t.Errorf("the tail has %d bytes", n)
	}
}

func TestNotAProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("just words"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, mode := range modes() {
		c := config(t, "x", mode)
		c.Binary = f
		_, err := Start(t.Context(), c)
		var e *ExecError
		if !errors.As(err, &e) || e.Errno != int(syscall.ENOEXEC) {
			t.Errorf("%s: got %v", mode, err)
		}
	}
}

func TestShimWithoutReport(t *testing.T) {
	for _, said := range []string{"", "{", "{}"} {
		err := new(Child).readStart(t.Context(), json.NewDecoder(strings.NewReader(said)))
		if !errors.Is(err, errNoShim) {
			t.Errorf("%q: got %v", said, err)
		}
	}
}

func TestCancelledStart(t *testing.T) {
	if !sandbox.Supported() {
		t.Skip("needs a sandbox: without one there is nothing to wait for")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := Start(ctx, config(t, "quiet", sandbox.Auto)); err == nil {
		p.Kill()
		<-p.Done() // it was faster than the cancellation
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// startLimit returns how long a start may take here.
func startLimit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

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

// parent reports whether the parent's end of the pipe is open.
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
