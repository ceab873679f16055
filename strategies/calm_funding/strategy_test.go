package main

import (
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newCalmFunding) }

// A rate counts from the close at which it is known; one that is known a millisecond later counts
// from the next.
func TestRule(t *testing.T) {
	candles := sdktest.Closes(100, 100, 100, 100, 100, 100, 100, 100)
	one := sdktest.New(t, newCalmFunding, func(p *params) { p.Rates = 1 })
	calm, crowded := candles.CloseTime(1), candles.CloseTime(3)
	r := sdktest.Backtest(t, one, candles, sdktest.Input("funding",
		sdk.InputRow{Time: calm, Known: calm, Value: 0.0001},
		sdk.InputRow{Time: crowded, Known: crowded + 1, Value: 0.001}))
	if len(r.Trades) != 1 || r.Trades[0].EntryTime != candles.Time[2] || r.Trades[0].ExitTime != candles.Time[5] {
		t.Errorf("trades %+v", r.Trades)
	}
	if r := sdktest.Backtest(t, one, candles, sdktest.Input("funding")); len(r.Orders) != 0 {
		t.Errorf("without a rate: %+v", r.Orders)
	}
}
