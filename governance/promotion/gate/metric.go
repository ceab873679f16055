package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// metric passes when the comparison is true for every run with one of the roles; of each
// it takes the summary, or with split kinds the metrics of all splits of these kinds. It
// fails when the comparison is false for one, and waits while there is no such run or one
// of them does not have the metric.
func metric(g *policy.Gate, e *Evidence, _ time.Time) Result {
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
	if len(runs) == 0 {
		r.Verdict, r.Blame, r.Reason = Pending, string(g.Roles[0]), "there is no run with role "+joinRoles(g.Roles)
		return r
	}
	r.Verdict, r.Reason = Pass, fmt.Sprintf("%s %s %v", g.Metric, g.Op, limit)
	seen := []float64{}
	for i := range runs {
		r.Evidence = append(r.Evidence, runs[i].piece())
		values := runs[i].metrics(g, limit)
		if len(values) == 0 && r.Verdict == Pass {
			r.Verdict, r.Blame, r.Reason = Pending, string(runs[i].Role), fmt.Sprintf("run %s has no %s", runs[i].RunID, g.Metric)
		}
		for _, v := range values {
			seen = append(seen, v)
			if !compare(v, g.Op, limit) && r.Verdict != Fail {
				r.Verdict, r.Blame = Fail, string(runs[i].Role)
				r.Reason = fmt.Sprintf("run %s: %s is %v, not %s %v", runs[i].RunID, g.Metric, v, g.Op, limit)
			}
		}
	}
	if slices.Contains(g.Roles, bundle.RoleFalsification) && r.Verdict == Pass && !e.attacked() {
		r.Verdict, r.Blame = Pending, string(bundle.RoleFalsification)
		r.Reason = "no falsification attacks a baseline of the bundle"
	}
	if len(seen) > 0 {
		r.Observed = worst(seen, g.Op, limit)
	}
	return r
}

// attacked says whether a falsification is of a baseline; without files nobody knows.
func (e *Evidence) attacked() bool {
	if !e.Strict {
		return true
	}
	for _, run := range e.with(bundle.RoleBaseline) {
		for _, read := range e.Read {
			if read.Falsification != nil && read.Falsification.BaseRunID == run.RunID {
				return true
			}
		}
	}
	return false
}

// metrics are the values of the gate's metric in a run; none if one of the splits that
// count lacks it.
func (r *Run) metrics(g *policy.Gate, limit float64) []float64 {
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
		// A value that is too bad still says so.
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
		switch {
		case da < db:
			return -1
		case da > db:
			return 1
		}
		return 0
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
