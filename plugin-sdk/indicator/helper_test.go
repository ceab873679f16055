package indicator

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const hour = market.Time(3_600_000)

// walk makes n seeded candles that move by a few parts in a thousand around start, with
// two decimals as venues quote them and some candles without volume or movement.
func walk(seed uint64, n int, start float64) []market.Candle {
	r := rand.New(rand.NewPCG(seed, 7))
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	candles := make([]market.Candle, n)
	price := start
	for i := range candles {
		c := market.Candle{OpenTime: market.Time(i) * hour, CloseTime: market.Time(i+1) * hour, Open: price}
		if r.IntN(20) > 0 {
			price = cents(price + float64(start*0.004*(r.Float64()-0.5)) + float64((start-price)*0.001))
			c.Volume = cents(r.ExpFloat64() * 100)
		}
		c.Close = price
		c.High = cents(max(c.Open, c.Close) + float64(start*0.001*r.Float64()))
		c.Low = cents(min(c.Open, c.Close) - float64(start*0.001*r.Float64()))
		candles[i] = c
	}
	return candles
}

// column is one field of every candle.
func column(candles []market.Candle, field func(market.Candle) float64) []float64 {
	out := make([]float64, len(candles))
	for i, c := range candles {
		out[i] = field(c)
	}
	return out
}

func closeOf(c market.Candle) float64 { return c.Close }
func highOf(c market.Candle) float64  { return c.High }
func lowOf(c market.Candle) float64   { return c.Low }

// sharedCandles reads the hourly reference candles, nil where they are not at hand.
func sharedCandles(t *testing.T) []market.Candle {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "canonical", "SYNTH42_1h.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	candles := make([]market.Candle, 0, len(rows)-1)
	for _, row := range rows[1:] {
		var v [6]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		open := market.Time(v[0])
		candles = append(candles, market.Candle{
			OpenTime: open, CloseTime: open + hour, Open: v[1], High: v[2], Low: v[3], Close: v[4],
			Volume: v[5],
		})
	}
	return candles
}

// onSamples runs a comparison on random candles and on the reference candles.
func onSamples(t *testing.T, compare func(t *testing.T, candles []market.Candle)) {
	t.Helper()
	t.Run("random", func(t *testing.T) {
		for seed := range uint64(3) {
			compare(t, walk(seed, 2000, 100))
		}
	})
	t.Run("SYNTH42_1h", func(t *testing.T) {
		candles := sharedCandles(t)
		if candles == nil {
			t.Skip("the reference candles ../../../shared/data/canonical/SYNTH42_1h.csv are not here")
		}
		compare(t, candles)
	})
}

// periods are the n that comparisons with TA-Lib go through.
func periods() []int { return []int{2, 3, 14, 50, 200} }

// near fails unless got is within tolerance of want, relative to want or to 1.
func near(t *testing.T, what string, i int, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Fatalf("%s at candle %d: got %.17g, want %.17g", what, i, got, want)
	}
}

// ready fails unless l has its first value exactly at candle first, and 0 before.
func ready(t *testing.T, what string, l Line, i, first int) {
	t.Helper()
	if l.Ready() != (i >= first) || l.Count() != max(0, i-first+1) {
		t.Fatalf("%s at candle %d: ready %v, count %d; its first value is due at %d", what, i, l.Ready(),
			l.Count(), first)
	}
	if i < first && l.Value() != 0 {
		t.Fatalf("%s at candle %d: value %g before it is ready, want 0", what, i, l.Value())
	}
}

// seq checks the values of an indicator that takes one number per Add, NaN standing for
// "not ready yet".
func seq(t *testing.T, l interface {
	Line
	Add(float64)
}, in, want []float64) {
	t.Helper()
	for i, x := range in {
		l.Add(x)
		if math.IsNaN(want[i]) {
			ready(t, "value", l, i, i+1)
			continue
		}
		near(t, "value", i, l.Value(), want[i], 1e-12)
	}
}
