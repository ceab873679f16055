package step_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// gapped are candles of which some are missing, from a moment that may lie anywhere.
func gapped(r *rand.Rand, tf market.Timeframe, n int) *market.Series {
	s := &market.Series{Symbol: "A/B", Timeframe: tf}
	at := tf.Bucket(market.Time(1_577_836_800_000 + r.Int64N(40*86_400_000))).OpenTime
	for len(s.Time) < n {
		switch r.IntN(12) {
		case 0:
			at = tf.Next(at)
		case 1:
			for range r.IntN(60) {
				at = tf.Next(at)
			}
		}
		x := 1 + r.Float64()
		s.Append(market.Candle{OpenTime: at, Open: x, High: x + r.Float64(), Low: x / 2, Close: x + 0.1,
			Volume: r.Float64()})
		at = tf.Next(at)
	}
	return s
}

// TestRowsSuffice: with the candles that a warm-up takes there are as many complete ones of the larger
// timeframe as wanted at the first step whose orders count, and with fewer there are not.
func TestRowsSuffice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	early, short := 0, 0
	for range 400 {
		pair := [][2]string{{"1h", "1d"}, {"1h", "6h"}, {"15m", "4h"}, {"1d", "1w"}, {"1d", "1M"}}[r.IntN(5)]
		base, larger := market.MustTimeframe(pair[0]), market.MustTimeframe(pair[1])
		s := gapped(r, base, 100+r.IntN(300))
		edge, want := r.IntN(s.Len()), 1+r.IntN(6)
		w := market.Warmup{Larger: []market.Larger{{Timeframe: larger, Candles: want}}}
		rows, missing := w.Rows(base, s.Time[:edge], s.Time[edge], slices.Values(s.Time[edge:]))
		if rows > edge || missing > 0 && rows != edge {
			t.Fatalf("%d of %d candles, %d missing", rows, edge, missing)
		}
		complete := func(from, at int) int { // known before candle at has closed
			f := step.Frame{Base: base, Timeframe: larger, Past: step.Past{Keep: 1 << 20}}
			for i := from; i < at; i++ {
				c := s.At(i)
				f.Advance(c.CloseTime, &c)
			}
			f.Advance(s.Time[at], nil)
			return f.Past.Len()
		}
		if edge+missing >= s.Len() {
			continue
		}
		if n := complete(edge-rows, edge+missing); n < want || missing == 0 && n > want+1 {
			t.Fatalf("%s of %s: %d complete with %d candles and %d more, want %d", larger, base, n, rows,
				missing, want)
		}
		if missing > 0 {
			short++
			if n := complete(edge-rows, edge+missing-1); n >= want {
				t.Fatalf("%s of %s: %d complete one candle earlier, want %d", larger, base, n, want)
			}
		} else if early++; complete(edge-rows+1, edge) >= want {
			t.Fatalf("%s of %s: one candle fewer than %d suffices", larger, base, rows)
		}
	}
	if early < 50 || short < 20 {
		t.Errorf("only %d with enough candles, %d without", early, short)
	}
}

// TestFrameShowsAtItsClose: a bucket shows at the first step that closes with it or later, whichever of
// its candles are missing, also where the symbol has none at that step.
func TestFrameShowsAtItsClose(t *testing.T) {
	hour := market.MustTimeframe("1h")
	f := step.Frame{Base: hour, Timeframe: market.MustTimeframe("4h"), Past: step.Past{Keep: 2}}
	at := func(h int) market.Time { return market.Time(h * 3_600_000) }
	candle := func(h int) *market.Candle {
		x := float64(h)
		return &market.Candle{OpenTime: at(h), CloseTime: at(h + 1), Open: x, High: x, Low: x, Close: x,
			Volume: 1}
	}
	for _, step := range []struct {
		close  int
		candle *market.Candle
		closed bool
		open   float64 // of the newest
		kept   int
	}{
		{3, candle(2), false, 0, 0},
		{4, candle(3), false, 0, 0}, // the history begins inside of it
		{5, candle(4), false, 0, 0},
		{9, nil, true, 4, 1},          // of another symbol
		{10, candle(9), false, 4, 1},  // 08:00 is missing
		{21, candle(20), true, 9, 2},  // 09:00 is the only one of its bucket, 12 to 20 has none
		{22, candle(21), false, 9, 2}, // nothing twice
		{23, candle(3), false, 9, 2},  // later than its step
		{24, candle(23), true, 20, 2},
	} {
		f.Advance(at(step.close), step.candle)
		if f.Closed != step.closed || f.Candle.Open != step.open || f.Past.Len() != step.kept {
			t.Errorf("at %d: %v %+v, %d kept", step.close, f.Closed, f.Candle, f.Past.Len())
		}
	}
	if w := f.Past.Last(5); !slices.Equal(w.Open, []float64{9, 20}) || cap(w.Close) != 2 ||
		!slices.Equal(w.Volume, []float64{1, 3}) || f.Candle.OpenTime != at(20) ||
		f.Candle.CloseTime != at(24) {
		t.Errorf("%+v %+v", w, f.Candle)
	}
}
