package artifact

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/assay-run/assay/host/base/file"
)

const limitedTo = "limit "

// limitFiles bounds the size of the files of this process when its step says so.
func limitFiles(step string) {
	text, limited := strings.CutPrefix(step, limitedTo)
	if !limited {
		return
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
	}
	if err != nil {
		os.Exit(3)
	}
}

// TestNoRoom: whichever file is the first that does not fit, what was there stays and
// nothing is added; the next writer, with room, succeeds.
func TestNoRoom(t *testing.T) {
	for _, how := range []string{"", "replace", "renew"} {
		for _, limit := range []int{1, 500, 1000, 2000} {
			t.Run(how+"_"+strconv.Itoa(limit), func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				store, run := NewStore(root), fixtureRun(t, 5)
				if how != "" {
					store = attempted(t, root)
				}
				before := readTree(t, root)
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), crashAt+"="+limitedTo+strconv.Itoa(limit)+"="+root,
					crashWhat+"="+how)
				if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 ||
					!strings.Contains(string(out), "file too large") {
					t.Fatalf("exit %d: %s", cmd.ProcessState.ExitCode(), out)
				}
				if after := readTree(t, root); len(after) != len(before) {
					t.Errorf("%d files before, %d after", len(before), len(after))
				}
				if left, _ := filepath.Glob(filepath.Join(root, file.TempPrefix+"*")); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				if _, err := writers[how](store, run); err != nil {
					t.Error(err)
				}
				if _, _, err := Verify(store.Dir(run.ID)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
