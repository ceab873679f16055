// Package artifact writes what a run has produced to <state_dir>/runs/<run_id>/ and
// proves later that nothing there has changed.
//
// A Run comes in: its Manifest (the question, with the exact inputs), and for every
// split the results. Out comes a folder:
//
//	request.json                   the question as canonical JSON; its SHA-256 is the request hash
//	splits.json                    which candles each split covers
//	splits/<id>/trades.csv         closed trades
//	splits/<id>/orders.csv         orders as they stood at the end, and
//	splits/<id>/fills.csv          their fills, both not of compact runs
//	splits/<id>/equity_curve.csv   one row per step close
//	splits/<id>/series.columns     what the strategy published, if anything, compressed; not of compact runs
//	splits/<id>/decisions.columns  one line per intent, rejection, order change and fill, compressed;
//	                               of runs on paper and live decisions.jsonl, as they are
//	log.jsonl                      the output of the strategy, if any; in no hash but that of the file
//	report.json                    metrics and hashes
//	capsules/<id>.json             failures; in no hash, and they outlive the attempt that failed
//	metadata.json                  the row of the registry: clocks, host facts, the hash of every other file
//
// Everything but metadata.json, log.jsonl and capsules depends on the request alone (and on the run id), so
// the same request gives the same bytes. A service run has one split, full; the
// lab's runs have several.
//
// The folder is made beside its place, synced and renamed: it is there as a whole or
// not at all. Verify hashes it again, and Store.Sweep finds what a crash left behind.
//
// The package may import digest, metric, result and the market nouns. It knows no
// database: package registry keeps the rows.
package artifact

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	mediaJSON  = "application/json"
	mediaJSONL = "application/jsonl"
	mediaCSV   = "text/csv"
	// mediaColumns is of files with a magic of their own.
	mediaColumns = "application/octet-stream"

	metadataName = "metadata.json"
	logName      = "log.jsonl"
	requestName  = "request.json"
	splitsName   = "splits.json"
	capsulesDir  = "capsules"
)

// Store is the folder of all runs, <state_dir>/runs.
type Store struct {
	root       string
	checkpoint failpoint.Hook // for tests
}

// NewStore returns the store at root, which is made when the first run is written.
func NewStore(root string) *Store { return &Store{root: root} }

// Root returns the folder of all runs.
func (s *Store) Root() string { return s.root }

// Dir returns the folder of a run.
func (s *Store) Dir(runID string) string { return filepath.Join(s.root, runID) }

// Written is a run as it has been stored.
type Written struct {
	Report   *Report
	Metadata *Metadata
	// Payload is the bytes of metadata.json.
	Payload []byte
	// JSON are the other JSON files, the equity curves and the comparison with holding by name,
	// of a rehearsal alone: nothing else has them.
	JSON map[string][]byte
}

// Write stores a run that has ended; its Manifest must be complete. A folder of this
// id must not be there yet, but for one that Begin has made. After an error nothing is
// left behind that was not there.
func (s *Store) Write(run *Run) (*Written, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	if s.hasOnlyRequest(run.ID) {
		return s.writeFolder(run, nil, s.Withdraw)
	}
	return s.writeFolder(run, nil, nil)
}

// writeFolder makes the folder of a run with the capsules of its earlier attempts. clear, if
// set, frees its place.
func (s *Store) writeFolder(run *Run, capsules map[string][]byte,
	clear func(runID string) error) (*Written, error) {
	st, err := newStage(s.root, run.ID, s.checkpoint)
	if err != nil {
		return nil, err
	}
	st.checkpoint.Reach("folder")
	var w *Written
	if err = st.writeCapsules(capsules); err == nil {
		w, err = st.writeFiles(run)
	}
	if err == nil {
		err = st.publish(run.ID, clear)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("artifacts of %s: %w", run.ID, err), st.removeFolder())
	}
	return w, nil
}

// runIDForm is what a run id looks like, here and in a bundle.
var runIDForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)

func (run *Run) check() error {
	if !runIDForm.MatchString(run.ID) {
		return fmt.Errorf("run id %q is not of the form %s", run.ID, runIDForm)
	}
	if run.Status != StatusCompleted && run.Status != StatusFailed {
		return fmt.Errorf("run %s: status %q is neither completed nor failed", run.ID, run.Status)
	}
	if run.Manifest.Request.Schema == "" {
		return fmt.Errorf("run %s: its manifest is not complete", run.ID)
	}
	seen := map[string]bool{}
	for i := range run.Splits {
		id := run.Splits[i].ID
		if !runIDForm.MatchString(id) || seen[id] {
			return fmt.Errorf("run %s: splits[%d]: id %q is bad or comes twice", run.ID, i, id)
		}
		if run.Splits[i].Results == nil {
			return fmt.Errorf("run %s: split %s has no results", run.ID, id)
		}
		seen[id] = true
	}
	return nil
}

// writeFiles writes every file.
func (st *stage) writeFiles(run *Run) (*Written, error) {
	err := st.writeRequest(&run.Manifest)
	if err != nil {
		return nil, err
	}
	hashes := make([]string, len(run.Splits))
	var log []byte
	for i := range run.Splits {
		if hashes[i], err = st.writeSplit(run, &run.Splits[i]); err != nil {
			return nil, err
		}
		log = append(log, run.Splits[i].Log...)
	}
	if len(log) > 0 {
		if err := st.writeBytes(logName, mediaJSONL, log); err != nil {
			return nil, err
		}
	}
	if run.Evaluation != nil {
		for _, f := range run.Evaluation.Files {
			if err := st.writeBytes(f.Name, f.MediaType, f.Content); err != nil {
				return nil, err
			}
		}
	}
	w := &Written{}
	if w.Report, err = newReport(run, st.files[0].SHA256, hashes); err != nil {
		return nil, err
	}
	report, err := encode(w.Report)
	if err != nil {
		return nil, err
	}
	if err := st.writeBytes("report.json", mediaJSON, report); err != nil {
		return nil, err
	}
	if w.Metadata, err = newMetadata(run, w.Report, st.files); err != nil {
		return nil, err
	}
	if w.Payload, err = w.Metadata.Encode(); err != nil {
		return nil, err
	}
	return w, st.writeBytes(metadataName, mediaJSON, w.Payload)
}

// writeRequest writes what a run is asked: its request and its splits.
func (st *stage) writeRequest(m *Manifest) error {
	request, err := m.Request.Canonical()
	if err != nil {
		return err
	}
	splits, err := m.Splits.Canonical()
	if err != nil {
		return err
	}
	if err := st.writeBytes(requestName, mediaJSON, request); err != nil {
		return err
	}
	return st.writeBytes(splitsName, mediaJSON, splits)
}

// writeSplit writes the files of one split and returns the hash of its decisions.
func (st *stage) writeSplit(run *Run, s *Split) (string, error) {
	dir := "splits/" + s.ID + "/"
	equity := &s.Results.Equity
	if run.Compact {
		tf, err := market.ParseTimeframe(run.Manifest.Request.Timeframe)
		if err != nil {
			return "", err
		}
		equity = dayEnds(equity, tf)
	}
	files := []content{
		{dir + TradesFile, mediaCSV, func(w io.Writer) error { return WriteTrades(w, s.Results.Trades) }},
		{dir + "equity_curve.csv", mediaCSV, func(w io.Writer) error { return WriteEquity(w, equity) }},
	}
	if s.Locked {
		text, err := lockedMetrics(s)
		if err != nil {
			return "", err
		}
		files = append(files, content{dir + "metrics.json", mediaJSON, fixed(text)})
	}
	if run.Compact {
		return s.Results.DecisionHash, st.writeAll(files)
	}
	files = append(files,
		content{dir + OrdersFile, mediaCSV, func(w io.Writer) error {
			return WriteOrders(w, s.Results.Orders)
		}},
		content{dir + FillsFile, mediaCSV, func(w io.Writer) error {
			return WriteFills(w, s.Results.Fills)
		}})
	if published := s.Published.inside(s.Results.Window.Start); len(published.Annotations) > 0 {
		files = append(files, content{dir + SeriesFile, mediaColumns, func(w io.Writer) error {
			return WriteSeries(w, published)
		}})
	}
	lines := &lineHash{h: sha256.New()}
	if s.Decisions != nil {
		files = append(files, decisionsOf(dir, run, s, lines))
	}
	err := st.writeAll(files)
	return lines.sum(), err
}

// decisionsOf are the decision lines of a split, which are hashed on the way.
func decisionsOf(dir string, run *Run, s *Split, lines *lineHash) content {
	if run.Manifest.Request.Mode != "" { // a worker of an earlier version compares it
		return content{dir + DecisionLinesFile, mediaJSONL, func(w io.Writer) error {
			return s.Decisions(io.MultiWriter(w, lines))
		}}
	}
	return content{dir + DecisionsFile, mediaColumns, func(w io.Writer) error {
		d, err := NewDecisionsWriter(w)
		if err != nil {
			return err
		}
		return errors.Join(s.Decisions(io.MultiWriter(d, lines)), d.Close())
	}}
}

// dayEnds returns an equity curve with its first row and the last of each UTC day, days taken
// from the opens of the candles as in metrics-v1.
func dayEnds(c *EquityCurve, tf market.Timeframe) *EquityCurve {
	if len(c.Time) == 0 || tf.Duration() == 0 { // a candle of months is longer than a day
		return c
	}
	opens := make([]market.Time, len(c.Time))
	for i, t := range c.Time {
		opens[i] = t.Add(-tf.Duration())
	}
	rows := metric.DayEnds(opens)
	if rows[0] != 0 {
		rows = append([]int{0}, rows...)
	}
	out := &EquityCurve{}
	for _, i := range rows {
		out.Time = append(out.Time, c.Time[i])
		out.Equity, out.Cash = append(out.Equity, c.Equity[i]), append(out.Cash, c.Cash[i])
		out.PositionValue, out.Drawdown = append(out.PositionValue, c.PositionValue[i]),
			append(out.Drawdown, c.Drawdown[i])
		out.Exposure = append(out.Exposure, c.Exposure[i])
	}
	return out
}

// LockedMetrics is splits/<id>/metrics.json of a locked split.
type LockedMetrics struct {
	SplitID string        `json:"split_id"`
	Status  string        `json:"status"`
	Metrics metric.Values `json:"metrics"`
	Meta    metric.Meta   `json:"metrics_meta"`
	// The rest is what report.json has of splits that are not locked.
	WarmupOrdersDropped int            `json:"warmup_orders_dropped"`
	AmbiguousFills      int            `json:"ambiguous_fills"`
	OpenAtEnd           []OpenPosition `json:"open_at_end"`
	Assumptions         []Note         `json:"assumptions"`
	Warnings            []Note         `json:"warnings"`
}

// lockedMetrics is the content of splits/<id>/metrics.json.
func lockedMetrics(s *Split) ([]byte, error) {
	r := newSplitReport(s, SplitRange{ID: s.ID}, "")
	return encode(LockedMetrics{
		SplitID: s.ID, Status: r.Status, Metrics: r.Metrics, Meta: r.Meta,
		WarmupOrdersDropped: r.WarmupOrdersDropped,
		AmbiguousFills:      r.AmbiguousFills, OpenAtEnd: r.OpenAtEnd,
		Assumptions: append([]Note{}, s.Results.Assumptions...),
		Warnings:    append([]Note{}, s.Results.Warnings...),
	})
}

// lineHash hashes lines joined by newlines: the newline after the last one is left out.
type lineHash struct {
	h    hash.Hash
	held bool // a newline is waiting for a next line
}

func (l *lineHash) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if l.held {
		l.h.Write([]byte{'\n'})
	}
	body, ends := bytes.CutSuffix(b, []byte{'\n'})
	l.held = ends
	l.h.Write(body)
	return len(b), nil
}

func (l *lineHash) sum() string { return hex.EncodeToString(l.h.Sum(nil)) }

const (
	orphanDir = ".orphan"
	dirMode   = 0o700
	fileMode  = 0o600

	// writeBuffer is how much of a file is gathered before it is written and hashed.
	writeBuffer = 64 << 10
)

// stage is a folder in the making, beside the place that it will have.
type stage struct {
	root, dir string
	// lock is held until the folder has its place, so that a sweep can distinguish a folder in
	// the making from what a crash left behind.
	lock  *file.Lock
	dirs  map[string]bool // folders made inside dir
	files []File
	// checkpoint is called after each step that changes the disk.
	checkpoint failpoint.Hook
	// needed reports whether nothing else has what is in the folder: it outlives an error.
	needed bool
	// kept has the contents of a rehearsal, which has no folder; nil of a folder.
	kept map[string][]byte
}

func newStage(root, runID string, checkpoint failpoint.Hook) (*stage, error) {
	if err := os.MkdirAll(root, dirMode); err != nil {
		return nil, err
	}
	// Held while the folder has no lock of its own yet.
	gate, err := file.LockDir(root)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	dir, err := os.MkdirTemp(root, file.TempPrefix+runID+"-")
	if err != nil {
		return nil, err
	}
	lock, err := file.LockDir(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &stage{root: root, dir: dir, lock: lock, dirs: map[string]bool{}, checkpoint: checkpoint}, nil
}

// content is a file to be written.
type content struct {
	name, mediaType string
	write           func(io.Writer) error
}

// fixed writes bytes that are there.
func fixed(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// write makes one file.
func (s *stage) write(name, mediaType string, write func(io.Writer) error) error {
	return s.writeAll([]content{{name, mediaType, write}})
}

func (s *stage) writeBytes(name, mediaType string, b []byte) error {
	return s.write(name, mediaType, fixed(b))
}

// writeAll makes files, as many at a time as there are processors: some compress, and all wait for the disk.
// They are listed in the order in which they are given.
func (s *stage) writeAll(list []content) error {
	if s.kept != nil {
		return s.rehearse(list)
	}
	for _, c := range list {
		if err := s.mkdir(path.Dir(c.name)); err != nil {
			return err
		}
	}
	files, failed := make([]File, len(list)), make([]error, len(list))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(list), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				files[i], failed[i] = s.writeFile(list[i])
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, f := range files {
		s.files = append(s.files, f)
		s.checkpoint.Reach(f.Name)
	}
	return nil
}

// writeFile makes one file, hashes it on the way and waits until it is on the disk.
func (s *stage) writeFile(c content) (File, error) {
	made := File{Name: c.name, MediaType: c.mediaType}
	f, err := os.OpenFile(filepath.Join(s.dir, filepath.FromSlash(c.name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL,
		fileMode)
	if err != nil {
		return made, err
	}
	h := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(f, h), writeBuffer)
	err = c.write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		made.Size, err = f.Seek(0, io.SeekCurrent)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return made, fmt.Errorf("%s: %w", c.name, err)
	}
	made.SHA256 = hex.EncodeToString(h.Sum(nil))
	return made, nil
}

func (s *stage) mkdir(name string) error {
	if name == "." || s.dirs[name] {
		return nil
	}
	if err := s.mkdir(path.Dir(name)); err != nil {
		return err
	}
	s.dirs[name] = true
	return os.Mkdir(filepath.Join(s.dir, filepath.FromSlash(name)), dirMode)
}

// writeCapsules writes the capsules of earlier attempts. They are no files of the run, so that
// no hash has them.
func (s *stage) writeCapsules(capsules map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(capsules)) {
		if err := s.writeBytes(capsulesDir+"/"+name, mediaJSON, capsules[name]); err != nil {
			return err
		}
	}
	s.files = nil
	return nil
}

// publish puts the folder in its place, which clear, if set, frees at the last moment.
func (s *stage) publish(runID string, clear func(runID string) error) error {
	for name := range s.dirs {
		if err := file.SyncDir(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	if err := file.SyncDir(s.dir); err != nil {
		return err
	}
	if err := file.SyncDir(s.root); err != nil {
		return err
	}
	s.checkpoint.Reach("synced")
	if clear != nil {
		s.needed = true
		if err := clear(runID); err != nil {
			return err
		}
		s.checkpoint.Reach("cleared")
	}
	if err := file.MoveDir(s.dir, filepath.Join(s.root, runID)); err != nil {
		return err
	}
	s.checkpoint.Reach("renamed")
	return s.lock.Release()
}

// removeFolder removes the folder after an error, unless the next sweep may need it.
func (s *stage) removeFolder() error {
	if s.needed {
		return s.lock.Release()
	}
	return errors.Join(os.RemoveAll(s.dir), s.lock.Release())
}
