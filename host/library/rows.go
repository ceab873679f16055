package library

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Query narrows and orders a list of runs. Empty fields mean everything.
type Query struct {
	Kind, Origin, Slug, Family, Status, Symbol, Timeframe, Tag string
	// Text is looked for in ids, names, tags and notes, whatever the case.
	Text string
	// From and To bound when runs ended, [From, To); 0 bounds nothing.
	From, To market.Time
	// Sort is one of Sorts, with - in front for descending.
	Sort string
	// Begin says which of the runs, given by their ids in their order, are shown: [from, to); nil shows all.
	Begin func(runIDs []string) (from, to int)
}

// Sorts returns the fields by which runs are ordered.
func Sorts() []string {
	return []string{"completed_at", "max_drawdown", "sharpe_ratio", "total_return", "total_trades"}
}

// Strategy names the program of a run; name and version are empty where its files are gone.
type Strategy struct {
	Name string `json:"name"`
	// DisplayName is left to who knows the programs of the catalogue.
	DisplayName string `json:"display_name"`
	Version     string `json:"version"`
	SHA256      string `json:"sha256"`
}

// Window is the time that a run covers.
type Window struct {
	Start market.Time `json:"start"`
	End   market.Time `json:"end"`
}

// The states of a Test.
const (
	TestNone   = "none"
	TestLocked = "locked"
	TestSeen   = "seen"
)

// Test is whether the locked test of a run was looked at, and how often.
type Test struct {
	State string `json:"state"`
	Looks int    `json:"looks"`
}

// Mark is the verdict of one test of a falsification. Of its classes, G refutes, W warns and D only
// describes; "" is one that was written without.
type Mark struct {
	ID      string `json:"id"`
	Class   string `json:"class"`
	Verdict string `json:"verdict"`
}

// Verdict is the newest completed falsification of a run.
type Verdict struct {
	RunID   string `json:"run_id"`
	Overall string `json:"overall"`
	Marks   []Mark `json:"marks"`
}

// Row is a run in a list: run-row.
type Row struct {
	RunID       string          `json:"run_id"`
	Kind        string          `json:"kind"`
	Origin      string          `json:"origin"`
	Mode        string          `json:"mode"`
	Slug        string          `json:"slug"`
	FamilyID    string          `json:"family_id"`
	PlanID      *string         `json:"plan_id"`
	TrialIndex  *int64          `json:"trial_index"`
	Status      string          `json:"status"`
	Partial     bool            `json:"partial"`
	Strategy    Strategy        `json:"strategy"`
	Params      json.RawMessage `json:"params"`
	Symbols     []string        `json:"symbols"`
	Timeframe   string          `json:"timeframe"`
	Exchange    string          `json:"exchange"`
	Window      Window          `json:"window"`
	StartedAt   market.Time     `json:"started_at"`
	CompletedAt market.Time     `json:"completed_at"`
	// Basis is what the summary is of: walk_forward or full.
	Basis     string            `json:"basis"`
	Summary   artifact.Headline `json:"summary"`
	Undefined []string          `json:"undefined"`
	// HoldingReturn is that of holding the first symbol over the basis, a fraction.
	HoldingReturn *float64        `json:"holding_return"`
	Trials        *registry.Place `json:"trials"`
	// DSR is the deflated Sharpe ratio of the search that found the run.
	DSR      *float64        `json:"dsr"`
	Test     Test            `json:"test"`
	Verdict  *Verdict        `json:"verdict"`
	Stage    string          `json:"stage"`
	Tags     []string        `json:"tags"`
	Note     string          `json:"note"`
	Warnings []artifact.Note `json:"warnings"`
}

// Page is a part of a list.
type Page struct {
	Rows []Row
	// Total counts what the whole list has.
	Total int
}

// List lists runs.
func (l *Library) List(ctx context.Context, q Query) (*Page, error) {
	all, err := l.all(ctx)
	if err != nil {
		return nil, err
	}
	notes, err := l.runs.Overview().Notes(ctx)
	if err != nil {
		return nil, err
	}
	var picked []*entry
	for _, e := range all {
		if q.matches(e, notes[e.row.RunID]) {
			picked = append(picked, e)
		}
	}
	sortEntries(picked, q.Sort)
	ids := make([]string, len(picked))
	for i, e := range picked {
		ids[i] = e.row.RunID
	}
	from, to := 0, len(ids)
	if q.Begin != nil {
		from, to = q.Begin(ids)
		from, to = min(from, len(ids)), min(to, len(ids))
	}
	page := &Page{Total: len(ids)}
	page.Rows, err = l.rows(ctx, picked[from:to], all, notes)
	return page, err
}

func (q *Query) matches(e *entry, n registry.Note) bool {
	m := e.meta
	for _, c := range [][2]string{{q.Kind, e.row.Kind}, {q.Origin, m.Volatile.Origin}, {q.Slug, e.row.Slug},
		{q.Family, e.row.FamilyID}, {q.Status, e.row.Status}, {q.Timeframe, m.Timeframe}} {
		if c[0] != "" && c[0] != c[1] {
			return false
		}
	}
	at := m.Volatile.CompletedAt
	if q.Symbol != "" && !slices.Contains(m.Symbols, q.Symbol) ||
		q.Tag != "" && !slices.Contains(n.Tags, q.Tag) ||
		q.From != 0 && at < q.From || q.To != 0 && (at == 0 || at >= q.To) {
		return false
	}
	if q.Text == "" {
		return true
	}
	text := strings.Join(append([]string{m.RunID, m.Slug, m.FamilyID, e.row.PlanID, m.Exchange, n.Text,
		strings.Join(m.Symbols, "\n")}, n.Tags...), "\n")
	return strings.Contains(strings.ToLower(text), strings.ToLower(q.Text))
}

// sortEntries orders runs. What has no such number comes last, equal ones newest first.
func sortEntries(list []*entry, by string) {
	key, down := strings.CutPrefix(cmp.Or(by, "-completed_at"), "-")
	value := func(e *entry) *float64 {
		if key == "completed_at" {
			at := float64(e.meta.Volatile.CompletedAt)
			return &at
		}
		return headline(&e.meta.Summary.Headline, key)
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(orderOf(value(a), value(b), down),
			cmp.Compare(b.meta.Volatile.CompletedAt, a.meta.Volatile.CompletedAt),
			cmp.Compare(a.row.RunID, b.row.RunID))
	})
}

// headline is a number of a summary by its name.
func headline(s *artifact.Headline, key string) *float64 {
	return map[string]*float64{"sharpe_ratio": s.SharpeRatio, "total_return": s.TotalReturn,
		"max_drawdown": s.MaxDrawdown, "total_trades": s.TotalTrades}[key]
}

// orderOf compares two numbers; one that is not there comes last.
func orderOf(x, y *float64, down bool) int {
	switch {
	case x != nil && y != nil && down:
		return cmp.Compare(*y, *x)
	case x != nil && y != nil:
		return cmp.Compare(*x, *y)
	case x != nil:
		return -1
	case y != nil:
		return 1
	}
	return 0
}

// rows shows entries, with what others have of them.
func (l *Library) rows(ctx context.Context, list, all []*entry,
	notes map[string]registry.Note) ([]Row, error) {
	looks, err := l.runs.Overview().Reveals(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.row.RunID
	}
	var places map[string]*registry.Place
	if l.lab != nil && len(ids) > 0 {
		if places, err = l.lab.Places(ctx, ids); err != nil {
			return nil, err
		}
	}
	verdicts := verdictsOf(all)
	out := make([]Row, 0, len(list))
	for _, e := range list {
		r := e.show()
		r.Trials = places[r.RunID]
		r.Test = e.test(looks[r.RunID])
		r.Verdict = cmp.Or(verdicts[r.RunID], verdicts[e.row.RequestHash], verdicts[e.servicePlay()])
		if n := notes[r.RunID]; n.RunID != "" {
			r.Note, r.Tags = n.Text, append(r.Tags, n.Tags...)
		}
		out = append(out, r)
	}
	return out, nil
}

func (e *entry) test(looks int) Test {
	switch {
	case len(e.lockable()) == 0:
		return Test{State: TestNone}
	case looks > 0:
		return Test{TestSeen, looks}
	}
	return Test{State: TestLocked}
}

// verdictsOf are the newest completed falsifications by the run, the request or the play they are of.
func verdictsOf(all []*entry) map[string]*Verdict {
	out, before := map[string]*Verdict{}, map[string]*entry{}
	for _, e := range all { // oldest first: the newest stays, and what is attacked is there before
		before[e.row.RunID] = e
		if e.row.Kind != artifact.KindFalsification || e.row.Status != artifact.StatusCompleted {
			continue
		}
		a := e.details().attack
		if a == nil {
			continue
		}
		v := &Verdict{RunID: e.row.RunID, Overall: a.Overall, Marks: append([]Mark{}, a.Tests...)}
		play := ""
		if base := before[a.BaseRunID]; base != nil {
			play = base.details().play
		}
		for _, key := range []string{a.BaseRunID, a.BaseRequestHash, play, e.row.RunID} {
			if key != "" {
				out[key] = v
			}
		}
	}
	return out
}

// show returns what a run's own files have for its row.
func (e *entry) show() Row {
	m, d := e.meta, e.details()
	s := m.Summary
	r := Row{RunID: m.RunID, Kind: e.row.Kind, Origin: m.Volatile.Origin, Slug: e.row.Slug,
		FamilyID: e.row.FamilyID, PlanID: m.PlanID, TrialIndex: m.TrialIndex, Status: e.row.Status,
		Strategy: Strategy{Name: d.name, Version: d.version, SHA256: m.Plugin.SHA256}, Params: m.Params,
		Symbols: append([]string{}, m.Symbols...), Timeframe: m.Timeframe, Exchange: m.Exchange,
		Window: Window{m.StartDate, m.EndDate}, StartedAt: m.Volatile.StartedAt,
		CompletedAt: m.Volatile.CompletedAt, Basis: artifact.FullSplitID, Undefined: []string{},
		Summary: s.Headline,
		Tags:    []string{}, Warnings: []artifact.Note{}}
	if len(r.Params) == 0 {
		r.Params = json.RawMessage("{}")
	}
	if m.Service != nil {
		r.Mode, r.Partial, r.Stage = m.Service.Mode, m.Service.Partial, m.Service.Stage
	}
	e.showReport(&r)
	for _, v := range []struct {
		key   string
		value *float64
	}{{"sharpe_ratio", s.SharpeRatio}, {"max_drawdown", s.MaxDrawdown}, {"total_trades", s.TotalTrades},
		{"win_rate", s.WinRate}, {"total_return", s.TotalReturn}} {
		if v.value == nil {
			r.Undefined = append(r.Undefined, v.key)
		}
	}
	return r
}

func (e *entry) showReport(r *Row) {
	rep := e.details().report
	if rep == nil {
		if slices.ContainsFunc(e.meta.Splits, func(s artifact.SplitSummary) bool {
			return s.Kind == basisWalkForward
		}) {
			r.Basis = basisWalkForward
		}
		return
	}
	holding := func(get func(string) (float64, bool)) {
		if x, defined := get("buy_hold_return"); defined {
			r.HoldingReturn = &x
		}
	}
	for _, s := range rep.Splits {
		if s.ID == artifact.FullSplitID && rep.WalkForward == nil {
			holding(s.Metrics.Get)
		}
	}
	if rep.WalkForward != nil {
		r.Basis = basisWalkForward
		holding(rep.WalkForward.Metrics.Get)
	}
	if rep.Overfitting != nil {
		if selection, ok := rep.Overfitting.Selection.(map[string]any); ok {
			if x, ok := selection["dsr_max"].(float64); ok {
				r.DSR = &x
			}
		}
	}
	for _, w := range rep.Warnings {
		r.Warnings = append(r.Warnings, artifact.Note{Code: w.Code, Message: w.Message})
	}
}

const basisWalkForward = "walk_forward"
