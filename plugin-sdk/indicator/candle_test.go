package indicator

import (
	"math"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The sample has few gaps between candles, so the shapes that need one are drawn here.
func TestPatternsByHand(t *testing.T) {
	bar := func(open, high, low, price float64) market.Candle {
		return market.Candle{Open: open, High: high, Low: low, Close: price}
	}
	for _, c := range []struct {
		shape   Shape
		candles []market.Candle
		want    float64
	}{
		{Doji, []market.Candle{bar(100, 101, 99, 100.1)}, 1},
		{Hammer, []market.Candle{bar(100, 100.2, 97.8, 98), bar(98, 98.6, 96, 98.5)}, 1},
		{HangingMan, []market.Candle{bar(100, 102, 100, 101.9), bar(102, 102.6, 100, 102.5)}, -1},
		{ShootingStar, []market.Candle{bar(100, 102, 100, 101.5), bar(102, 104, 101.9, 102.5)}, -1},
		{Engulfing, []market.Candle{bar(101, 101, 100, 100), bar(100, 102, 100, 101.5)}, 1},
		{Engulfing, []market.Candle{bar(100, 101, 100, 101), bar(101, 101, 99, 99.5)}, -1},
		{Engulfing, []market.Candle{bar(101, 101, 100, 100), bar(100, 101, 100, 101)}, 0},
		{Harami, []market.Candle{bar(103, 103, 100, 100), bar(101, 102, 101, 101.5)}, 1},
		{Harami, []market.Candle{bar(100, 103, 100, 103), bar(102, 102, 101, 101.5)}, -1},
		{Piercing, []market.Candle{bar(103, 103, 99, 100), bar(98, 102, 98, 102)}, 1},
		{Piercing, []market.Candle{bar(103, 103, 99, 100), bar(98, 102, 98, 101.5)}, 0}, // the middle
		{DarkCloudCover, []market.Candle{bar(100, 104, 100, 103), bar(105, 105, 101, 101)}, -1},
		{DarkCloudCover, []market.Candle{bar(100, 104, 100, 103), bar(104, 105, 101, 101)}, 0}, // no gap
		{MorningStar, []market.Candle{bar(103, 103, 100, 100), bar(99, 99.6, 98.6, 99.4),
			bar(99.5, 102, 99.5, 101.5)}, 1},
		{EveningStar, []market.Candle{bar(100, 103, 100, 103), bar(104, 104.5, 103.6, 103.7),
			bar(103.5, 103.5, 101, 101.5)}, -1},
	} {
		p := NewPattern(c.shape)
		for range 12 {
			p.Add(bar(100, 101.5, 99.5, 101)) // bodies of 1, ranges of 2
		}
		for _, x := range c.candles {
			p.Add(x)
		}
		if p.Value() != c.want {
			t.Errorf("%s: %g, want %g", c.shape, p.Value(), c.want)
		}
	}
}

// A bad candle spoils the levels of the next session and no others.
func TestPivotsOfASpoiltSession(t *testing.T) {
	p := NewPivots(2 * time.Hour)
	for i := range 8 {
		c := market.Candle{OpenTime: market.Time(i) * hour, High: 12, Low: 9, Close: 9}
		if i == 2 {
			c.High = math.Inf(1)
		}
		p.Add(c)
		ready(t, "pivots", &p, i, 2)
		if spoilt := i == 4 || i == 5; math.IsNaN(p.Value()) != spoilt {
			t.Errorf("candle %d: %g", i, p.Value())
		}
	}
	if p.Value() != 10 || p.Resistance(1).Value() != 11 || p.Support(3).Value() != 5 {
		t.Errorf("%g, %g, %g", p.Value(), p.Resistance(1).Value(), p.Support(3).Value())
	}
}

// The smoothed candle is one that other indicators take.
func TestHeikinAshiCandle(t *testing.T) {
	h := NewHeikinAshi()
	h.Add(market.Candle{Open: 10, High: 14, Low: 8, Close: 12, Volume: 3, OpenTime: 5})
	h.Add(market.Candle{Open: 12, High: 16, Low: 11, Close: 13, Volume: 4, OpenTime: 6})
	want := market.Candle{Open: 11, High: 16, Low: 11, Close: 13, Volume: 4, OpenTime: 6}
	if h.Candle() != want {
		t.Errorf("%+v, want %+v", h.Candle(), want)
	}
}
