package main

import (
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newMomentum) }

// monday is the first candle of the tests.
var monday = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// weeks are daily candles that move by so much a day in each week, from 100.
func weeks(symbol sdk.Symbol, moves ...float64) *market.Series {
	s := &market.Series{Symbol: symbol, Timeframe: market.MustTimeframe("1d")}
	price := 100.0
	for day := range 7 * len(moves) {
		open := price
		price += moves[day/7]
		s.Append(market.Candle{OpenTime: market.FromTime(monday.AddDate(0, 0, day)), Open: open,
			High: max(open, price), Low: min(open, price), Close: price, Volume: 1})
	}
	return s
}

// TestRule: at the end of each week the best of the week is held, and nothing when none has risen.
func TestRule(t *testing.T) {
	a, b := weeks("A/USD", 2, 2, -1, -1, 0), weeks("B/USD", 0, 1, 2, -1, 0)
	strategy := sdktest.New(t, newMomentum, func(p *params) { p.Candles, p.Invest = 7, 1 })
	r := sdktest.Backtest(t, strategy, a, sdktest.More(b), sdktest.Execution(`{"fee_taker":0,"slippage_bps":0}`))
	if len(r.Trades) != 2 || len(r.Positions) != 0 {
		t.Fatalf("trades %+v, positions %+v", r.Trades, r.Positions)
	}
	for i, want := range []struct {
		symbol  sdk.Symbol
		in, out int // days
		gain    string
	}{{"A/USD", 14, 21, "-546.875"}, {"B/USD", 21, 28, "-546.875"}} {
		got := r.Trades[i]
		if got.Symbol != want.symbol || got.EntryTime != a.Time[want.in] || got.ExitTime != a.Time[want.out] ||
			got.PnL.Trim(0).String() != want.gain {
			t.Errorf("trade %+v, want %+v", got, want)
		}
	}
}

// TestSharesAreEqual: two of three are held, each with half of the equity.
func TestSharesAreEqual(t *testing.T) {
	a, b, c := weeks("A/USD", 2, 2, 2), weeks("B/USD", 1, 1, 1), weeks("C/USD", 0, 0, 0)
	strategy := sdktest.New(t, newMomentum, func(p *params) { p.Candles, p.Best, p.Invest = 7, 2, 1 })
	r := sdktest.Backtest(t, strategy, a, sdktest.More(b, c))
	if len(r.Positions) != 2 || r.Positions[0].Symbol != "A/USD" || r.Positions[1].Symbol != "B/USD" {
		t.Fatalf("positions %+v", r.Positions)
	}
	for _, p := range r.Positions {
		cost, _ := p.Quantity.Mul(p.AverageEntryPrice)
		if share, _ := cost.Float64(); share < 4900 || share > 5100 {
			t.Errorf("%s cost %s", p.Symbol, cost)
		}
	}
}

func TestDocumentedResult(t *testing.T) {
	day := 24 * time.Hour
	first := sdktest.Synth(1, 720, monday, day)
	var more []*market.Series
	for i := range 5 {
		s := sdktest.Synth(uint64(2+i), 720, monday, day)
		s.Symbol = sdk.Symbol(string(rune('A'+i)) + "/USD")
		more = append(more, s)
	}
	r := sdktest.Backtest(t, sdktest.New(t, newMomentum, func(p *params) { p.Best = 3 }), first,
		sdktest.More(more...))
	if got := r.FinalValue.Trim(0).String(); len(r.Trades) != 32 || got != "9837.5714293494" {
		t.Errorf("%d trades, %s", len(r.Trades), got)
	}
}
