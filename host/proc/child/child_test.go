package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// TestMain makes the test binary the programs that are started, by name.
func TestMain(m *testing.M) {
	if os.Getenv("NO_SHIM") == "" {
		sandbox.MaybeShim()
	} else if sandbox.InShim() {
		os.Exit(0) // a host that forgot the shim and did something else instead
	}
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
		Binary: f, Name: name, SocketDir: t.TempDir(), Sandbox: mode, Libraries: true, Limits: sandbox.DefaultLimits(),
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
		if wantOff := sandbox.Unwalled(mode, false) != ""; wantOff != (p.Level().String() == sandbox.LevelOff) {
			t.Errorf("%s: level %s", mode, p.Level())
		}
		p.Kill() // its number may belong to somebody else by now: nothing happens
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

func TestHostWithoutShim(t *testing.T) {
	if why := sandbox.Unwalled(sandbox.Auto, false); why != "" {
		t.Skip(why)
	}
	c := config(t, "quiet", sandbox.Auto)
	c.Env = []string{"NO_SHIM=1"}
	if _, err := Start(t.Context(), c); !errors.Is(err, errNoShim) {
		t.Errorf("got %v", err)
	}
}

func TestCancelledStart(t *testing.T) {
	if !sandbox.Supported() {
		t.Skip("without a sandbox there is nothing to wait for")
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

// startLimit is how long a start may take here.
func startLimit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}
