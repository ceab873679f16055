package library

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

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
	// Status is planned before the first trial has ended, completed once all have, running between.
	Status string `json:"status"`
	// Done counts the trials that have ended, Failed those of them that failed.
	Done   int `json:"done"`
	Failed int `json:"failed"`
	// Progress is what the search itself says of how far it is: nil in lists and before it has begun.
	Progress *Progress `json:"progress"`
	// Plan is the plan as it was registered, null in lists.
	Plan json.RawMessage `json:"plan"`
	Found
	// ResultDamage says why a result that was written cannot be shown, else it is empty.
	ResultDamage string `json:"result_damage"`
}

// The statuses of a Family; running and completed are those of runs.
const FamilyPlanned = "planned"

// Found is what a search has come to: all of it null in lists and before its end.
type Found struct {
	// Result is the result as the lab keeps it; the others are taken from it.
	Result               json.RawMessage `json:"result"`
	Selected             json.RawMessage `json:"selected"`
	WalkForwardOptimised json.RawMessage `json:"walk_forward_optimised"`
	// PBO is the probability of overfitting, DSR the deflated Sharpe ratio of what was selected, with what it
	// means in the Sentence.
	PBO      *float64 `json:"pbo"`
	DSR      *float64 `json:"dsr"`
	Sentence *string  `json:"sentence"`
	// Luck is what the best trial would reach without any skill, null where it is not known.
	Luck *Luck `json:"luck"`
}

// NotFound is what is known before the end of a search.
func NotFound() Found {
	null := json.RawMessage("null")
	return Found{Result: null, Selected: null, WalkForwardOptimised: null}
}

// Progress is how far a search is. ETASeconds is nil until enough trials have ended, and of a search
// that does not go on.
type Progress struct {
	Done       int    `json:"done"`
	Total      int    `json:"total"`
	Failed     int    `json:"failed"`
	ETASeconds *int64 `json:"eta_seconds"`
}

// Luck is where the best of so many independent trials is expected when none has any skill, and where the
// best of them was found: annual Sharpe ratios, of which Bins has how many.
type Luck struct {
	ExpectedMax float64  `json:"expected_max"`
	Trials      float64  `json:"trials"`
	Observed    *float64 `json:"observed"`
	Bins        []Bin    `json:"bins"`
}

// Bin counts values, [From, To), the last one with its end.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
}

// luckBins is in how many equal bins ratios are counted.
const luckBins = 20

// Observe adds what the trials of the search have come to.
func (l *Luck) Observe(trials []FamilyTrial) {
	var ratios []float64
	for _, t := range trials {
		if x := t.Metrics.SharpeRatio; x != nil {
			ratios = append(ratios, *x)
		}
	}
	l.Bins = []Bin{}
	if len(ratios) == 0 {
		return
	}
	least, most := slices.Min(ratios), slices.Max(ratios)
	l.Observed = &most
	n, width := luckBins, (most-least)/luckBins
	if width == 0 {
		n = 1
	}
	for i := range n {
		l.Bins = append(l.Bins, Bin{From: least + float64(i)*width, To: least + float64(i+1)*width})
	}
	l.Bins[n-1].To = most
	for _, x := range ratios {
		at := n - 1
		if x < most {
			at = min(at, int((x-least)/width))
		}
		l.Bins[at].Count++
	}
}

// FamilyTrial is one trial of a search.
type FamilyTrial struct {
	Index   int64             `json:"index"`
	RunID   string            `json:"run_id"`
	Params  json.RawMessage   `json:"params"`
	Status  string            `json:"status"`
	Metrics artifact.Headline `json:"metrics"`
}

// TrialSorts returns the fields by which the trials of a search are ordered.
func TrialSorts() []string {
	return []string{"index", "max_drawdown", "sharpe_ratio", "total_return", "total_trades"}
}

// SortTrials orders trials by one of TrialSorts, downwards after a "-". What has no such number comes last,
// equal ones in the order of the plan.
func SortTrials(trials []FamilyTrial, by string) {
	key, down := strings.CutPrefix(by, "-")
	value := func(t *FamilyTrial) *float64 {
		if key == "index" {
			at := float64(t.Index)
			return &at
		}
		return headline(&t.Metrics, key)
	}
	slices.SortStableFunc(trials, func(a, b FamilyTrial) int {
		return cmp.Or(orderOf(value(&a), value(&b), down), cmp.Compare(a.Index, b.Index))
	})
}

// Families lists registered searches, newest first; slug "" means of every strategy, status "" in every
// status.
func (l *Library) Families(ctx context.Context, slug, status string) ([]Family, error) {
	all, err := l.all(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := l.runs.Overview().Plans(ctx)
	out := []Family{}
	for i := len(plans) - 1; i >= 0; i-- {
		if slug == "" || plans[i].Slug == slug {
			f := l.familyOf(&plans[i], all)
			if f.Plan = json.RawMessage("null"); status == "" || status == f.Status {
				out = append(out, f)
			}
		}
	}
	return out, err
}

// planned counts the trials of a plan, which never change.
func (l *Library) planned(p *registry.Plan) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, known := l.trials[p.ID]
	if !known {
		var plan struct{ Trials []json.RawMessage }
		_ = json.Unmarshal([]byte(p.Payload), &plan) // a plan that cannot be read has no trial
		n = len(plan.Trials)
		l.trials[p.ID] = n
	}
	return n
}

func (l *Library) familyOf(p *registry.Plan, all []*entry) Family {
	f := Family{PlanID: p.ID, PlanHash: p.Hash, Slug: p.Slug, FamilyID: p.FamilyID, Author: p.Author,
		RegisteredAt: p.RegisteredAt, Amends: p.Amends, Plan: json.RawMessage(p.Payload), Found: NotFound()}
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
	switch n := l.planned(p); {
	case f.Done == 0:
		f.Status = FamilyPlanned
	case f.Done < n:
		f.Status = artifact.StatusRunning
	default:
		f.Status = artifact.StatusCompleted
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
		f := l.familyOf(&plans[i], all)
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
