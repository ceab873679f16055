package policy

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// integrity passes for what was ingested; with verified, once its artifacts were read and
// found equal, and waits until then.
func integrity(g *Gate, e *Evidence, _ time.Time) Result {
	if g.Verified && !e.Verified {
		return Result{Verdict: Pending, Observed: bundle.RungClaimed, Op: ">=",
			Threshold: bundle.RungVerified, Evidence: e.core(),
			Reason: "the artifacts have not been read yet"}
	}
	return Result{Verdict: Pass, Evidence: e.core(), Reason: "the bundle is what its id says"}
}

// requested passes when the newest submission asks for this stage or a higher one, and
// waits for such a submission.
func requested(stage bundle.Stage, e *Evidence) Result {
	r := Result{Verdict: Pass, Observed: string(e.Target), Op: ">=", Threshold: string(stage),
		Evidence: e.core(), Reason: "the stage was asked for"}
	if bundle.Rank(e.Target) < bundle.Rank(stage) {
		r.Verdict, r.Reason = Pending, fmt.Sprintf("only %s was asked for", e.Target)
	}
	return r
}

// lineage passes for a revision without parent, or with one that is in the log; it waits
// for an unknown parent. It fails when the same thing was rejected before in the family.
func lineage(_ *Gate, e *Evidence, _ time.Time) Result {
	switch {
	case e.RejectedTwin != nil:
		return Result{Verdict: Fail, Evidence: []Piece{*e.RejectedTwin},
			Reason: "the same plugin, parameters and markets were rejected in this family"}
	case e.Parent == "":
		return Result{Verdict: Pass, Evidence: e.core(), Reason: "the first revision"}
	case e.ParentSeq < 0:
		return Result{Verdict: Pending, Observed: e.Parent, Evidence: e.core(),
			Reason: "the parent revision is not in the log"}
	}
	parent := Piece{Seq: e.ParentSeq, SHA256: e.Parent[len(bundle.RevisionPrefix):]}
	return Result{Verdict: Pass, Observed: e.Parent, Evidence: []Piece{parent},
		Reason: "the parent revision is in the log"}
}

// limitsDeclared passes when the seven limits that a bundle must have are above zero. It
// fails when one is zero.
func limitsDeclared(_ *Gate, e *Evidence, _ time.Time) Result {
	l := &e.Limits
	amounts := []struct {
		name  string
		value string
	}{
		{"max_capital", l.MaxCapital}, {"max_order_value", l.MaxOrderValue},
		{"max_position_value", l.MaxPositionValue},
		{"max_orders_per_minute", fmt.Sprint(l.MaxOrdersPerMinute)},
		{"max_instruments", fmt.Sprint(l.MaxInstruments)},
		{"max_venues", fmt.Sprint(l.MaxVenues)}, {"max_drawdown", l.MaxDrawdown},
	}
	declared := 0
	r := Result{Verdict: Pass, Op: "==", Threshold: len(amounts), Evidence: e.core(),
		Reason: "all limits are declared"}
	for _, a := range amounts {
		if v, ok := new(big.Rat).SetString(a.value); ok && v.Sign() > 0 {
			declared++
			continue
		}
		if r.Verdict == Pass {
			r.Verdict, r.Reason = Fail, a.name+" is zero"
		}
	}
	r.Observed = declared
	return r
}

// evidencePresent passes when the bundle has enough: runs with one of the roles (and with
// a split of one of the kinds), or at a pointer a number, or a list or text of such a
// length. It waits for more, and never fails.
func evidencePresent(g *Gate, e *Evidence, _ time.Time) Result {
	r := Result{Verdict: Pass, Op: ">=", Threshold: g.Min}
	found := 0.0
	if g.Pointer != "" {
		found = e.amount(g.Pointer)
		r.Evidence = e.core()
		r.Reason = g.Pointer + " is declared"
		if strings.HasPrefix(g.Pointer, "/trials") && e.Strict && e.Trials() == 0 {
			r.Verdict, r.Blame = Pending, string(bundle.RoleFalsification)
			r.Reason = "no file of a run says how many trials there were"
			return r
		}
	} else {
		runs, _ := e.hosted(g.Roles...)
		for _, run := range runs {
			if len(g.SplitKinds) == 0 || slices.ContainsFunc(run.Splits, func(s bundle.Split) bool {
				return slices.Contains(g.SplitKinds, s.Kind)
			}) {
				found++
				r.Evidence = append(r.Evidence, run.piece())
			}
		}
		r.Reason = "the evidence is there"
	}
	r.Observed = found
	if found < g.Min {
		r.Verdict = Pending
		r.Reason = fmt.Sprintf("%v of %v: %s", found, g.Min, wanted(g))
		if len(g.Roles) > 0 {
			r.Blame = string(g.Roles[0])
		}
	}
	return r
}

// Trials is how many trials the falsifications have counted, by their files.
func (e *Evidence) Trials() int64 {
	n := int64(0)
	for _, read := range e.Read {
		if read.Falsification != nil {
			n = max(n, read.Falsification.Trials)
		}
	}
	return n
}

func wanted(g *Gate) string {
	if g.Pointer != "" {
		return "the bundle does not declare enough at " + g.Pointer
	}
	s := "runs with role " + joinRoles(g.Roles)
	if len(g.SplitKinds) > 0 {
		s += " and a split of kind " + strings.Join(g.SplitKinds, " or ")
	}
	return s
}

// amount is how much there is at a pointer.
func (e *Evidence) amount(pointer string) float64 {
	v, ok := e.Lookup(pointer)
	if !ok {
		return 0
	}
	switch v := v.(type) {
	case float64:
		return v
	case []any:
		return float64(len(v))
	case map[string]any:
		return float64(len(v))
	case string:
		return min(1, float64(len(v)))
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

func joinRoles(roles []bundle.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, " or ")
}

// freshness passes while the newest of each is not older than max_age: of the runs of
// each role, or of the drills. What is too old has expired. It fails when the last drill
// failed, and waits while there is none or the newest is dated ahead.
func freshness(g *Gate, e *Evidence, now time.Time) Result {
	r := Result{Verdict: Pass, Op: "<=", Threshold: g.MaxAge.Seconds(), Reason: "recent enough"}
	if g.Drill != "" {
		r.drill(g, e, now)
		return r
	}
	var oldest time.Duration = -1
	for _, role := range g.Roles {
		runs, none := e.hosted(role)
		newest := newestOf(runs)
		if newest == nil {
			r.worse(Pending, string(role), none)
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

func (r *Result) drill(g *Gate, e *Evidence, now time.Time) {
	var last *Drill
	own := ""
	for i := range e.Drills {
		d := &e.Drills[i]
		if d.Drill != g.Drill || e.Strict && !d.Proven && d.Pass {
			continue
		}
		if d.Own != "" && d.Pass {
			own = ": that of " + d.Own + ", whose revision it is, does not count"
			continue
		}
		// Of two at the same moment the one that failed counts.
		if last == nil || d.Done.After(last.Done) || d.Done.Equal(last.Done) &&
			(last.Pass && !d.Pass || last.Pass == d.Pass && d.SHA256 < last.SHA256) {
			last = d
		}
	}
	if last == nil {
		r.worse(Pending, g.Drill, "there was no drill of "+g.Drill+" with the record of its run"+own)
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
func (r *Result) age(g *Gate, what string, done, now time.Time) time.Duration {
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
		if newest == nil || r.Completed.After(newest.Completed) || r.Completed.Equal(newest.Completed) &&
			r.RunID < newest.RunID {
			newest = r
		}
	}
	return newest
}

// Newest is the run of a role that was completed last, nil if there is none.
func (e *Evidence) Newest(role bundle.Role) *Run { return newestOf(e.with(role)) }

// soak passes when runs of the role were long enough: neither what they covered may be
// less, nor the time in which they took place. It waits for more, and never fails.
func soak(g *Gate, e *Evidence, now time.Time) Result {
	seconds := e.SoakSeconds(g.Role, now)
	r := Result{Verdict: Pass, Observed: seconds, Op: ">=", Threshold: g.Seconds, Reason: "long enough"}
	runs, none := e.hosted(g.Role)
	for _, run := range runs {
		r.Evidence = append(r.Evidence, run.piece())
	}
	if seconds < g.Seconds {
		r.Verdict, r.Blame = Pending, string(g.Role)
		r.Reason = fmt.Sprintf("%.0f of %.0f seconds in %s", seconds, g.Seconds, g.Role)
		if len(e.with(g.Role)) > len(runs) {
			r.Reason += ": " + none
		}
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
	runs, _ := e.hosted(role)
	for _, run := range runs {
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

// metric passes when the comparison is true for every run with one of the roles; of each
// it takes the summary, or with split kinds the metrics of all splits of these kinds. It
// fails when the comparison is false for one, and waits while there is no such run or one
// of them does not have the metric. A paper or live run that no host has signed can only fail it.
func metric(g *Gate, e *Evidence, _ time.Time) Result {
	limit, ok := g.Value, true
	if g.ValueFrom != "" {
		limit, ok = e.number(g.ValueFrom)
	}
	r := Result{Op: g.Op}
	if !ok {
		r.Verdict, r.Evidence, r.Reason = Pending, e.core(), "the bundle declares no "+g.ValueFrom
		return r
	}
	r.Threshold = limit
	runs := e.with(g.Roles...)
	r.Verdict, r.Reason = Pass, fmt.Sprintf("%s %s %v", g.Metric, g.Op, limit)
	if counted, none := e.hosted(g.Roles...); len(counted) == 0 {
		r.Verdict, r.Blame, r.Reason = Pending, string(g.Roles[0]), none
	}
	seen := []float64{}
	for i := range runs {
		r.Evidence = append(r.Evidence, runs[i].piece())
		values := runs[i].metrics(g, limit)
		if x, ok := e.derived(&runs[i], g); ok {
			values = []float64{x}
		}
		if runs[i].Unhosted {
			values = slices.DeleteFunc(values, func(v float64) bool { return compare(v, g.Op, limit) })
		} else if len(values) == 0 && r.Verdict == Pass {
			r.Verdict, r.Blame, r.Reason = Pending, string(runs[i].Role),
				fmt.Sprintf("run %s has no %s", runs[i].RunID, g.Metric)
			if read := e.Read[runs[i].RunID]; read.Falsification != nil {
				r.Reason = cmp.Or(known(&runs[i], &read), r.Reason)
			}
		}
		for _, v := range values {
			seen = append(seen, v)
			if !compare(v, g.Op, limit) && r.Verdict != Fail {
				r.Verdict, r.Blame = Fail, string(runs[i].Role)
				r.Reason = fmt.Sprintf("run %s: %s is %v, not %s %v", runs[i].RunID, g.Metric, v, g.Op, limit)
			}
		}
	}
	if slices.Contains(g.Roles, bundle.RoleFalsification) && r.Verdict == Pass {
		if why := e.unattacked(); why != "" {
			r.Verdict, r.Blame, r.Reason = Pending, string(bundle.RoleFalsification), why
		}
	}
	if len(seen) > 0 {
		r.Observed = worst(seen, g.Op, limit)
	}
	return r
}

// derived is the number of a gate that is not declared but derived from the files of a run.
func (e *Evidence) derived(run *Run, g *Gate) (float64, bool) {
	d := e.Read[run.RunID].Derived
	if _, declared := run.Summary[g.Metric]; declared || d == nil || len(g.SplitKinds) > 0 ||
		d.Figures[figureKnown] > 0 {
		return 0, false
	}
	x, ok := d.Figures[g.Metric]
	attack := e.Read[run.RunID].Falsification
	if ok && attack != nil && e.Prospective && g.Metric == figureDSRMax {
		// The plane's count, where it is larger than the declared one.
		x = AmongTrials(x, attack.Trials, int64(e.amount("/trials/family_trials")))
	}
	return x, ok
}

// figureDSRMax is the probability that a search without skill finds less.
const figureDSRMax = "dsr_max"

// AmongTrials is dsr_max of a search of counted trials where there were more: the trials that the
// lab did not know are as many blocks of counted ones, the last one filled up, none of which
// knows of another, so that each block multiplies it once more (Sidak 1967).
func AmongTrials(dsr float64, counted, there int64) float64 {
	if counted < 1 || there <= counted {
		return dsr
	}
	out := 1.0
	for base, n := dsr, (there+counted-1)/counted; n > 0; n >>= 1 {
		if n&1 == 1 {
			out *= base
		}
		base *= base
	}
	return out
}

// unattacked is what no falsification is of: any baseline, or, by the rules of Witnessed, one of
// them, or the baseline of a timeframe that is claimed. It is "" where nothing is missing, and
// without files, when it is unknown.
func (e *Evidence) unattacked() string {
	if !e.Strict {
		return ""
	}
	attacked := map[string]bool{}
	for _, read := range e.Read {
		if read.Falsification != nil {
			attacked[read.Falsification.BaseRunID] = true
		}
	}
	found, first, unsaid := 0, "", ""
	timeframes := map[string]bool{}
	for _, run := range e.with(bundle.RoleBaseline) {
		tf := e.Read[run.RunID].Timeframe
		switch {
		case !attacked[run.RunID]:
			first = cmp.Or(first, run.RunID)
			continue
		case tf == "":
			unsaid = cmp.Or(unsaid, run.RunID)
		}
		found++
		timeframes[tf] = true
	}
	switch {
	case found == 0:
		return "no falsification attacks a baseline of the bundle"
	case !e.Witnessed:
		return ""
	case first != "":
		return "no falsification attacks the baseline " + first
	}
	claimed := e.timeframes()
	for _, tf := range claimed {
		switch {
		case len(claimed) == 1 || timeframes[tf]:
		case unsaid != "":
			return "the seal does not say which timeframe the baseline " + unsaid + " has: submit it again"
		default:
			return "no baseline of the timeframe " + tf + " is attacked by a falsification"
		}
	}
	return ""
}

// timeframes are those that the bundle claims.
func (e *Evidence) timeframes() []string {
	v, _ := e.Lookup("/strategy/timeframes")
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// metrics are the values of the gate's metric in a run; none if one of the splits that
// count lacks it.
func (r *Run) metrics(g *Gate, limit float64) []float64 {
	if len(g.SplitKinds) == 0 {
		if v, ok := r.Summary[g.Metric]; ok {
			return []float64{v}
		}
		return nil
	}
	var values []float64
	complete := true
	for _, s := range r.Splits {
		if !slices.Contains(g.SplitKinds, s.Kind) {
			continue
		}
		v, ok := s.Metrics[g.Metric]
		complete = complete && ok
		if ok {
			values = append(values, v)
		}
	}
	if !complete {
		// A value that is too bad still fails the gate.
		return slices.DeleteFunc(values, func(v float64) bool { return compare(v, g.Op, limit) })
	}
	return values
}

func compare(v float64, op string, limit float64) bool {
	switch op {
	case "==":
		return v == limit
	case "!=":
		return v != limit
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	}
	return false
}

// worst is the value that comes nearest to failing, or failed most.
func worst(values []float64, op string, limit float64) float64 {
	switch op {
	case "<", "<=":
		return slices.Max(values)
	case ">", ">=":
		return slices.Min(values)
	}
	return slices.MaxFunc(values, func(a, b float64) int {
		da, db := math.Abs(a-limit), math.Abs(b-limit)
		if op == "!=" {
			da, db = db, da
		}
		return cmp.Compare(da, db)
	})
}

// number is the number at a pointer, or the amount that is written there as a string.
func (e *Evidence) number(pointer string) (float64, bool) {
	v, _ := e.Lookup(pointer)
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		x, err := strconv.ParseFloat(v, 64)
		return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	return 0, false
}
