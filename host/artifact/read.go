package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// MaxBuffered is the size in bytes of the largest file that Open reads whole before it gives any of it.
const MaxBuffered = 64 << 20

// File returns the entry of a file by its name and reports whether it is listed.
func (m *Metadata) File(name string) (File, bool) {
	i := slices.IndexFunc(m.Artifacts, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return m.Artifacts[i], true
}

// Open opens a file that the metadata of a run lists, and holds it against size and hash before it
// gives a byte. The metadata are those of the registry's row: metadata.json beside the file could
// have been changed with it. No link leads out of the folder. The caller closes the file. The error
// is a *MismatchError.
func (s *Store) Open(m *Metadata, name string) (_ io.ReadCloser, err error) {
	f, listed := m.File(name)
	switch {
	case !listed:
		return nil, m.mismatch(name + " is not listed")
	case !filepath.IsLocal(m.RunID) || strings.ContainsAny(m.RunID, `/\`) || !fs.ValidPath(name):
		return nil, m.mismatch(name + " is no place inside the folder of a run")
	}
	if !s.Has(m.RunID) {
		if err := m.NoFolder(); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(s.Dir(m.RunID))
	if err != nil {
		return nil, m.mismatch(name + " is missing: the folder cannot be opened")
	}
	defer root.Close()
	file, size, err := openPlain(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, m.mismatch(name + " is missing")
	case err != nil:
		return nil, m.mismatch(name + ": " + err.Error())
	}
	var text bytes.Buffer
	h := sha256.New()
	w := io.Writer(h)
	if size <= MaxBuffered {
		w = io.MultiWriter(h, &text)
	}
	n, err := io.Copy(w, io.LimitReader(file, f.Size+1))
	if err == nil && (n != f.Size || hex.EncodeToString(h.Sum(nil)) != f.SHA256) {
		_ = file.Close()
		return nil, m.mismatch(name + " has other content")
	}
	if err == nil && size <= MaxBuffered {
		return io.NopCloser(&text), file.Close()
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, m.mismatch(name + ": " + err.Error())
	}
	return file, nil
}

// Has reports whether a run that has ended has a folder: a search keeps those of few trials.
func (s *Store) Has(runID string) bool {
	return (&Folder{Name: runID, store: s}).HasMetadata()
}

// Read reads a file whole, checked as Open does.
func (s *Store) Read(m *Metadata, name string) ([]byte, error) {
	body, err := s.Open(m, name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(body)
	return text, errors.Join(err, body.Close())
}

// FolderError is about a trial of a search that has no folder. It wraps a *MismatchError.
type FolderError struct {
	RunID, Slug, PlanID string
	Index               int64
}

// Error names the command that makes the folder.
func (e *FolderError) Error() string {
	return fmt.Sprintf("trial %d of %s has no folder, which a large search keeps of the selected trial "+
		"alone: lab run %s --trial %s:%d makes it again", e.Index, e.PlanID, e.Slug, e.PlanID, e.Index)
}

// Unwrap is the error for whoever reads files.
func (e *FolderError) Unwrap() error {
	return &MismatchError{RunID: e.RunID, Problems: []string{"the folder is missing"}}
}

// NoFolder is a *FolderError where the run is one that may have no folder, else nil.
func (m *Metadata) NoFolder() error {
	if m.Kind != KindTrial || m.Status != StatusCompleted || m.ArtifactLevel != LevelCompact ||
		m.PlanID == nil || m.TrialIndex == nil {
		return nil
	}
	return &FolderError{m.RunID, m.Slug, *m.PlanID, *m.TrialIndex}
}

func (m *Metadata) mismatch(problem string) error {
	return &MismatchError{RunID: m.RunID, Problems: []string{problem}}
}

// CurveError is a line of an equity curve that cannot be read, counted from 1.
type CurveError struct {
	Line   int
	Reason string
}

// Error is line and reason.
func (e *CurveError) Error() string {
	return fmt.Sprintf("equity curve, line %d: %s", e.Line, e.Reason)
}

// ReadEquity reads what WriteEquity writes: step closes that ascend, each with finite amounts.
// Drawdown and exposure are NaN where their field is empty. The error is a *CurveError.
func ReadEquity(text []byte) (*EquityCurve, error) {
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	if string(first) != strings.TrimSuffix(equityHeader, "\n") {
		return nil, &CurveError{1, fmt.Sprintf("%.80q is not the header", first)}
	}
	var c EquityCurve
	var clock clockReader
	for line := 2; len(rest) > 0; line++ {
		var row []byte
		row, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if why := c.add(row, &clock); why != "" {
			return nil, &CurveError{line, why}
		}
	}
	return &c, nil
}

// add takes one row; why is empty when it could.
func (c *EquityCurve) add(row []byte, clock *clockReader) (why string) {
	var fields [6][]byte
	n := 0
	for more := true; more; n++ {
		if n == len(fields) {
			return "it has more fields than the header"
		}
		fields[n], row, more = bytes.Cut(row, []byte{','})
	}
	if n < len(fields) {
		return fmt.Sprintf("it has %d fields, the header %d", n, len(fields))
	}
	at, ok := clock.read(fields[0])
	if !ok {
		return fmt.Sprintf("%.40q is no time", fields[0])
	}
	if k := len(c.Time); k > 0 && at <= c.Time[k-1] {
		return fmt.Sprintf("%s is not after %s", at, c.Time[k-1])
	}
	c.Time = append(c.Time, at)
	for i, column := range []struct {
		name  string
		to    *[]float64
		empty bool // whether it may be
	}{
		{"equity", &c.Equity, false}, {"cash", &c.Cash, false}, {"position value", &c.PositionValue, false},
		{"drawdown", &c.Drawdown, true}, {"exposure", &c.Exposure, true},
	} {
		field := fields[i+1]
		x, err := strconv.ParseFloat(string(field), 64)
		switch {
		case column.empty && len(field) == 0:
			x = math.NaN()
		case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Sprintf("%.40q is no %s", field, column.name)
		}
		*column.to = append(*column.to, x)
	}
	return ""
}

// clockReader reads times like 2024-01-01T00:00:00.000Z and remembers the day, which
// most neighbours share.
type clockReader struct {
	day  [10]byte
	from market.Time
	set  bool
}

func (c *clockReader) read(b []byte) (market.Time, bool) {
	const form = "2006-01-02T15:04:05.000Z"
	if len(b) != len(form) || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return 0, false
	}
	if !c.set || string(c.day[:]) != string(b[:10]) {
		from, err := market.ParseTime(string(b[:10]))
		if err != nil {
			return 0, false
		}
		c.from, c.set = from, true
		copy(c.day[:], b)
	}
	hour, minute, second := digits(b[11:13]), digits(b[14:16]), digits(b[17:19])
	milli := digits(b[20:23])
	if min(hour, minute, second, milli) < 0 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	return c.from + market.Time(((hour*60+minute)*60+second)*1000+milli), true
}

// digits is a number without a sign, -1 if it is none.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
