package replay_test

import (
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

const y2020 = market.Time(1577836800000) // a Wednesday

// synth is a set of invented hourly candles, a symbol per seed, n candles each.
func synth(n int, seeds ...int64) replay.Set {
	var set replay.Set
	for i, seed := range seeds {
		s := sdktest.Synth(uint64(seed), n, y2020.Time(), time.Hour)
		s.Symbol = market.Symbol([]string{"A/Q", "B/Q", "C/Q"}[i])
		set = append(set, replay.Candles{Dataset: candle.Dataset{
			Exchange: "sample", Symbol: s.Symbol, Timeframe: s.Timeframe, Calendar: candle.AllDays,
			PriceStep: decimal.MustParse("0.01"), VolumeUnit: "base",
		}, Series: s})
	}
	return set
}

// copied is a deep copy, to see that nothing writes what it was given.
func copied(set replay.Set) replay.Set {
	out := slices.Clone(set)
	for i := range out {
		s := *out[i].Series
		for _, column := range []*[]float64{&s.Open, &s.High, &s.Low, &s.Close, &s.Volume} {
			*column = slices.Clone(*column)
		}
		s.Time = slices.Clone(s.Time)
		out[i].Series = &s
	}
	return out
}

func equal(a, b *market.Series) bool {
	return a.Symbol == b.Symbol && slices.Equal(a.Time, b.Time) && slices.Equal(a.Open, b.Open) &&
		slices.Equal(a.High, b.High) &&
		slices.Equal(a.Low, b.Low) && slices.Equal(a.Close, b.Close) && slices.Equal(a.Volume, b.Volume)
}

func equalSets(a, b replay.Set) bool {
	return slices.EqualFunc(a, b, func(x, y replay.Candles) bool { return equal(x.Series, y.Series) })
}

// sound fails unless the candles are candles: times ascend, prices above zero, the
// extremes outside.
func sound(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *market.Series) {
	t.Helper()
	for i := range s.Time {
		o, h, l, c := s.Open[i], s.High[i], s.Low[i], s.Close[i]
		const slack = 1 + 1e-12
		if !(l > 0 && h*slack >= max(o, c) && l <= min(o, c)*slack && h < 1e18) || i > 0 &&
			s.Time[i] <= s.Time[i-1] {
			t.Fatalf("candle %d: %v %v %v %v at %s", i, o, h, l, c, s.Time[i])
		}
	}
}

func sorted(x []float64) []float64 { return slices.Sorted(slices.Values(x)) }

// Every change makes the same candles twice, others for another replica or seed, and
// leaves its input alone.
func TestChangesAreReproducible(t *testing.T) {
	changes := map[string]func(set replay.Set, seed, replica uint64) replay.Set{
		"poison": func(s replay.Set, seed, replica uint64) replay.Set {
			return replay.Poison(s, s[0].Series.CloseTime(100), seed, replica)
		},
		"data end": replay.DataEnd,
		"noise": func(s replay.Set, seed, replica uint64) replay.Set {
			return replay.PriceNoise(s, 3, seed, replica)
		},
		"gaps": replay.Gaps,
		"permute": func(s replay.Set, seed, replica uint64) replay.Set {
			out, _ := replay.Permute(s, seed, replica)
			return out
		},
	}
	for name, change := range changes {
		set := synth(300, 1, 2)
		before := copied(set)
		once := change(set, 7, 3)
		if !equalSets(set, before) {
			t.Errorf("%s writes its input", name)
		}
		if !equalSets(once, change(set, 7, 3)) {
			t.Errorf("%s differs from itself", name)
		}
		if equalSets(once, change(set, 7, 4)) || equalSets(once, change(set, 8, 3)) {
			t.Errorf("%s ignores replica or seed", name)
		}
		for i := range once {
			sound(t, once[i].Series)
			if once[i].Dataset.Exchange != "sample" {
				t.Errorf("%s loses where the candles are from", name)
			}
		}
	}
}
