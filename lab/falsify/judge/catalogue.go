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
	PlausibilityTest  = "plausibility"
)

// Limit is what no verdict of the battery can say, however it ends.
const Limit = "The replays show that the host leaks no future candle to the program, not that the program " +
	"knows none: embedded or memorised prices, or a model trained on these candles, cannot be told from skill " +
	"on past candles."

// Entry is what the catalogue says about a test. Claim completes "it is shown that".
// Version counts the changes of the rule.
type Entry struct {
	Number        int
	ID            string
	Version       int
	Class         Class
	Claim, Method string
}

// Catalogue lists the tests in the order of their numbers, from 1. Claim is what the test
// attacks.
func Catalogue() []Entry {
	list := []Entry{
		{0, Determinism, 1, Gate, "equal input gives equal decisions",
			"5 repeats (3 plain, GOMAXPROCS 1 and all), 1 with the candles in messages"},
		{0, LockstepReplay, 1, Gate, "the host shows no future candle",
			"the whole search candle by candle, so that the process never holds a later one"},
		{0, LookaheadPrefix, 1, Gate, "the host shows no future candle, wherever the data are cut",
			"20 cuts (10 at decisions, 10 random): truncated, and with nonsense behind the cut"},
		{0, DataEndProbe, 1, Gate, "the host does not show where the data end",
			"200 synthetic candles appended"},
		{0, WarmupRecursive, 2, Gate, "the declared warm-up is enough",
			"validation after 1, 2 and 4 times the warm-up against all history"},
		{0, CostStress, 1, Gate, "it earns money at higher costs",
			"fees and slippage times 1, 1.5, 2 and 3; the costs at which the profit is gone"},
		{0, DelayStress, 1, Gate, "it earns about as much when orders come late",
			"orders 1 and 2 candles late"},
		{0, IntrabarWorst, 1, Warning, "its profit does not rest on lucky fills",
			"market orders filled at the worse of open and close"},
		{0, PriceNoise, 2, Gate, "it does not look up exact prices",
			"noise of 3 % of the median true range decides, 10 % warns, 1 and 30 % inform; it finds exact " +
				"look-ups only"},
		{0, MissingCandles, 1, Warning, "it copes with missing candles",
			"10 series: 1 % left out, and a hole of 24 hours"},
		{0, ParamNeighbours, 2, Gate, "nearby parameters do about as well",
			"each number +-5, 10, 20 % (a step at least) and 32 points within +-10 %; " +
				"without parameters, the numbers in the Go sources, up to 24 of their neighbours"},
		{0, SymbolHoldout, 2, Warning, "no single symbol carries the profit", "each symbol left out in turn"},
		{0, RegimeTest, 2, Warning, "no single year or level of volatility carries the profit",
			"thirds of the days by 30-day volatility, and calendar years"},
		{0, OutlierTrades, 1, Warning, "a few trades do not carry the profit",
			"without the best 5 % of the trades (1 at least)"},
		{0, RandomEntry, 2, Gate, "its timing is better than chance",
			"the same holdings at random times (no plugin)"},
		{0, PermutedCandles, 2, Gate, "it earns by patterns, not by drift alone",
			"the strategy on shuffled train candles"},
		{0, BuyAndHold, 2, Gate, "it is better than holding",
			"daily difference to holding at equal exposure, 95 % interval"},
		{0, SelectionBias, 2, Gate, "the search does not explain its result",
			"the best of the trials, resampled without skill, beside the selected one; PBO"},
		{0, TradeShuffle, 1, Description, "its drawdown is no luck of the order of its trades",
			"999 orders of the closed trades: p50, p95, p99, P(drawdown >= 50 %)"},
		{0, CapacityTest, 1, Warning, "the market has the volume for its orders",
			"quantity of each fill over the volume of its candle; by how much the account could grow"},
		{0, TimeReversal, 1, Description, "it depends on the direction of time",
			"returns in reverse order; a real edge may survive"},
		{0, Metamorphic, 1, Gate, "decisions do not depend on price level, date or name",
			"prices times 1000, quantities over 1000 (if supports.scale_free); times moved by 364 days; " +
				"symbols renamed"},
		{0, PermutedSelection, 1, Gate, "the search finds more than it finds on shuffled candles",
			"the whole plan on 99 shuffled trains"},
		{0, PlausibilityTest, 1, Gate, "its result is not too good to be true",
			"lower 99 % bound of the annual Sharpe ratio, at most 0.15 times the root of 365 or, if more, " +
				"of the trades a year"},
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
		ID: id, Version: e.Version, Class: e.Class, Claim: e.Claim, Method: e.Method,
		Params: map[string]any{}, Evidence: []Evidence{},
	}
}

// Skip is a test that is not made, and why.
func Skip(id, reason string) *Test { return blank(id).end(Skipped, reason, "") }

// Broke is a test that the host could not make; detail is for people.
func Broke(id, detail string) *Test { return blank(id).end(Error, HostError, detail) }
