package trade_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestPermuteByHand(t *testing.T) {
	in := []market.Candle{
		{OpenTime: 1, CloseTime: 2, Open: 100, High: 110, Low: 90, Close: 100, Volume: 5},
		// gap 1.1, body 1.1 0.9 1
		{OpenTime: 2, CloseTime: 3, Open: 110, High: 121, Low: 99, Close: 110, Volume: 6},
		// gap 0.5, body 2 1 2
		{OpenTime: 3, CloseTime: 4, Open: 55, High: 110, Low: 55, Close: 110, Volume: 7},
		// gap 2, body 1 0.5 0.5
		{OpenTime: 4, CloseTime: 5, Open: 220, High: 220, Low: 110, Close: 110, Volume: 8},
	}
	want := []market.Candle{
		in[0],
		{OpenTime: 2, CloseTime: 3, Open: 200, High: 400, Low: 200, Close: 400, Volume: 7},
		{OpenTime: 3, CloseTime: 4, Open: 440, High: 440, Low: 220, Close: 220, Volume: 8},
		{OpenTime: 4, CloseTime: 5, Open: 110, High: 121, Low: 99, Close: 110, Volume: 6},
	}
	got := trade.Permute(in, []int{2, 0, 1}, []int{1, 2, 0})
	for i := range want {
		g, w := got[i], want[i]
		for _, pair := range [][2]float64{{g.Open, w.Open}, {g.High, w.High}, {g.Low, w.Low},
			{g.Close, w.Close}, {g.Volume, w.Volume}} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-14 {
				t.Errorf("candle %d: %+v, want %+v", i, g, w)
			}
		}
		if g.OpenTime != w.OpenTime || g.CloseTime != w.CloseTime {
			t.Errorf("candle %d moved in time", i)
		}
	}
	if in[1].Open != 110 {
		t.Error("the candles were changed")
	}
	if got := trade.Permute(nil, nil, nil); len(got) != 0 {
		t.Error(got)
	}
}

// However they are shuffled: candles stay candles, the last close stays, the volumes are
// the same, and the order that changes nothing changes nothing but rounding.
func TestPermute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		s := random.New(rapid.Uint64().Draw(t, "seed"), random.Permute, 0)
		in := make([]market.Candle, n)
		price, volume := 100.0, 0.0
		for i := range in {
			o := price * (1 + .01*s.Normal())
			c := o * (1 + .01*s.Normal())
			in[i] = market.Candle{Open: o, Close: c, High: max(o, c) * 1.01, Low: min(o, c) * .99,
				Volume: float64(s.IntN(9))}
			price, volume = c, volume+in[i].Volume
		}
		out := trade.Permute(in, s.Perm(n-1), s.Perm(n-1))
		if last := out[n-1].Close / in[n-1].Close; math.Abs(last-1) > 1e-12 {
			t.Fatal("the last close became", last)
		}
		for _, c := range out {
			volume -= c.Volume
			if c.High < max(c.Open, c.Close) || c.Low > min(c.Open, c.Close) || c.Low <= 0 {
				t.Fatalf("%+v", c)
			}
		}
		if volume != 0 {
			t.Fatal("volume", volume)
		}
		same := make([]int, n-1)
		for i := range same {
			same[i] = i
		}
		for i, c := range trade.Permute(in, same, same) {
			if math.Abs(c.Open/in[i].Open-1) > 1e-12 || math.Abs(c.Low/in[i].Low-1) > 1e-12 {
				t.Fatalf("%+v, was %+v", c, in[i])
			}
		}
	})
}

func TestEMA(t *testing.T) {
	if e := trade.EMA([]float64{10, 13, 16}, 2); math.Abs(e-(16*2+12)/3.0) > 1e-12 {
		t.Error(e)
	}
	if e := trade.EMA(nil, 3); e != 0 {
		t.Error(e)
	}
}

// The memory of an EMA fades by (period-1)/(period+1) a candle.
func TestWarmUpFades(t *testing.T) {
	prices := make([]float64, 200)
	for i := range prices {
		prices[i] = 100
	}
	prices[150] = 200
	full := trade.EMA(prices, 20)
	if whole, why := trade.WarmUpError(prices, 20, 199, full); whole != 0 || why != "" {
		t.Error(whole, why)
	}
	// Begun at the spike, its whole weight is carried along.
	begun, _ := trade.WarmUpError(prices, 20, 49, full)
	fade := math.Pow(19.0/21, 49)
	if want := (100 + 100*fade - full) / full; math.Abs(begun-want) > 1e-12 {
		t.Error(begun, want)
	}
	if _, why := trade.WarmUpError([]float64{0, 0}, 20, 1, 0); why != stat.NotApplicable {
		t.Error(why)
	}
}
