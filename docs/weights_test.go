package docs_test

import (
	"math"
	"strings"
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

type equalWeights struct{}

// OnCandle is the example of authors.md, word for word.
func (equalWeights) OnCandle(v sdk.View) (sdk.Intents, error) {
	var intents sdk.Intents
	share := sdk.EquityFraction(1 / float64(len(v.Symbols())))
	for _, symbol := range v.Symbols() {
		one := v.For(symbol)
		if !one.Closed() { // it has no candle at this step: Candle is still the last one
			continue
		}
		if c := one.Candle(); one.Flat() && c.Close > c.Open {
			intents = intents.And(sdk.Buy(share).On(symbol))
		}
	}
	return intents, nil
}

// TestSeveralSymbolsGetEqualWeights: the example of several symbols gives each the same
// share of the equity.
func TestSeveralSymbolsGetEqualWeights(t *testing.T) {
	_, body, _ := strings.Cut(read(t, "weights_test.go"), "OnCandle(v sdk.View) (sdk.Intents, error) {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	body = strings.ReplaceAll("\n"+body, "\n\t", "\n")
	if !strings.Contains(read(t, "authors.md"), "```go"+body+"\n```") {
		t.Error("authors.md has another example")
	}
	var all []*market.Series
	for _, symbol := range []market.Symbol{"A/USD", "B/USD", "C/USD", "D/USD"} {
		s := &market.Series{Symbol: symbol, Timeframe: market.MustTimeframe("1h")}
		for i, price := range []float64{100, 100.5, 100.5, 100.5} {
			s.Append(market.Candle{
				OpenTime: market.Time(i) * market.Time(time.Hour/time.Millisecond),
				Open:     price, High: price + 1, Low: price - 1, Close: price + 0.5, Volume: 1,
			})
		}
		all = append(all, s)
	}
	r := sdktest.Backtest(t, equalWeights{}, all[0], sdktest.More(all[1:]...))
	if len(r.Positions) != len(all) {
		t.Fatalf("%d positions: %+v", len(r.Positions), r.Orders)
	}
	for _, p := range r.Positions {
		value, _ := p.MarketValue.Float64()
		if weight := value / 10_000; math.Abs(weight-0.25) > 0.002 {
			t.Errorf("%s has %.4f of the equity", p.Symbol, weight)
		}
	}
}
