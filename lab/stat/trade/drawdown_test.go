package trade_test

import (
	"math"
	"slices"
	"testing"

	"github.com/assay-run/assay/lab/stat/trade"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestDrawdowns(t *testing.T) {
	for _, c := range []struct {
		equity []float64
		want   []float64
		most   float64
	}{
		{[]float64{100}, []float64{}, 0},
		{[]float64{100, 110, 120}, []float64{}, 0},
		{[]float64{100, 90, 95, 110, 105}, []float64{10, 5}, .1},
		// Back at the old high is not above it: one stretch.
		{[]float64{100, 90, 100, 80, 101, 101}, []float64{20}, .2},
		{[]float64{100, 200, 150, 300, 240, 210}, []float64{50, 90}, .3},
	} {
		if got := trade.Drawdowns(c.equity); got == nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.equity, got, c.want)
		}
		near(t, "largest", trade.MaxDrawdown(c.equity), c.most, 1e-15)
	}
	if got := trade.Drawdowns(nil); got == nil || len(got) != 0 {
		t.Error(got)
	}
}
