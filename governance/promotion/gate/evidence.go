package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// evidencePresent passes when the bundle has enough: runs with one of the roles (and with
// a split of one of the kinds), or at a pointer a number, or a list or text of such a
// length. It waits for more, and never fails.
func evidencePresent(g *policy.Gate, e *Evidence, _ time.Time) Result {
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
		for _, run := range e.with(g.Roles...) {
			if len(g.SplitKinds) == 0 || slices.ContainsFunc(run.Splits, func(s bundle.Split) bool { return slices.Contains(g.SplitKinds, s.Kind) }) {
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

func wanted(g *policy.Gate) string {
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
