package indicator

import (
	"slices"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestHighestAndLowestAgainstASearch(t *testing.T) {
	in := column(walk(12, 3000, 100), closeOf)
	for i := 1000; i < 1400; i++ {
		in[i] = -float64(i) // a long fall fills the ring of Highest
	}
	for i := 1500; i < 1900; i++ {
		in[i] = float64(i) // a long rise fills the ring of Lowest
	}
	for _, n := range append(periods(), 1) {
		h, l := NewHighest(n), NewLowest(n)
		for i, x := range in {
			h.Add(x)
			l.Add(x)
			ready(t, "Highest", &h, i, n-1)
			ready(t, "Lowest", &l, i, n-1)
			if i < n-1 {
				continue
			}
			last := in[i-n+1 : i+1]
			if h.Value() != slices.Max(last) || l.Value() != slices.Min(last) {
				t.Fatalf("n %d, candle %d: %g to %g, want %g to %g", n, i, l.Value(), h.Value(),
					slices.Min(last), slices.Max(last))
			}
		}
	}
}

func TestDonchianAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		for _, n := range periods() {
			upper := talib.Max(column(candles, highOf), n)
			lower := talib.Min(column(candles, lowOf), n)
			d := NewDonchian(n)
			for i, c := range candles {
				d.Add(c)
				for _, l := range []Line{&d, d.UpperLine(), d.LowerLine()} {
					ready(t, "Donchian", l, i, n-1)
				}
				if i < n-1 {
					continue
				}
				if d.Upper() != upper[i] || d.Lower() != lower[i] || d.Middle() != (upper[i]+lower[i])/2 {
					t.Fatalf("n %d, candle %d: %g %g %g", n, i, d.Upper(), d.Middle(), d.Lower())
				}
				if i > n-1 && d.UpperLine().Previous() != upper[i-1] {
					t.Fatalf("n %d, candle %d: upper before %g, want %g", n, i, d.UpperLine().Previous(),
						upper[i-1])
				}
			}
		}
	})
}
