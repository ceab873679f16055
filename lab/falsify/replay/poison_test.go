package replay_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Two candles after the cut: whatever the order, each ratio is exp(10 log r), clipped.
func TestPoisonByHand(t *testing.T) {
	set := synth(3, 1)
	s := set[0].Series
	copy(s.Open, []float64{100, 101, 112})
	copy(s.High, []float64{102, 103, 121})
	copy(s.Low, []float64{99, 100, 88})
	copy(s.Close, []float64{100, 100, 120})
	got := replay.Poison(set, s.CloseTime(0), 1, 0)[0].Series
	tenfold := func(r float64) float64 { return math.Exp(min(max(10*math.Log(r), -1), 1)) }
	gaps := sorted([]float64{tenfold(101.0 / 100), tenfold(112.0 / 100)})
	closes := sorted([]float64{tenfold(100.0 / 101), tenfold(120.0 / 112)})
	highs := sorted([]float64{tenfold(103.0 / 101), tenfold(121.0 / 112)})
	have := func(f func(i int) float64) []float64 { return sorted([]float64{f(1), f(2)}) }
	for _, pair := range [][2][]float64{
		{have(func(i int) float64 { return got.Open[i] / got.Close[i-1] }), gaps},
		{have(func(i int) float64 { return got.Close[i] / got.Open[i] }), closes},
		{have(func(i int) float64 { return got.High[i] / got.Open[i] }), highs},
	} {
		for i := range pair[0] {
			if math.Abs(pair[0][i]/pair[1][i]-1) > 1e-12 {
				t.Errorf("%v, want %v", pair[0], pair[1])
			}
		}
	}
	if gaps[1] != math.E {
		t.Error("the larger gap is not clipped")
	}
}

// Up to the cut nothing changes, behind it everything but times and volumes.
func TestPoison(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 3000).Draw(t, "n")
		set := synth(n, rapid.Int64Range(1, 99).Draw(t, "a"), rapid.Int64Range(1, 99).Draw(t, "b"))
		k := rapid.IntRange(0, n-2).Draw(t, "k")
		cut := set[0].Series.CloseTime(k)
		got := replay.Poison(set, cut, rapid.Uint64().Draw(t, "seed"), 0)
		prefix, rest := replay.Truncate(set, cut), replay.Truncate(got, cut)
		for i := range got {
			s := got[i].Series
			if prefix[i].Series.Len() == 0 { // not begun: its first candle stays
				continue
			}
			if !equal(prefix[i].Series, rest[i].Series) || !slices.Equal(s.Time, set[i].Series.Time) {
				t.Fatal("the past or the times were changed")
			}
			if !slices.Equal(sorted(s.Volume), sorted(set[i].Series.Volume)) {
				t.Fatal("other volumes")
			}
			sound(t, s)
			at := prefix[i].Series.Len()
			for j := at; j < n; j++ {
				if r := s.Close[j] / s.Close[at-1]; r > 1000.001 || r < 1/1000.001 {
					t.Fatalf("the close went to %v times that of the cut", r)
				}
			}
			if at < n-1 && slices.Equal(s.Close[at:], set[i].Series.Close[at:]) {
				t.Fatal("the rest was not changed")
			}
		}
	})
}

// The candles of the end come when those of all symbols have ended, on days that have
// candles, and are made of moves that there were.
func TestDataEnd(t *testing.T) {
	set := synth(400, 1, 2)
	set[1].Series = set[1].Series.Slice(0, 300) // has ended earlier
	set[0].Dataset.Calendar = candle.Weekdays
	end := set[0].Series.CloseTime(399)
	got := replay.DataEnd(set, 1, 0)
	for i := range got {
		s, was := got[i].Series, set[i].Series.Len()
		if s.Len() != was+200 || !equal(s.Slice(0, was), set[i].Series) || s.Time[was] < end {
			t.Fatalf("%d candles, the first new one at %s", s.Len(), s.Time[was])
		}
		ratios := map[int64]bool{}
		key := func(s *market.Series, j int) int64 { return int64(math.Round(s.Close[j] / s.Open[j] * 1e10)) }
		for j := 1; j < was; j++ {
			ratios[key(s, j)] = true
		}
		for j := was; j < s.Len(); j++ {
			if !ratios[key(s, j)] {
				t.Fatalf("candle %d moves as none did", j)
			}
			if day := s.Time[j].Time().Weekday(); i == 0 && (day == time.Saturday || day == time.Sunday) {
				t.Fatalf("a candle on a %s", day)
			}
		}
	}
	one := replay.DataEnd(replay.Truncate(set, set[0].Series.CloseTime(0)), 1, 0)
	if s := one[0].Series; s.Len() != 201 || s.Close[200] != s.Close[0] {
		t.Error("one candle does not go on flat")
	}
}
