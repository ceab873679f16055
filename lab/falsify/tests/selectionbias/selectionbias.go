// Package selectionbias is the test selection_bias: what the search for the base has done to
// its numbers. One test, one folder.
package selectionbias

import (
	"fmt"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/search/selection"
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
		return &battery.Finding{Test: Judge(&b.Judge, b.Selection)}, nil
	})
}

// Judge takes the verdict of selection_bias over. Its detail is about PBO where the verdict rests
// on it, else about the p-value of dsr_max.
func Judge(j *judge.Judge, r *selection.Result) *judge.Test {
	s, v := &r.Selection, r.Verdict
	t := j.Begin(entry, 0, nil)
	t.Params["n_trials"], t.Params["strong"] = s.NTrials, v.Strong
	t.Measure("dsr_max", s.DSRMax, s.Undefined["dsr_max"], ">=", judge.Ptr(selection.DSRPass))
	if t.PValue = judge.Rounded(s.DSRMaxTest.P); t.PValue == nil {
		t.Undefine("p_value", s.Undefined["dsr_max"])
	}
	pbo, byPBO := s.PBO.Value, v.ReasonCode == selection.ReasonPBO || v.ReasonCode == selection.ReasonPBOHigh
	if pbo != nil {
		t.Params["pbo"] = *pbo
	}
	detail := ""
	switch {
	case byPBO && pbo != nil:
		detail = fmt.Sprintf("the best trial of one half of the days is below the median in the other half "+
			"in %.0f %% of cases (trials: %d)", 100**pbo, s.NTrials)
	case s.DSRMaxTest.P != nil:
		detail = fmt.Sprintf("a search without skill finds a ratio as high in %s of cases (trials: %d)",
			judge.Percent(*s.DSRMaxTest.P), s.NTrials)
	}
	return j.Capped(t.End(judge.Verdict(v.Verdict), v.ReasonCode, detail))
}
