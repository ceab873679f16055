package judge

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/multiple"
)

// Limit is what no verdict of the battery shows, however it ends.
const Limit = "The replays show that the host leaks no future candle to the program, not that the program " +
	"knows none: embedded or memorised prices, or a model trained on these candles, cannot be told from " +
	"skill " +
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
	// TrainedUntil is of a search split that begins before the end of the data that the program was
	// made with.
	TrainedUntil = "trained_until"
)

// Conclude reduces the tests: a failed gate refutes; else a gate that is inconclusive or was left
// out by the user leaves it open; else a warning warns. Of class W a failed test is a warning, and
// so is one that the user left out: it might have failed. Class D counts for nothing, nor does a
// gate that does not apply.
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
			out.Reasons = append(out.Reasons,
				Reason{SkippedByUser, t.ID + " was left out, which counts as a warning"})
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

// LeftOut reports whether the user left the test out.
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

// Train lowers a verdict on candles that the program was made with: a part of them warns, and
// where all of them are, nothing is shown. What is refuted stays refuted.
func (o *Overall) Train(message string, all bool) {
	o.Reasons = append(o.Reasons, Reason{TrainedUntil, message})
	switch {
	case all && o.Verdict != Fail:
		o.Verdict = Inconclusive
	case o.Verdict == Pass:
		o.Verdict = Warn
	}
}

// chance is what a p-value was made of.
type chance struct {
	// detail is the p-value in words.
	detail string
	// replicas are the values of the statistic, nil for one that is judged by an interval.
	replicas []float64
}

// Holm adjusts the p-values of the tests whose entry has Holm for each other and judges these
// tests again by the adjusted ones: three requests have three chances of a lucky answer. A test
// without a p-value is not in the family. One that is judged by an interval passes by it and by
// its adjusted p-value. Source: Holm (1979).
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

// judgeAgain lowers a verdict that the adjusted p-value does not bear, and sets the threshold to
// the level that Holm leaves for it.
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
	levels, stopped := make([]float64, len(p)), false
	last := alpha
	for rank, i := range stat.Order(p) {
		if !stopped {
			last = alpha / float64(len(p)-rank)
			stopped = p[i] > last
		}
		levels[i] = last
	}
	return levels
}

// Policy is the thresholds of the tests, a part of the profile. None of them is a law:
// where a rule speaks of the base, it is of the base's Sharpe ratio. All are fractions. What is
// measured must be at most or at least the threshold, as the tag pass has it; range has the
// ends of a threshold itself, a number or another field.
type Policy struct {
	// WarmupDrift is what published series may differ by with the declared warm-up;
	// between it and WarmupDriftWarn, and WarmupDecisionsWarn of the decisions, is a warning.
	WarmupDrift         float64 `json:"warmup_drift" pass:"most" range:"0..1"`
	WarmupDriftWarn     float64 `json:"warmup_drift_warn" pass:"most" range:"warmup_drift..1"`
	WarmupDecisionsWarn float64 `json:"warmup_decisions_warn" pass:"most" range:"0..1"`
	// CostPass and CostWarn are multiples of the costs that must leave a profit.
	CostPass float64 `json:"cost_pass" pass:"least"`
	CostWarn float64 `json:"cost_warn" pass:"least"`
	// DelayPass and DelayWarn are shares of the base one candle late.
	DelayPass float64 `json:"delay_pass" pass:"least" range:"0..1"`
	DelayWarn float64 `json:"delay_warn" pass:"least" range:"0..delay_pass"`
	// Keep is the share of the base that the median of changed series or parameters must
	// reach, NoisePositive and NeighbourPositive the share of them above 0.
	Keep              float64 `json:"keep" pass:"least" range:"0..1"`
	NoisePositive     float64 `json:"noise_positive" pass:"least" range:"0..1"`
	NeighbourPositive float64 `json:"neighbour_positive" pass:"least" range:"0..1"`
	// NeighbourPeak is the quantile of the neighbours above which a base is a knife edge.
	NeighbourPeak float64 `json:"neighbour_peak" pass:"most" range:"0..1"`
	// SymbolShare and YearShare are the most of the profit that one may have; Terciles is
	// how many of the three must have one.
	SymbolShare float64 `json:"symbol_share" pass:"most" range:"0..1"`
	YearShare   float64 `json:"year_share" pass:"most" range:"0..1"`
	Terciles    int     `json:"terciles" pass:"least" range:"0..3"`
	// PPass and PWarn are the largest p-values.
	PPass float64 `json:"p_pass" pass:"most" range:"0..1"`
	PWarn float64 `json:"p_warn" pass:"most" range:"p_pass..1"`
	// Participation is the most of a candle's volume that a fill may be, ParticipationFills
	// the share of the fills that must keep to it.
	Participation      float64 `json:"participation" pass:"most" range:"0..1"`
	ParticipationFills float64 `json:"participation_fills" pass:"least" range:"0..1"`
	// SameReturn is the largest difference between returns that count as equal.
	SameReturn float64 `json:"same_return" pass:"most" range:"0..1"`
	// PlausibleSharpe times the root of the trades a year, 365 at least, is the largest annual
	// Sharpe ratio that is believed.
	PlausibleSharpe float64 `json:"plausible_sharpe" pass:"most" range:"0..10"`
}

// DefaultPolicy is that of falsify-profile/2.
func DefaultPolicy() Policy {
	return Policy{
		WarmupDrift: 1e-4, WarmupDriftWarn: 1e-2, WarmupDecisionsWarn: 0.01,
		CostPass: 2, CostWarn: 1.5,
		DelayPass: 0.5, DelayWarn: 0.25,
		Keep: 0.5, NoisePositive: 0.8, NeighbourPositive: 0.7, NeighbourPeak: 0.95,
		SymbolShare: 0.8, YearShare: 0.6, Terciles: 2,
		PPass: 0.05, PWarn: 0.10,
		Participation: 0.10, ParticipationFills: 0.99,
		SameReturn: 1e-9, PlausibleSharpe: 0.15,
	}
}

// Loosened is a threshold of a policy that lets more through than another one's.
type Loosened struct {
	// Name is that of the field in the profile.
	Name           string
	Value, Default float64
}

// String is a sentence for people.
func (l Loosened) String() string {
	return fmt.Sprintf("/policy/%s is %g, looser than the %g of the default: nothing passes by it", l.Name,
		l.Value, l.Default)
}

// fields calls visit for each threshold in the order of the fields.
func (p *Policy) fields(visit func(name string, tag reflect.StructTag, value float64)) {
	v := reflect.ValueOf(p).Elem()
	for f, x := range v.Fields() {
		value := 0.0
		if x.CanInt() {
			value = float64(x.Int())
		} else {
			value = x.Float()
		}
		visit(f.Tag.Get("json"), f.Tag, value)
	}
}

// LooserThan lists the thresholds that let more through than those of another policy, in
// the order of the fields.
func (p *Policy) LooserThan(d Policy) []Loosened {
	other := map[string]float64{}
	d.fields(func(name string, _ reflect.StructTag, value float64) { other[name] = value })
	var out []Loosened
	p.fields(func(name string, tag reflect.StructTag, value float64) {
		if value != other[name] && (value > other[name]) == (tag.Get("pass") == "most") {
			out = append(out, Loosened{name, value, other[name]})
		}
	})
	return out
}

// OutOfRange is the first threshold that cannot be reached or stands in the wrong order, with
// the ends of its range; "" if there is none.
func (p *Policy) OutOfRange() (name string, low, high float64) {
	values := map[string]float64{}
	p.fields(func(name string, _ reflect.StructTag, value float64) { values[name] = value })
	end := func(text string) float64 {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
		return values[text]
	}
	p.fields(func(field string, tag reflect.StructTag, value float64) {
		first, last, bounded := strings.Cut(tag.Get("range"), "..")
		if bounded && name == "" && !(value >= end(first) && value <= end(last)) {
			name, low, high = field, end(first), end(last)
		}
	})
	return name, low, high
}
