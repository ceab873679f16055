package judge

import "slices"

// The ids of the tests.
const (
	Determinism       = "determinism"
	LockstepReplay    = "lockstep_replay"
	LookaheadPrefix   = "lookahead_prefix"
	DataEndProbe      = "data_end_probe"
	WarmupRecursive   = "warmup_recursive"
	CostStress        = "cost_stress"
	DelayStress       = "delay_stress"
	IntrabarWorst     = "intrabar_worst"
	PriceNoise        = "price_noise"
	MissingCandles    = "missing_candles"
	ParamNeighbours   = "param_neighbourhood"
	SymbolHoldout     = "symbol_holdout"
	RegimeTest        = "regime"
	OutlierTrades     = "outlier_trades"
	RandomEntry       = "random_entry"
	PermutedCandles   = "permuted_candles"
	BuyAndHold        = "buy_and_hold"
	SelectionBias     = "selection_bias"
	TradeShuffle      = "trade_shuffle"
	CapacityTest      = "capacity"
	TimeReversal      = "time_reversal"
	Metamorphic       = "metamorphic"
	PermutedSelection = "permuted_selection"
)

// testVersion is that of a test; a changed rule counts its test's up.
func testVersion(id string) int {
	switch id {
	case RandomEntry, PermutedCandles, BuyAndHold, SelectionBias:
		return 2
	}
	return 1
}

// Entry is what the catalogue says about a test.
type Entry struct {
	Number        int
	ID            string
	Class         Class
	Claim, Method string
}

// Catalogue lists the tests in the order of their numbers, from 1. Claim is what the test
// attacks.
func Catalogue() []Entry {
	list := []Entry{
		{0, Determinism, Gate, "same input, same decisions", "5 repeats (3 plain, GOMAXPROCS 1 and all), 1 with chunked candles"},
		{0, LockstepReplay, Gate, "needs no future candle", "all of search candle by candle: the process never holds a later one"},
		{0, LookaheadPrefix, Gate, "needs no future candle", "20 cuts (10 at decisions, 10 random): truncated, and with a poisoned rest"},
		{0, DataEndProbe, Gate, "does not know the end", "200 synthetic candles appended"},
		{0, WarmupRecursive, Gate, "warm-up suffices", "validation with 1x, 2x, 4x warm-up against all history"},
		{0, CostStress, Gate, "survives costs", "fees, slippage x1, 1.5, 2, 3; break-even bps"},
		{0, DelayStress, Gate, "survives latency", "intents eligible 1, 2 candles later"},
		{0, IntrabarWorst, Warning, "no lucky fills", "market fills at the worse of open, close"},
		{0, PriceNoise, Warning, "not fitted to exact prices", "20 series, 10 % of median true range"},
		{0, MissingCandles, Warning, "survives gaps", "10 series: 1 % dropped, a 24 h hole"},
		{0, ParamNeighbours, Gate, "no knife edge", "each number +-5, 10, 20 % (>= 1 step), 32 Sobol points in +-10 %"},
		{0, SymbolHoldout, Warning, "not one symbol", "leave one out"},
		{0, RegimeTest, Warning, "not one period", "30-day volatility terciles, calendar years"},
		{0, OutlierTrades, Warning, "not a few trades", "best 5 % (>= 1) removed"},
		{0, RandomEntry, Gate, "timing has skill", "same holdings at random times (no plugin)"},
		{0, PermutedCandles, Gate, "pattern, not drift", "strategy on permuted train"},
		{0, BuyAndHold, Gate, "beats holding", "paired daily difference at equal exposure, CI 95 %"},
		{0, SelectionBias, Gate, "survives the search", "best of the trials resampled without skill; PBO"},
		{0, TradeShuffle, Description, "drawdown not luck of order", "999 orders: p50, p95, p99, P(drawdown >= 50 %)"},
		{0, CapacityTest, Warning, "tradable at size", "fill quantity / candle volume (base); max scale"},
		{0, TimeReversal, Description, "direction of time", "reversed returns; a real edge may survive"},
		{0, Metamorphic, Gate, "no absolute levels, names", "prices x1000, quantities / 1000 (if supports.scale_free); time + 364 d; symbols renamed"},
		{0, PermutedSelection, Gate, "the search itself", "whole plan on 99 permuted trains"},
	}
	for i := range list {
		list[i].Number = i + 1
	}
	return list
}

// Find is the entry of an id, such as a user names with --only.
func Find(id string) (Entry, bool) {
	list := Catalogue()
	i := slices.IndexFunc(list, func(e Entry) bool { return e.ID == id })
	if i < 0 {
		return Entry{}, false
	}
	return list[i], true
}

// blank is a test before its verdict. An id that is not in the catalogue keeps itself.
func blank(id string) *Test {
	e, _ := Find(id)
	return &Test{
		ID:       id,
		Version:  testVersion(id),
		Class:    e.Class,
		Claim:    e.Claim,
		Method:   e.Method,
		Params:   map[string]any{},
		Evidence: []Evidence{},
	}
}

// Skip is a test that is not made, and why.
func Skip(id, reason string) *Test { return blank(id).end(Skipped, reason, "") }

// Broke is a test that the host could not make; detail is for people.
func Broke(id, detail string) *Test { return blank(id).end(Error, HostError, detail) }
