package main

import (
	"errors"
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/strategies/internal/reference"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newRSIBracket) }

func TestReference(t *testing.T) {
	reference.Check(t, "rsi_bracket", func() sdk.Strategy { return sdktest.New(t, newRSIBracket) })
}

func TestDocumentedResult(t *testing.T) {
	reference.BarV1(t, sdktest.New(t, newRSIBracket), 205, 6380.6589242517)
}

func TestRule(t *testing.T) {
	// Two falls make the index 0 at candle 2; the first decision is at candle 3.
	candles := sdktest.Closes(100, 99, 98, 97, 97, 97)
	r := sdktest.Backtest(t,
		sdktest.New(t, newRSIBracket, func(p *params) {
			p.Period, p.StopLoss, p.TakeProfit = 2, 0.1, 0.2
		}), candles)
	if len(r.Orders) != 3 || r.Orders[0].CreatedAt != candles.CloseTime(3) ||
		r.Orders[0].Status != market.StatusFilled {
		t.Fatalf("orders %+v", r.Orders)
	}
	stop, target := r.Orders[1], r.Orders[2]
	if stop.StopPrice.String() != "87.3" || target.LimitPrice.String() != "116.4" || len(r.Positions) != 1 {
		t.Errorf("stop %s, target %s", stop.StopPrice, target.LimitPrice)
	}
	// Rises make the index overbought: out, though no bracket was reached.
	candles = sdktest.Closes(100, 99, 98, 97, 98, 99, 99)
	r = sdktest.Backtest(t, sdktest.New(t, newRSIBracket, func(p *params) { p.Period, p.Overbought = 2, 60 }),
		candles)
	if len(r.Trades) != 1 || r.Trades[0].ExitReason != "signal" || r.Trades[0].ExitTime != candles.Time[6] {
		t.Errorf("trades %+v", r.Trades)
	}
}

func TestParameters(t *testing.T) {
	var bad *sdk.ParamError
	if _, err := newRSIBracket(params{Period: 14, Oversold: 50, Overbought: 50}); !errors.As(err, &bad) ||
		bad.Pointer != "/oversold" {
		t.Errorf("got %v", err)
	}
	if w := sdktest.New(t, newRSIBracket).(sdk.Warmer).Warmup(); w != 15 {
		t.Errorf("warm-up %d", w)
	}
}
