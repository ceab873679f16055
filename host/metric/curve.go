package metric

import (
	"math"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// minGrowthWindow is the shortest window whose growth is extrapolated to a year.
const minGrowthWindow = market.Time(30 * 24 * time.Hour / time.Millisecond)

var growthMetrics = []Metric{
	{Key: "total_return", Unit: Fraction, eval: always(totalReturn),
		Doc: "Last equity over initial cash, minus 1."},
	{Key: "cagr", Unit: Fraction, Estimate: true, CPUDependent: true,
		eval: func(f *facts) (float64, Reason) { return f.cagr(f.main) },
		Doc:  "Growth over the main sample, compounded to a year."},
	{Key: "cagr_candle", Unit: Fraction, Estimate: true, CPUDependent: true,
		eval: func(f *facts) (float64, Reason) { return f.cagr(f.candle) },
		Doc:  "Growth over the candle sample, compounded to a year."},
	{Key: "calmar_ratio", Unit: Ratio, Estimate: true, CPUDependent: true,
		eval: func(f *facts) (float64, Reason) { return f.calmar(f.main) },
		Doc:  "cagr over max_drawdown."},
	{Key: "calmar_ratio_candle", Unit: Ratio, Estimate: true, CPUDependent: true,
		eval: func(f *facts) (float64, Reason) { return f.calmar(f.candle) },
		Doc:  "cagr_candle over max_drawdown."},
	{Key: "buy_hold_return", Unit: Fraction, eval: buyHoldReturn,
		Doc: "Mean over the symbols of last close over first close, minus 1."},
}

// totalReturn is 0 for a run that ended before its first step: it still has its cash.
func totalReturn(f *facts) float64 {
	var joined chain
	for _, levels := range f.candle.levels {
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
	if why == "" && f.maxDrawdown == 0 {
		why = ZeroDrawdown
	}
	return growth / f.maxDrawdown, why
}

// buyHoldReturn compounds over stitched curves, as their equity does.
func buyHoldReturn(f *facts) (float64, Reason) {
	growth, why := 1.0, NotApplicable
	for _, curve := range f.in.Curves {
		if len(curve.Closes) == 0 {
			continue
		}
		why = ""
		var sum compensated
		for _, c := range curve.Closes {
			sum.add(c.Last/c.First - 1)
		}
		growth *= 1 + sum.value()/float64(len(curve.Closes))
	}
	return growth - 1, why
}

var drawdownMetrics = []Metric{
	{Key: "max_drawdown", Unit: Fraction, eval: always(func(f *facts) float64 { return f.maxDrawdown }),
		Doc: "Largest fall of equity below its running peak, over all step closes."},
	{Key: "max_drawdown_day", Unit: Fraction,
		eval: always(func(f *facts) float64 { return maxDrawdown(f.day.levels) }),
		Doc:  "The largest drawdown seen at UTC day ends only."},
	{Key: "max_drawdown_duration_seconds", Unit: Seconds, eval: always(longestDrawdown),
		Doc: "Longest time below a peak: from the peak's time to recovery, or to the end."},
}

// chain joins curves into one series: each continues at the level at which the one
// before ended. Once that level is <= 0 there is nothing left to continue with.
type chain struct {
	first, level float64 // of the first and the last point
	started      bool
}

// factor scales the next curve; false means that the chain has ended. The first
// curve keeps its own numbers exactly.
func (c *chain) factor(levels []float64) (float64, bool) {
	if len(levels) == 0 {
		return 1, true
	}
	scale := 1.0
	switch {
	case !c.started:
		c.started, c.first = true, levels[0]
	case c.level <= 0:
		return 0, false
	case levels[0] <= 0:
		c.level = 0
		return 0, false
	default:
		scale = c.level / levels[0]
	}
	c.level = float64(scale * levels[len(levels)-1])
	return scale, true
}

func maxDrawdown(curves [][]float64) float64 {
	var joined chain
	var worst, peak float64
	for _, levels := range curves {
		scale, ok := joined.factor(levels)
		if !ok {
			break
		}
		for _, level := range levels {
			e := float64(scale * level)
			if e >= peak {
				peak = e
			} else if peak > 0 {
				worst = max(worst, 1-e/peak)
			}
		}
	}
	return worst
}

// WorstDrawdown finds the peak and the trough of the largest drawdown: the last
// point at the peak and the first at the trough. Both are 0 when equity never falls.
func WorstDrawdown(equity []float64) (peak, trough int) {
	var worst float64
	at := 0
	for i, e := range equity {
		if e >= equity[at] {
			at = i
			continue
		}
		if d := 1 - e/equity[at]; equity[at] > 0 && d > worst {
			worst, peak, trough = d, at, i
		}
	}
	return peak, trough
}

// longestDrawdown is in seconds of the step closes' time. A peak's time is the last
// close at its level. Curves that overlap in time are laid end to end.
func longestDrawdown(f *facts) float64 {
	var joined chain
	var longest, shift, now, peakTime market.Time
	var peak float64
	below := false
	for i, c := range f.in.Curves {
		scale, ok := joined.factor(c.Equity)
		if !ok {
			break
		}
		if i > 0 && len(c.Equity) > 0 {
			shift = max(0, now-c.CloseTime[0])
		}
		for k, level := range c.Equity {
			e := float64(scale * level)
			now = c.CloseTime[k] + shift
			recovered := below && e >= peak
			below = e < peak
			if below || recovered {
				longest = max(longest, now-peakTime)
			}
			if !below {
				peak, peakTime = e, now
			}
		}
	}
	return float64(longest) / 1000
}

var activityMetrics = []Metric{
	{Key: "exposure", Unit: Ratio, Estimate: true, eval: always(meanExposure),
		Doc: "Mean over the steps of the sum of positions' notional over equity."},
	{Key: "time_in_market", Unit: Fraction, Estimate: true, eval: always(timeInMarket),
		Doc: "Share of the steps with a position."},
	{Key: "turnover", Unit: Ratio, Estimate: true, eval: turnover,
		Doc: "Notional of all fills over mean equity."},
	{Key: "fees_paid", Unit: Quote,
		eval: always(func(f *facts) float64 { return f.in.Totals.FeesPaid.Float64() }),
		Doc:  "Sum of the fees of all fills."},
	{Key: "slippage_paid", Unit: Quote,
		eval: always(func(f *facts) float64 { return f.in.Totals.SlippagePaid.Float64() }),
		Doc:  "Sum over all fills of the distance from the reference price, times quantity."},
	count("fill_count", "Executions.", func(t *Totals) int { return t.Fills }),
	count("order_count", "Orders, rejected ones included.", func(t *Totals) int { return t.Orders }),
	count("rejected_orders", "Orders that were rejected.", func(t *Totals) int { return t.RejectedOrders }),
	count("rejected_intents", "Cancels and replaces of something unknown or closed.", func(t *Totals) int {
		return t.RejectedIntents
	}),
	count("ambiguous_fills", "Fills that the candle alone can neither confirm nor rule out.",
		func(t *Totals) int {
			return t.AmbiguousFills
		}),
	count("open_trades", "Positions still open at the end; they are in no trade statistic.",
		func(t *Totals) int {
			return t.OpenTrades
		}),
}

func count(key, doc string, of func(*Totals) int) Metric {
	return Metric{
		Key: key, Doc: doc, Unit: Count, eval: always(func(f *facts) float64 {
			return float64(of(&f.in.Totals))
		}),
	}
}

// meanExposure leaves out steps with an equity <= 0, where a share of it has no meaning.
func meanExposure(f *facts) float64 {
	var sum compensated
	n := 0
	for _, c := range f.in.Curves {
		for k, x := range c.Exposure {
			if c.Equity[k] > 0 {
				sum.add(x)
				n++
			}
		}
	}
	return sum.value() / float64(max(n, 1))
}

func timeInMarket(f *facts) float64 {
	in, n := 0, 0
	for _, c := range f.in.Curves {
		for _, x := range c.Exposure {
			if x != 0 {
				in++
			}
		}
		n += len(c.Exposure)
	}
	return float64(in) / float64(max(n, 1))
}

func turnover(f *facts) (x float64, why Reason) {
	var sum compensated
	n := 0
	for _, c := range f.in.Curves {
		for _, e := range c.Equity {
			sum.add(e)
		}
		n += len(c.Equity)
	}
	if sum.value() <= 0 {
		why = NotApplicable
	}
	return f.in.Totals.FillNotional.Float64() / (sum.value() / float64(n)), why
}
