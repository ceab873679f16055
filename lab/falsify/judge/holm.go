package judge

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/multiple"
)

// chance is what a p-value was made of.
type chance struct {
	// detail says it in words.
	detail string
	// replicas are the values of the statistic, nil for one that is judged by an interval.
	replicas []float64
}

// Holm adjusts the p-values of random_entry, permuted_candles and buy_and_hold for each
// other and judges these tests again by the adjusted ones, which are never smaller: three
// questions have three chances of a lucky answer. Those of the three that have no p-value,
// because they were left out or say nothing, are not in the family. buy_and_hold passes by
// its interval and its adjusted p-value. Source: Holm (1979).
func Holm(tests []*Test, policy Policy) {
	var family []*Test
	for _, t := range tests {
		if (t.ID == RandomEntry || t.ID == PermutedCandles || t.ID == BuyAndHold) && t.PValue != nil {
			family = append(family, t)
		}
	}
	p, ids := make([]float64, len(family)), make([]string, len(family))
	for i, t := range family {
		p[i], ids[i] = *t.PValue, t.ID
	}
	adjusted, levels := multiple.Adjust(p).Holm, holmLevels(p, policy.PPass)
	for i, t := range family {
		t.PHolm = rounded(&adjusted[i])
		if t.Params == nil {
			t.Params = map[string]any{}
		}
		t.Params["holm_over"] = ids
		if t.chance != nil && len(family) > 1 {
			t.judgeAgain(adjusted[i], levels[i], policy, len(family))
		}
	}
}

// judgeAgain makes a verdict worse that the adjusted p-value does not bear, and says how far
// the value has to be from chance at the level that Holm leaves for it.
func (t *Test) judgeAgain(p, level float64, policy Policy, family int) {
	if t.chance.replicas != nil {
		threshold, _ := stat.Quantile(t.chance.replicas, 1-level) // there is at least one
		t.Statistic.Threshold = rounded(&threshold)
	}
	if p <= policy.PPass || t.Verdict == Fail {
		return
	}
	detail := fmt.Sprintf("%s; p = %.3g by Holm's rule for %d p-values", t.chance.detail, p, family)
	if p <= policy.PWarn || t.chance.replicas == nil {
		t.end(Warn, PNotSmall, detail)
	} else {
		t.end(Fail, PNotSmall, detail)
	}
}

// holmLevels is what each p-value may be at most for a pass: alpha divided by how many are
// not yet rejected when it is its turn, or when the first before it was not.
func holmLevels(p []float64, alpha float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	levels, stopped := make([]float64, len(p)), false
	last := alpha
	for rank, i := range order {
		if !stopped {
			last = alpha / float64(len(p)-rank)
			stopped = p[i] > last
		}
		levels[i] = last
	}
	return levels
}
