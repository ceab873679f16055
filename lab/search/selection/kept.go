package selection

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/metric"
)

// KeptName is the file of a search, beside its plan, that has the trials whose folders are not kept.
const KeptName = "trials.columns"

// Kept is what a search keeps of a completed trial in the place of its folder: what its verdicts need, and
// the hashes that a folder which is made again is held against.
type Kept struct {
	Index                           int
	RunID, ResultHash, DecisionHash string
	// Splits are the windows in their order, WalkForward what they come to as one series.
	Splits      []artifact.SplitReport
	WalkForward *artifact.WalkForward
	// Daily is the stitched walk-forward, nil where there is none.
	Daily *Series
}

// KeptOf condenses a completed trial. Of the metrics of a window it keeps the objective.
func KeptOf(w *artifact.Written, objective string) (*Kept, error) {
	m, r := w.Metadata, &artifact.Report{}
	if m.TrialIndex == nil {
		return nil, fmt.Errorf("run %s is not a trial of a search", m.RunID)
	}
	// Numbers are those of the file, as of a trial that has a folder.
	if err := json.Unmarshal(w.JSON["report.json"], r); err != nil {
		return nil, fmt.Errorf("run %s: report.json: %w", m.RunID, err)
	}
	k := &Kept{Index: int(*m.TrialIndex), RunID: r.RunID, ResultHash: r.ResultHash,
		DecisionHash: r.DecisionHash, WalkForward: r.WalkForward}
	for i := range r.Splits {
		s := &r.Splits[i]
		short := artifact.SplitReport{ID: s.ID, Role: s.Role, Status: s.Status, DecisionHash: s.DecisionHash}
		short.Meta.Undefined = map[string]metric.Reason{} // as it is read back
		for _, v := range s.Metrics {
			if v.Key != objective {
				continue
			}
			if v.Reason = cmp.Or(s.Meta.Undefined[v.Key], v.Reason); v.Reason != "" {
				short.Meta.Undefined[v.Key] = v.Reason
			}
			short.Metrics = append(short.Metrics, v)
		}
		k.Splits = append(k.Splits, short)
	}
	curve := func(name string) ([]byte, error) {
		text, has := w.JSON[name]
		if !has {
			return nil, changed(m, name+" is missing")
		}
		return text, nil
	}
	var err error
	k.Daily, _, err = stitch(curve, m, curvesOf(m))
	return k, err
}

// Report is the trial as far as it is kept.
func (k *Kept) Report() *artifact.Report {
	return &artifact.Report{RunID: k.RunID, Kind: artifact.KindTrial, Status: artifact.StatusCompleted,
		Splits: k.Splits, WalkForward: k.WalkForward, DecisionHash: k.DecisionHash, ResultHash: k.ResultHash}
}

// before orders trials by index, those that were played on fewer windows first.
func (k *Kept) before(o *Kept) int {
	return cmp.Or(cmp.Compare(k.Index, o.Index), cmp.Compare(len(k.Splits), len(o.Splits)),
		strings.Compare(k.RunID, o.RunID))
}

// KeptFile is trials.columns of a search. While the search runs, each trial is appended as a block of its
// own in the order of their ends; Finish puts them in the order of their indices, many in a block. Processes
// that share a search share the file. Its methods may be called from several goroutines.
type KeptFile struct {
	dir string

	mu    sync.Mutex
	rows  map[string]*Kept // by run id; the last of several counts
	state os.FileInfo      // of the file as it was read last
	read  int64            // bytes of it that were read, all of them whole blocks
	ready bool             // it is as Finish leaves it
	known Decoder
}

// OpenKept reads the file in the folder of a search, which may be missing.
func OpenKept(dir string) (*KeptFile, error) {
	f := &KeptFile{dir: dir, rows: map[string]*Kept{}}
	return f, f.refresh()
}

func (f *KeptFile) path() string { return filepath.Join(f.dir, KeptName) }

// Find returns what is kept of a run, nil if that is nothing; another process may have added it just now.
func (f *KeptFile) Find(runID string) (*Kept, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.rows[runID]; k != nil {
		return k, nil
	}
	err := f.refresh()
	return f.rows[runID], err
}

// refresh reads what has come on since.
func (f *KeptFile) refresh() error {
	text, info, err := f.news()
	if errors.Is(err, fs.ErrNotExist) {
		f.rows, f.state, f.read, f.ready = map[string]*Kept{}, nil, 0, true
		return nil
	}
	if err != nil {
		return err
	}
	if f.state == nil || !os.SameFile(f.state, info) || info.Size() < f.read {
		f.rows, f.read, f.ready = map[string]*Kept{}, 0, true
	}
	f.state = info
	return f.take(text)
}

// news is what was not read yet.
func (f *KeptFile) news() (_ []byte, _ os.FileInfo, err error) {
	in, err := os.Open(f.path())
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return nil, nil, err
	}
	if f.state != nil && os.SameFile(f.state, info) && info.Size() >= f.read {
		_, err = in.Seek(f.read, io.SeekStart)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(in)
	return text, info, err
}

// take reads blocks up to the first that is not whole or not sound: what is behind it is played again.
func (f *KeptFile) take(text []byte) error {
	if f.read == 0 {
		rest, whole := bytes.CutPrefix(text, []byte(keptMagic))
		if !whole {
			f.ready = len(text) == 0
			if strings.HasPrefix(keptMagic, string(text)) {
				return nil // its writer was killed at its first bytes
			}
			return fmt.Errorf("%s does not begin with %s: it is of another version of lab, or damaged",
				f.path(), keptMagic)
		}
		f.read, text = int64(len(keptMagic)), rest
	}
	var last *Kept
	for len(text) > 0 {
		list, size, err := f.known.block(text)
		if err != nil {
			f.ready = false
			return nil
		}
		for _, k := range list {
			f.ready = f.ready && (last == nil || last.before(k) < 0)
			f.rows[k.RunID], last = k, k
		}
		text = text[size:]
		f.read += int64(size)
		f.ready = f.ready && (len(list) == keptRows || len(text) == 0)
	}
	return nil
}

// Add appends a trial. It is on the disk when Add returns nil. What a process that was killed has left of a
// block is cut off before.
func (f *KeptFile) Add(k *Kept) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := encodeKept([]*Kept{k})
	if err != nil {
		return err
	}
	lock, err := file.LockDir(f.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := f.refresh(); err != nil {
		return err
	}
	fresh := f.state == nil
	out, err := os.OpenFile(f.path(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(f.read); err != nil {
		return err
	}
	if f.read == 0 {
		body = append([]byte(keptMagic), body...)
	}
	if _, err := out.WriteAt(body, f.read); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if fresh {
		if err := file.SyncDir(f.dir); err != nil {
			return err
		}
	}
	if f.state, err = out.Stat(); err != nil {
		return err
	}
	f.read, f.ready, f.rows[k.RunID] = f.read+int64(len(body)), false, k
	return nil
}

// Finish leaves the same bytes in whatever order the trials were added.
func (f *KeptFile) Finish() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lock, err := file.LockDir(f.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := f.refresh(); err != nil || f.ready || len(f.rows) == 0 {
		return err
	}
	list := f.sorted()
	write := func(w io.Writer) error { return WriteKept(w, list) }
	if err := file.WriteFrom(f.path(), 0o600, write); err != nil {
		return err
	}
	info, err := os.Stat(f.path())
	if err == nil {
		f.state, f.read, f.ready = info, info.Size(), true
	}
	return err
}

func (f *KeptFile) sorted() []*Kept {
	list := make([]*Kept, 0, len(f.rows))
	for _, k := range f.rows {
		list = append(list, k)
	}
	slices.SortFunc(list, (*Kept).before)
	return list
}

// KeptDir is the folder of the search that a trial belongs to, "" for a run that is no trial.
func KeptDir(store *artifact.Store, m *artifact.Metadata) string {
	if m.Kind != artifact.KindTrial || m.PlanID == nil || !filepath.IsLocal(m.Slug) ||
		!filepath.IsLocal(*m.PlanID) {
		return ""
	}
	return filepath.Join(filepath.Dir(store.Root()), "families", m.Slug, *m.PlanID)
}

// KeptFiles finds what searches keep of their trials.
type KeptFiles struct {
	store *artifact.Store
	mu    sync.Mutex
	known map[string]*KeptFile // by folder
}

// NewKeptFiles returns the finder beside a store.
func NewKeptFiles(store *artifact.Store) *KeptFiles {
	return &KeptFiles{store: store, known: map[string]*KeptFile{}}
}

// Find returns what is kept of a run with the result that its row has; nil if that is nothing.
func (s *KeptFiles) Find(m *artifact.Metadata) (*Kept, error) {
	dir := KeptDir(s.store, m)
	if dir == "" || m.ResultHash == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.known[dir]
	if f == nil {
		var err error
		if f, err = OpenKept(dir); err != nil {
			return nil, err
		}
		s.known[dir] = f
	}
	k := f.rows[m.RunID]
	if k == nil || k.ResultHash != *m.ResultHash {
		return nil, nil
	}
	return k, nil
}
