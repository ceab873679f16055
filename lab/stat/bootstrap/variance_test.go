package bootstrap_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
)

// The formula is what drawing converges to.
func TestVarianceIsThatOfTheReplicas(t *testing.T) {
	x := ar(2, 60, .5)
	want, _, why := bootstrap.Variance(x, 5)
	if why != "" {
		t.Fatal(why)
	}
	means := bootstrap.Resample(x, bootstrap.Plan{Seed: 4, B: 20000, MeanBlock: 5}, stat.Mean)
	drawn, _ := stat.Variance(means, 1)
	near(t, "variance", drawn*float64(len(x))/want, 1, .04)
}

// Blocks of one are independent draws: only c_0 is left.
func TestVarianceOfIndependentDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1, 1), 2, 30).Draw(t, "x")
		v, kappa, why := bootstrap.Variance(x, 1)
		want, _ := stat.Variance(x, 0)
		if why != "" || math.Abs(v-want) > 1e-12 {
			t.Fatal(v, want, why)
		}
		// (i/n)(1-p)^(n-i) is 0^(n-1), which is 1 only for n = 1.
		if kappa != 0 {
			t.Fatal(kappa)
		}
	})
	_, kappa, _ := bootstrap.Variance([]float64{1, 2, 3, 5}, 2)
	near(t, "k_1", kappa, .75*.5+.25*.125, 1e-15)
	if _, _, why := bootstrap.Variance([]float64{1}, 2); why != stat.TooFewReturns {
		t.Error(why)
	}
}
