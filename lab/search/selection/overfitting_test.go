package selection

import (
	"testing"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/cscv"
)

// PBO speaks from ten trials and 200 returns on.
func TestPBONeedsEnough(t *testing.T) {
	for _, c := range []struct {
		trials, days int
		defined      bool
	}{{10, 200, true}, {9, 200, false}, {10, 199, false}} {
		s := search(1, c.trials, c.days, 0).mustSelect(t).Selection
		if (s.PBO.Value != nil) != c.defined || c.defined == (s.Undefined["pbo.value"] == stat.Insufficient) {
			t.Errorf("%+v: %+v", c, s.PBO)
		}
	}
	// Trials without a series are no help.
	l := search(1, 9, 300, 0)
	l.Trials = append(l.Trials, Trial{Key: "y"}, Trial{Key: "z"})
	if s := l.mustSelect(t).Selection; s.NTrials != 11 || s.PBO.Value != nil {
		t.Errorf("%+v", s)
	}
}

func TestPBOIsThatOfCSCV(t *testing.T) {
	l := search(8, 12, 307, 1)
	rows := make([][]float64, 307)
	for i := range rows {
		for _, x := range l.Trials {
			rows[i] = append(rows[i], x.Series.Return[i])
		}
	}
	want, _, err := cscv.Run(rows, 10, cscv.Sharpe)
	if err != nil {
		t.Fatal(err)
	}
	p := l.mustSelect(t).Selection.PBO
	near(t, "pbo", p.Value, want.PBO)
	near(t, "loss", p.ProbOOSLoss, want.ProbLoss)
	near(t, "slope", p.Slope, want.Slope)
}

// One trial with skill is chosen in every half; a constant one has no ratio and is passed
// over, one that never trades stays.
func TestPBOOfSkill(t *testing.T) {
	l := search(8, 14, 600, 12)
	constant := make([]float64, 600)
	for i := range constant {
		constant[i] = 1e-5
	}
	l.Trials[0].Series, l.Trials[1].Series = daily(constant), daily(make([]float64, 600))
	r := l.mustSelect(t)
	if p := r.Selection.PBO; p.Value == nil || *p.Value != 0 || *p.ProbOOSLoss != 0 {
		t.Errorf("%+v", p)
	}
	if want := (Verdict{Verdict: Pass, Strong: true}); r.Verdict != want {
		t.Errorf("%+v", r.Verdict)
	}
}
