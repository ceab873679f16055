package metric

import (
	"math"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Returns 0.1, -0.1, 0.1: mean 1/30, variance 1/75, skew -1/sqrt(2), kurtosis 1.5.
func TestRatiosByHand(t *testing.T) {
	r := compute(t, inputOf("1d", 100, 110, 99, 108.9))
	wantValue(t, r, "sharpe_ratio", math.Sqrt(365.0/12))
	wantValue(t, r, "sharpe_ratio_candle", math.Sqrt(365.0/12))
	wantValue(t, r, "sortino_ratio", math.Sqrt(365.0/3))
	wantValue(t, r, "sortino_ratio_candle", math.Sqrt(365.0/3))
	wantValue(t, r, "volatility", math.Sqrt(365.0/75))
	wantValue(t, r, "volatility_candle", math.Sqrt(365.0/75))
	variance := (1 + 1/math.Sqrt(24) + 1.0/96) / 2
	wantValue(t, r, "sharpe_stderr", math.Sqrt(variance*365))
	wantValue(t, r, "psr", 0.644472803414)
	wantValue(t, r, "total_return", 0.089)
	wantValue(t, r, "max_drawdown", 0.1)
	wantValue(t, r, "max_drawdown_day", 0.1)
	wantValue(t, r, "max_drawdown_duration_seconds", 2*86400)
	wantReason(t, r, "cagr", WindowTooShort)
	wantReason(t, r, "calmar_ratio_candle", WindowTooShort)
	if r.Meta.Sample != SampleCandle || r.Meta.NReturns != 3 || r.Meta.PeriodsPerYear != 365 {
		t.Errorf("meta = %+v", r.Meta)
	}
}

func TestUndefinedReturns(t *testing.T) {
	for name, c := range map[string]struct {
		equity []float64
		want   Reason
	}{
		"no point":   {nil, TooFewReturns},
		"one point":  {[]float64{100}, TooFewReturns},
		"one return": {[]float64{100, 90}, TooFewReturns},
		"idle":       {[]float64{100, 100, 100}, ZeroVariance},
		// 1.01^k: the returns differ in the last bits only.
		"compound": {[]float64{100, 101, 102.01, 103.0301, 104.060401}, ZeroVariance},
	} {
		t.Run(name, func(t *testing.T) {
			r := compute(t, inputOf("1d", c.equity...))
			for _, key := range []string{"sharpe_ratio", "sharpe_ratio_candle", "sharpe_stderr", "psr"} {
				wantReason(t, r, key, c.want)
			}
			if c.want == TooFewReturns {
				wantReason(t, r, "volatility", TooFewReturns)
			} else {
				wantValue(t, r, "volatility", 0)
				wantReason(t, r, "sortino_ratio", NoLosses)
			}
		})
	}
	r := compute(t, inputOf("1d", 100, 90))
	wantValue(t, r, "sortino_ratio", -math.Sqrt(365))
	empty := compute(t, inputOf("1d"))
	wantReason(t, empty, "sortino_ratio", NoLosses)
	wantValue(t, empty, "total_return", 0)
	wantValue(t, empty, "max_drawdown", 0)
	wantValue(t, empty, "exposure", 0)
	wantValue(t, empty, "time_in_market", 0)
	wantReason(t, empty, "turnover", NotApplicable)
	wantReason(t, empty, "buy_hold_return", NotApplicable)
	wantReason(t, empty, "cagr", WindowTooShort)
}

func TestGrowthByHand(t *testing.T) {
	// Six weeks, five returns, a fall by a quarter in between.
	r := compute(t, inputOf("1w", 100, 120, 90, 100, 110, 121))
	cagr := math.Pow(1.21, 365.0/35) - 1
	wantValue(t, r, "cagr", cagr)
	wantValue(t, r, "cagr_candle", cagr)
	wantValue(t, r, "calmar_ratio", cagr/0.25)
	wantValue(t, r, "calmar_ratio_candle", cagr/0.25)
	wantValue(t, r, "max_drawdown_duration_seconds", 4*7*86400)

	r = compute(t, inputOf("1w", 100, 110, 120, 130, 140))
	wantReason(t, r, "calmar_ratio", ZeroDrawdown)
	wantValue(t, r, "cagr", math.Pow(1.4, 365.0/28)-1)

	// Exactly 30 days are enough, one second less is not.
	month := make([]float64, 30)
	for i := range month {
		month[i] = 100
	}
	in := inputOf("1d", month...)
	wantValue(t, compute(t, in), "cagr", 0)
	in.Curves[0].CloseTime[29] -= 1000
	wantReason(t, compute(t, in), "cagr", WindowTooShort)
	// A month in a single candle has no return to compound.
	wantReason(t, compute(t, inputOf("1M", 100)), "cagr", WindowTooShort)
}

func TestBuyHoldByHand(t *testing.T) {
	in := inputOf("1d", 100, 100)
	in.Curves[0].Closes = []Closes{{"A/USD", 10, 15}, {"B/USD", 20, 18}}
	wantValue(t, compute(t, in), "buy_hold_return", 0.2)
}

func TestTradesByHand(t *testing.T) {
	in := inputOf("1d", 100, 100)
	in.Trades = tradesOf("30", "-10", "0", "-20", "20")
	r := compute(t, in)
	for key, want := range map[string]float64{
		"total_trades": 5, "win_rate": 0.4, "profit_factor": 50.0 / 30, "expectancy": 4, "average_win": 25,
		"average_loss": -15,
		"best_trade":   30, "worst_trade": -20, "average_trade_return": 0.004, "average_candles_held": 2,
		// Deviations 26, -14, -4, -24, 16: squares sum to 1720.
		"sqn": math.Sqrt(5) * 4 / math.Sqrt(430),
	} {
		wantValue(t, r, key, want)
	}
}

func TestUndefinedTrades(t *testing.T) {
	all := []string{"win_rate", "profit_factor", "expectancy", "average_win", "average_loss", "best_trade",
		"worst_trade", "average_trade_return", "average_candles_held", "sqn"}
	none := map[string]Reason{}
	for _, key := range all {
		none[key] = NoTrades
	}
	for name, c := range map[string]struct {
		pnl  []string
		want map[string]Reason
	}{
		"none": {nil, none},
		"one win": {[]string{"5"},
			map[string]Reason{"profit_factor": NoLosses, "average_loss": NoLosses, "sqn": TooFewReturns}},
		"equal loss": {[]string{"-5", "-5.0"},
			map[string]Reason{"average_win": NoWins, "sqn": ZeroVariance}},
		"neither": {[]string{"0", "0"},
			map[string]Reason{"profit_factor": NoLosses, "average_win": NoWins, "average_loss": NoLosses,
				"sqn": ZeroVariance}},
		"all defined": {[]string{"5", "-3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf("1d", 100, 100)
			in.Trades = tradesOf(c.pnl...)
			r := compute(t, in)
			wantValue(t, r, "total_trades", float64(len(c.pnl)))
			for _, key := range all {
				if why := r.Meta.Undefined[key]; why != c.want[key] {
					t.Errorf("%s: reason %q, want %q", key, why, c.want[key])
				}
			}
		})
	}
	in := inputOf("1d", 100, 100)
	in.Trades = tradesOf("-5", "-7")
	wantValue(t, compute(t, in), "profit_factor", 0)
}

// The sum of a thousand dimes is exactly a hundred, which float64 misses.
func TestTradeSumsAreExact(t *testing.T) {
	in := inputOf("1d", 100, 100)
	var pnl []string
	for range 1000 {
		pnl = append(pnl, "0.1", "-0.3")
	}
	in.Trades = tradesOf(pnl...)
	facts := newTradeFacts(in.Trades)
	if won, lost := facts.won.Float64(), facts.lost.Float64(); won != 100 || lost != -300 {
		t.Errorf("won %v, lost %v", won, lost)
	}
}

func TestActivityByHand(t *testing.T) {
	in := inputOf("1d", 100, 150, 50, 100)
	in.Curves[0].Exposure = []float64{0, 0.5, 1, 0}
	in.Totals = Totals{
		Fills: 4, AmbiguousFills: 1, Orders: 7, RejectedOrders: 2, RejectedIntents: 3, OpenTrades: 1,
	}
	in.Totals.FillNotional.Add(dec("250"))
	in.Totals.FeesPaid.Add(dec("0.25"))
	in.Totals.SlippagePaid.Add(dec("0.125"))
	r := compute(t, in)
	for key, want := range map[string]float64{
		"exposure": 0.375, "time_in_market": 0.5, "turnover": 2.5, "fees_paid": 0.25, "slippage_paid": 0.125,
		"fill_count":  4,
		"order_count": 7, "rejected_orders": 2, "rejected_intents": 3, "ambiguous_fills": 1, "open_trades": 1,
	} {
		wantValue(t, r, key, want)
	}
}

func TestPeriodsPerYear(t *testing.T) {
	for _, c := range []struct {
		timeframe, calendar string
		candles, days       int
		want                float64
	}{
		{"1m", Calendar24x7, 0, 0, 525600}, {"5m", Calendar24x7, 0, 0, 105120},
		{"1h", Calendar24x7, 0, 0, 8760},
		{"4h", Calendar24x7, 0, 0, 2190}, {"1d", Calendar24x7, 0, 0, 365},
		{"1w", Calendar24x7, 0, 0, 365.0 / 7},
		{"1M", Calendar24x7, 0, 0, 12}, {"3M", CalendarWeekdays, 0, 0, 4}, {"1M", CalendarWeekdays, 0, 0, 12},
		{"1w", CalendarWeekdays, 0, 0, 52}, {"2w", CalendarWeekdays, 0, 0, 26},
		{"1d", CalendarWeekdays, 9, 9, 252},
		{"24h", CalendarWeekdays, 9, 9, 252}, {"1h", CalendarWeekdays, 700, 100, 1764},
		{"1h", CalendarWeekdays, 0, 0, 6048},
	} {
		tf := market.MustTimeframe(c.timeframe)
		if got := CandlePeriods(tf, c.calendar, c.candles, c.days); got != c.want {
			t.Errorf("%s %s: %v periods, want %v", c.timeframe, c.calendar, got, c.want)
		}
	}
	if DayPeriods(Calendar24x7) != 365 || DayPeriods(CalendarWeekdays) != 252 {
		t.Error("day periods are not 365 and 252")
	}
}

// Days become the main sample from ten day returns on.
func TestMainSample(t *testing.T) {
	for days, want := range map[int]string{10: SampleCandle, 11: SampleDay} {
		equity := make([]float64, days*24)
		for i := range equity {
			equity[i] = 100 + float64(i%5)
		}
		r := compute(t, inputOf("1h", equity...))
		if r.Meta.Sample != want {
			t.Errorf("%d days: sample %s, want %s", days, r.Meta.Sample, want)
		}
		main, _ := r.Metrics.Get("sharpe_ratio")
		candle, _ := r.Metrics.Get("sharpe_ratio_candle")
		if (main == candle) != (want == SampleCandle) {
			t.Errorf("%d days: sharpe_ratio %v, candle %v", days, main, candle)
		}
	}
}

// A five-hour candle that opens at 20:00 closes the next day, but belongs to the
// day it opened on.
func TestDayIsThatOfTheOpen(t *testing.T) {
	c := curveOf("5h", epoch, 1, 2, 3, 4, 5, 6)
	if ends := DayEnds(c.OpenTime); len(ends) != 2 || ends[0] != 4 || ends[1] != 5 {
		t.Errorf("ends = %v, want [4 5]", ends)
	}
	before := epoch.Add(-60 * 365 * 24 * time.Hour) // 1960
	c = curveOf("12h", before, 1, 2, 3)
	if ends := DayEnds(c.OpenTime); len(ends) != 2 || ends[0] != 1 {
		t.Errorf("ends before 1970 = %v, want [1 2]", ends)
	}
}

func TestDrawdownDuration(t *testing.T) {
	for name, c := range map[string]struct {
		equity []float64
		want   float64 // days
	}{
		"never below":         {[]float64{1, 1, 2}, 0},
		"from the last peak":  {[]float64{2, 2, 2, 1, 2}, 2},
		"to the end":          {[]float64{2, 1, 3, 2, 2, 2}, 3},
		"longest, not lowest": {[]float64{10, 1, 11, 10, 10, 11}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			wantValue(t, compute(t, inputOf("1d", c.equity...)), "max_drawdown_duration_seconds",
				c.want*86400)
		})
	}
}

func TestWorstDrawdown(t *testing.T) {
	for _, c := range []struct {
		equity       []float64
		peak, trough int
	}{
		{nil, 0, 0}, {[]float64{5}, 0, 0}, {[]float64{1, 2, 3}, 0, 0},
		{[]float64{1, 3, 3, 2, 1, 1, 4, 3}, 2, 4}, {[]float64{4, 1, 2, -1}, 0, 3}, {[]float64{-2, -3}, 0, 0},
	} {
		if peak, trough := WorstDrawdown(c.equity); peak != c.peak || trough != c.trough {
			t.Errorf("%v: peak %d, trough %d, want %d, %d", c.equity, peak, trough, c.peak, c.trough)
		}
	}
}

// Equity at or below zero: the return that got there counts, none after it does.
func TestBankrupt(t *testing.T) {
	in := inputOf("1w", 100, 50, -25, 10, 20)
	in.Curves[0].Exposure = []float64{0, 2, math.Inf(-1), math.NaN(), 0}
	in.Curves[0].Equity[3] = 0
	r := compute(t, in)
	if r.Meta.NReturns != 2 {
		t.Errorf("%d returns, want 2", r.Meta.NReturns)
	}
	// Returns -0.5 and -1.5.
	wantValue(t, r, "sharpe_ratio", -1/math.Sqrt(0.5)*math.Sqrt(365.0/7))
	wantValue(t, r, "max_drawdown", 1.25)
	wantValue(t, r, "total_return", -0.8)
	wantValue(t, r, "cagr", -1)
	wantValue(t, r, "calmar_ratio", -0.8)
	wantValue(t, r, "exposure", 2.0/3)
	wantValue(t, r, "time_in_market", 0.6)
	wantReason(t, compute(t, inputOf("1d", 1, -100)), "turnover", NotApplicable)
}

// What overflows float64 is undefined, never infinite.
func TestOverflowIsUndefined(t *testing.T) {
	r := compute(t, inputOf("1w", 1e-300, 1e300, 1e-300, 1e300, 1e300))
	for _, key := range []string{"sharpe_ratio", "volatility", "total_return", "cagr", "psr"} {
		wantReason(t, r, key, NotApplicable)
	}
}
