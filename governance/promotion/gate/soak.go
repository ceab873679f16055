package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// soak passes when runs of the role were long enough: neither what they covered may be
// less, nor the time in which they took place. It waits for more, and never fails.
func soak(g *policy.Gate, e *Evidence, now time.Time) Result {
	seconds := e.SoakSeconds(g.Role, now)
	r := Result{Verdict: Pass, Observed: seconds, Op: ">=", Threshold: g.Seconds, Reason: "long enough"}
	for _, run := range e.with(g.Role) {
		r.Evidence = append(r.Evidence, run.piece())
	}
	if seconds < g.Seconds {
		r.Verdict, r.Blame = Pending, string(g.Role)
		r.Reason = fmt.Sprintf("%.0f of %.0f seconds in %s", seconds, g.Seconds, g.Role)
	}
	return r
}

// SoakSeconds is how long runs with a role ran: the smaller of the seconds that they
// covered, added up, and of the union of their intervals up to now. Runs that were
// started twice at the same time thus count once, and a run that stood still does not.
func (e *Evidence) SoakSeconds(role bundle.Role, now time.Time) float64 {
	covered := 0.0
	type interval struct{ from, to time.Time }
	var all []interval
	for _, run := range e.with(role) {
		if run.CoveredSeconds != nil && *run.CoveredSeconds > 0 {
			covered += *run.CoveredSeconds
		}
		to := run.Completed
		if to.After(now) {
			to = now
		}
		if !run.Started.IsZero() && run.Started.Before(to) {
			all = append(all, interval{run.Started, to})
		}
	}
	slices.SortFunc(all, func(a, b interval) int { return a.from.Compare(b.from) })
	var union time.Duration
	var end time.Time
	for _, i := range all {
		if i.from.Before(end) {
			i.from = end
		}
		if i.to.After(i.from) {
			union += i.to.Sub(i.from)
			end = i.to
		}
	}
	return min(covered, union.Seconds())
}
