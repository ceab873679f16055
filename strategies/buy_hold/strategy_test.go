package main

import (
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/strategies/internal/reference"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newBuyHold) }

func TestReference(t *testing.T) {
	reference.Check(t, "buy_hold", func() sdk.Strategy { return sdktest.New(t, newBuyHold) })
}

func TestDocumentedResult(t *testing.T) {
	reference.BarV1(t, sdktest.New(t, newBuyHold), 0, 24705.9645484)
}

func TestRule(t *testing.T) {
	candles := sdktest.Closes(10, 11, 12, 13)
	for start, change := range map[int][]func(*params){1: nil, 0: {func(p *params) { p.StartCandle = 0 }}} {
		r := sdktest.Backtest(t, sdktest.New(t, newBuyHold, change...), candles)
		if len(r.Fills) != 1 || r.Fills[0].Time != candles.Time[start+1] || len(r.Positions) != 1 {
			t.Errorf("start %d: fills %+v", start, r.Fills)
		}
	}
	// However much history there is, the candles that count are those of the window.
	for history := range int64(3) {
		r := sdktest.Backtest(t, sdktest.New(t, newBuyHold, func(p *params) { p.StartCandle = 0 }), candles,
			sdktest.History(history))
		if len(r.Fills) != 1 || r.Fills[0].Time != candles.Time[history+1] {
			t.Errorf("%d candles of history: fills %+v", history, r.Fills)
		}
	}
	if r := sdktest.Backtest(t, sdktest.New(t, newBuyHold, func(p *params) { p.StartCandle = 4 }),
		candles); len(r.Orders) != 0 {
		t.Errorf("orders %+v", r.Orders)
	}
}
