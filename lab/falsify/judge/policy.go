package judge

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

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

// String says it in words.
func (l Loosened) String() string {
	return fmt.Sprintf("/policy/%s is %g, looser than the %g of the default: nothing passes by it", l.Name, l.Value, l.Default)
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
