package selection

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

func block(dsr2025, dsr2014, sidak float64) *Selection {
	return &Selection{DSR2025: &dsr2025, DSR2014: &dsr2014, PSidak: &sidak}
}

func TestJudge(t *testing.T) {
	none := -1.0
	for _, c := range []struct {
		dsr2025, dsr2014, sidak, pbo float64
		t                            int
		want                         Verdict
	}{
		{.95, .95, .05, none, 120, Verdict{Pass, true, ""}},
		{.95, .94, .05, none, 120, Verdict{Pass, false, ""}},
		{.9499, .99, .01, none, 500, Verdict{Warn, false, ReasonDSR2025}},
		{.99, .99, .0501, none, 500, Verdict{Warn, false, ReasonSidak}},
		{.94, .5, .06, none, 500, Verdict{Warn, false, ReasonDSR2025}},
		{.94, .4999, .01, none, 500, Verdict{Fail, false, ReasonDSR2014}},
		{.96, .4999, .01, none, 500, Verdict{Pass, false, ""}},
		{.96, .4999, .06, none, 500, Verdict{Fail, false, ReasonDSR2014}},
		// The worse of the two counts.
		{.99, .99, .01, .20, 500, Verdict{Pass, true, ""}},
		{.99, .99, .01, .2001, 500, Verdict{Warn, false, ReasonPBO}},
		{.99, .99, .01, .50, 500, Verdict{Warn, false, ReasonPBO}},
		{.99, .99, .01, .5001, 500, Verdict{Fail, false, ReasonPBOHigh}},
		{.90, .60, .01, 0, 500, Verdict{Warn, false, ReasonDSR2025}},
		{.90, .60, .01, .3, 500, Verdict{Warn, false, ReasonDSR2025}},
		{.90, .60, .01, .6, 500, Verdict{Fail, false, ReasonPBOHigh}},
		{.10, .01, .90, .6, 500, Verdict{Fail, false, ReasonDSR2014}},
		// Never better than a warning, but as bad as it is.
		{.99, .99, .01, none, 119, Verdict{Warn, false, ReasonShort}},
		{.90, .60, .01, none, 119, Verdict{Warn, false, ReasonDSR2025}},
		{.10, .01, .90, none, 119, Verdict{Fail, false, ReasonDSR2014}},
	} {
		s := block(c.dsr2025, c.dsr2014, c.sidak)
		if c.pbo != none {
			s.PBO.Value = &c.pbo
		}
		if got := Judge(s, c.t); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestJudgeOfWhatIsUndefined(t *testing.T) {
	for _, name := range []string{"dsr_2025", "dsr_2014", "p_sidak"} {
		s := block(.99, .99, .01)
		switch name {
		case "dsr_2025":
			s.DSR2025 = nil
		case "dsr_2014":
			s.DSR2014 = nil
		default:
			s.PSidak = nil
		}
		s.Undefined = map[string]stat.Reason{name: stat.ZeroVariance}
		for _, c := range []struct {
			pbo  float64
			want Verdict
		}{{-1, Verdict{Inconclusive, false, "zero_variance"}}, {.5, Verdict{Inconclusive, false, "zero_variance"}}, {.51, Verdict{Fail, false, ReasonPBOHigh}}} {
			if s.PBO.Value = &c.pbo; c.pbo < 0 {
				s.PBO.Value = nil
			}
			if got := Judge(s, 500); got != c.want {
				t.Errorf("%s, PBO %v: %+v", name, c.pbo, got)
			}
		}
	}
}

// More of what speaks for a run never makes its verdict worse.
func TestJudgeIsMonotonous(t *testing.T) {
	rank := map[string]int{Fail: 0, Warn: 1, Pass: 2}
	unit := rapid.Float64Range(0, 1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c, d := unit.Draw(t, "dsr_2025"), unit.Draw(t, "dsr_2014"), unit.Draw(t, "p_sidak"), unit.Draw(t, "pbo")
		days := rapid.IntRange(100, 140).Draw(t, "t")
		s := block(a, b, c)
		s.PBO.Value = &d
		better := block(min(1, a+unit.Draw(t, "+")), min(1, b+unit.Draw(t, "++")), c*unit.Draw(t, "-"))
		e := d * unit.Draw(t, "--")
		better.PBO.Value = &e
		if x, y := Judge(s, days), Judge(better, days+20); rank[y.Verdict] < rank[x.Verdict] || x.Strong && !y.Strong {
			t.Fatalf("%+v, better %+v", x, y)
		}
	})
}
