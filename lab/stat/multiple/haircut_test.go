package multiple_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/multiple"
)

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
