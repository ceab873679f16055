package judge

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
}

// DefaultPolicy is that of falsify-profile/1.
func DefaultPolicy() Policy {
	return Policy{
		WarmupDrift: 1e-4, WarmupDriftWarn: 1e-2, WarmupDecisionsWarn: 0.01,
		CostPass: 2, CostWarn: 1.5,
		DelayPass: 0.5, DelayWarn: 0.25,
		Keep: 0.5, NoisePositive: 0.8, NeighbourPositive: 0.7, NeighbourPeak: 0.95,
		SymbolShare: 0.8, YearShare: 0.6, Terciles: 2,
		PPass: 0.05, PWarn: 0.10,
		Participation: 0.10, ParticipationFills: 0.99,
		SameReturn: 1e-9,
	}
}
