package library

import (
	"context"
	"encoding/json"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// Family is a registered search in a list.
type Family struct {
	PlanID       string `json:"plan_id"`
	PlanHash     string `json:"plan_hash"`
	Slug         string `json:"slug"`
	FamilyID     string `json:"family_id"`
	Author       string `json:"author"`
	RegisteredAt string `json:"registered_at"`
	Amends       string `json:"amends"`
	// Done counts the trials that have ended, Failed those of them that failed.
	Done   int `json:"done"`
	Failed int `json:"failed"`
	// Progress is what the search itself says of how far it is: nil in lists and before it has begun.
	Progress *Progress `json:"progress"`
	// Plan is the plan as it was registered, null in lists.
	Plan json.RawMessage `json:"plan"`
	// Result is what the search has come to, as the lab keeps it: null in lists and before its end.
	Result json.RawMessage `json:"result"`
	// Luck is what the best trial would reach without any skill, null in lists and where it is not known.
	Luck *Luck `json:"luck"`
	// ResultDamage says why a result that was written cannot be shown, else it is empty.
	ResultDamage string `json:"result_damage"`
}

// Progress is how far a search is. ETASeconds is nil until enough trials have ended, and of a search
// that does not go on.
type Progress struct {
	Done       int    `json:"done"`
	Total      int    `json:"total"`
	Failed     int    `json:"failed"`
	ETASeconds *int64 `json:"eta_seconds"`
}

// Luck is where the best of so many independent trials is expected when none has any skill: an annual
// Sharpe ratio.
type Luck struct {
	ExpectedMax float64 `json:"expected_max"`
	Trials      float64 `json:"trials"`
}

// FamilyTrial is one trial of a search.
type FamilyTrial struct {
	Index   int64             `json:"index"`
	RunID   string            `json:"run_id"`
	Params  json.RawMessage   `json:"params"`
	Status  string            `json:"status"`
	Metrics artifact.Headline `json:"metrics"`
}

// Families lists registered searches, newest first; slug "" means of every strategy.
func (l *Library) Families(ctx context.Context, slug string) ([]Family, error) {
	all, err := l.all(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := l.runs.Overview().Plans(ctx)
	out := []Family{}
	for i := len(plans) - 1; i >= 0; i-- {
		if slug == "" || plans[i].Slug == slug {
			f := familyOf(&plans[i], all)
			f.Plan = json.RawMessage("null")
			out = append(out, f)
		}
	}
	return out, err
}

func familyOf(p *registry.Plan, all []*entry) Family {
	f := Family{PlanID: p.ID, PlanHash: p.Hash, Slug: p.Slug, FamilyID: p.FamilyID, Author: p.Author,
		RegisteredAt: p.RegisteredAt, Amends: p.Amends, Plan: json.RawMessage(p.Payload),
		Result: json.RawMessage("null")}
	for _, e := range all {
		if !e.trialOf(p.ID) {
			continue
		}
		switch e.row.Status {
		case artifact.StatusFailed:
			f.Failed++
			f.Done++
		case artifact.StatusCompleted:
			f.Done++
		}
	}
	return f
}

func (e *entry) trialOf(planID string) bool {
	return e.row.PlanID == planID && e.row.Kind == artifact.KindTrial && e.row.TrialIndex.Valid
}

// Family returns one search with its plan and its trials in their order.
func (l *Library) Family(ctx context.Context, planID string) (*Family, []FamilyTrial, error) {
	all, err := l.all(ctx)
	if err != nil {
		return nil, nil, err
	}
	plans, err := l.runs.Overview().Plans(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range plans {
		if plans[i].ID != planID {
			continue
		}
		f := familyOf(&plans[i], all)
		trials := []FamilyTrial{}
		for _, e := range all {
			if e.trialOf(planID) {
				r := e.show()
				trials = append(trials, FamilyTrial{e.row.TrialIndex.Int64, r.RunID, r.Params, r.Status,
					r.Summary})
			}
		}
		return &f, trials, nil
	}
	return nil, nil, &NotFoundError{KindFamily, planID}
}

// Falsification is what a falsification found.
type Falsification struct {
	RunID   string `json:"run_id"`
	Base    string `json:"base"`
	Overall string `json:"overall"`
	// Refuted are the sentences about the gates that failed.
	Refuted []string `json:"refuted"`
	// Tests are as falsify/summary.json has them, failures first.
	Tests []json.RawMessage `json:"tests"`
}

// Falsification returns a completed falsification.
func (l *Library) Falsification(ctx context.Context, runID string) (*Falsification, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return nil, err
	}
	a := e.details().attack
	if e.row.Kind != artifact.KindFalsification || a == nil {
		return nil, &NotFoundError{KindRun, runID}
	}
	f := &Falsification{RunID: runID, Base: a.BaseRunID, Overall: a.Overall,
		Refuted: append([]string{}, a.Refuted...), Tests: []json.RawMessage{}}
	const name = "falsify/summary.json"
	text, err := l.store.Read(e.meta, name)
	if err != nil {
		return nil, err
	}
	var summary struct{ Tests []json.RawMessage }
	if err := json.Unmarshal(text, &summary); err != nil {
		return nil, damaged(runID, name, err)
	}
	for _, failed := range []bool{true, false} {
		for _, t := range summary.Tests {
			var v struct{ Verdict string }
			_ = json.Unmarshal(t, &v) // it is an object with a verdict, or it counts as no failure
			if (v.Verdict == "fail") == failed {
				f.Tests = append(f.Tests, t)
			}
		}
	}
	return f, nil
}
