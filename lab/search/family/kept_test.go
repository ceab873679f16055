package family_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/search/family"
	"github.com/assay-run/assay/lab/search/selection"
)

// trialFolders are the runs that have a folder.
func (s *search) trialFolders() []string {
	var list []string
	for name := range s.files {
		if dir, file := filepath.Split(name); file == "metadata.json" {
			list = append(list, filepath.Base(dir))
		}
	}
	slices.Sort(list)
	return list
}

// results are the files of the family that no folder of a trial makes a difference to.
func (s *search) results() map[string]string {
	out := map[string]string{}
	for name, sum := range s.files {
		if strings.HasPrefix(name, "families/") && filepath.Base(name) != selection.KeptName {
			out[name] = sum
		}
	}
	return out
}

func compareFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Errorf("%d files, not %d", len(got), len(want))
	}
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%s differs", name)
		}
	}
}

// TestSearchWithoutFolders: a search that keeps the folder of the selected trial alone puts out the same, for
// any number of workers, whatever the strategy does; and every folder that it makes again is what it was.
func TestSearchWithoutFolders(t *testing.T) {
	ring.Slow(t, "four searches of each strategy")
	const trials, space = 5, `{"every":{"type":"int","low":8,"high":30}}`
	names := []string{"ticker", "ticker_leaks", "ticker_panics"}
	for _, name := range names[:ring.Size(2, len(names), len(names))] {
		t.Run(name, func(t *testing.T) {
			program := install(t, name)
			state := func(name string) string { return filepath.Join(t.TempDir(), name) }
			whole := runSearch(t, state("all"), program, space, trials,
				family.Options{Workers: 2, Folders: family.FoldersAll})
			one := runSearch(t, state("one"), program, space, trials,
				family.Options{Workers: 1, Folders: family.FoldersSelected})
			dir := state("two")
			two := runSearch(t, dir, program, space, trials,
				family.Options{Workers: 2, Folders: family.FoldersSelected})
			compareFiles(t, one.files, two.files)
			compareFiles(t, whole.results(), two.results())
			for file, sum := range two.files {
				if strings.HasPrefix(file, "runs/") && whole.files[file] != sum {
					t.Errorf("%s is not what it was", file)
				}
			}
			counts := two.outcome.Result.Counts
			if got := two.trialFolders(); len(got) != counts.Failed+1 ||
				!slices.Contains(got, two.outcome.Result.Selected.RunID) {
				t.Errorf("there are folders of %v", got)
			}
			if got := slices.Contains(two.codes(), family.CodeStateLeak); got != (name == "ticker_leaks") {
				t.Errorf("the warnings are %v", two.codes())
			}

			// Again: nothing is played. With folders: they are made again, byte for byte.
			again := runSearch(t, dir, program, space, trials, family.Options{Workers: 2,
				Folders: family.FoldersSelected})
			if compareFiles(t, two.files, again.files); again.outcome.Executed > 0 {
				t.Errorf("%d trials were played", again.outcome.Executed)
			}
			again = runSearch(t, dir, program, space, trials, family.Options{Workers: 2,
				Folders: family.FoldersAll})
			for file, sum := range whole.files {
				if again.files[file] != sum {
					t.Errorf("%s is not what it was", file)
				}
			}

			if name == "ticker_leaks" {
				return // what is played again in a session may leak again
			}
			// Without the file the trials that lack a folder are played again.
			plan := filepath.Dir(again.path(t, "plan.json"))
			if err := os.Remove(filepath.Join(plan, selection.KeptName)); err != nil {
				t.Fatal(err)
			}
			for _, run := range again.trialFolders()[:2] {
				if err := os.RemoveAll(filepath.Join(dir, "runs", run)); err != nil {
					t.Fatal(err)
				}
			}
			again = runSearch(t, dir, program, space, trials, family.Options{Workers: 2,
				Folders: family.FoldersSelected})
			compareFiles(t, two.results(), again.results())
			if again.outcome.Executed == 0 {
				t.Error("nothing was played")
			}
		})
	}
}

// path is where a file of the family is.
func (s *search) path(t *testing.T, name string) string {
	t.Helper()
	for file := range s.files {
		if strings.HasPrefix(file, "families/") && filepath.Base(file) == name {
			return filepath.Join(s.state, file)
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}
