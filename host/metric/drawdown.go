package metric

import "github.com/assay-run/assay/plugin-sdk/market"

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
