package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestBegin: a run has its request and splits from the start; the whole folder takes the
// place of the one that has no more than these, and of no other.
func TestBegin(t *testing.T) {
	store := NewStore(t.TempDir())
	run := fixtureRun(t, 5)
	if _, err := store.Began(run.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	if err := store.Begin(run.ID, &run.Manifest); err != nil {
		t.Fatal(err)
	}
	if err := store.Begin(run.ID, &run.Manifest); !errors.Is(err, fs.ErrExist) {
		t.Errorf("twice: %v", err)
	}
	m, err := store.Began(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	want, err := run.Manifest.Request.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Request.Hash(); err != nil || got != want {
		t.Errorf("the request has the hash %s, not %s: %v", got, want, err)
	}
	begun, err := os.ReadFile(filepath.Join(store.Dir(run.ID), splitsName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(run); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(store.Dir(run.ID), splitsName))
	if err != nil || !bytes.Equal(begun, whole) {
		t.Errorf("the splits were %s and are %s: %v", begun, whole, err)
	}
	if _, _, err := Verify(store.Dir(run.ID)); err != nil {
		t.Error(err)
	}
	if err := store.Withdraw(run.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(run); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a whole folder was replaced: %v", err)
	}
	if _, err := store.Began(run.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after: %v", err)
	}
	if err := store.Begin("other", &run.Manifest); err != nil {
		t.Fatal(err)
	}
	if err := store.Withdraw("other"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(store.Dir("other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("withdrawn: %v", err)
	}
}

// FuzzBegan: whatever stands in the two files is read or refused.
func FuzzBegan(f *testing.F) {
	const request = `{"schema":"evaluation-request/v1","symbols":["A/B"],"initial_cash":1}`
	for _, seed := range []string{`{}`, request, `null`, `[`, ``, `{"splits":7}`} {
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, request, splits []byte) {
		store := NewStore(t.TempDir())
		if err := os.Mkdir(store.Dir("run"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{requestName: request, splitsName: splits} {
			if err := os.WriteFile(filepath.Join(store.Dir("run"), name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := store.Began("run"); (m == nil) == (err == nil) {
			t.Errorf("%v and %v", m, err)
		}
	})
}

const (
	crashAt   = "ASSAY_TEST_CRASH_AT"
	crashWhat = "ASSAY_TEST_CRASH_WHAT"
)

// TestMain makes the test binary its own victim: told so, it writes, replaces or renews a
// run and kills itself when it has come to a certain step.
func TestMain(m *testing.M) {
	step, root, crash := strings.Cut(os.Getenv(crashAt), "=")
	if !crash {
		goleak.VerifyTestMain(m)
		return
	}
	store := NewStore(root)
	limitFiles(step)
	store.checkpoint = func(reached string) {
		if reached == step {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
	}
	if _, err := writers[os.Getenv(crashWhat)](store, fixtureRun(&testing.B{}, 5)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// writers are the ways in which a run comes to the disk.
var writers = map[string]func(*Store, *Run) (*Written, error){
	"": (*Store).Write,
	"replace": func(s *Store, run *Run) (*Written, error) {
		run.Attempt = 2
		return s.Replace(run)
	},
	"renew": func(s *Store, run *Run) (*Written, error) {
		before, _, err := Verify(s.Dir(run.ID))
		if err != nil {
			return nil, err
		}
		run.CompletedAt = run.CompletedAt.Add(1e9)
		return s.Renew(run, before)
	},
}

// crash kills a process that writes to a store in some way when it comes to a step.
func crash(t *testing.T, how, step, root string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashAt+"="+step+"="+root, crashWhat+"="+how)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("it was not killed: %v\n%s", err, out)
	}
}

// TestCrashAtEveryStep: whatever the step, a folder is there as a whole or not at
// all, and a sweep finds the rest.
func TestCrashAtEveryStep(t *testing.T) {
	var steps []string
	probe := NewStore(t.TempDir())
	probe.checkpoint = func(s string) { steps = append(steps, s) }
	run := fixtureRun(t, 5)
	if _, err := probe.Write(run); err != nil {
		t.Fatal(err)
	}
	if len(steps) != 12 {
		t.Fatalf("steps: %v", steps)
	}
	for i, step := range steps {
		t.Run(strings.ReplaceAll(step, "/", "_"), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			crash(t, "", step, root)
			folders, err := NewStore(root).Sweep()
			if err != nil || len(folders) != 1 {
				t.Fatalf("%v, %v", folders, err)
			}
			f := folders[0]
			defer f.Release()
			_, _, err = f.Verify()
			if whole := i >= slices.Index(steps, "metadata.json"); whole != (err == nil) ||
				f.HasMetadata() != whole {
				t.Errorf("verify says %v", err)
			}
			if f.Temporary != (step != "renamed") {
				t.Errorf("%s is temporary: %v", f.Name, f.Temporary)
			}
		})
	}
}

func TestSweepSpares(t *testing.T) {
	store := NewStore(t.TempDir())
	var during []*Folder
	store.checkpoint = func(step string) {
		found, err := store.Sweep()
		if err != nil {
			t.Error(err)
		}
		if step != "renamed" {
			during = append(during, found...)
		}
	}
	if _, err := store.Write(fixtureRun(t, 5)); err != nil {
		t.Fatal(err)
	}
	if len(during) != 0 {
		t.Errorf("a sweep takes %s while it is written", during[0].Name)
	}
	if none, err := NewStore(filepath.Join(t.TempDir(), "none")).Sweep(); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func TestOrphanAndPlace(t *testing.T) {
	root := t.TempDir()
	store := NewStore(root)
	for i := range 3 {
		if err := os.Mkdir(filepath.Join(root, ".tmp-x"), 0o700); err != nil {
			t.Fatal(err)
		}
		folders, err := store.Sweep()
		if err != nil || len(folders) != 1 {
			t.Fatalf("%v, %v", folders, err)
		}
		to, err := folders[0].Orphan()
		if want := filepath.Join(root, ".orphan", []string{"tmp-x", "tmp-x.2", "tmp-x.3"}[i]); to != want ||
			err != nil {
			t.Errorf("%s, %v", to, err)
		}
		if err := folders[0].Release(); err != nil {
			t.Error(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, ".tmp-y"), 0o700); err != nil {
		t.Fatal(err)
	}
	folders, err := store.Sweep()
	if err != nil || len(folders) != 1 {
		t.Fatalf("%v, %v", folders, err)
	}
	defer folders[0].Release()
	if err := folders[0].Place("../y"); err == nil {
		t.Error("placed outside")
	}
	if err := folders[0].Place("y"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(store.Dir("y")); err != nil {
		t.Error(err)
	}
}
