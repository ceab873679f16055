package metric

import (
	"math"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// minGrowthWindow is the shortest window whose growth is extrapolated to a year.
const minGrowthWindow = market.Time(30 * 24 * time.Hour / time.Millisecond)

func growthMetrics() []Metric {
	return []Metric{
		{
			Key: "total_return", Unit: Fraction,
			Doc:  "Last equity over initial cash, minus 1.",
			eval: func(f *facts) (float64, Reason) { return totalReturn(f.candle.levels), "" },
		},
		{
			Key: "cagr", Unit: Fraction, Estimate: true, CPUDependent: true,
			Doc:  "Growth over the main sample, compounded to a year.",
			eval: func(f *facts) (float64, Reason) { return f.cagr(f.main) },
		},
		{
			Key: "cagr_candle", Unit: Fraction, Estimate: true, CPUDependent: true,
			Doc:  "Growth over the candle sample, compounded to a year.",
			eval: func(f *facts) (float64, Reason) { return f.cagr(f.candle) },
		},
		{
			Key: "calmar_ratio", Unit: Ratio, Estimate: true, CPUDependent: true,
			Doc:  "cagr over max_drawdown.",
			eval: func(f *facts) (float64, Reason) { return f.calmar(f.main) },
		},
		{
			Key: "calmar_ratio_candle", Unit: Ratio, Estimate: true, CPUDependent: true,
			Doc:  "cagr_candle over max_drawdown.",
			eval: func(f *facts) (float64, Reason) { return f.calmar(f.candle) },
		},
		{
			Key: "buy_hold_return", Unit: Fraction,
			Doc:  "Mean over the symbols of last close over first close, minus 1.",
			eval: func(f *facts) (float64, Reason) { return buyHoldReturn(f.in.Curves) },
		},
	}
}

// totalReturn is 0 for a run that ended before its first step: it still has its cash.
func totalReturn(curves [][]float64) float64 {
	var joined chain
	for _, levels := range curves {
		if _, ok := joined.factor(levels); !ok {
			break
		}
	}
	if !joined.started {
		return 0
	}
	return joined.level/joined.first - 1
}

// cagr is -1 when the equity reached 0 or below: everything was lost. The window
// runs from the first candle's open to the last step's close.
func (f *facts) cagr(s *sample) (float64, Reason) {
	if f.window < minGrowthWindow || s.n == 0 {
		return 0, WindowTooShort
	}
	var joined chain
	for _, levels := range s.levels {
		if _, ok := joined.factor(solvent(levels)); !ok {
			break
		}
	}
	if joined.level <= 0 {
		return -1, ""
	}
	return math.Pow(joined.level/joined.first, s.periods/float64(s.n)) - 1, ""
}

func (f *facts) calmar(s *sample) (float64, Reason) {
	growth, why := f.cagr(s)
	switch {
	case why != "":
		return 0, why
	case f.maxDrawdown == 0:
		return 0, ZeroDrawdown
	}
	return growth / f.maxDrawdown, ""
}

// buyHoldReturn compounds over stitched curves, as their equity does.
func buyHoldReturn(curves []Curve) (float64, Reason) {
	growth, known := 1.0, false
	for i := range curves {
		closes := curves[i].Closes
		if len(closes) == 0 {
			continue
		}
		known = true
		var sum compensated
		for _, c := range closes {
			sum.add(c.Last/c.First - 1)
		}
		growth *= 1 + sum.value()/float64(len(closes))
	}
	if !known {
		return 0, NotApplicable
	}
	return growth - 1, ""
}
