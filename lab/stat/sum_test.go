package stat_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestSumLosesNothing(t *testing.T) {
	near(t, "large and small", stat.Sum([]float64{1e16, 1, -1e16, 1}), 2, 0)
	near(t, "tenths", stat.Sum([]float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}), 1, 0)
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 200).Draw(t, "x")
		exact := new(big.Float).SetPrec(2000)
		for _, v := range x {
			exact.Add(exact, new(big.Float).SetFloat64(v))
		}
		want, _ := exact.Float64()
		if got := stat.Sum(x); math.Abs(got-want) > 1e-9*math.Abs(want)+1e-15 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestMeanAndDeviations(t *testing.T) {
	near(t, "mean of nothing", stat.Mean(nil), 0, 0)
	near(t, "mean", stat.Mean([]float64{1, 2, 6}), 3, 0)
	near(t, "dot", stat.Dot([]float64{1, 2}, []float64{3, -4}), -5, 0)
	e := stat.Deviations([]float64{1, 2, 6})
	if len(e) != 3 || e[0] != -2 || e[1] != -1 || e[2] != 3 {
		t.Error(e)
	}
	if !stat.AllEqual(nil) || !stat.AllEqual([]float64{2, 2}) || stat.AllEqual([]float64{2, 2, 3}) {
		t.Error("AllEqual")
	}
}
