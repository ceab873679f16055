package metric

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func line(n int) ([]market.Time, []float64) {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	times := make([]market.Time, n)
	values := make([]float64, n)
	e := 10000.0
	for i := range values {
		e *= 1 + 0.01*r.NormFloat64()
		times[i], values[i] = market.Time(i)*60000, e
	}
	return times, values
}

func TestEquity(t *testing.T) {
	times, values := line(50000)
	peak, trough := WorstDrawdown(values)
	for _, n := range []int{4, 5, 100, 2000, 49999} {
		picked, info := ThinEquity(times, values, n)
		check(t, picked, len(values), n)
		if !slices.Contains(picked, peak) || !slices.Contains(picked, trough) {
			t.Errorf("n %d: peak %d or trough %d missing", n, peak, trough)
		}
		if want := (Thinning{ThinLTTB, len(picked), 50000}); info != want {
			t.Errorf("info %+v, want %+v", info, want)
		}
		if len(picked) < n-2 {
			t.Errorf("only %d of %d points used", len(picked), n)
		}
	}
	if picked, _ := ThinEquity(times, values, 3); !slices.Contains(picked, trough) {
		t.Error("three points without the trough")
	}
}

func TestFewPoints(t *testing.T) {
	times, values := line(10)
	for n, want := range map[int]int{-1: 2, 0: 2, 1: 2, 2: 2, 3: 3, 10: 10, 11: 10, math.MaxInt: 10} {
		picked, info := ThinEquity(times, values, n)
		if len(picked) != want || info.Points != want || info.Of != 10 {
			t.Errorf("n %d: %v, %+v", n, picked, info)
		}
		if (info.Method == ThinNone) != (want == 10) {
			t.Errorf("n %d: method %s", n, info.Method)
		}
	}
	if picked, info := ThinEquity(nil, nil, 5); len(picked) != 0 || info != (Thinning{Method: ThinNone}) {
		t.Errorf("no points: %v, %+v", picked, info)
	}
}

// Buckets [1 2 3], [4 5 6] of a flat line with two spikes: both are taken.
func TestTrianglesByHand(t *testing.T) {
	times := []market.Time{0, 1, 2, 3, 4, 5, 6, 7}
	picked := Thin(times, []float64{0, 0, 5, 0, 0, 0, -5, 0}, 4)
	if !slices.Equal(picked, []int{0, 2, 6, 7}) {
		t.Errorf("picked %v", picked)
	}
	picked = Thin(times, []float64{0, 0, 5, 0, 0, 0, -5, 0}, 4, 4, 4, 0, 99)
	if !slices.Equal(picked, []int{0, 2, 4, 7}) {
		t.Errorf("picked with 4 kept: %v", picked)
	}
	nan := math.NaN()
	if picked = Thin(times, []float64{nan, nan, nan, nan, nan, nan, nan, nan}, 4); len(picked) != 4 {
		t.Errorf("picked of nothing: %v", picked)
	}
}

func check(t *testing.T, picked []int, of, n int) {
	t.Helper()
	if len(picked) > max(n, 2) || len(picked) > of {
		t.Errorf("%d points picked, at most %d of %d wanted", len(picked), n, of)
	}
	if of == 0 {
		return
	}
	if picked[0] != 0 || picked[len(picked)-1] != of-1 {
		t.Errorf("first or last missing in %v", picked)
	}
	for i := 1; i < len(picked); i++ {
		if picked[i] <= picked[i-1] {
			t.Errorf("not ascending: %v", picked)
		}
	}
}

func FuzzEquity(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuv0123456789"), 3)
	f.Add(make([]byte, 800), 17)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		var times []market.Time
		var values []float64
		for at := market.Time(0); len(data) >= 8; data = data[8:] {
			at += market.Time(data[0]) + 1
			times = append(times, at)
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		picked, info := ThinEquity(times, values, n)
		check(t, picked, len(values), n)
		if info.Points != len(picked) || info.Of != len(values) {
			t.Errorf("info %+v of %d points", info, len(picked))
		}
		peak, trough := WorstDrawdown(values)
		if n >= 4 && (len(values) > 0) &&
			(!slices.Contains(picked, peak) || !slices.Contains(picked, trough)) {
			t.Errorf("peak %d or trough %d missing in %v", peak, trough, picked)
		}
	})
}

func BenchmarkEquity(b *testing.B) {
	times, values := line(1_500_000)
	b.ReportAllocs()
	for b.Loop() {
		ThinEquity(times, values, 2000)
	}
}
