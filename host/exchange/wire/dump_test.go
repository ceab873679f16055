package wire_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/assay-run/assay/host/exchange/wire"
)

// TestDisableDump runs in a process of its own: it cannot be taken back where root tests.
func TestDisableDump(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: it reads /proc")
	}
	if os.Getenv("DUMP_CHILD") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDisableDump$")
		cmd.Env = append(os.Environ(), "DUMP_CHILD=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if err := wire.DisableDump(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("/proc/self/environ"); err == nil && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v", info.Mode())
	}
	if got, err := dumpable(); err != nil || got != 0 {
		t.Errorf("dumpable is %d, %v", got, err)
	}
}
