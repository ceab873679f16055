package main

import (
	"errors"
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newPairs) }

const shorts = `{"allow_short":true,"fee_maker":0,"fee_taker":0,"slippage_bps":0}`

func other(closes ...float64) sdktest.Option {
	s := sdktest.Closes(closes...)
	s.Symbol = "OTHER/USD"
	return sdktest.More(s)
}

func narrow(p *params) { p.Window, p.Enter, p.Leave = 3, 1.2, 0.5 }

func TestRule(t *testing.T) {
	// The first symbol jumps: it is sold, the other bought, at the next open. The ratio comes back to the
	// mean: both are closed.
	first := sdktest.Closes(100, 101, 100, 100, 120, 120, 110, 110)
	r := sdktest.Backtest(t, sdktest.New(t, newPairs, narrow), first, sdktest.Execution(shorts),
		other(50, 50, 50, 50, 50, 50, 50, 50))
	if len(r.Fills) != 4 || r.Fills[0].Time != first.Time[5] || r.Fills[0].Side != market.Sell ||
		r.Fills[0].Symbol != sdktest.SynthSymbol || r.Fills[1].Side != market.Buy {
		t.Fatalf("fills %+v", r.Fills)
	}
	if len(r.Trades) != 2 || len(r.Positions) != 0 || r.Trades[0].PnL.Sign() <= 0 {
		t.Errorf("trades %+v", r.Trades)
	}
	a, b := r.Fills[0].Quantity, r.Fills[1].Quantity
	if a.String() != "33.33333333" || b.String() != "80.00000000" {
		t.Errorf("legs of %s and %s", a, b)
	}
}

// TestALegAloneIsClosed: without shorts the sale is refused, and what was bought is sold again.
func TestALegAloneIsClosed(t *testing.T) {
	r := sdktest.Backtest(t, sdktest.New(t, newPairs, narrow),
		sdktest.Closes(100, 101, 100, 100, 120, 120, 120, 120), other(50, 50, 50, 50, 50, 50, 50, 50))
	if len(r.Trades) != 1 || r.Trades[0].Symbol != "OTHER/USD" || len(r.Positions) != 0 {
		t.Errorf("trades %+v", r.Trades)
	}
}

func TestParameters(t *testing.T) {
	var bad *sdk.ParamError
	if _, err := newPairs(params{Window: 3, Enter: 1, Leave: 1}); !errors.As(err, &bad) ||
		bad.Pointer != "/leave" {
		t.Errorf("got %v", err)
	}
}

func TestDocumentedResult(t *testing.T) {
	start := time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	second := sdktest.Synth(2, 5000, start, time.Hour)
	second.Symbol = "OTHER/USD"
	r := sdktest.Backtest(t, sdktest.New(t, newPairs), sdktest.Synth(1, 5000, start, time.Hour),
		sdktest.More(second), sdktest.Execution(`{"allow_short":true}`))
	if got := r.FinalValue.Trim(0).String(); len(r.Trades) != 156 || got != "9039.2710918684" {
		t.Errorf("%d trades, %s", len(r.Trades), got)
	}
}
