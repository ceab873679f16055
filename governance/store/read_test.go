package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		if n := strings.Count(string(text[:known.end]), "\n"); n != len(lines) ||
			strings.Contains(string(text[known.end:]), "\n") {
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
		"none": {nil, Rollback}, "some": {[]checkpointLine{{3, good}}, ""},
		"all":           {[]checkpointLine{{3, good}, {5, good}}, ""},
		"ahead":         {[]checkpointLine{{3, good}, {6, good}}, Rollback},
		"other root":    {[]checkpointLine{{3, strings.Repeat("0", 64)}}, Corrupt},
		"no checkpoint": {[]checkpointLine{{4, good}}, Corrupt},
		"back":          {[]checkpointLine{{5, good}, {3, good}}, Corrupt},
	} {
		var damage *DamageError
		err := checkCheckpointLog(c.lines, 5, roots)
		if got := errors.As(err, &damage); got != (c.want != "") || got && damage.Code != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A crash after the first checkpoint is before the file's first line.
	if err := checkCheckpointLog(nil, 3, map[int64]tlog.Hash{3: root}); err != nil {
		t.Error(err)
	}
}

// fullDisk takes at most room bytes, as a disk does that is full.
type fullDisk struct {
	*os.File
	room int
}

var errFull = errors.New("no space left")

func (d *fullDisk) WriteAt(p []byte, at int64) (int, error) {
	n, err := d.File.WriteAt(p[:min(len(p), d.room)], at)
	if d.room -= n; err == nil && n < len(p) {
		err = errFull
	}
	return n, err
}

// TestShortWrite: what a failed write leaves is no beginning of the next line.
func TestShortWrite(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1_700_000_000, 0)
	c, err := openCheckpointLog(dir, witness{})
	if err != nil {
		t.Fatal(err)
	}
	file := c.file.(*os.File)
	if err := c.write(ledger.Checkpoint{Size: 3}, now); err != nil {
		t.Fatal(err)
	}
	c.file = &fullDisk{file, 7}
	if err := c.write(ledger.Checkpoint{Size: 4}, now); !errors.Is(err, errFull) {
		t.Fatalf("error %v", err)
	}
	if lines, known, err := readCheckpointLog(dir); err != nil || len(lines) != 1 {
		t.Fatalf("%v %v %v", lines, known, err)
	} else if info, err := file.Stat(); err != nil || info.Size() != known.end {
		t.Errorf("%d bytes are left, %d are whole lines: %v", info.Size(), known.end, err)
	}
	c.file = file
	if err := c.write(ledger.Checkpoint{Size: 5}, now); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if lines, _, err := readCheckpointLog(dir); err != nil || len(lines) != 2 || lines[1].size != 5 {
		t.Errorf("%v %v", lines, err)
	}
}
