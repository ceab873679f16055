package library

import (
	"context"
	"encoding/json"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Hashes name what went into a run and what came out.
type Hashes struct {
	Request  string   `json:"request"`
	Result   *string  `json:"result"`
	Decision *string  `json:"decision"`
	Data     []string `json:"data"`
}

// Split is one split of a run. Of a locked one status alone says something: metrics are null.
type Split struct {
	ID      string        `json:"split_id"`
	Role    string        `json:"role"`
	Start   market.Time   `json:"start"`
	End     market.Time   `json:"end"`
	Status  string        `json:"status"`
	Metrics metric.Values `json:"metrics"`
	Meta    *metric.Meta  `json:"metrics_meta"`
}

// Lineage is what a run comes from and what was made of it.
type Lineage struct {
	// Base is the run that a falsification is of, Plan the search that a trial is of.
	Base           *string  `json:"base"`
	Plan           *string  `json:"plan"`
	Falsifications []string `json:"falsifications"`
	// Candidates are the revisions that were packed with the run; this package does not know them.
	Candidates []string `json:"candidates"`
}

// Config is what was asked of a run. The cash is null where its files are gone.
type Config struct {
	StrategyName string          `json:"strategy_name"`
	Params       json.RawMessage `json:"strategy_params"`
	Symbols      []string        `json:"symbols"`
	Timeframe    string          `json:"timeframe"`
	Exchange     string          `json:"exchange"`
	StartDate    market.Time     `json:"start_date"`
	EndDate      market.Time     `json:"end_date"`
	InitialCash  json.RawMessage `json:"initial_cash"`
	Execution    json.RawMessage `json:"execution"`
	Seed         string          `json:"seed"`
}

// Run is one run, whole: its row and what its report has.
type Run struct {
	Row
	Config       Config                `json:"config"`
	Seed         string                `json:"seed"`
	Execution    json.RawMessage       `json:"execution"`
	Hashes       Hashes                `json:"hashes"`
	Splits       []Split               `json:"splits"`
	WalkForward  *artifact.WalkForward `json:"walk_forward"`
	Stress       []artifact.Stress     `json:"stress"`
	Overfitting  *artifact.Overfitting `json:"overfitting"`
	Assumptions  []artifact.Note       `json:"assumptions"`
	Error        *string               `json:"error"`
	ErrorDetails *artifact.FailureNote `json:"error_details"`
	Lineage      Lineage               `json:"lineage"`
	NoteVersion  int                   `json:"note_version"`
	// Imported is where the results of another engine come from, null for other runs.
	Imported *artifact.Imported `json:"imported"`
}

// Get returns one run.
func (l *Library) Get(ctx context.Context, runID string) (*Run, error) {
	e, all, err := l.find(ctx, runID)
	if err != nil {
		return nil, err
	}
	notes, err := l.runs.Overview().Notes(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := l.rows(ctx, []*entry{e}, all, notes)
	if err != nil {
		return nil, err
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return nil, err
	}
	m := e.meta
	r := &Run{Row: rows[0], Seed: m.Seed, Execution: m.Execution, Stress: []artifact.Stress{},
		Hashes: Hashes{m.RequestHash, m.ResultHash, m.DecisionHash, []string{}}, Splits: []Split{},
		Assumptions: []artifact.Note{}, NoteVersion: notes[runID].Version, Imported: m.Imported,
		Lineage: Lineage{Plan: m.PlanID, Falsifications: []string{}, Candidates: []string{}}}
	if len(r.Execution) == 0 {
		r.Execution = json.RawMessage("{}")
	}
	r.Config = Config{r.Strategy.Name, r.Params, r.Symbols, r.Timeframe, r.Exchange, m.StartDate, m.EndDate,
		e.details().cash, r.Execution, m.Seed}
	for _, d := range m.Data {
		r.Hashes.Data = append(r.Hashes.Data, d.SHA256)
	}
	if m.Failure != nil {
		r.Error, r.ErrorDetails = &m.Failure.Message, m.Failure
	}
	l.addReport(r, e, len(locked) == 0)
	before := map[string]*entry{}
	for _, other := range all {
		before[other.row.RunID] = other
		if other.row.Kind != artifact.KindFalsification || other == e {
			continue // the files of thousands of runs are not read for one
		}
		d := other.details()
		if d.attack != nil && e.isAttackedBy(d, before[d.attack.BaseRunID]) {
			r.Lineage.Falsifications = append(r.Lineage.Falsifications, other.row.RunID)
		}
	}
	return r, nil
}

// servicePlay names what a run of the service has played, which a falsification has the lab play again;
// it is empty of others.
func (e *entry) servicePlay() string {
	if e.row.Kind != artifact.KindService {
		return ""
	}
	return e.details().play
}

// isAttackedBy reports whether the details of another run are those of a falsification of this one, or of
// base where that is a run of the service played again.
func (e *entry) isAttackedBy(d *details, base *entry) bool {
	play := e.servicePlay()
	return d.attack.BaseRunID == e.row.RunID || play != "" && base != nil && base.details().play == play ||
		d.attack.BaseRequestHash != "" && d.attack.BaseRequestHash == e.row.RequestHash
}

// addReport adds what report.json has, and the locked metrics where they were revealed.
func (l *Library) addReport(r *Run, e *entry, revealed bool) {
	d := e.details()
	if d.attack != nil && d.attack.BaseRunID != "" {
		r.Lineage.Base = &d.attack.BaseRunID
	}
	rep := d.report
	if rep == nil {
		return
	}
	r.WalkForward, r.Overfitting = rep.WalkForward, rep.Overfitting
	r.Stress = append(r.Stress, rep.Stress...)
	r.Assumptions = append(r.Assumptions, rep.Assumptions...)
	for i := range rep.Splits {
		s := &rep.Splits[i]
		out := Split{ID: s.ID, Role: s.Role, Start: s.TSFrom, End: s.TSTo, Status: s.Status}
		switch {
		case s.Status != statusLocked:
			out.Metrics, out.Meta = s.Metrics, &s.Meta
		case revealed:
			var shown artifact.LockedMetrics
			text, err := l.store.Read(e.meta, "splits/"+s.ID+"/metrics.json")
			if err == nil && json.Unmarshal(text, &shown) == nil {
				out.Status, out.Metrics, out.Meta = shown.Status, shown.Metrics, &shown.Meta
			}
		}
		r.Splits = append(r.Splits, out)
	}
}
