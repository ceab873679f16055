package judge

import (
	"fmt"

	"github.com/assay-run/assay/lab/stat"
)

// Delayed judges delay_stress by the replay one candle late; what two do is evidence.
func (j *Judge) Delayed(one Replay, replays int) *Test {
	p := j.Policy
	t := j.begin(DelayStress, replays, map[string]any{"delay_pass": p.DelayPass, "delay_warn": p.DelayWarn})
	if one.Status == Broken {
		return t.end(Error, HostError, "the replay could not be made")
	}
	if j.tooLittle(t) {
		t.measure("sharpe_ratio", one.Sharpe, stat.Insufficient, ">=", nil)
		return t
	}
	base := *j.Base.Sharpe
	if one.Status == Failed {
		t.measure("sharpe_ratio", nil, "", ">=", number(p.DelayPass*base))
		return t.end(Fail, PluginFailed, "the program failed one candle late")
	}
	late := ratios([]Replay{one})[0]
	t.measure("sharpe_ratio", &late, "", ">=", number(p.DelayPass*base))
	detail := fmt.Sprintf("one candle late the Sharpe ratio is %s, in time %s", two(late), two(base))
	switch {
	case late > 0 && late >= p.DelayPass*base:
		t.end(Pass, "", "")
	case late > 0 && late >= p.DelayWarn*base:
		t.end(Warn, SharpeFalls, detail)
	default:
		t.end(Fail, SharpeFalls, detail)
	}
	return j.capped(t)
}

// Noisy is the series of one size of noise, in percent of the median true range.
type Noisy struct {
	Percent int
	Replays []Replay
}

// The sizes of noise that decide: what fails at the gate's refutes, at the other warns.
const (
	noiseGate    = 3
	noiseWarning = 10
)

// Noise judges price_noise. Every size is there, each with a series at least.
func (j *Judge) Noise(sizes []Noisy) *Test {
	p := j.Policy
	var all []Replay
	medians, at := map[string]float64{}, map[int][]float64{}
	for _, s := range sizes {
		all = append(all, s.Replays...)
		at[s.Percent] = ratios(s.Replays)
	}
	t := j.begin(PriceNoise, len(all), map[string]any{"keep": p.Keep, "noise_positive": p.NoisePositive})
	if j.unready(t, all) {
		return t
	}
	if n := failed(all); n > 0 {
		t.measure("median_sharpe_ratio", nil, "", ">=", nil)
		return t.end(Fail, PluginFailed, fmt.Sprintf("the program failed on %d of %d series", n, len(all)))
	}
	for _, s := range sizes {
		m := median(at[s.Percent])
		medians[fmt.Sprintf("%d%%", s.Percent)] = *rounded(&m)
	}
	t.Params["median_sharpe_ratios"] = medians
	far := j.kept(blank(PriceNoise), at[noiseWarning], 0)
	j.kept(t, at[noiseGate], p.NoisePositive)
	said := func(percent int, what string) string {
		return fmt.Sprintf("with noise of %d %% of the median true range %s", percent, what)
	}
	switch {
	case t.Verdict == Fail:
		t.Detail = said(noiseGate, t.Detail)
		if t.Statistic.Name != far.Statistic.Name { // the share above 0 warns, the median refutes
			t.Verdict = Warn
		}
	case t.Verdict == Pass && far.Verdict == Fail:
		t.Statistic = far.Statistic
		t.end(Warn, far.ReasonCode, said(noiseWarning, far.Detail))
	}
	return t
}

// Missing judges missing_candles. A strategy that crashes on a gap is refuted: there will
// be gaps.
func (j *Judge) Missing(list []Replay) *Test {
	t := j.begin(MissingCandles, len(list), map[string]any{"keep": j.Policy.Keep})
	if n := failed(list); n > 0 && !broken(list) {
		t.Class = Gate
		t.measure("median_sharpe_ratio", nil, "", ">=", nil)
		return t.end(Fail, PluginFailed, fmt.Sprintf("the program failed on %d of %d series", n, len(list)))
	}
	if j.unready(t, list) {
		return t
	}
	return j.kept(t, ratios(list), 0)
}

// Neighbours judges param_neighbourhood: parameters beside the base's do about as well.
func (j *Judge) Neighbours(list []Replay) *Test {
	p := j.Policy
	t := j.begin(ParamNeighbours, len(list), map[string]any{
		"keep": p.Keep, "neighbour_positive": p.NeighbourPositive, "neighbour_peak": p.NeighbourPeak,
	})
	if j.unready(t, list) {
		return t
	}
	values := ratios(list)
	peak, _ := stat.Quantile(values, p.NeighbourPeak) // there is at least one
	if m := median(values); *j.Base.Sharpe > peak && m <= medianAbove {
		t.measure("median_sharpe_ratio", &m, "", ">=", number(p.Keep**j.Base.Sharpe))
		return t.end(Fail, SharpeFalls, fmt.Sprintf("the median Sharpe ratio of the neighbours is %s, its "+
			"own %s", two(m), two(*j.Base.Sharpe)))
	}
	if j.kept(t, values, p.NeighbourPositive); t.Verdict == Fail {
		t.Verdict = Warn
	}
	return t
}

// NoNeighbours is param_neighbourhood of a strategy without neighbours to play, which is
// no better than one whose neighbours do worse: it warns.
func (j *Judge) NoNeighbours(reason string) *Test {
	t := j.begin(ParamNeighbours, 0, nil)
	t.measure("median_sharpe_ratio", nil, stat.NotApplicable, ">=", nil)
	detail := map[string]string{
		NoSources: "it declares no parameters, and the Go sources that its program was built from are " +
			"not at hand",
		NoLiterals:    "it declares no parameters, and there is no number in its sources to change",
		WithoutEffect: "no number that could be changed has an effect on its decisions",
	}[reason]
	return t.end(Warn, reason, detail)
}

// Reversed describes time_reversal.
func (j *Judge) Reversed(r Replay) *Test {
	t := j.begin(TimeReversal, 1, nil)
	t.measure("sharpe_ratio", r.Sharpe, stat.NotApplicable, ">", nil)
	switch {
	case r.Status == Broken:
		return t.end(Error, HostError, "the replay could not be made")
	case r.Status == Failed:
		return t.end(Fail, PluginFailed, "the program failed on reversed returns")
	case r.Sharpe == nil:
		return t.end(Inconclusive, string(stat.NotApplicable), "there is no Sharpe ratio on reversed returns")
	}
	return t.end(Pass, "", "on reversed returns the Sharpe ratio is "+two(*r.Sharpe))
}

// unready ends a test of changed series or parameters that cannot be judged.
func (j *Judge) unready(t *Test, list []Replay) bool {
	t.measure("median_sharpe_ratio", nil, stat.Insufficient, ">=", nil)
	switch {
	case len(list) == 0 || broken(list):
		t.end(Error, HostError, "a replay could not be made")
	case !j.tooLittle(t):
		t.Undefined = nil
		return false
	}
	return true
}

// medianAbove is what the median of changed series or parameters must exceed, whatever
// share of the base it is. It is policy, shown as such, and no field of the profile: there
// is nothing else to take.
const medianAbove = 0.0

// kept wants the median to reach a share of the base, and a share of the values above 0.
// The median itself must be, too. A share of a base that is not above 0 is a threshold
// that losses reach: nothing can be said of it.
func (j *Judge) kept(t *Test, values []float64, above float64) *Test {
	m, base, share := median(values), *j.Base.Sharpe, positive(values)
	t.measure("median_sharpe_ratio", &m, "", ">=", number(j.Policy.Keep*base))
	t.Params["share_positive"] = rounded(&share)
	if policy, ok := t.Params["policy"].(map[string]any); ok {
		policy["median_above"] = medianAbove
	}
	switch {
	case base <= 0:
		return t.end(Inconclusive, BaseNotPositive,
			fmt.Sprintf("its own Sharpe ratio is %s: there is nothing to keep", two(base)))
	case m < j.Policy.Keep*base:
		t.end(Fail, SharpeFalls, fmt.Sprintf("the median Sharpe ratio is %s, its own %s", two(m), two(base)))
	case m <= medianAbove:
		t.end(Fail, SharpeNegative, fmt.Sprintf("the median Sharpe ratio is %s", two(m)))
	case share < above:
		t.measure("share_positive", &share, "", ">=", &above)
		t.end(Fail, SharpeNegative, fmt.Sprintf("only %s have a Sharpe ratio above 0", percent(share)))
	default:
		t.end(Pass, "", "")
	}
	return j.capped(t)
}
