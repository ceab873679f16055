package playtest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assay-run/assay/host/catalog"
)

// Debugged starts a strategy by itself, as in a debugger, and returns what a host needs to
// attach to it: one process for many runs, so that not their starts are what is measured.
func Debugged(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	Install(t, dir, name)
	sockets, err := os.MkdirTemp("", "as-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(sockets); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command(filepath.Join(dir, name), "--debug")
	cmd.Env = append(os.Environ(), "TMPDIR="+sockets)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, value, ok := strings.Cut(lines.Text(), catalog.ReattachEnv+"='"); ok {
			return strings.TrimSuffix(value, "'")
		}
	}
	t.Fatal("the strategy does not say where it listens")
	return ""
}
