package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"regexp"

	"github.com/assay-run/assay/host/artifact/table"
	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	mediaJSON  = "application/json"
	mediaJSONL = "application/jsonl"
	mediaCSV   = "text/csv"

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

// NewStore is the store at root, which is made when the first run is written.
func NewStore(root string) *Store { return &Store{root: root} }

// Root is the folder of all runs.
func (s *Store) Root() string { return s.root }

// Dir is the folder of a run.
func (s *Store) Dir(runID string) string { return filepath.Join(s.root, runID) }

// Written is a run as it has been stored.
type Written struct {
	Report   *Report
	Metadata *Metadata
	// Payload is the bytes of metadata.json.
	Payload []byte
	// JSON are the other JSON files by name, of a rehearsal alone: nothing else has them.
	JSON map[string][]byte
}

// Write stores a run that has ended; its Manifest must be complete. A folder of this
// id must not be there yet, but for one that Begin has made. After an error nothing is
// left behind that was not there.
func (s *Store) Write(run *Run) (*Written, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	if s.begun(run.ID) {
		return s.store(run, nil, s.Withdraw)
	}
	return s.store(run, nil, nil)
}

// store makes the folder of a run with the capsules of its earlier attempts. clear, if
// set, frees its place.
func (s *Store) store(run *Run, capsules map[string][]byte, clear func(runID string) error) (*Written, error) {
	st, err := newStage(s.root, run.ID, s.checkpoint)
	if err != nil {
		return nil, err
	}
	st.checkpoint.Reach("folder")
	var w *Written
	if err = st.carry(capsules); err == nil {
		w, err = st.fill(run)
	}
	if err == nil {
		err = st.publish(run.ID, clear)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("artifacts of %s: %w", run.ID, err), st.discard())
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

// fill writes every file.
func (st *stage) fill(run *Run) (*Written, error) {
	err := st.question(&run.Manifest)
	if err != nil {
		return nil, err
	}
	hashes := make([]string, len(run.Splits))
	for i := range run.Splits {
		if hashes[i], err = st.writeSplit(run, &run.Splits[i]); err != nil {
			return nil, err
		}
	}
	if err := st.writeLog(run.Splits); err != nil {
		return nil, err
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

// question writes what a run is asked: its request and its splits.
func (st *stage) question(m *Manifest) error {
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

// writeLog writes what the strategy said in each split, if it said anything.
func (st *stage) writeLog(splits []Split) error {
	var text []byte
	for i := range splits {
		text = append(text, splits[i].Log...)
	}
	if len(text) == 0 {
		return nil
	}
	return st.writeBytes(logName, mediaJSONL, text)
}

// writeSplit writes the files of one split and returns the hash of its decisions.
func (st *stage) writeSplit(run *Run, s *Split) (string, error) {
	dir := "splits/" + s.ID + "/"
	err := st.write(dir+"trades.csv", mediaCSV, func(w io.Writer) error { return table.WriteTrades(w, s.Results.Trades) })
	if err != nil {
		return "", err
	}
	equity := &s.Results.Equity
	if run.Compact {
		tf, err := market.ParseTimeframe(run.Manifest.Request.Timeframe)
		if err != nil {
			return "", err
		}
		equity = dayEnds(equity, tf)
	}
	err = st.write(dir+"equity_curve.csv", mediaCSV, func(w io.Writer) error { return table.WriteEquity(w, equity) })
	if err != nil {
		return "", err
	}
	if s.Locked {
		if err := st.writeLocked(dir+"metrics.json", s); err != nil {
			return "", err
		}
	}
	if run.Compact {
		return s.Results.DecisionHash, nil
	}
	lines := newLineHash()
	if s.Decisions != nil {
		err = st.write(dir+"decisions.jsonl", mediaJSONL, func(w io.Writer) error { return s.Decisions(io.MultiWriter(w, lines)) })
	}
	return lines.sum(), err
}

// dayEnds is an equity curve with its first row and the last of each UTC day, days taken
// from the opens of the candles as in metrics-v1.
func dayEnds(c *result.EquityCurve, tf market.Timeframe) *result.EquityCurve {
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
	out := &result.EquityCurve{}
	for _, i := range rows {
		out.Time = append(out.Time, c.Time[i])
		out.Equity, out.Cash = append(out.Equity, c.Equity[i]), append(out.Cash, c.Cash[i])
		out.PositionValue, out.Drawdown = append(out.PositionValue, c.PositionValue[i]), append(out.Drawdown, c.Drawdown[i])
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
	// The rest is what report.json says of splits that are not locked.
	WarmupOrdersDropped int            `json:"warmup_orders_dropped"`
	AmbiguousFills      int            `json:"ambiguous_fills"`
	OpenAtEnd           []OpenPosition `json:"open_at_end"`
	Assumptions         []result.Note  `json:"assumptions"`
	Warnings            []result.Note  `json:"warnings"`
}

func (st *stage) writeLocked(name string, s *Split) error {
	r := newSplitReport(s, SplitRange{ID: s.ID}, "")
	text, err := encode(LockedMetrics{
		SplitID: s.ID, Status: r.Status, Metrics: r.Metrics, Meta: r.Meta, WarmupOrdersDropped: r.WarmupOrdersDropped,
		AmbiguousFills: r.AmbiguousFills, OpenAtEnd: r.OpenAtEnd,
		Assumptions: append([]result.Note{}, s.Results.Assumptions...), Warnings: append([]result.Note{}, s.Results.Warnings...),
	})
	if err != nil {
		return err
	}
	return st.writeBytes(name, mediaJSON, text)
}

// lineHash hashes lines joined by newlines: the newline after the last one is left out.
type lineHash struct {
	h    hash.Hash
	held bool // a newline is waiting for a next line
}

func newLineHash() *lineHash { return &lineHash{h: sha256.New()} }

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
