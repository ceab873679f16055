package stat_test

import (
	"testing"

	"github.com/assay-run/assay/lab/stat"
)

func TestOrderIndex(t *testing.T) {
	for _, c := range []struct {
		q    float64
		b    int
		want int
	}{
		{.95, 999, 949}, {.025, 999, 24}, {.975, 999, 974}, {.9, 40, 35}, {0, 10, 0}, {1, 10, 9}, {.001, 10, 0},
		// 0.55 * 100 is 55.00000000000001 in floats.
		{.55, 100, 54}, {.07, 100, 6}, {.5, 3, 1},
	} {
		if got := stat.OrderIndex(c.q, c.b); got != c.want {
			t.Errorf("%v of %d: %d, want %d", c.q, c.b, got, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{.2: 1, .21: 2, .5: 3, 1: 5} {
		if got, why := stat.Quantile(x, q); got != want || why != "" {
			t.Errorf("%v: %v %s", q, got, why)
		}
	}
	if x[0] != 5 {
		t.Error("the sample was sorted")
	}
	if _, why := stat.Quantile(nil, .5); why != stat.TooFewReturns {
		t.Error(why)
	}
}

func TestResampledP(t *testing.T) {
	near(t, "none", stat.ResampledP(0, 999), .001, 0)
	near(t, "all", stat.ResampledP(999, 999), 1, 0)
	near(t, "smallest", stat.SmallestP(199), .005, 0)
}
