package judge

import "fmt"

// Policy is the thresholds of the tests, a part of the profile. None of them is a law:
// where a rule speaks of the base, it is of the base's Sharpe ratio. All are fractions.
type Policy struct {
	// WarmupDrift is what published series may differ by with the declared warm-up;
	// between it and WarmupDriftWarn, and WarmupDecisionsWarn of the decisions, is a warning.
	WarmupDrift         float64 `json:"warmup_drift"`
	WarmupDriftWarn     float64 `json:"warmup_drift_warn"`
	WarmupDecisionsWarn float64 `json:"warmup_decisions_warn"`
	// CostPass and CostWarn are multiples of the costs that must leave a profit.
	CostPass float64 `json:"cost_pass"`
	CostWarn float64 `json:"cost_warn"`
	// DelayPass and DelayWarn are shares of the base one candle late.
	DelayPass float64 `json:"delay_pass"`
	DelayWarn float64 `json:"delay_warn"`
	// Keep is the share of the base that the median of changed series or parameters must
	// reach, NoisePositive and NeighbourPositive the share of them above 0.
	Keep              float64 `json:"keep"`
	NoisePositive     float64 `json:"noise_positive"`
	NeighbourPositive float64 `json:"neighbour_positive"`
	// NeighbourPeak is the quantile of the neighbours above which a base is a knife edge.
	NeighbourPeak float64 `json:"neighbour_peak"`
	// SymbolShare and YearShare are the most of the profit that one may have; Terciles is
	// how many of the three must have one.
	SymbolShare float64 `json:"symbol_share"`
	YearShare   float64 `json:"year_share"`
	Terciles    int     `json:"terciles"`
	// PPass and PWarn are the largest p-values.
	PPass float64 `json:"p_pass"`
	PWarn float64 `json:"p_warn"`
	// Participation is the most of a candle's volume that a fill may be, ParticipationFills
	// the share of the fills that must keep to it.
	Participation      float64 `json:"participation"`
	ParticipationFills float64 `json:"participation_fills"`
	// SameReturn is the largest difference between returns that count as equal.
	SameReturn float64 `json:"same_return"`
	// PlausibleSharpe times the root of the trades a year, 365 at least, is the largest annual
	// Sharpe ratio that is believed.
	PlausibleSharpe float64 `json:"plausible_sharpe"`
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

// LooserThan lists the thresholds that let more through than those of another policy, in
// the order of the fields.
func (p *Policy) LooserThan(d Policy) []Loosened {
	var out []Loosened
	for _, c := range []struct {
		name       string
		own, other float64
		atMost     bool // what is measured must be at most the threshold, else at least
	}{
		{"warmup_drift", p.WarmupDrift, d.WarmupDrift, true},
		{"warmup_drift_warn", p.WarmupDriftWarn, d.WarmupDriftWarn, true},
		{"warmup_decisions_warn", p.WarmupDecisionsWarn, d.WarmupDecisionsWarn, true},
		{"cost_pass", p.CostPass, d.CostPass, false},
		{"cost_warn", p.CostWarn, d.CostWarn, false},
		{"delay_pass", p.DelayPass, d.DelayPass, false},
		{"delay_warn", p.DelayWarn, d.DelayWarn, false},
		{"keep", p.Keep, d.Keep, false},
		{"noise_positive", p.NoisePositive, d.NoisePositive, false},
		{"neighbour_positive", p.NeighbourPositive, d.NeighbourPositive, false},
		{"neighbour_peak", p.NeighbourPeak, d.NeighbourPeak, true},
		{"symbol_share", p.SymbolShare, d.SymbolShare, true},
		{"year_share", p.YearShare, d.YearShare, true},
		{"terciles", float64(p.Terciles), float64(d.Terciles), false},
		{"p_pass", p.PPass, d.PPass, true},
		{"p_warn", p.PWarn, d.PWarn, true},
		{"participation", p.Participation, d.Participation, true},
		{"participation_fills", p.ParticipationFills, d.ParticipationFills, false},
		{"same_return", p.SameReturn, d.SameReturn, true},
		{"plausible_sharpe", p.PlausibleSharpe, d.PlausibleSharpe, true},
	} {
		if c.own != c.other && (c.own > c.other) == c.atMost {
			out = append(out, Loosened{c.name, c.own, c.other})
		}
	}
	return out
}
