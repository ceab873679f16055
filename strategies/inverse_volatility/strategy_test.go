package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newInverseVolatility) }

// swings are daily candles from a Monday on that go up by a factor and back again.
func swings(symbol sdk.Symbol, factor float64, days int) *market.Series {
	s := &market.Series{Symbol: symbol, Timeframe: market.MustTimeframe("1d")}
	for day := range days {
		open, price := 100.0, 100*factor
		if day%2 == 1 {
			open, price = price, open
		}
		s.Append(market.Candle{OpenTime: market.Time(19723+day) * 86_400_000, Open: open,
			High: max(open, price), Low: min(open, price), Close: price, Volume: 1})
	}
	return s
}

// TestRule: what swings twice as far, in logarithms, has half the share; what does not move has none.
func TestRule(t *testing.T) {
	calm, wild := swings("A/USD", math.Exp(0.01), 16), swings("B/USD", math.Exp(0.02), 16)
	still := swings("C/USD", 1, 16)
	strategy := sdktest.New(t, newInverseVolatility, func(p *params) { p.Candles, p.Invest = 4, 0.9 })
	r := sdktest.Backtest(t, strategy, calm, sdktest.More(wild, still))
	if len(r.Positions) != 2 || len(r.Orders) != 2 {
		t.Fatalf("positions %+v", r.Positions)
	}
	for i, want := range []float64{6000, 3000} { // of 10,000 at the close of the second Sunday
		quantity, _ := r.Positions[i].Quantity.Float64()
		decided := []*market.Series{calm, wild}[i].Close[13]
		if math.Abs(float64(quantity*decided)-want) > 1e-4 {
			t.Errorf("%s: %v", r.Positions[i].Symbol, quantity*decided)
		}
	}
}

// twenty are symbols that move by chance, each its own way.
func twenty() (first *market.Series, more []*market.Series) {
	for i := range 20 {
		s := sdktest.Synth(uint64(100+i), 400, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), 24*time.Hour)
		s.Symbol = sdk.Symbol(fmt.Sprintf("S%02d/USD", i))
		if first == nil {
			first = s
		} else {
			more = append(more, s)
		}
	}
	return first, more
}

func TestTwentySymbols(t *testing.T) {
	first, more := twenty()
	r := sdktest.Backtest(t, sdktest.New(t, newInverseVolatility), first, sdktest.More(more...))
	if got := r.FinalValue.Trim(0).String(); len(r.Positions) != 20 || got != "10290.3896061751" {
		t.Errorf("%d positions, %s", len(r.Positions), got)
	}
}
