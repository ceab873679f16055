package indicator

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestATRByHand(t *testing.T) {
	a := NewATR(2)
	for i, c := range []struct{ high, low, close, want float64 }{
		{10, 8, 9, 0},
		{11, 9, 10, 0},                  // true range 2
		{15, 14, 14, 3.5},               // gap up: 15 - 10 = 5
		{13, 12, 12, (3.5 + 2) / 2},     // gap down: 14 - 12
		{14, 10, 11, (2.75*1 + 4) / 2.}, // inside: 14 - 10
	} {
		a.Add(market.Candle{High: c.high, Low: c.low, Close: c.close})
		ready(t, "ATR", &a, i, 2)
		near(t, "ATR", i, a.Value(), c.want, 1e-15)
	}
}

func TestATRAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		for _, n := range append(periods(), 1) {
			want := talib.Atr(column(candles, highOf), column(candles, lowOf), column(candles, closeOf), n)
			a := NewATR(n)
			for i, c := range candles {
				a.Add(c)
				ready(t, "ATR", &a, i, n)
				if i >= n {
					near(t, "ATR", i, a.Value(), want[i], 1e-9)
				}
			}
		}
	})
}
