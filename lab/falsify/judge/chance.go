package judge

import (
	"fmt"

	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/stat"
)

// Random judges random_entry by the Sharpe ratios of the same holdings at random times;
// why is the reason that null.NewRandomEntry gave.
func (j *Judge) Random(replicas []*float64, why stat.Reason) *Test {
	t := j.begin(RandomEntry, len(replicas), j.levels())
	if j.tooLittle(t) {
		return withoutP(t, stat.Insufficient)
	}
	if why != "" {
		return withoutP(t, why).end(Inconclusive, string(why), "its holdings cannot be placed at other times")
	}
	return j.byChance(t, values(replicas), nil)
}

// Permuted judges permuted_candles. base is the Sharpe ratio on the train part as it was,
// trades its closed trades.
func (j *Judge) Permuted(base *float64, trades int, joint bool, list []Replay) *Test {
	t := j.begin(PermutedCandles, len(list), j.levels())
	t.Params["joint"] = joint
	if len(list) == 0 || broken(list) {
		return withoutP(t, "").end(Error, HostError, "a replay could not be made")
	}
	own := Judge{Base: j.Base, Policy: j.Policy}
	own.Base.Sharpe, own.Base.Trades, own.Base.Undefined = base, trades, stat.NotApplicable
	if own.tooLittle(t) {
		return withoutP(t, stat.Insufficient)
	}
	return own.byChance(t, ratios(list), list)
}

// leastObjectives is the fewest permutations with an objective that p = 0.05 can come of.
const leastObjectives = 19

// PermutedPlan judges permuted_selection by the best objective of the plan on each
// permutation; best is that on the real candles, nil where it is undefined. Less is better
// where the plan minimises. A permutation on which no trial has an objective has no best
// one: it neither reaches the base nor counts.
func (j *Judge) PermutedPlan(best *float64, replicas []*float64, minimise bool) *Test {
	t := j.begin(PermutedSelection, len(replicas), j.levels())
	sign, direction := 1.0, ">"
	if minimise {
		sign, direction = -1, "<"
	}
	var found []float64
	for _, x := range replicas {
		if x != nil {
			found = append(found, sign**x)
		}
	}
	t.Params["with_objective"] = len(found)
	none := func(detail string) *Test {
		t.measure("best_objective", best, stat.Insufficient, direction, nil)
		t.undefined("p_value", stat.Insufficient)
		return t.end(Inconclusive, string(stat.Insufficient), detail)
	}
	switch {
	case best == nil:
		return none("no trial of the plan has an objective on train")
	case len(found) < leastObjectives:
		return none(fmt.Sprintf("it takes %d shuffled trains with an objective and there are %d of %d",
			leastObjectives, len(found), len(replicas)))
	}
	own := Judge{Base: j.Base, Policy: j.Policy}
	own.Base.Sharpe = number(sign * *best)
	own.byChance(t, found, nil)
	t.measure("best_objective", best, "", direction, number(sign**t.Statistic.Threshold))
	return t
}

func (j *Judge) levels() map[string]any {
	return map[string]any{"p_pass": j.Policy.PPass, "p_warn": j.Policy.PWarn}
}

// values are ratios with 0 for what has none: nothing was traded.
func values(list []*float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		if x != nil {
			out[i] = *x
		}
	}
	return out
}

func withoutP(t *Test, why stat.Reason) *Test {
	t.measure("sharpe_ratio", nil, why, ">", nil)
	t.undefined("p_value", why)
	return t
}

// byChance judges the p-value of the base among replicas without what is claimed. The
// replays behind them, nil where none can fail, are in the same order: one that failed
// counts as having reached the base, whatever its value. The threshold is the value that
// the base must exceed for a pass.
func (j *Judge) byChance(t *Test, replicas []float64, behind []Replay) *Test {
	base, reached := *j.Base.Sharpe, 0
	for i, x := range replicas {
		if x >= base || behind != nil && behind[i].Status == Failed {
			reached++
		}
	}
	p := stat.ResampledP(reached, len(replicas))
	threshold, _ := stat.Quantile(replicas, 1-j.Policy.PPass) // there is at least one
	t.measure("sharpe_ratio", &base, "", ">", &threshold)
	t.PValue = rounded(&p)
	t.Params["smallest_p"] = stat.SmallestP(len(replicas))
	detail := fmt.Sprintf("by chance %d of %d did as well (p = %.2g)", reached, len(replicas), p)
	t.chance = &chance{detail, replicas}
	switch {
	case p <= j.Policy.PPass:
		t.end(Pass, "", "")
	case p <= j.Policy.PWarn:
		t.end(Warn, PNotSmall, detail)
	default:
		t.end(Fail, PNotSmall, detail)
	}
	return j.capped(t)
}

// Holding judges buy_and_hold by the interval of the mean difference; why is the reason
// that null.AgainstHolding gave. A bound no further from 0 than the returns of two equal
// runs may be from each other is 0: the rest of a long sum of rounded products is no
// difference.
func (j *Judge) Holding(b *null.Benchmark, why stat.Reason) *Test {
	t := j.begin(BuyAndHold, 0, nil)
	t.Params["confidence"] = null.Confidence
	if why == "" && j.Base.Fills == 0 {
		why = stat.NoTrades
	}
	if why != "" {
		t.measure("mean_difference", nil, why, ">", number(0))
		t.undefined("p_value", why)
		return t.end(Inconclusive, string(why), "there is nothing to compare")
	}
	t.Params["b"], t.Params["mean_block"], t.Params["exposure"] = b.B, rounded(&b.MeanBlock), rounded(&b.Exposure)
	t.Params["ci_low"], t.Params["ci_high"], t.Params["smallest_p"] = rounded(&b.Low), rounded(&b.High), b.SmallestP
	t.measure("mean_difference", &b.Mean, "", ">", number(0))
	p, dust := b.P, j.Policy.SameReturn
	if b.Low >= -dust && b.High <= dust {
		p = 1 // there is nothing that chance would have to reach
	}
	t.PValue = rounded(&p)
	detail := fmt.Sprintf("the mean daily difference lies between %s and %s", tiny(b.Low), tiny(b.High))
	switch {
	case b.Low > dust:
		t.chance = &chance{detail: detail}
		t.end(Pass, "", "")
	case b.High < -dust:
		t.end(Fail, BelowZero, detail)
	default:
		t.end(Warn, ContainsZero, detail)
	}
	return j.capped(t)
}

func tiny(x float64) string { return fmt.Sprintf("%.3f %%", 100*x) }

// Selected is the verdict of package selection on the search that found the base.
type Selected struct {
	Verdict Verdict
	Reason  string
	// DSR is dsr_max, nil where it is undefined, and then Undefined has the reason.
	DSR       *float64
	Undefined stat.Reason
	// P is 1 - DSR, to all digits; nil as DSR.
	P *float64
	// PBO is the share of halvings in which the best overfits where the verdict rests on
	// it, else nil.
	PBO    *float64
	Trials int
	// Strong says that the ratio of 2014 passes, too.
	Strong bool
	// Threshold is the ratio that a pass needs.
	Threshold float64
}

// Selection takes the verdict of selection_bias over.
func (j *Judge) Selection(s Selected) *Test {
	t := j.begin(SelectionBias, 0, nil)
	t.Params["n_trials"], t.Params["strong"] = s.Trials, s.Strong
	t.measure("dsr_max", s.DSR, s.Undefined, ">=", &s.Threshold)
	if t.PValue = rounded(s.P); t.PValue == nil {
		t.undefined("p_value", s.Undefined)
	}
	detail := ""
	switch {
	case s.PBO != nil:
		detail = fmt.Sprintf("the best trial of one half of the days is below the median in the other half "+
			"in %.0f %% of cases (trials: %d)",
			100**s.PBO, s.Trials)
	case s.P != nil:
		detail = fmt.Sprintf("a search without skill finds a ratio as high in %s of cases (trials: %d)",
			percent(*s.P), s.Trials)
	}
	return j.capped(t.end(s.Verdict, s.Reason, detail))
}
