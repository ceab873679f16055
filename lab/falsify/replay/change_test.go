package replay_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Noise as it is written: the draws in their order, the median true range, the step.
func TestPriceNoiseByHand(t *testing.T) {
	set := synth(3, 1)
	s := set[0].Series
	copy(s.Open, []float64{100, 101, 110})
	copy(s.High, []float64{102, 105, 111})
	copy(s.Low, []float64{98, 100, 109})
	copy(s.Close, []float64{100, 104, 110})
	// True ranges over close: 4/100, 5/104, 7/110; the median is 5/104.
	size := .1 * 5 / 104
	stream := random.New(9, random.Noise, 4)
	got := replay.PriceNoise(set, 10, 9, 4)[0].Series
	for i := range s.Time {
		var x [4]float64
		for k, price := range []float64{s.Open[i], s.High[i], s.Low[i], s.Close[i]} {
			x[k] = math.Round(price*(1+size*stream.Normal())*100) / 100
		}
		if got.Open[i] != x[0] || got.Close[i] != x[3] || got.High[i] != slices.Max(x[:]) ||
			got.Low[i] != slices.Min(x[:]) {
			t.Errorf("candle %d: %v %v %v %v, drawn %v", i, got.Open[i], got.High[i], got.Low[i],
				got.Close[i], x)
		}
	}
}

// Whatever the step, prices are multiples of it and above zero.
func TestPriceNoiseKeepsTheStep(t *testing.T) {
	for _, c := range []struct {
		step string
		on   float64
	}{{"0.01", .01}, {"0.5", .5}, {"25", 25}, {"500", 500}} {
		set := synth(200, 3)
		set[0].Dataset.PriceStep = decimal.MustParse(c.step)
		s := replay.PriceNoise(set, 10, 1, 0)[0].Series
		for _, price := range slices.Concat(s.Open, s.High, s.Low, s.Close) {
			steps := price / c.on
			if price < c.on || math.Abs(steps-math.Round(steps)) > 1e-6 {
				t.Fatalf("step %s: %v", c.step, price)
			}
		}
	}
	set := synth(5, 3)
	set[0].Dataset.PriceStep = decimal.Decimal{}
	sound(t, replay.PriceNoise(set, 10, 1, 0)[0].Series)
}

func TestGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 800).Draw(t, "n")
		set := synth(n, 4, 5)
		got := replay.Gaps(set, rapid.Uint64().Draw(t, "seed"), 0)
		for i := range got {
			was, s := set[i].Series, got[i].Series
			if s.Time[0] != was.Time[0] {
				t.Fatal("the first candle is gone")
			}
			if lost := was.Len() - s.Len(); n > 1 && (lost < max(n/100, 1) || lost > max(n/100, 1)+24) ||
				n == 1 && lost != 0 {
				t.Fatalf("%d of %d candles are left out", lost, n)
			}
			k := 0
			for j := range s.Time { // what is left is as it was
				for was.Time[k] != s.Time[j] {
					k++
				}
				if was.At(k).Close != s.At(j).Close || was.Volume[k] != s.Volume[j] {
					t.Fatal("a candle was changed")
				}
			}
		}
	})
	// The hole is one for all symbols.
	set := synth(2000, 6, 7)
	set[1].Series.Time = set[0].Series.Time
	got := replay.Gaps(set, 1, 2)
	hole := func(s *market.Series) (at market.Time) {
		longest := market.Time(0)
		for i := 1; i < s.Len(); i++ {
			if d := s.Time[i] - s.Time[i-1]; d > longest {
				longest, at = d, s.Time[i]
			}
		}
		if longest < market.Time(24*time.Hour/time.Millisecond) {
			t.Error("the longest gap is ", longest)
		}
		return at
	}
	if a, b := hole(got[0].Series), hole(got[1].Series); a-b > 12*3600*1000 || b-a > 12*3600*1000 {
		t.Error("two holes", a, b)
	}
}

func TestPermute(t *testing.T) {
	set := synth(500, 1, 2)
	got, joint := replay.Permute(set, 1, 0)
	if joint {
		t.Error("timelines with different gaps are joint")
	}
	set[1].Series.Time = set[0].Series.Time
	// The same candles twice: a joint permutation keeps them the same.
	twins := replay.Set{set[0], set[0]}
	both, joint := replay.Permute(twins, 1, 0)
	if !joint || !equal(both[0].Series, both[1].Series) {
		t.Error("one permutation for all, if their times are equal")
	}
	apart := replay.Set{set[0], {Series: set[0].Series.Slice(1, 500)}}
	if _, joint := replay.Permute(apart, 1, 0); joint {
		t.Error("joint without a candle")
	}
	for i := range got {
		s, was := got[i].Series, synth(500, 1, 2)[i].Series
		if last := s.Close[499] / was.Close[499]; math.Abs(last-1) > 1e-9 || s.Open[0] != was.Open[0] {
			t.Error("first or last price moved by ", last)
		}
		if !slices.Equal(sorted(s.Volume), sorted(was.Volume)) || slices.Equal(s.Volume, was.Volume) {
			t.Error("volumes")
		}
	}
}

// Reversed twice is as it was; once, the moves come in the opposite order.
func TestReverse(t *testing.T) {
	set := synth(100, 8)
	s := set[0].Series
	once := replay.Reverse(set)
	r := once[0].Series
	for i := 1; i < 100; i++ {
		if a, b := r.Close[i]/r.Open[i], s.Close[100-i]/s.Open[100-i]; math.Abs(a/b-1) > 1e-12 {
			t.Fatalf("candle %d moves by %v, not %v", i, a, b)
		}
	}
	twice := replay.Reverse(once)[0].Series
	for i := range s.Time {
		if math.Abs(twice.High[i]/s.High[i]-1) > 1e-11 || twice.Volume[i] != s.Volume[i] && i > 0 {
			t.Fatalf("candle %d is %v, was %v", i, twice.At(i), s.At(i))
		}
	}
}

func TestMetamorphic(t *testing.T) {
	set := synth(50, 1, 2)
	scaled, err := replay.Scale(set)
	if err != nil {
		t.Fatal(err)
	}
	year := replay.Shift(364)
	shifted := replay.Move(set, year.To)
	renamed, names := replay.Rename(set)
	for i := range set {
		s := set[i].Series
		for j := range s.Time {
			c, w := scaled[i].Series.At(j), s.At(j)
			if c.Open != w.Open*1000 || c.Low != w.Low*1000 || c.Volume != w.Volume/1000 ||
				c.OpenTime != w.OpenTime {
				t.Fatalf("%+v, was %+v", c, w)
			}
			if m := shifted[i].Series.At(j); m.OpenTime-w.OpenTime != 364*24*3600*1000 ||
				m.Close != w.Close || m.OpenTime.Time().Weekday() != w.OpenTime.Time().Weekday() {
				t.Fatalf("%+v, was %+v", m, w)
			}
		}
		if scaled[i].Dataset.PriceStep.String() != "10" || set[i].Dataset.PriceStep.String() != "0.01" {
			t.Error("price step ", scaled[i].Dataset.PriceStep)
		}
		name := renamed[i].Series.Symbol
		if names[s.Symbol] != name || name == s.Symbol || name.Quote() != renamed[0].Series.Symbol.Quote() {
			t.Error(s.Symbol, " became ", name)
		}
		if _, err := market.ParseSymbol(string(name)); err != nil ||
			!slices.Equal(renamed[i].Series.Close, s.Close) {
			t.Error(err)
		}
	}
	if year.To(0) != 364*24*3600*1000 || year.Back(year.To(7)) != 7 || len(names) != 2 {
		t.Error("shifted, names")
	}
}

func TestHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(0, 50).Draw(t, "first")
		end := first + rapid.IntRange(0, 5000).Draw(t, "steps")
		decisions := rapid.SliceOfNDistinct(rapid.IntRange(0, 6000), 0, 300, rapid.ID[int]).Draw(t, "decisions")
		seed := rapid.Uint64().Draw(t, "seed")
		given := slices.Clone(decisions)
		holds := replay.Holds(decisions, first, end, seed)
		if !slices.Equal(decisions, given) || !slices.Equal(holds, replay.Holds(decisions, first, end, seed)) {
			t.Fatal("not the same again")
		}
		if !slices.IsSorted(holds) || len(slices.Compact(slices.Clone(holds))) != len(holds) {
			t.Fatalf("%v", holds)
		}
		inside, held := 0, 0
		for _, k := range decisions {
			if k >= first && k < end {
				inside++
				if slices.Contains(holds, k) {
					held++
				}
			}
		}
		if held < min(inside, replay.HeldDecisions) || len(holds) > replay.HeldDecisions+replay.HeldSteps {
			t.Fatalf("%d of %d decisions, %d steps in all", held, inside, len(holds))
		}
		for _, k := range holds {
			if k < first || k >= end {
				t.Fatal(k)
			}
		}
	})
}

func TestCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(0, 50).Draw(t, "first")
		last := first + rapid.IntRange(0, 100).Draw(t, "steps")
		decisions := rapid.SliceOfN(rapid.IntRange(0, 150), 0, 60).Draw(t, "decisions")
		seed := rapid.Uint64().Draw(t, "seed")
		given := slices.Clone(decisions)
		cuts := replay.Cuts(decisions, first, last, seed)
		if !slices.Equal(decisions, given) || !slices.Equal(cuts, replay.Cuts(decisions, first, last, seed)) {
			t.Fatal("not the same again")
		}
		if !slices.IsSorted(cuts) || len(slices.Compact(slices.Clone(cuts))) != len(cuts) ||
			len(cuts) != min(20, last-first) {
			t.Fatalf("%v of [%d, %d)", cuts, first, last)
		}
		at := map[int]bool{}
		for _, k := range decisions {
			if k >= first && k < last {
				at[k] = true
			}
		}
		hit := 0
		for _, k := range cuts {
			if k < first || k >= last {
				t.Fatal(k)
			}
			if at[k] {
				hit++
			}
		}
		if hit < min(10, len(at)) {
			t.Fatalf("%d cuts at %d decisions", hit, len(at))
		}
	})
}

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
