package gate

import (
	"fmt"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// freshness passes while the newest of each is not older than max_age: of the runs of
// each role, or of the drills. What is too old has expired. It fails when the last drill
// failed, and waits while there is none or the newest is dated ahead.
func freshness(g *policy.Gate, e *Evidence, now time.Time) Result {
	r := Result{Verdict: Pass, Op: "<=", Threshold: g.MaxAge.Seconds(), Reason: "recent enough"}
	if g.Drill != "" {
		r.drill(g, e, now)
		return r
	}
	var oldest time.Duration = -1
	for _, role := range g.Roles {
		newest := newestOf(e.with(role))
		if newest == nil {
			r.worse(Pending, string(role), fmt.Sprintf("there is no run with role %s", role))
			continue
		}
		r.Evidence = append(r.Evidence, newest.piece())
		oldest = max(oldest, r.age(g, string(role), newest.Completed, now))
	}
	if oldest >= 0 {
		r.Observed = oldest.Seconds()
	}
	return r
}

func (r *Result) drill(g *policy.Gate, e *Evidence, now time.Time) {
	var last *Drill
	for i := range e.Drills {
		d := &e.Drills[i]
		if d.Drill != g.Drill || e.Strict && !d.Proven && d.Pass {
			continue
		}
		// Of two at the same moment the one that failed counts.
		if last == nil || d.Done.After(last.Done) || d.Done.Equal(last.Done) && (last.Pass && !d.Pass || last.Pass == d.Pass && d.SHA256 < last.SHA256) {
			last = d
		}
	}
	if last == nil {
		r.worse(Pending, g.Drill, "there was no drill of "+g.Drill+" with the record of its run")
		return
	}
	r.Evidence = []Piece{last.Piece}
	r.Observed = max(0, r.age(g, g.Drill, last.Done, now).Seconds())
	if !last.Pass {
		r.ValidUntil = time.Time{}
		r.Verdict, r.Reason = Fail, "the last drill of "+g.Drill+" failed"
	}
}

// age judges one moment, and is how long ago it was.
func (r *Result) age(g *policy.Gate, what string, done, now time.Time) time.Duration {
	until := done.Add(g.MaxAge)
	switch {
	// Times may be written in whole seconds: the fraction of one is not ahead.
	case done.Truncate(time.Second).After(now):
		r.worse(Pending, what, what+" is dated ahead")
		return 0
	case !now.Before(until):
		r.worse(Expired, what, fmt.Sprintf("%s is older than %s", what, days(g.MaxAge)))
	}
	if r.ValidUntil.IsZero() || until.Before(r.ValidUntil) {
		r.ValidUntil = until
	}
	return max(0, now.Sub(done))
}

// worse keeps the first thing that is missing; what has expired yields to what is not
// there at all.
func (r *Result) worse(v Verdict, blame, reason string) {
	if r.Verdict == Pass || r.Verdict == Expired && v == Pending {
		r.Verdict, r.Blame, r.Reason = v, blame, reason
	}
}

func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}

// newestOf is the run that was completed last; of equal ones the first by id.
func newestOf(runs []Run) *Run {
	var newest *Run
	for i := range runs {
		r := &runs[i]
		if newest == nil || r.Completed.After(newest.Completed) || r.Completed.Equal(newest.Completed) && r.RunID < newest.RunID {
			newest = r
		}
	}
	return newest
}

// Newest is the run of a role that was completed last, nil if there is none.
func (e *Evidence) Newest(role bundle.Role) *Run { return newestOf(e.with(role)) }
