package indicator

import (
	"math/big"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// exactVWAP is the quotient of two exact sums, 0 without volume.
func exactVWAP(candles []market.Candle) float64 {
	var turnover, volume big.Rat
	for _, c := range candles {
		v := new(big.Rat).SetFloat64(c.Volume)
		volume.Add(&volume, v)
		turnover.Add(&turnover, v.Mul(v, new(big.Rat).SetFloat64((c.High+c.Low+c.Close)/3)))
	}
	if volume.Sign() == 0 {
		return 0
	}
	f, _ := turnover.Quo(&turnover, &volume).Float64()
	return f
}

func flat(price, volume float64, at market.Time) market.Candle {
	return market.Candle{OpenTime: at, Open: price, High: price, Low: price, Close: price, Volume: volume}
}

func TestVWAPAgainstExactSums(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		for _, n := range []int{1, 14, 100} {
			v := NewVWAP(n)
			for i, c := range candles {
				v.Add(c)
				ready(t, "VWAP", &v, i, n-1)
				if i < n-1 || i%17 != 0 {
					continue
				}
				want := exactVWAP(candles[i-n+1 : i+1])
				if want == 0 {
					want = typicalPrice(c)
				}
				near(t, "VWAP", i, v.Value(), want, 1e-14)
			}
		}
	})
}

func TestVWAPWithoutVolume(t *testing.T) {
	v := NewVWAP(2)
	for i, c := range []struct{ price, volume, want float64 }{
		{10, 0, 0}, {11, 0, 11}, {14, 3, 14}, {20, 1, 15.5}, {30, 0, 20}, {31, 0, 31}, {32, 1e-9, 32},
	} {
		v.Add(flat(c.price, c.volume, 0))
		near(t, "VWAP", i, v.Value(), c.want, 1e-15)
	}
}

func TestSessionVWAPBeginsAnewEachDay(t *testing.T) {
	candles := walk(21, 24*10, 100)
	v := NewSessionVWAP(24 * time.Hour)
	all := NewCumulativeVWAP()
	for i, c := range candles {
		v.Add(c)
		all.Add(c)
		ready(t, "session", &v, i, 0)
		want := exactVWAP(candles[i-i%24 : i+1])
		if want == 0 {
			want = typicalPrice(c)
		}
		near(t, "session", i, v.Value(), want, 1e-14)
		if i > 0 {
			near(t, "cumulative", i, all.Value(), exactVWAP(candles[:i+1]), 1e-14)
		}
	}
}

func TestSessionVWAPResetAndTimesBefore1970(t *testing.T) {
	v := NewSessionVWAP(24 * time.Hour)
	v.Add(flat(10, 1, -1)) // the last day of 1969
	v.Add(flat(20, 1, 0))
	if v.Value() != 20 {
		t.Errorf("a new day: %g, want 20", v.Value())
	}
	v.Add(flat(30, 1, 1))
	if v.Value() != 25 {
		t.Errorf("the same day: %g, want 25", v.Value())
	}
	v.Reset()
	v.Add(flat(40, 0, 2))
	if v.Value() != 40 || v.Previous() != 25 {
		t.Errorf("after Reset: %g after %g, want 40 after 25", v.Value(), v.Previous())
	}
}
