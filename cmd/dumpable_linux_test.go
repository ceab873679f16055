package cmd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody is a user without rights; processes that are not dumpable belong to root under /proc,
// which only somebody else than root can be told from.
const nobody = 65534

func ownerOf(t *testing.T, pid int) uint32 {
	t.Helper()
	info, err := os.Stat(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}

// asNobody makes a command one of nobody's where this test is root.
func asNobody(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// TestHostIsNotDumpable: nobody but root can read the memory of the service, and the sandbox of
// strategies, which needs what such a process lacks, is as it was.
func TestHostIsNotDumpable(t *testing.T) {
	folder, err := os.MkdirTemp("", "assay-nobody-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	for _, name := range []string{"assay", "strategies/sma_cross"} {
		text, err := os.ReadFile(filepath.Join(bin(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(folder, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "60")
	asNobody(other)
	if os.Geteuid() == 0 {
		if err := os.Chown(state, nobody, nobody); err != nil {
			t.Skipf("needs a root that may change owners of files: %v", err)
		}
	}
	if err := other.Start(); err != nil {
		t.Skipf("needs to start a process of another user (as root, or not confined): %v", err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	if ownerOf(t, other.Process.Pid) == 0 {
		t.Skip("needs /proc to show owners: a process of another user belongs to root here")
	}

	s := serveWith(t, state, filepath.Join(folder, "assay"), asNobody)
	if owner := ownerOf(t, s.cmd.Process.Pid); owner != 0 {
		t.Errorf("the service belongs to user %d: it is dumpable", owner)
	}
	namespaces := exec.Command("unshare", "-Urn", "true")
	asNobody(namespaces)
	if err := namespaces.Run(); err != nil {
		t.Skipf("needs user namespaces and the command unshare: %v", err)
	}
	s.backtest(sample("sma_cross"))
	files, err := filepath.Glob(filepath.Join(state, "runs", "*", "metadata.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || len(text) == 0 || bytes.Contains(text, []byte("no_network_namespace")) {
		t.Errorf("%v %s", err, text)
	}
	if owner := ownerOf(t, s.cmd.Process.Pid); owner != 0 {
		t.Errorf("after a run the service belongs to user %d: it is dumpable", owner)
	}
}
