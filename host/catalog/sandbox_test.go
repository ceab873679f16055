package catalog

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
)

// denied reports whether an answer is a refusal by the system.
func denied(answer string) bool {
	for _, words := range []string{"permission denied", "operation not permitted", "no such file",
		"read-only", "no such process"} {
		if strings.Contains(answer, words) {
			return true
		}
	}
	return false
}

func TestSandboxedFiles(t *testing.T) {
	o := testOptions(t)
	install(t, o.Dir, "good")
	c := open(t, o)
	data, beside := t.TempDir(), t.TempDir()
	dataset, other := filepath.Join(data, "a.col"), writeFile(t, beside, "b.col", "1", 0o600)
	lock := filepath.Join(o.StateDir, "plugins.lock.json")

	run := func(folder string, args ...string) string {
		p := start(t, c, "good", LaunchOptions{Lockstep: folder == "", CandleFolder: folder, Plain: true})
		needFull(t, p)
		defer p.Kill("seen")
		if err := os.RemoveAll(dataset); err != nil {
			t.Fatal(err)
		}
		writeFile(t, data, "a.col", "12345", 0o444) // the rows of a run are known once its process is there
		return tell(t, p, args...)
	}
	if got := run(data, "read", dataset); got != "5" {
		t.Errorf("co-simulation cannot read its dataset: %s", got)
	}
	for _, test := range []struct {
		folder string
		args   []string
	}{
		{"", []string{"read", dataset}},
		{data, []string{"read", other}},
		{data, []string{"write", dataset}},
		{data, []string{"list", data}},
		{"", []string{"read", lock}},
		{"", []string{"write", lock}},
		{"", []string{"write", filepath.Join(o.Dir, "planted")}},
		{"", []string{"read", "/etc/passwd"}},
		{"", []string{"read", "/proc/self/environ"}},
		{"", []string{"list", "/"}},
		{"", []string{"run", "/bin/true"}},
		{"", []string{"signal", strconv.Itoa(os.Getpid())}},
	} {
		if got := run(test.folder, test.args...); !denied(got) {
			t.Errorf("%v was not denied: %s", test.args, got)
		}
	}
	if got := run("", "read", "/program"); strings.HasPrefix(got, "error") {
		t.Errorf("its own program is not readable: %s", got)
	}
}

func TestSandboxedNetwork(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	o := testOptions(t)
	install(t, o.Dir, "good")
	p := start(t, open(t, o), "good", LaunchOptions{})
	needFull(t, p)
	if got := tell(t, p, "dial", listener.Addr().String()); !strings.HasPrefix(got, "error") {
		t.Errorf("it could connect: %s", got)
	}
	o.Sandbox = sandbox.Off
	p = start(t, open(t, o), "good", LaunchOptions{})
	if got := tell(t, p, "dial", listener.Addr().String()); got != "connected" {
		t.Errorf("without a sandbox: %s", got)
	}
}

func TestMissingCandleFolder(t *testing.T) {
	c := openWith(t, "good")
	needFull(t, start(t, c, "good", LaunchOptions{}))
	_, err := c.Launch(t.Context(), lookup(t, c, "good"), LaunchOptions{CandleFolder: "/absent"})
	var failed *LaunchError
	if !errors.As(err, &failed) || !strings.Contains(failed.Message, "/absent") {
		t.Errorf("got %v", err)
	}
}

func TestRequiredSandbox(t *testing.T) {
	o := testOptions(t)
	o.Sandbox = sandbox.Require
	install(t, o.Dir, "good")
	s := open(t, o).Strategies()[0]
	if s.Status == Unavailable && s.Error.Code != proc.CodeSandboxUnavailable {
		t.Errorf("got %+v", s.Error)
	}
	if runtime.GOOS != "linux" && s.Status == Available {
		t.Error("there is no sandbox here")
	}
}

// TestUnprivilegedHost is the usual case, which needs a user namespace.
func TestUnprivilegedHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: without it every test here runs unprivileged")
	}
	ring.Undetected(t, "programs with the race detector have no sandbox")
	host, plugin, level := startHelper(t, sandbox.Auto, 65534)
	if level != sandbox.LevelFull {
		t.Skipf("needs a sandbox for unprivileged users; this machine has %q", level)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, plugin, time.Second)
}
