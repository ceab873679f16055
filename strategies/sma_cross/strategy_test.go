package main

import (
	"errors"
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/strategies/internal/reference"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newSMACross) }

func TestReference(t *testing.T) {
	reference.Check(t, "sma_cross", func() sdk.Strategy { return sdktest.New(t, newSMACross) })
}

func TestDocumentedResult(t *testing.T) {
	reference.BarV1(t, sdktest.New(t, newSMACross), 391, 5025.324824216)
}

func TestRule(t *testing.T) {
	// fast = close, slow = mean of two: above at candle 2, below at candle 3.
	candles := sdktest.Closes(10, 9, 11, 8, 8, 8)
	r := sdktest.Backtest(t, sdktest.New(t, newSMACross, func(p *params) { p.Fast, p.Slow = 1, 2 }), candles)
	if len(r.Trades) != 1 || r.Trades[0].EntryTime != candles.Time[3] ||
		r.Trades[0].ExitTime != candles.Time[4] {
		t.Errorf("trades %+v", r.Trades)
	}
	r = sdktest.Backtest(t,
		sdktest.New(t, newSMACross, func(p *params) { p.Fast, p.Slow, p.Stake = 1, 2, 100 }), candles)
	if spent := r.Fills[0].Quantity.String(); spent != "12.48127185" { // 100 / (8.004 x 1.001)
		t.Errorf("bought %s", spent)
	}
}

func TestParameters(t *testing.T) {
	for _, p := range []params{{Fast: 30, Slow: 30}, {Fast: 31, Slow: 30}} {
		var bad *sdk.ParamError
		if _, err := newSMACross(p); !errors.As(err, &bad) || bad.Pointer != "/fast" {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if w := sdktest.New(t, newSMACross, func(p *params) { p.Slow = 77 }).(sdk.Warmer).Warmup(); w != 77 {
		t.Errorf("warm-up %d", w)
	}
}
