// Package selectionbias is the test selection_bias: what the search for the base has done to
// its numbers. One test, one folder.
package selectionbias

import (
	"fmt"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "selection_bias"

var entry = judge.Entry{
	Number: 18, ID: ID, Version: 2, Class: judge.Gate,
	Claim:  "the search does not explain its result",
	Method: "the best of the trials, resampled without skill, beside the selected one; PBO",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		s := b.Selection
		chosen := Selected{
			Verdict: judge.Verdict(s.Verdict.Verdict), Reason: s.Verdict.ReasonCode, Strong: s.Verdict.Strong,
			DSR: s.Selection.DSRMax, P: s.Selection.DSRMaxTest.P, Undefined: s.Selection.Undefined["dsr_max"],
			Trials: s.Selection.NTrials, Threshold: selection.DSRPass,
		}
		if chosen.Reason == selection.ReasonPBO || chosen.Reason == selection.ReasonPBOHigh {
			chosen.PBO = s.Selection.PBO.Value
		}
		f := &battery.Finding{Test: Judge(&b.Judge, chosen)}
		if s.Selection.PBO.Value != nil {
			f.Params["pbo"] = *s.Selection.PBO.Value
		}
		return f, nil
	})
}

// Selected is the verdict of package selection on the search that found the base.
type Selected struct {
	Verdict judge.Verdict
	Reason  string
	// DSR is dsr_max, nil where it is undefined, and then Undefined has the reason.
	DSR       *float64
	Undefined stat.Reason
	// P is 1 - DSR, to all digits; nil as DSR.
	P *float64
	// PBO is the share of halvings in which the best overfits where the verdict rests on
	// it, else nil.
	PBO    *float64
	Trials int
	// Strong says that the ratio of 2014 passes, too.
	Strong bool
	// Threshold is the ratio that a pass needs.
	Threshold float64
}

// Judge takes the verdict of selection_bias over.
func Judge(j *judge.Judge, s Selected) *judge.Test {
	t := j.Begin(entry, 0, nil)
	t.Params["n_trials"], t.Params["strong"] = s.Trials, s.Strong
	t.Measure("dsr_max", s.DSR, s.Undefined, ">=", &s.Threshold)
	if t.PValue = judge.Rounded(s.P); t.PValue == nil {
		t.Undefine("p_value", s.Undefined)
	}
	detail := ""
	switch {
	case s.PBO != nil:
		detail = fmt.Sprintf("the best trial of one half of the days is below the median in the other half "+
			"in %.0f %% of cases (trials: %d)",
			100**s.PBO, s.Trials)
	case s.P != nil:
		detail = fmt.Sprintf("a search without skill finds a ratio as high in %s of cases (trials: %d)",
			judge.Percent(*s.P), s.Trials)
	}
	return j.Capped(t.End(s.Verdict, s.Reason, detail))
}
