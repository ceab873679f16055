package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/ledger"
)

// FuzzCheckpointLog: whatever the file holds is read as whole lines, or is damage.
func FuzzCheckpointLog(f *testing.F) {
	line := "3 " + strings.Repeat("ab", 32) + " 1700000000\n"
	for _, s := range []string{"", line, line + "4 ", "-1 x 2\n", "1  2 3\n", line + line, "\n"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, checkpointFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		lines, known, err := readCheckpointLog(dir)
		var damage *DamageError
		if err != nil && !errors.As(err, &damage) {
			t.Skip(err) // a line longer than any
		}
		if err != nil {
			return
		}
		if n := strings.Count(string(text[:known.end]), "\n"); n != len(lines) || strings.Contains(string(text[known.end:]), "\n") {
			t.Fatalf("%d lines of %d, up to %d", len(lines), n, known.end)
		}
	})
}

func TestCheckpointLogAgainstRoots(t *testing.T) {
	root := tlog.Hash{1}
	good := ledger.Hex(root)
	roots := map[int64]tlog.Hash{3: root, 5: root}
	for name, c := range map[string]struct {
		lines []checkpointLine
		want  string
	}{
		"none": {nil, ""}, "some": {[]checkpointLine{{3, good}}, ""}, "all": {[]checkpointLine{{3, good}, {5, good}}, ""},
		"ahead": {[]checkpointLine{{3, good}, {6, good}}, Rollback}, "other root": {[]checkpointLine{{3, strings.Repeat("0", 64)}}, Corrupt},
		"no checkpoint": {[]checkpointLine{{4, good}}, Corrupt}, "back": {[]checkpointLine{{5, good}, {3, good}}, Corrupt},
	} {
		var damage *DamageError
		err := checkCheckpointLog(c.lines, 5, roots)
		if got := errors.As(err, &damage); got != (c.want != "") || got && damage.Code != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
