package command

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// showPlan prints what is about to be signed. Who resumes agrees to another thing than who
// promotes: resume is who has done that, nil where it is not about that.
func showPlan(out io.Writer, sub *subject, p *promotion.Plan, resume *promotion.Approvals) {
	b := &sub.doc.Bundle
	fmt.Fprintf(out, "%s (%s, owner %s)\n", b.CandidateRevisionID, b.Candidate.CandidateID, b.Candidate.Owner)
	fmt.Fprintf(out, "plan for %s: %s, policy %s v%d\nplan_digest %s\n\n",
		p.Stage, p.Verdict, p.Policy.ID, p.Policy.Version, p.PlanDigest)
	tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(tab, "verdict\tgate\tvalue\tbound\treason\n")
	for _, g := range p.Gates {
		bound := ""
		if g.Op != nil {
			bound = *g.Op + " " + brief(g.Threshold)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", g.Verdict, g.GateID, brief(g.Observed), bound, g.Reason)
	}
	_ = tab.Flush() // to people: nothing is left to be done about it
	showNumbers(out, &p.Numbers)
	a, what := &p.Approvals, "approv"
	if resume != nil {
		a, what = resume, "resumption approv"
	}
	for _, g := range a.Granted {
		fmt.Fprintf(out, "%sed by %s (%s) until %s\n", what, g.Principal, g.Role, g.ExpiresAt)
	}
	fmt.Fprintf(out, "%sals missing: %d\n\n", what, a.Missing)
	if p.Verdict != policy.Pass {
		fmt.Fprint(out, "This plan does not pass. "+
			"It changes when its gates do, and approvals of it do not count then.\n\n")
	}
}

// showNumbers prints what the runs came to, and what has changed.
func showNumbers(out io.Writer, n *promotion.Numbers) {
	fmt.Fprint(out, "\nout of sample, by the files that the plane has read:\n")
	tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(tab, "role\trun\tsplit\treturn\tsharpe\tdrawdown\ttrades\n")
	for _, r := range n.Runs {
		for _, s := range r.Splits {
			fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Role, r.RunID, s.SplitID,
				number(s.TotalReturn), number(s.SharpeRatio), number(s.MaxDrawdown), number(s.TotalTrades))
		}
	}
	_ = tab.Flush()
	if len(n.Runs) == 0 {
		fmt.Fprint(out, "no run was read\n")
	}
	for _, f := range n.Falsifications {
		fmt.Fprintf(out, "falsification %s of %s: %s%s\n", f.RunID, f.BaseRunID, f.Overall, verdicts(f.Tests))
	}
	fmt.Fprintf(out, "trials: %d declared, %d counted by the falsifications\n",
		n.Trials.Declared, n.Trials.Counted)
	switch {
	case n.Since == nil:
		fmt.Fprint(out, "no revision of this candidate was approved before\n")
	case len(n.Changes) == 0:
		fmt.Fprintf(out, "nothing that runs or that it was judged on has changed since %s was approved\n",
			*n.Since)
	default:
		fmt.Fprintf(out, "changed since %s was approved:\n", *n.Since)
		for _, c := range n.Changes {
			fmt.Fprintf(out, "  %s: %s -> %s\n", c.Pointer, brief(c.Before), brief(c.Now))
		}
	}
	fmt.Fprintln(out)
}

// verdicts names the tests that are not passed, by verdict, and counts the others.
func verdicts(tests []bundle.TestVerdict) string {
	var names []string
	passed := 0
	for _, t := range tests {
		switch t.Verdict {
		case "pass":
			passed++
		case "fail", "warn", "inconclusive", "error":
			names = append(names, t.ID+" "+t.Verdict)
		}
	}
	text := fmt.Sprintf(", %d of %d tests passed", passed, len(tests))
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	return text
}

// number is a number as people read it, - where it is undefined.
func number(x *float64) string {
	if x == nil {
		return "-"
	}
	return brief(*x)
}

// brief is a value of a plan on one line.
func brief(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	case string:
		if len(v) == 64 { // a digest
			return v[:12] + "…"
		}
		return v
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, brief(e))
		}
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
}
