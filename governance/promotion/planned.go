package promotion

import (
	"fmt"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
)

// RegisteredPlan is the predicate plan/v1: a search was named to the plane before it ran.
type RegisteredPlan struct {
	bundle.PlanRegistration
	RecordedAt string `json:"recorded_at" is:"time"`
}

// PlanRegistered is the type of the fact that a search was named.
const PlanRegistered FactType = "plan_registered"

// planned is a search with the time of its first registration.
type planned struct {
	plan *RegisteredPlan
	at   time.Time
}

// addPlan notes the first registration of a search.
func (l *triedLedger) addPlan(f *Fact, p *RegisteredPlan) {
	if l.plans == nil {
		l.plans = map[string]planned{}
	}
	if _, known := l.plans[p.PlanID]; !known {
		l.plans[p.PlanID] = planned{p, f.At}
	}
}

// Registered reports whether a world has a search, and when it was first registered.
func Registered(w *World, planID string) (time.Time, bool) {
	p, ok := w.tried.plans[planID]
	return p.at, ok
}

// PlanNumbers are the search that a revision comes from, where it was registered.
type PlanNumbers struct {
	PlanID       string `json:"plan_id"`
	Trials       int64  `json:"trials"`
	RegisteredAt string `json:"registered_at"`
	// Applies reports whether every candle of the bundle opened after the registration, so that
	// the trials of others do not count. On older candles it proves nothing.
	Applies bool   `json:"applies"`
	Reason  string `json:"reason"`
	// Registered is how many trials all plans have that were registered before these candles ended:
	// so many count at least. Absent under earlier rules, which believe the bundle.
	Registered int64 `json:"registered_trials,omitempty"`
}

// planOf is the registered search of a revision, nil if there is none.
func planOf(w *World, r *revision) *PlanNumbers {
	l, b := &w.tried, r.bundle
	p, ok := l.plans[b.Candidate.Lineage.FamilyRunID]
	if !ok || p.plan.FamilyID != b.Candidate.FamilyID {
		return nil
	}
	out := &PlanNumbers{PlanID: p.plan.PlanID, Trials: p.plan.Trials, RegisteredAt: stamp(p.at),
		Applies: len(b.Data) > 0, Reason: "all candles opened after the registration"}
	for _, d := range b.Data {
		if from, _ := field.ParseTime(d.Start); from.Before(p.at) {
			out.Applies, out.Reason = false, "candles opened before the registration: it proves nothing"
		}
	}
	if r.sealSeq >= w.since.established {
		out.Registered = l.registered(daysOf(b.Data))
		if out.Applies {
			out.Reason += fmt.Sprintf("; %d trials of all plans before they ended count", out.Registered)
		}
	}
	return out
}

// registered is how many trials all plans have that were registered before some days ended: whoever
// splits a search over plans, families or owners has searched as much.
func (l *triedLedger) registered(days stretch) int64 {
	n := int64(0)
	for _, p := range l.plans {
		if p.at.Before(days.to) {
			n += p.plan.Trials
		}
	}
	return n
}
