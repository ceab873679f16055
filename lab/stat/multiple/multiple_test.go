package multiple_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/multiple"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The six p-values of Harvey and Liu (2015), shuffled, with what they print for BHY.
func TestPublishedAdjustment(t *testing.T) {
	a := multiple.Adjust([]float64{.06, .005, .0135, .009, .045, .0128})
	for i, want := range []float64{.06, .0496, .0496, .0496, .06, .0496} {
		near(t, "BHY as printed", a.HLBHY[i], want, 5e-5)
	}
	for i, want := range []float64{.36, .03, .081, .054, .27, .0768} {
		near(t, "Bonferroni", a.Bonferroni[i], want, 1e-12)
	}
	for i, want := range []float64{.09, .03, .0512, .045, .09, .0512} {
		near(t, "Holm", a.Holm[i], want, 1e-12)
	}
}

func TestAdjustNothing(t *testing.T) {
	a := multiple.Adjust(nil)
	for _, list := range [][]float64{a.Bonferroni, a.Holm, a.BH, a.BY, a.HLBHY} {
		if list == nil || len(list) != 0 {
			t.Error(list)
		}
	}
	if a := multiple.Adjust([]float64{.3}); a.Bonferroni[0] != .3 || a.Holm[0] != .3 || a.BH[0] != .3 ||
		a.BY[0] != .3 || a.HLBHY[0] != .3 {
		t.Error(a)
	}
}

// Every adjustment keeps the order, stays in [p, 1] and does not depend on where a p-value
// stands; Holm is at most Bonferroni, BH at most either and at most BY.
func TestAdjustments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		a := multiple.Adjust(p)
		for i := range p {
			for _, list := range [][]float64{a.Bonferroni, a.Holm, a.BH, a.BY} {
				if list[i] < p[i] || list[i] > 1 {
					t.Fatalf("%v became %v", p[i], list[i])
				}
				for j := range p {
					if p[i] < p[j] && list[i] > list[j] || p[i] == p[j] && list[i] != list[j] {
						t.Fatal("the order is lost")
					}
				}
			}
			if a.Holm[i] > a.Bonferroni[i] || a.BH[i] > a.Holm[i] || a.BH[i] > a.BY[i] ||
				a.HLBHY[i] > a.BY[i] {
				t.Fatalf("%+v", a)
			}
		}
		order := rapid.Permutation(indices(len(p))).Draw(t, "order")
		moved := make([]float64, len(p))
		for i, at := range order {
			moved[i] = p[at]
		}
		b := multiple.Adjust(moved)
		for i, at := range order {
			if b.BY[i] != a.BY[at] || b.Holm[i] != a.Holm[at] || b.HLBHY[i] != a.HLBHY[at] {
				t.Fatal("the place matters")
			}
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Harvey and Liu (2015), exhibits 5 and 6, to the digits that they print.
func TestPublishedHaircuts(t *testing.T) {
	sr, why := multiple.MonthlySR(1, .1)
	if why != "" {
		t.Fatal(why)
	}
	h, why := multiple.HaircutOf(sr, 120, func(p float64) float64 { return 100 * p })
	if near(t, "adjusted p", h.AdjustedP, .465, 1e-3); why != "" {
		t.Error(why)
	}
	near(t, "haircut SR", h.HaircutSR, .232, 1e-3)
	near(t, "haircut", h.Haircut, .746, 1e-3)
	h, why = multiple.HaircutIndependent(.75, 240, 200)
	if near(t, "p after 200 tests", h.AdjustedP, .15, 5e-3); why != "" {
		t.Error(why)
	}
	near(t, "what is left", h.HaircutSR, .32, 5e-3)
	hurdle := multiple.Hurdle(240, .1, .05, 300)
	near(t, "single hurdle", hurdle.Single, .365, 5e-4)
	near(t, "hurdle after 300 tests", hurdle.Bonferroni, .702, 5e-4)
}

// No test more, no haircut; certainty leaves nothing; losers cannot be cut.
func TestHaircutAtTheEnds(t *testing.T) {
	same := func(p float64) float64 { return p }
	rapid.Check(t, func(t *rapid.T) {
		sr, months := rapid.Float64Range(.01, 3).Draw(t, "sr"), rapid.Float64Range(2, 1000).Draw(t, "months")
		h, why := multiple.HaircutOf(sr, months, same)
		if why != "" || h.Haircut != 0 || h.HaircutSR != sr {
			t.Fatalf("%+v %s", h, why)
		}
		// However little the p is raised, nothing is given.
		h, why = multiple.HaircutOf(sr, months, func(p float64) float64 { return math.Nextafter(p, 1) })
		if why != "" || h.Haircut < 0 || h.HaircutSR > sr {
			t.Fatalf("%+v %s", h, why)
		}
		h, why = multiple.HaircutOf(sr, months, func(float64) float64 { return 7 })
		if why != "" || h.AdjustedP != 1 || h.HaircutSR != 0 || h.Haircut != 1 {
			t.Fatalf("%+v %s", h, why)
		}
	})
	for _, sr := range []float64{0, -1} {
		h, why := multiple.HaircutIndependent(sr, 240, 200)
		if why != stat.NotApplicable || h.P <= 0 || h.HaircutSR != 0 {
			t.Errorf("%+v %q", h, why)
		}
	}
	// So significant that its p is 0: nothing to turn back.
	if _, why := multiple.HaircutIndependent(50, 1e5, 10); why != stat.NotApplicable {
		t.Error(why)
	}
	if _, why := multiple.MonthlySR(1, 1); why != stat.NotApplicable {
		t.Error(why)
	}
}

func TestSidak(t *testing.T) {
	near(t, "two coins", multiple.Sidak(.5, 2), .75, 1e-15)
	near(t, "certain", multiple.Sidak(1, 3), 1, 0)
	near(t, "tiny", multiple.Sidak(1e-20, 1e3)/1e-17, 1, 1e-12)
	near(t, "one trial", multiple.SidakOfSharpe(.1, 400, 1), stat.Upper(2), 1e-15)
	near(t, "three trials", multiple.SidakOfSharpe(.1, 400, 3), 1-math.Pow(stat.Phi(2), 3), 1e-15)
}
