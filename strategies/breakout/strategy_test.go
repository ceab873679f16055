package main

import (
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/strategies/internal/reference"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newBreakout) }

func TestReference(t *testing.T) {
	reference.Check(t, "stop_entry", func() sdk.Strategy { return sdktest.New(t, newBreakout) })
}

func TestDocumentedResult(t *testing.T) {
	reference.BarV1(t, sdktest.New(t, newBreakout), 685, 6103.9476436)
}

func TestRule(t *testing.T) {
	candles := sdktest.Candles(
		[4]float64{100, 101, 99, 100}, [4]float64{100, 103, 99, 100}, [4]float64{100, 102, 99, 100},
		[4]float64{100, 101, 99, 100},
		[4]float64{100, 104, 99, 103}, [4]float64{103, 103, 103, 103}, [4]float64{103, 103, 103, 103},
		[4]float64{103, 103, 103, 103},
	)
	r := sdktest.Backtest(t, sdktest.New(t, newBreakout, func(p *params) { p.Lookback, p.Hold = 2, 2 }),
		candles)
	// Candle 2: the highest high of candles 1 and 2. Candle 3: moved down to that of 2 and 3, which candle 4
	// reaches.
	if len(r.Orders) < 3 || r.Orders[0].StopPrice.String() != "103" ||
		r.Orders[0].Status != market.StatusCanceled ||
		r.Orders[1].StopPrice.String() != "102" || r.Orders[1].FilledAt != candles.Time[4] ||
		r.Orders[1].Quantity.Trim(0).String() != "50" {
		t.Fatalf("orders %+v", r.Orders)
	}
	if len(r.Refused) != 0 {
		t.Errorf("refused %v", r.Refused)
	}
	// In at candle 4, so the close of candle 6 is the second one after it.
	if len(r.Trades) != 1 || r.Trades[0].ExitTime != candles.Time[7] {
		t.Errorf("trades %+v", r.Trades)
	}
}
