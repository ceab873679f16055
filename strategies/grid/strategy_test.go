package main

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newGrid) }

func small(p *params) { p.Levels, p.Step, p.Share, p.Life = 2, 0.02, 0.25, 3 }

// free is execution without fees and slippage, in whole units.
const free = `{"fee_maker":0,"fee_taker":0,"slippage_bps":0,"quantity_step":1}`

func TestRule(t *testing.T) {
	// The grid of the first close: bids at 98 and 96, a stop at 94. The second candle buys at 98; the third
	// sells a quarter at 100 and the fourth the rest at 102.
	candles := sdktest.Candles([4]float64{100, 100, 100, 100}, [4]float64{100, 100, 97, 99},
		[4]float64{99, 101, 99, 101}, [4]float64{101, 103, 101, 102}, [4]float64{102, 102, 102, 102})
	r := sdktest.Backtest(t, sdktest.New(t, newGrid, small), candles, sdktest.Execution(free))
	if len(r.Trades) != 1 || r.Trades[0].ExitTime != candles.Time[3] ||
		r.Trades[0].EntryPrice.String() != "98" || r.Trades[0].ExitPrice.Trim(0).String() != "101.5" {
		t.Fatalf("trades %+v", r.Trades)
	}
	if q := r.Fills[0].Quantity; q.String() != "40" || r.Fills[1].Quantity.String() != "10" {
		t.Errorf("%s bought, %s sold first", q, r.Fills[1].Quantity)
	}
	// It is flat, and the bid that is left expires with that candle: a new grid is laid.
	last := r.Orders[len(r.Orders)-1]
	if last.LimitPrice.Trim(0).String() != "97.92" || last.Reason != market.ReasonEndOfData {
		t.Errorf("the last order %+v", last)
	}
}

// TestBelowTheGridAllIsSold, once, whatever was sold of it before.
func TestBelowTheGridAllIsSold(t *testing.T) {
	candles := sdktest.Candles([4]float64{100, 100, 100, 100}, [4]float64{100, 100, 95, 96},
		[4]float64{96, 98.5, 96, 96}, [4]float64{96, 96, 93, 93}, [4]float64{93, 93, 93, 93})
	r := sdktest.Backtest(t, sdktest.New(t, newGrid, small), candles, sdktest.Execution(free))
	if len(r.Trades) != 1 || r.Trades[0].ExitReason != market.ExitStopLoss ||
		r.Trades[0].Quantity.String() != "81" || len(r.Positions) != 0 {
		t.Errorf("trades %+v", r.Trades)
	}
}

func TestDocumentedResult(t *testing.T) {
	r := sdktest.Backtest(t, sdktest.New(t, newGrid), sdktest.Sample(t))
	if got := r.FinalValue.Trim(0).String(); len(r.Trades) != 63 || got != "8998.5947924893" {
		t.Errorf("%d trades, %s", len(r.Trades), got)
	}
}
