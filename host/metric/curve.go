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

func drawdownMetrics() []Metric {
	return []Metric{
		{
			Key: "max_drawdown", Unit: Fraction,
			Doc:  "Largest fall of equity below its running peak, over all step closes.",
			eval: func(f *facts) (float64, Reason) { return f.maxDrawdown, "" },
		},
		{
			Key: "max_drawdown_day", Unit: Fraction,
			Doc:  "The largest drawdown seen at UTC day ends only.",
			eval: func(f *facts) (float64, Reason) { return maxDrawdown(f.day.levels), "" },
		},
		{
			Key: "max_drawdown_duration_seconds", Unit: Seconds,
			Doc:  "Longest time below a peak: from the peak's time to recovery, or to the end.",
			eval: func(f *facts) (float64, Reason) { return longestDrawdown(f.in.Curves), "" },
		},
	}
}

// chain joins curves into one series: each continues at the level at which the one
// before ended. Once that level is <= 0 there is nothing left to continue with.
type chain struct {
	first, level float64 // of the first and the last point
	started      bool
}

// factor scales the next curve; false says that the chain has ended. The first
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
func longestDrawdown(curves []Curve) float64 {
	var joined chain
	var longest, shift, now, peakTime market.Time
	var peak float64
	below := false
	for i := range curves {
		c := &curves[i]
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

func activityMetrics() []Metric {
	return []Metric{
		{
			Key: "exposure", Unit: Ratio, Estimate: true,
			Doc:  "Mean over the steps of the sum of positions' notional over equity.",
			eval: func(f *facts) (float64, Reason) { return meanExposure(f.in.Curves), "" },
		},
		{
			Key: "time_in_market", Unit: Fraction, Estimate: true,
			Doc:  "Share of the steps with a position.",
			eval: func(f *facts) (float64, Reason) { return timeInMarket(f.in.Curves), "" },
		},
		{
			Key: "turnover", Unit: Ratio, Estimate: true,
			Doc:  "Notional of all fills over mean equity.",
			eval: func(f *facts) (float64, Reason) { return turnover(f.in) },
		},
		{
			Key: "fees_paid", Unit: Quote,
			Doc:  "Sum of the fees of all fills.",
			eval: func(f *facts) (float64, Reason) { return f.in.Totals.FeesPaid.Float64(), "" },
		},
		{
			Key: "slippage_paid", Unit: Quote,
			Doc:  "Sum over all fills of the distance from the reference price, times quantity.",
			eval: func(f *facts) (float64, Reason) { return f.in.Totals.SlippagePaid.Float64(), "" },
		},
		count("fill_count", "Executions.", func(t *Totals) int { return t.Fills }),
		count("order_count", "Orders, rejected ones included.", func(t *Totals) int { return t.Orders }),
		count("rejected_orders", "Orders that were rejected.", func(t *Totals) int { return t.RejectedOrders }),
		count("rejected_intents", "Cancels and replaces of something unknown or closed.", func(t *Totals) int { return t.RejectedIntents }),
		count("ambiguous_fills", "Fills that the candle alone can neither confirm nor rule out.", func(t *Totals) int { return t.AmbiguousFills }),
		count("open_trades", "Positions still open at the end; they are in no trade statistic.", func(t *Totals) int { return t.OpenTrades }),
	}
}

func count(key, doc string, of func(*Totals) int) Metric {
	return Metric{
		Key: key, Doc: doc, Unit: Count,
		eval: func(f *facts) (float64, Reason) { return float64(of(&f.in.Totals)), "" },
	}
}

// meanExposure leaves out steps with an equity <= 0, where a share of it has no meaning.
func meanExposure(curves []Curve) float64 {
	var sum compensated
	n := 0
	for i := range curves {
		for k, x := range curves[i].Exposure {
			if curves[i].Equity[k] > 0 {
				sum.add(x)
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum.value() / float64(n)
}

func timeInMarket(curves []Curve) float64 {
	in, n := 0, 0
	for i := range curves {
		for _, x := range curves[i].Exposure {
			if x != 0 {
				in++
			}
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(in) / float64(n)
}

func turnover(in *Input) (float64, Reason) {
	var sum compensated
	n := 0
	for i := range in.Curves {
		for _, e := range in.Curves[i].Equity {
			sum.add(e)
			n++
		}
	}
	if sum.value() <= 0 {
		return 0, NotApplicable
	}
	return in.Totals.FillNotional.Float64() / (sum.value() / float64(n)), ""
}
