package child

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// hoard takes shared memory, which the kernel's limit of data does not count.
func hoard() {
	const size = 96 << 20
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		os.Exit(1)
	}
	for i := 0; i < size; i += 4096 {
		memory[i] = 1
	}
	os.Stdout.WriteString("taken\n")
	time.Sleep(time.Minute)
}

func TestSharedMemoryCounts(t *testing.T) {
	for _, test := range []struct {
		limit uint64
		ends  bool
	}{{64 << 20, true}, {1 << 30, false}} {
		c := config(t, "hoard", sandbox.Auto)
		c.Limits.MemoryBytes = test.limit
		p := mustStart(t, c)
		if p.Level().String() != sandbox.LevelFull {
			t.Skipf("this machine's sandbox is %q, not full", p.Level())
		}
		select {
		case <-p.Done():
			if !test.ends || !strings.Contains(p.Exit(), "more than 64 MiB") {
				t.Errorf("with %d MiB it ended with %q", test.limit>>20, p.Exit())
			}
		case <-time.After(3 * time.Second):
			if test.ends {
				t.Errorf("it took %d MiB of shared memory and more", test.limit>>20)
			}
		}
	}
}

// TestKilledHostsAreSweptUp: what a host that was killed left behind goes with the next start.
func TestKilledHostsAreSweptUp(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "c") // a short path, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	t.Setenv("TMPDIR", base)
	first, err := NewSocketFolder()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(filepath.Dir(filepath.Dir(first.Dir())), "room-left")
	if err := os.MkdirAll(filepath.Join(left, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	first.Remove()
	second, err := NewSocketFolder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder of a killed host: %v", err)
	}
	second.Remove()
	second.Remove()
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 0 {
		t.Errorf("in the end there is %v, %v", entries, err)
	}
}

// TestForeignFolder: in a shared temporary folder somebody else may have taken the name.
func TestForeignFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	base, err := os.MkdirTemp("/tmp", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	t.Setenv("TMPDIR", base)
	theirs := filepath.Join(base, "as-0")
	if err := os.Mkdir(theirs, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(theirs, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if f, err := NewSocketFolder(); err == nil || !strings.Contains(err.Error(), "belongs to somebody else") {
		f.Remove()
		t.Errorf("got %v", err)
	}
}
