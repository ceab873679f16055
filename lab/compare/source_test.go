package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/project"
)

// keep writes sources as a lab keeps them and returns their hash.
func keep(t *testing.T, stateDir string, files map[string]string) string {
	t.Helper()
	root := filepath.Join(stateDir, project.SourcesFolder)
	temp := filepath.Join(root, "new")
	for name, text := range files {
		path := filepath.Join(temp, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := project.SourceHash(temp)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(root, sum)); err != nil {
		t.Fatal(err)
	}
	return sum
}

// built gives a run the program of a character and the sources that it was built from.
func built(program byte, source string) func(*artifact.Run) {
	return func(r *artifact.Run) {
		r.Manifest.Plugin.SHA256, r.Manifest.Plugin.SourceSHA256 = hash(program), source
	}
}

func TestDifferenceOfSources(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	numbers := func(n int, from string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s %d\n", from, i)
		}
		return b.String()
	}
	before := keep(t, dir, map[string]string{"strategy.go": "package main\n\nconst fast = 10\n",
		"gone.go": "package main\n", "same.go": "package main\n", "table.csv": numbers(900, "old")})
	after := keep(t, dir, map[string]string{"strategy.go": "package main\n\nconst fast = 5 // \x1b[2J\n",
		"same.go": "package main\n", "deep/new.go": "package deep\n", "table.csv": numbers(900, "new"),
		"image.bin": "\xff\x00"})
	w.add(
		spec{id: "run_a", params: `{}`, noise: 1, change: built('1', before)},
		spec{id: "run_b", params: `{}`, noise: 2, change: built('2', after)},
		spec{id: "run_comment", params: `{}`, noise: 3, change: built('1', before)},
		spec{id: "run_sdk", params: `{}`, noise: 4, change: built('3', before)},
		spec{id: "run_service", params: `{}`, noise: 5, change: built('2', "")},
		spec{id: "run_foreign", params: `{}`, noise: 6, change: built('4', "")},
		spec{id: "run_lost", params: `{}`, noise: 7, change: built('5', hash('9'))},
		spec{id: "run_none", params: `{}`, noise: 8, change: func(r *artifact.Run) {
			r.Manifest.Plugin = artifact.Plugin{}
		}},
	)
	c := w.compare(Options{StateDir: dir})
	if c.Program.Equal {
		t.Error("different programs are called equal")
	}
	of := map[string]SourceDiff{}
	for _, d := range c.Program.Diff {
		of[d.RunID] = d
	}
	if _, has := of["run_comment"]; has || len(of) != 6 {
		t.Errorf("%+v", of)
	}
	for _, id := range []string{"run_b", "run_service"} {
		files := map[string]FileDiff{}
		for _, f := range of[id].Files {
			files[f.Path] = f
		}
		want := "--- a/strategy.go\n+++ b/strategy.go\n@@ -1,3 +1,3 @@\n package main\n \n" +
			"-const fast = 10\n+const fast = 5 // \x1b[2J\n"
		if files["strategy.go"].Diff != want || files["strategy.go"].Note != nil {
			t.Errorf("%s: %q, want %q", id, files["strategy.go"].Diff, want)
		}
		if !strings.HasPrefix(files["gone.go"].Diff, "--- a/gone.go\n+++ /dev/null\n") ||
			!strings.HasPrefix(files["deep/new.go"].Diff, "--- /dev/null\n+++ b/deep/new.go\n") {
			t.Errorf("%s: %+v", id, files)
		}
		if f := files["table.csv"]; strings.Count(f.Diff, "\n") != mostLines ||
			said(f.Note) != "The first 400 of 1803 lines are shown." {
			t.Errorf("%s: %s, %d lines", id, said(f.Note), strings.Count(f.Diff, "\n"))
		}
		if f := files["image.bin"]; f.Diff != "" || said(f.Note) != "It is no text." || len(files) != 5 {
			t.Errorf("%s: %+v, %d files", id, f, len(files))
		}
	}
	for id, want := range map[string]string{
		"run_sdk":     "The sources are the same",
		"run_foreign": "What run_foreign was built from is not known",
		"run_lost":    "The sources of run_lost (99999999) are not kept here",
		"run_none":    "run_none was made without a program",
	} {
		if d := of[id]; len(d.Files) != 0 || !strings.HasPrefix(said(d.Note), want) {
			t.Errorf("%s: %q, want %q", id, said(d.Note), want)
		}
	}
	var page, text strings.Builder
	if err := c.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteMarkdown(&text); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{page.String(), text.String()} {
		if !strings.Contains(s, "const fast = 5 // \uFFFD[2J") || strings.Contains(s, "\x1b") {
			t.Error("a view shows what moves the cursor, or no difference")
		}
	}

	path := filepath.Join(dir, project.SourcesFolder, after, "same.go")
	if err := os.WriteFile(path, []byte("package other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = w.compare(Options{StateDir: dir, Runs: []string{"run_a", "run_b"}})
	if d := c.Program.Diff; len(d) != 1 || len(d[0].Files) != 0 ||
		!strings.HasPrefix(said(d[0].Note), "The kept sources of run_b were changed") {
		t.Errorf("%+v", d)
	}
}

func said(note *string) string {
	if note == nil {
		return ""
	}
	return *note
}
