package main

import (
	"math"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newRSITEMA) }

// TestTargetFalls: on candles of five minutes a position is sold at the gain for as long as it was held when
// its last candle began. Where the target has just fallen below the price, it is sold at the open.
func TestTargetFalls(t *testing.T) {
	start := time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	candles := sdktest.Synth(42, 20_000, start, 5*time.Minute)
	r := sdktest.Backtest(t, sdktest.New(t, newRSITEMA), candles)
	seen := map[float64]int{}
	for _, trade := range r.Trades {
		if trade.ExitReason != "take_profit" {
			continue
		}
		gain := wanted(time.Duration(trade.CandlesHeld) * 5 * time.Minute)
		seen[gain]++
		in, _ := trade.EntryPrice.Float64()
		out, _ := trade.ExitPrice.Float64()
		got, fell := out/in-1, trade.CandlesHeld == 6 || trade.CandlesHeld == 12
		if math.Abs(got-gain) > 1e-9 && (!fell || got < gain || got > 0.04) {
			t.Errorf("%s, held for %d candles, gains %v, want %v", trade.ID, trade.CandlesHeld, got, gain)
		}
	}
	if seen[0.01] == 0 || seen[0.02] == 0 {
		t.Errorf("sold at %v", seen)
	}
}

func TestStopLossStays(t *testing.T) {
	candles := sdktest.Sample(t)
	r := sdktest.Backtest(t, sdktest.New(t, newRSITEMA, func(p *params) { p.StopLoss = 0.001 }), candles)
	stopped := 0
	for _, o := range r.Orders {
		if o.Role == market.RoleStopLoss && o.Status == market.StatusFilled {
			stopped++
		}
	}
	if stopped == 0 {
		t.Error("no stop loss filled")
	}
}

func TestDocumentedResult(t *testing.T) {
	r := sdktest.Backtest(t, sdktest.New(t, newRSITEMA), sdktest.Sample(t))
	if got := r.FinalValue.Trim(0).String(); len(r.Trades) != 11 || got != "10913.9165438388" {
		t.Errorf("%d trades, %s", len(r.Trades), got)
	}
}
