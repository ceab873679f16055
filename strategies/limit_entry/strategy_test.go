package main

import (
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/strategies/internal/reference"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newLimitEntry) }

func TestReference(t *testing.T) {
	reference.Check(t, "limit_entry", func() sdk.Strategy { return sdktest.New(t, newLimitEntry) })
}

func TestDocumentedResult(t *testing.T) {
	reference.BarV1(t, sdktest.New(t, newLimitEntry), 453, 6482.4692142312)
}

func TestRule(t *testing.T) {
	// A chance every two candles. The bid of candle 2 at 99 lives on candles 3 and 4;
	// that of candle 4 fills in candle 5.
	candles := sdktest.Candles(
		[4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100},
		[4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100}, [4]float64{100, 100, 98, 100},
		[4]float64{100, 100, 100, 100},
	)
	r := sdktest.Backtest(t, sdktest.New(t, newLimitEntry, func(p *params) { p.Every, p.TTL = 2, 2 }),
		candles)
	if len(r.Orders) != 4 || r.Orders[0].CreatedAt != candles.CloseTime(2) ||
		r.Orders[0].Status != market.StatusExpired {
		t.Fatalf("orders %+v", r.Orders)
	}
	entry, stop, target := r.Orders[1], r.Orders[2], r.Orders[3]
	if entry.LimitPrice.String() != "99" || entry.CreatedAt != candles.CloseTime(4) ||
		entry.FilledAt != candles.Time[5] ||
		entry.Quantity.Trim(0).String() != "50" || stop.StopPrice.String() != "96.03" ||
		target.LimitPrice.String() != "100.98" {
		t.Errorf("entry %+v, stop %s, target %s", entry, stop.StopPrice, target.LimitPrice)
	}
	// However much history there is, the candles that count are those of the window.
	for history := range int64(3) {
		r := sdktest.Backtest(t, sdktest.New(t, newLimitEntry, func(p *params) { p.Every, p.TTL = 2, 2 }),
			candles, sdktest.History(history))
		if len(r.Orders) == 0 || r.Orders[0].CreatedAt != candles.CloseTime(int(2+history)) {
			t.Errorf("%d candles of history: orders %+v", history, r.Orders)
		}
	}
	// Less than one step is no order.
	if r := sdktest.Backtest(t, sdktest.New(t, newLimitEntry), candles,
		sdktest.Execution(`{"quantity_step":1000}`)); len(r.Orders) != 0 {
		t.Errorf("orders %+v", r.Orders)
	}
}
