package tests_test

import (
	"math"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests/plausibility"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// earned is a judge of so many days with a true annual Sharpe ratio.
func earned(t *testing.T, ratio float64, days, trades int, seed uint64) *judge.Judge {
	t.Helper()
	stream := random.New(seed, random.Calibrate, 0)
	returns := make([]float64, days)
	for i := range returns {
		returns[i] = 0.01 * (stream.Normal() + ratio/math.Sqrt(365))
	}
	moments, why := stat.Of(returns)
	sr, no := sharpe.Ratio(returns, 0, 1)
	se, none := sharpe.SE(sr, float64(days), sharpe.ShapeOf(moments))
	if why+no+none != "" {
		t.Fatal(why, no, none)
	}
	year := math.Sqrt(365)
	j := good()
	j.Base.Sharpe, j.Base.StandardError, j.Base.Years = f(sr*year), f(se*year), float64(days)/365
	j.Base.Trades, j.Base.T = trades, days
	return j
}

// Of true daily ratios of 3 at most two in a hundred are called too good, of hourly ones of 6
// with 2,000 trades a year at most one in a thousand; of what the future makes, all.
func TestPlausibilityIsCalibrated(t *testing.T) {
	const runs, days = 2000, 1000
	for _, c := range []struct {
		ratio       float64
		yearly      int
		least, most int
	}{{3, 300, 0, 40}, {6, 2000, 0, 2}, {2.5, 3000, 0, 0}, {8, 300, runs, runs}} {
		failed := 0
		for k := range uint64(runs) {
			j := earned(t, c.ratio, days, c.yearly*days/365, k)
			if plausibility.Judge(j).Verdict == judge.Fail {
				failed++
			}
		}
		if failed < c.least || failed > c.most {
			t.Errorf("true ratio %g with %d trades a year: %d of %d are too good", c.ratio, c.yearly, failed,
				runs)
		}
	}
}

func TestPlausible(t *testing.T) {
	j := good()
	j.Base.Sharpe, j.Base.StandardError, j.Base.Years, j.Base.Trades = f(4.2), f(.5), 2, 800
	// 4.2 - 2.326 * 0.5 is 3.04; with 400 trades a year 3 is believed.
	got := plausibility.Judge(j)
	want(t, "too good", got, judge.Fail, judge.TooGood)
	if *got.Statistic.Threshold != 3 || math.Abs(*got.Statistic.Value-3.0368) > 1e-4 {
		t.Errorf("%+v", got.Statistic)
	}
	j.Base.Trades = 900
	want(t, "with more trades", plausibility.Judge(j), judge.Pass, "")
	j.Base.Trades = 10 // few trades do not excuse it
	want(t, "few trades", plausibility.Judge(j), judge.Fail, judge.TooGood)
	j.Base.Sharpe = f(1)
	want(t, "too few to pass", plausibility.Judge(j), judge.Inconclusive, "insufficient")
	j.Base.Trades, j.Base.T = 40, 100
	want(t, "short", plausibility.Judge(j), judge.Warn, judge.ShortSample)
	j.Base.StandardError = nil
	want(t, "no standard error", plausibility.Judge(j), judge.Inconclusive, "not_applicable")
}
