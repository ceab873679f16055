package compare

import (
	"context"
	"encoding/json"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/selection/trials"
)

// Selection is what a search has done to the numbers of a run: N and the looks at the
// test belong to the other numbers: all are taken from the run's report or from that of
// its falsification, where there is one, else the two are counted from the registry. What
// is undefined is null and has a reason in Undefined.
type Selection struct {
	// NTrials is the number of trials on the days of the run, NTrialsNow what it is today:
	// more, where something was tried since the other numbers were computed. NTrialsFamily
	// is how many of those today the run's own family has a part in.
	NTrials       int      `json:"n_trials"`
	NTrialsNow    int      `json:"n_trials_now"`
	NTrialsFamily int      `json:"n_trials_family"`
	NTrialsSource string   `json:"n_trials_source"`
	NEff          *float64 `json:"n_eff"`
	DSRMax        *float64 `json:"dsr_max"`
	DSR2014       *float64 `json:"dsr_2014"`
	DSR2025       *float64 `json:"dsr_2025"`
	PBO           *float64 `json:"pbo"`
	// TestPeeks counts the looks at the family's test, TestPeeksNow those until today;
	// PostPeek says that the run was tried after the first of them.
	TestPeeks    int  `json:"test_peeks"`
	TestPeeksNow int  `json:"test_peeks_now"`
	PostPeek     bool `json:"post_peek"`
	// PlanID is the plan that the run belongs to, null without one; Deviation says that it
	// is not the run that the plan's rule selects.
	PlanID                 *string                  `json:"plan_id"`
	Deviation              bool                     `json:"deviation"`
	ValidationContaminated bool                     `json:"validation_contaminated"`
	Undefined              map[string]metric.Reason `json:"undefined"`
	// Trials is which trial the run was, null for one that is none.
	Trials *registry.Place `json:"trials"`
}

// Falsification is how the newest falsification of a run has ended.
type Falsification struct {
	RunID   string `json:"run_id"`
	Overall string `json:"overall"`
	// Refuted is the first claim that was refuted, null if none was.
	Refuted *string `json:"refuted"`
	Tests   []Test  `json:"tests"`
}

// Test is the verdict of one test: pass, warn, fail, inconclusive, error or skipped.
type Test struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"`
}

// standing is what other rows say about a run.
type standing struct {
	selection     Selection
	falsification *Falsification
}

// standings are those of the runs, in their order.
func (l *loader) standings(ctx context.Context, runs []*loaded) ([]standing, error) {
	peeks := map[string]int{}
	attacks, err := l.attacks(ctx)
	if err != nil {
		return nil, err
	}
	book, err := trials.Read(ctx, l.reg, l.store)
	if err != nil {
		return nil, err
	}
	out := make([]standing, len(runs))
	for i, x := range runs {
		if _, known := peeks[x.row.FamilyID]; !known {
			list, err := l.reg.Peeks(ctx, x.row.FamilyID)
			if err != nil {
				return nil, err
			}
			peeks[x.row.FamilyID] = len(list)
		}
		attack := attackOn(attacks, x)
		n, own := book.Count(trials.DaysOf(x.meta.Data), x.row.FamilyID)
		out[i].selection = x.selection(n, peeks[x.row.FamilyID], attack)
		out[i].selection.NTrialsFamily, out[i].selection.Trials = own, book.Place(x.row.RunID)
		out[i].falsification = attack.summary()
	}
	return out, nil
}

func (x *loaded) selection(trials, peeks int, a *attack) Selection {
	s := Selection{
		NTrials: trials, NTrialsNow: trials, NTrialsSource: "registry", TestPeeks: peeks, TestPeeksNow: peeks, PostPeek: x.meta.PostPeek,
		Deviation: x.meta.Deviation, ValidationContaminated: x.meta.ValidationContaminated, Undefined: map[string]metric.Reason{},
	}
	if x.row.PlanID != "" {
		s.PlanID = &x.row.PlanID
	}
	var found struct {
		NTrials   *int     `json:"n_trials"`
		TestPeeks *int     `json:"test_peeks"`
		NEff      *float64 `json:"n_eff"`
		DSRMax    *float64 `json:"dsr_max"`
		DSR2014   *float64 `json:"dsr_2014"`
		DSR2025   *float64 `json:"dsr_2025"`
		PBO       struct {
			Value *float64 `json:"value"`
		} `json:"pbo"`
	}
	reports := []*artifact.Report{x.report}
	if a != nil {
		reports = append(reports, a.report)
	}
	for _, rep := range reports {
		if rep != nil && rep.Overfitting != nil && rep.Overfitting.Selection != nil && decode(rep.Overfitting.Selection, &found) {
			break
		}
	}
	if found.NTrials != nil {
		s.NTrials, s.NTrialsSource = *found.NTrials, "falsification"
	}
	if found.TestPeeks != nil {
		s.TestPeeks = *found.TestPeeks
	}
	s.NEff, s.DSRMax, s.PBO = found.NEff, found.DSRMax, found.PBO.Value
	s.DSR2014, s.DSR2025 = found.DSR2014, found.DSR2025
	for name, value := range map[string]*float64{
		"n_eff": s.NEff, "dsr_max": s.DSRMax, "dsr_2014": s.DSR2014, "dsr_2025": s.DSR2025, "pbo": s.PBO,
	} {
		if value == nil {
			s.Undefined[name] = metric.NotApplicable
		}
	}
	return s
}

// decode reads a part of a report that is kept as it came.
func decode(part, into any) bool {
	text, err := json.Marshal(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// attack is a completed falsification and what its report says about it.
type attack struct {
	runID  string
	report *artifact.Report

	BaseRunID       string          `json:"base_run_id"`
	BaseRequestHash string          `json:"base_request_hash"`
	Overall         string          `json:"overall"`
	Refuted         json.RawMessage `json:"refuted"`
	Tests           []struct {
		Test
		Claim string `json:"claim"`
	} `json:"tests"`
}

// attacks are the completed falsifications of the strategy, newest first.
func (l *loader) attacks(ctx context.Context) ([]*attack, error) {
	rows, err := l.reg.ListMetadata(ctx, registry.Filter{Slug: l.o.Slug, Kind: artifact.KindFalsification, Status: artifact.StatusCompleted})
	if err != nil {
		return nil, err
	}
	var out []*attack
	for i := len(rows) - 1; i >= 0; i-- {
		x, err := l.read(rows[i])
		if err != nil {
			return nil, err
		}
		a := &attack{runID: rows[i].RunID, report: x.report}
		if x.report != nil && x.report.Falsification != nil && decode(x.report.Falsification, a) {
			out = append(out, a)
		}
	}
	return out, nil
}

// attackOn is the newest falsification of a run, or the run itself if it is one.
func attackOn(list []*attack, x *loaded) *attack {
	for _, a := range list {
		if a.runID == x.row.RunID || a.BaseRunID == x.row.RunID || (a.BaseRequestHash != "" && a.BaseRequestHash == x.row.RequestHash) {
			return a
		}
	}
	return nil
}

func (a *attack) summary() *Falsification {
	if a == nil {
		return nil
	}
	f := &Falsification{RunID: a.runID, Overall: a.Overall, Tests: []Test{}}
	for _, t := range a.Tests {
		f.Tests = append(f.Tests, t.Test)
		if t.Verdict == "fail" && f.Refuted == nil && t.Claim != "" {
			f.Refuted = &t.Claim
		}
	}
	var one string
	var several []string
	switch {
	case json.Unmarshal(a.Refuted, &one) == nil && one != "":
		f.Refuted = &one
	case json.Unmarshal(a.Refuted, &several) == nil && len(several) > 0:
		f.Refuted = &several[0]
	}
	return f
}
