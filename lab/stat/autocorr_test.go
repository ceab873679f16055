package stat_test

import (
	"testing"

	"github.com/assay-run/assay/lab/stat"
)

func TestAutocovariances(t *testing.T) {
	// Deviations -2, -1, 0, 1, 2.
	c := stat.Autocovariances([]float64{1, 2, 3, 4, 5}, 9)
	want := []float64{10.0 / 5, 4.0 / 5, -1.0 / 5, -4.0 / 5, -4.0 / 5}
	if len(c) != len(want) {
		t.Fatal(c)
	}
	for i := range c {
		near(t, "autocovariance", c[i], want[i], 1e-15)
	}
}

func TestLag1(t *testing.T) {
	rho, why := stat.Lag1([]float64{1, 2, 3, 4, 5})
	if near(t, "rho", rho, 0.4, 1e-15); why != "" {
		t.Error(why)
	}
	if _, why := stat.Lag1([]float64{1, 2}); why != stat.TooFewReturns {
		t.Error(why)
	}
	if _, why := stat.Lag1([]float64{3, 3, 3}); why != stat.ZeroVariance {
		t.Error(why)
	}
	if _, why := stat.Lag1([]float64{1e-200, 0, 0}); why != stat.NotApplicable {
		t.Error(why)
	}
}
