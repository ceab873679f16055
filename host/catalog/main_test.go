package catalog

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc/sandbox"
)

// TestMain makes the test binary everything that is needed: the sandbox's shim, a
// host to be killed, and every kind of plugin, chosen by the name it runs under.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if name == helperName {
		helperHost()
		return
	}
	if play, ok := roles()[name]; ok {
		play()
		exit(0)
	}
	goleak.VerifyTestMain(m)
}

// install puts plugins into a folder. Each is this test binary with its name at the
// end, so that each has a hash of its own.
func install(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		installAs(t, dir, name, name)
	}
}

func installAs(t testing.TB, dir, file, salt string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	if _, err := io.Copy(dst, io.MultiReader(src, strings.NewReader(salt))); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t testing.TB, dir, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// testOptions are the options of most tests.
func testOptions(t testing.TB) Options {
	return Options{
		Dir: t.TempDir(), StateDir: filepath.Join(t.TempDir(), "state"),
		Logger: hclog.New(&hclog.LoggerOptions{Output: testWriter{t}, Level: hclog.Info}),
	}
}

// testWriter sends a log to the test.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", strings.TrimSpace(string(b)))
	return len(b), nil
}

func open(t testing.TB, o Options) *Catalog {
	t.Helper()
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// openWith opens a catalogue of these plugins.
func openWith(t testing.TB, names ...string) *Catalog {
	t.Helper()
	o := testOptions(t)
	install(t, o.Dir, names...)
	return open(t, o)
}

func lookup(t testing.TB, c *Catalog, name string) *Strategy {
	t.Helper()
	s, err := c.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(t testing.TB, c *Catalog, name string, o LaunchOptions) *Process {
	t.Helper()
	p, err := c.Launch(t.Context(), lookup(t, c, name), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill("the test is over") })
	return p
}

// needFull skips a test of the sandbox where the machine has none.
func needFull(t testing.TB, p *Process) {
	t.Helper()
	ring.Undetected(t, "programs with the race detector have no sandbox")
	if p.Level().String() != sandbox.LevelFull {
		t.Skipf("needs the full sandbox; this machine has %q: %s", p.Level(), p.Level().Lacks())
	}
}

// gone reports whether a process has ended; a zombie has.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

func waitGone(t testing.TB, pid int, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !gone(pid) {
		select {
		case <-ctx.Done():
			t.Fatalf("process %d is still there after %s", pid, limit)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
