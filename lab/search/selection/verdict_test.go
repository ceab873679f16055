package selection

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

func block(dsrMax, dsr2014 float64) *Selection { return &Selection{DSRMax: &dsrMax, DSR2014: &dsr2014} }

func TestJudge(t *testing.T) {
	none := -1.0
	for _, c := range []struct {
		dsrMax, dsr2014, pbo float64
		t                    int
		want                 Verdict
	}{
		{.95, .95, none, 120, Verdict{Pass, true, ""}},
		{.95, .94, none, 120, Verdict{Pass, false, ""}},
		{.95, .01, none, 120, Verdict{Pass, false, ""}}, // the stricter form decides nothing
		{.9499, .99, none, 500, Verdict{Warn, false, ReasonDSRMax}},
		{.5, .01, none, 500, Verdict{Warn, false, ReasonDSRMax}},
		{.4999, .99, none, 500, Verdict{Fail, false, ReasonDSRMaxLow}},
		// The worse of the two counts.
		{.99, .99, .20, 500, Verdict{Pass, true, ""}},
		{.99, .99, .2001, 500, Verdict{Warn, false, ReasonPBO}},
		{.99, .99, .50, 500, Verdict{Warn, false, ReasonPBO}},
		{.99, .99, .5001, 500, Verdict{Fail, false, ReasonPBOHigh}},
		{.90, .60, 0, 500, Verdict{Warn, false, ReasonDSRMax}},
		{.90, .60, .3, 500, Verdict{Warn, false, ReasonDSRMax}},
		{.90, .60, .6, 500, Verdict{Fail, false, ReasonPBOHigh}},
		{.10, .01, .6, 500, Verdict{Fail, false, ReasonDSRMaxLow}},
		// Never better than a warning, but as bad as it is.
		{.99, .99, none, 119, Verdict{Warn, false, ReasonShort}},
		{.90, .60, none, 119, Verdict{Warn, false, ReasonDSRMax}},
		{.10, .01, none, 119, Verdict{Fail, false, ReasonDSRMaxLow}},
	} {
		s := block(c.dsrMax, c.dsr2014)
		if c.pbo != none {
			s.PBO.Value = &c.pbo
		}
		if got := Judge(s, c.t); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestJudgeOfWhatIsUndefined(t *testing.T) {
	for _, c := range []struct {
		pbo  float64
		want Verdict
	}{{-1, Verdict{Inconclusive, false, "zero_variance"}},
		{.5, Verdict{Inconclusive, false, "zero_variance"}}, {.51, Verdict{Fail, false, ReasonPBOHigh}}} {
		s := &Selection{Undefined: map[string]stat.Reason{"dsr_max": stat.ZeroVariance}}
		if s.PBO.Value = &c.pbo; c.pbo < 0 {
			s.PBO.Value = nil
		}
		if got := Judge(s, 500); got != c.want {
			t.Errorf("PBO %v: %+v", c.pbo, got)
		}
	}
	s := block(.99, 0)
	s.DSR2014 = nil
	if got := Judge(s, 500); got != (Verdict{Verdict: Pass}) {
		t.Errorf("without dsr_2014: %+v", got)
	}
}

// More of what speaks for a run never makes its verdict worse.
func TestJudgeIsMonotonous(t *testing.T) {
	rank := map[string]int{Fail: 0, Warn: 1, Pass: 2}
	unit := rapid.Float64Range(0, 1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, d := unit.Draw(t, "dsr_max"), unit.Draw(t, "dsr_2014"), unit.Draw(t, "pbo")
		days := rapid.IntRange(100, 140).Draw(t, "t")
		s := block(a, b)
		s.PBO.Value = &d
		better := block(min(1, a+unit.Draw(t, "+")), min(1, b+unit.Draw(t, "++")))
		e := d * unit.Draw(t, "--")
		better.PBO.Value = &e
		if x, y := Judge(s, days), Judge(better, days+20); rank[y.Verdict] < rank[x.Verdict] || x.Strong &&
			!y.Strong {
			t.Fatalf("%+v, better %+v", x, y)
		}
	})
}
