// Package library is what can be read of runs, by whatever program they were made: the rows of
// the registry and the files of their folders.
//
// Reading changes nothing. What a run keeps locked, the splits with the role test of a run of
// the lab, is in no answer: neither its metrics, curve, trades and files, nor the hash and size of
// those, nor the log, which speaks of it. [Library.Reveal] notes who looks and why; from then on
// it is shown. A file is read only by a name that metadata.json lists, below an os.Root, and
// only if it has the hash that is listed there.
//
// A Library keeps what it has read of metadata.json, so a list of any length costs a handful of
// queries, however many runs there are. It imports registry and artifact.
package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Lab is what only the lab knows of what it has made.
type Lab interface {
	// Places counts the trials among which runs were found; runs that are no trial are left out.
	Places(ctx context.Context, runIDs []string) (map[string]*registry.Place, error)
	// Sentence words a test of falsify/summary.json, whatever its verdict.
	Sentence(test json.RawMessage) (string, error)
}

// Library reads runs. It may be used by several goroutines.
type Library struct {
	store *artifact.Store
	runs  *registry.Registry
	lab   Lab

	mu    sync.Mutex
	known map[string]*entry
	// trials counts those of plans, by their ids.
	trials map[string]int
}

// entry is a run as it was last read. It is never changed once it is known.
type entry struct {
	mark    registry.Mark
	row     registry.Run
	meta    *artifact.Metadata
	details func() *details
}

// details are what rows show that stands in files of the folder; all empty where there are none.
type details struct {
	name, version string
	cash          json.RawMessage // null where it is not known
	play          string
	report        *artifact.Report
	splits        []artifact.SplitRange
	attack        *attack
}

// attack is what report.json has of a falsification.
type attack struct {
	BaseRunID       string   `json:"base_run_id"`
	BaseRequestHash string   `json:"base_request_hash"`
	Overall         string   `json:"overall"`
	Refuted         []string `json:"refuted"`
	Tests           []Mark   `json:"tests"`
}

// New makes a library of a registry and its store. Without a lab, nil, there are no places and no sentences.
func New(store *artifact.Store, runs *registry.Registry, lab Lab) *Library {
	return &Library{store: store, runs: runs, lab: lab, known: map[string]*entry{},
		trials: map[string]int{}}
}

// NotFoundError is about something that is not there.
type NotFoundError struct{ Kind, ID string }

// The codes that programs share.
const (
	CodeRunNotFound      = "RUN_NOT_FOUND"
	CodeArtifactMismatch = "ARTIFACT_MISMATCH"
	CodeRunCompact       = "RUN_COMPACT"
	// CodeHypothesisRequired refuses a search without a hypothesis.
	CodeHypothesisRequired = "HYPOTHESIS_REQUIRED"
)

// The kinds of a NotFoundError.
const (
	KindRun       = "run"
	KindFile      = "file"
	KindSplit     = "split"
	KindFamily    = "family"
	KindCandidate = "candidate"
)

// RefusedError is about a question that makes no sense, by the name of the parameter.
type RefusedError struct{ Name, Message string }

// Error is the message.
func (e *RefusedError) Error() string { return e.Name + " " + e.Message }

// Error names what is missing.
func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no %s %.120q", e.Kind, e.ID) }

// LockedError is about something that a run keeps locked.
type LockedError struct{ RunID, What string }

// Error names it.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s of run %s is locked until somebody reveals it", e.What, e.RunID)
}

// CompactError is about a run that keeps no such files.
type CompactError struct{ RunID string }

// Error names the run.
func (e *CompactError) Error() string {
	return fmt.Sprintf("run %s keeps no such table", e.RunID)
}

// kept is an error of the store: a trial that has no folder keeps no files.
func kept(err error) error {
	if none, ok := errors.AsType[*artifact.FolderError](err); ok {
		return &CompactError{none.RunID}
	}
	return err
}

// all are the runs in the order of the registry, oldest first; those that changed are read again.
func (l *Library) all(ctx context.Context) ([]*entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	marks, err := l.runs.Overview().Marks(ctx)
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, m := range marks {
		if e := l.known[m.RunID]; e == nil || e.mark != m {
			changed = append(changed, m.RunID)
		}
	}
	fresh := map[string]registry.Run{}
	if len(changed) > 0 {
		rows, err := l.runs.Overview().Runs(ctx, changed)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			fresh[row.RunID] = row
		}
	}
	known, list := make(map[string]*entry, len(marks)), make([]*entry, 0, len(marks))
	for _, m := range marks {
		e := l.known[m.RunID]
		if row, ok := fresh[m.RunID]; ok {
			e = l.enter(m, row)
		}
		if e == nil { // its row is gone, or cannot be read
			continue
		}
		known[m.RunID] = e
		list = append(list, e)
	}
	l.known = known
	return list, nil
}

// enter reads a row; nil if its metadata cannot be read.
func (l *Library) enter(m registry.Mark, row registry.Run) *entry {
	e := &entry{mark: m, row: row, meta: &artifact.Metadata{}}
	if json.Unmarshal(row.Payload, e.meta) != nil || e.meta.RunID != row.RunID {
		return nil
	}
	e.row.Payload = nil
	e.details = sync.OnceValue(func() *details { return l.readDetails(e.meta) })
	return e
}

// readDetails reads the small files of a run. What is missing or was changed is left out: the
// operations on files name it.
func (l *Library) readDetails(m *artifact.Metadata) *details {
	d := &details{cash: json.RawMessage("null")}
	var request artifact.Request
	if text, err := l.store.Read(m, "request.json"); err == nil && json.Unmarshal(text, &request) == nil {
		d.name, d.play = request.StrategyName, playOf(request)
		if len(request.InitialCash) > 0 {
			d.cash = request.InitialCash
		}
	}
	var report artifact.Report
	if text, err := l.store.Read(m, "report.json"); err == nil && json.Unmarshal(text, &report) == nil {
		d.report, d.name, d.version = &report, report.Strategy.Name, report.Strategy.Version
		d.attack = attackOf(&report)
	}
	var splits artifact.Splits
	if text, err := l.store.Read(m, "splits.json"); err == nil && json.Unmarshal(text, &splits) == nil {
		d.splits = splits.Splits
	}
	return d
}

// playOf names what a request has played, without how it was judged: a backtest of the service and the
// run that the lab makes of it to attack it differ in that only. It is empty where it has no name.
func playOf(r artifact.Request) string {
	r.Kind, r.Splits, r.Stress, r.Falsification, r.TrainedUntil = "", artifact.SplitsRef{}, nil, nil, nil
	r.Inputs.Engine = artifact.EngineRef{}
	r.Inputs.Data = slices.Clone(r.Inputs.Data)
	for i := range r.Inputs.Data { // with warm-up or without it
		r.Inputs.Data[i].Start, r.Inputs.Data[i].End = 0, 0
	}
	text, err := r.Canonical()
	if err != nil {
		return ""
	}
	return string(text)
}

func attackOf(r *artifact.Report) *attack {
	if r.Falsification == nil {
		return nil
	}
	a := &attack{}
	text, err := json.Marshal(r.Falsification)
	if err != nil || json.Unmarshal(text, a) != nil {
		return nil
	}
	return a
}

// find returns one run with everything that is known of others.
func (l *Library) find(ctx context.Context, runID string) (*entry, []*entry, error) {
	all, err := l.all(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range all {
		if e.row.RunID == runID {
			return e, all, nil
		}
	}
	return nil, nil, &NotFoundError{KindRun, runID}
}

// RoleTest is the role of the splits that the lab keeps locked.
const RoleTest = "test"

// lockable lists the splits of a run that stay locked until somebody looks.
func (e *entry) lockable() []string {
	if e.meta.Volatile.Origin != artifact.OriginLab && e.row.Kind != artifact.KindRun &&
		e.row.Kind != artifact.KindTrial && e.row.Kind != artifact.KindFalsification {
		return nil
	}
	var ids []string
	d := e.details()
	for _, s := range d.splits {
		if s.Role == RoleTest {
			ids = append(ids, s.ID)
		}
	}
	if d.report != nil {
		for _, s := range d.report.Splits {
			if (s.Status == statusLocked || s.Role == RoleTest) && !slices.Contains(ids, s.ID) {
				ids = append(ids, s.ID)
			}
		}
	}
	// Where the small files are gone, the files of a split that has this name stay shut. A trial has none.
	if len(d.splits) == 0 && e.row.Kind != artifact.KindTrial {
		ids = append(ids, RoleTest)
	}
	return ids
}

const statusLocked = "locked"

// locked are the splits of a run that are locked now.
func (l *Library) locked(ctx context.Context, e *entry) ([]string, error) {
	ids := e.lockable()
	if len(ids) == 0 {
		return nil, nil
	}
	looks, err := l.runs.Overview().Reveals(ctx)
	if err != nil || looks[e.row.RunID] > 0 {
		return nil, err
	}
	return ids, nil
}

// LockedFrom returns the close of the first candle that a run keeps locked, 0 where it keeps none: prices
// from there on are what a search on the shown ones must not have seen.
func (l *Library) LockedFrom(ctx context.Context, runID string) (market.Time, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return 0, err
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return 0, err
	}
	from := market.Time(0)
	for _, s := range e.details().splits {
		if slices.Contains(locked, s.ID) && (from == 0 || s.TSFrom < from) {
			from = s.TSFrom
		}
	}
	return from, nil
}

// Reveal notes a look at the locked splits of a run, with its reason, before it returns. It
// reports whether the run has any.
func (l *Library) Reveal(ctx context.Context, runID, author, reason string) (bool, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil || len(e.lockable()) == 0 {
		return false, err
	}
	return true, l.runs.Peek(ctx, registry.Peek{RunID: runID, FamilyID: e.row.FamilyID,
		Command: "reveal", Author: author, Reason: reason})
}

// SetNote replaces the note of a run; errors as those of registry.Overview.SetNote.
func (l *Library) SetNote(ctx context.Context, n registry.Note) (registry.Note, error) {
	if _, _, err := l.find(ctx, n.RunID); err != nil {
		return n, err
	}
	return l.runs.Overview().SetNote(ctx, n)
}

// Note returns the note of a run.
func (l *Library) Note(ctx context.Context, runID string) (registry.Note, error) {
	if _, _, err := l.find(ctx, runID); err != nil {
		return registry.Note{}, err
	}
	notes, err := l.runs.Overview().Notes(ctx)
	n := notes[runID]
	n.RunID = runID
	return n, err
}
