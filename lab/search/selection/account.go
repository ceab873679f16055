package selection

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/lab/stat/deflate"
)

// Why a run counts as a trial, adds nothing to one that counts, or does not count.
const (
	// WhyOwnReturns is a trial whose daily returns correlate with those of no other by more
	// than 0.999.
	WhyOwnReturns = "own_returns"
	// WhyOwnDecisions is a trial without enough daily returns that decided as no other did.
	WhyOwnDecisions = "own_decisions"
	// WhyReplayed is a replay of param_neighbourhood, of which one was tried afterwards.
	WhyReplayed = "neighbour_was_tried"

	// WhySameKey, WhySameReturns and WhySameDecisions add nothing to the trial that they name.
	WhySameKey       = "same_trial"
	WhySameReturns   = "same_returns"
	WhySameDecisions = "same_decisions"

	// The rest is no trial.
	WhyOtherDays     = "other_days"
	WhyFalsification = "falsification"
	WhyVenue         = "paper_or_live"
	WhyImported      = "imported"
	WhyRunning       = "running"
	WhyWithoutResult = "without_result"
	WhyLegacy        = "legacy"
)

// Entry is one run of the registry, or one replay that counts, as `lab trials` shows it.
type Entry struct {
	// Trial is the number of the trial that it is or belongs to, from 1 on in the order in
	// which they ended; 0 for what is no trial on these days.
	Trial int `json:"trial"`
	// Counts reports whether it is one of the N, or only another record of one.
	Counts bool `json:"counts"`
	// Why is one of the constants; Of is the run that a record adds nothing to.
	Why string `json:"why"`
	Of  string `json:"of"`

	RunID     string   `json:"run_id"`
	Slug      string   `json:"slug"`
	FamilyID  string   `json:"family_id"`
	Kind      string   `json:"kind"`
	Exchange  string   `json:"exchange"`
	Symbols   []string `json:"symbols"`
	Timeframe string   `json:"timeframe"`
	// From and To are the days of its candles, CompletedAt when it ended; all "" where there
	// is none.
	From        string          `json:"from"`
	To          string          `json:"to"`
	CompletedAt string          `json:"completed_at"`
	Params      json.RawMessage `json:"params"`
}

// Account lists every run of a registry with why it counts on some days, or does not: the
// trials in the order in which they ended, each with its other records behind it, then what
// is no trial there. The number of entries that count is that of Count.
func (b *Book) Account(ctx context.Context, reg *registry.Registry, d Days) ([]Entry, error) {
	rows, err := reg.ListMetadata(ctx, registry.Filter{})
	if err != nil {
		return nil, err
	}
	known := map[string]*Entry{}
	for _, row := range rows {
		known[row.RunID] = entryOf(row)
	}
	classes := slices.Clone(b.On(d))
	for _, c := range classes {
		slices.SortFunc(c.Members, inTime)
	}
	slices.SortFunc(classes, func(x, y *Class) int { return inTime(x.Members[0], y.Members[0]) })
	var out []Entry
	listed := map[string]bool{}
	for n, c := range classes {
		for i, m := range c.Members {
			e := memberEntry(m, known)
			e.Trial, e.Counts, e.Why = n+1, i == 0, m.why()
			if i > 0 {
				e.Why, e.Of = m.beside(c.Members[0]), c.Members[0].RunID
			}
			if m.Meta != nil {
				listed[m.RunID] = true
			}
			out = append(out, e)
		}
	}
	for _, row := range rows {
		if e := known[row.RunID]; !listed[row.RunID] {
			e.Why = b.whyNot(row)
			out = append(out, *e)
		}
	}
	return out, nil
}

// why is the reason for which the first member of a class counts.
func (m *Member) why() string {
	switch {
	case m.Meta == nil:
		return WhyReplayed
	case m.Series != nil && len(m.Series.Return) >= deflate.LeastShared:
		return WhyOwnReturns
	}
	return WhyOwnDecisions
}

// beside is the reason for which a member adds nothing to the first of its class.
func (m *Member) beside(first *Member) string {
	switch {
	case m.Key == first.Key:
		return WhySameKey
	case m.joined == WhySameDecisions || first.joined == WhySameDecisions:
		return WhySameDecisions
	}
	return WhySameReturns
}

func entryOf(row registry.Run) *Entry {
	e := &Entry{RunID: row.RunID, Slug: row.Slug, FamilyID: row.FamilyID, Kind: row.Kind,
		CompletedAt: row.CompletedAt, Symbols: []string{}, Params: json.RawMessage("{}")}
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil { // a legacy payload may be anything
		return e
	}
	e.Exchange, e.Timeframe = m.Exchange, m.Timeframe
	e.Symbols = append(e.Symbols, m.Symbols...)
	if json.Valid(m.Params) && strings.HasPrefix(strings.TrimSpace(string(m.Params)), "{") {
		e.Params = m.Params
	}
	if days := DaysOf(m.Data); days.To > 0 {
		e.From, e.To = days.From.String(), days.To.String()
	}
	return e
}

// memberEntry is the entry of a run, or of one replay of a falsification.
func memberEntry(m *Member, known map[string]*Entry) Entry {
	e := Entry{RunID: m.RunID, FamilyID: m.FamilyID, Symbols: []string{}, Params: json.RawMessage("{}")}
	if row := known[m.RunID]; row != nil {
		e = *row
	}
	if m.Meta == nil {
		e.Kind, e.CompletedAt, e.Params = "replay", m.CompletedAt, json.RawMessage("{}")
	}
	return e
}

// whyNot is the reason for which a run is no trial on the days in request.
func (b *Book) whyNot(row registry.Run) string {
	switch {
	case b.of[row.RunID] != nil:
		return WhyOtherDays
	case row.Kind == registry.KindLegacy:
		return WhyLegacy
	case row.Kind == artifact.KindFalsification:
		return WhyFalsification
	case row.Kind == artifact.KindImported:
		return WhyImported
	case row.Status == artifact.StatusRunning:
		return WhyRunning
	}
	m, err := artifact.DecodeMetadata(row.Payload)
	if err == nil && m.Service != nil && m.Service.Mode != runner.ModeBacktest {
		return WhyVenue
	}
	return WhyWithoutResult
}

// Sentence is why an entry counts, or does not, in words.
func (e *Entry) Sentence() string {
	switch e.Why {
	case WhyOwnReturns:
		return "counts: no other trial has its daily returns"
	case WhyOwnDecisions:
		return "counts: no other trial has its decisions"
	case WhyReplayed:
		return "counts: parameters beside it were tried after this falsification"
	case WhySameKey:
		return "same trial as " + e.Of
	case WhySameReturns:
		return "same daily returns as " + e.Of
	case WhySameDecisions:
		return "same decisions as " + e.Of
	case WhyOtherDays:
		return "not counted: on other days"
	case WhyFalsification:
		return "not counted: replays of a falsification"
	case WhyVenue:
		return "not counted: paper or live"
	case WhyImported:
		return "not counted: results of another engine"
	case WhyRunning:
		return "not counted: still running"
	case WhyLegacy:
		return "not counted: from before the registry"
	case WhyWithoutResult:
		return "not counted: ended without a result"
	}
	return fmt.Sprintf("%s of %s", e.Why, e.Of)
}
