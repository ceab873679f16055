package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/multiple"
)

// Limit is what no verdict of the battery can say, however it ends.
const Limit = "The replays show that the host leaks no future candle to the program, not that the program " +
	"knows none: embedded or memorised prices, or a model trained on these candles, cannot be told from skill " +
	"on past candles."

// Overall is the verdict of the whole battery.
type Overall struct {
	Verdict Verdict
	// Refuted are the sentences of the failed gates in the order of the tests; empty, never
	// nil, when none failed.
	Refuted []string
	// GatesFailed counts them.
	GatesFailed int
	// Reasons are why the verdict is not better than it is, beside what the tests have
	// found; never nil.
	Reasons []Reason
}

// Reason is why a verdict is not better, for people and for programs.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of reasons: SkippedByUser of a test of class W, and
const (
	// LooserThreshold is of a threshold that lets more through than that of the default
	// profile.
	LooserThreshold = "looser_threshold"
	// ProfileDeviation is of a profile that is not the one of the base's plan.
	ProfileDeviation = "profile_deviation"
)

// Conclude reduces the tests: a failed gate refutes; else a gate that says nothing, or
// that the user left out, leaves it open; else a warning warns. A failed test of class W
// is a warning, one of class D nothing. One of class W that the user left out might have
// failed, so it is a warning, too. A gate that does not apply does not count.
func Conclude(tests []*Test) Overall {
	out := Overall{Verdict: Pass, Refuted: []string{}, Reasons: []Reason{}}
	open, warned := false, false
	for _, t := range tests {
		switch {
		case t.Class == Description:
		case t.Verdict == Warn || t.Class == Warning && t.Verdict == Fail:
			warned = true
		case t.Class == Warning && t.LeftOut():
			warned = true
			out.Reasons = append(out.Reasons, Reason{SkippedByUser, t.ID + " was left out, which counts as a warning"})
		case t.Class != Gate:
		case t.Verdict == Fail:
			out.GatesFailed++
			out.Refuted = append(out.Refuted, t.Sentence())
		case t.Verdict == Inconclusive, t.Verdict == Error, t.LeftOut():
			open = true
		}
	}
	switch {
	case out.GatesFailed > 0:
		out.Verdict = Fail
	case open:
		out.Verdict = Inconclusive
	case warned:
		out.Verdict = Warn
	}
	return out
}

// LeftOut reports whether the user did not want the test.
func (t *Test) LeftOut() bool { return t.Verdict == Skipped && t.ReasonCode == SkippedByUser }

// Cap makes an open verdict of one that thresholds looser than the default's have let
// through. What they refute stays refuted.
func (o *Overall) Cap(looser []Loosened) {
	for _, l := range looser {
		o.Reasons = append(o.Reasons, Reason{LooserThreshold, l.String()})
	}
	if len(looser) > 0 && o.Verdict != Fail {
		o.Verdict = Inconclusive
	}
}

// chance is what a p-value was made of.
type chance struct {
	// detail says it in words.
	detail string
	// replicas are the values of the statistic, nil for one that is judged by an interval.
	replicas []float64
}

// Holm adjusts the p-values of the tests whose entry has Holm for each other and judges these
// tests again by the adjusted ones, which are never smaller: three questions have three
// chances of a lucky answer. A test without a p-value, because it was left out or says
// nothing, is not in the family. One that is judged by an interval passes by it and by its
// adjusted p-value. Source: Holm (1979).
func Holm(tests []*Test, policy Policy) {
	var family []*Test
	for _, t := range tests {
		if t.holm && t.PValue != nil {
			family = append(family, t)
		}
	}
	p, ids := make([]float64, len(family)), make([]string, len(family))
	for i, t := range family {
		p[i], ids[i] = *t.PValue, t.ID
	}
	adjusted, levels := multiple.Adjust(p).Holm, holmLevels(p, policy.PPass)
	for i, t := range family {
		t.PHolm = Rounded(&adjusted[i])
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
		t.Statistic.Threshold = Rounded(&threshold)
	}
	if p <= policy.PPass || t.Verdict == Fail {
		return
	}
	detail := fmt.Sprintf("%s; p = %.3g by Holm's rule for %d p-values", t.chance.detail, p, family)
	if p <= policy.PWarn || t.chance.replicas == nil {
		t.End(Warn, PNotSmall, detail)
	} else {
		t.End(Fail, PNotSmall, detail)
	}
}

// holmLevels is what each p-value may be at most for a pass: alpha divided by how many are
// not yet rejected when it is its turn, or when the first before it was not.
func holmLevels(p []float64, alpha float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
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
