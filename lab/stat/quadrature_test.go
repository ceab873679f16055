package stat_test

import (
	"math"
	"testing"

	"github.com/assay-run/assay/lab/stat"
)

func TestGaussLegendreIsExactForPolynomials(t *testing.T) {
	for n := 1; n <= 24; n++ {
		rule := stat.GaussLegendre(n)
		for degree := range 2 * n {
			power := func(x float64) float64 { return math.Pow(x, float64(degree)) }
			near(t, "integral", rule.Integrate(power, 0, 1, 1), 1/float64(degree+1), 1e-14)
		}
	}
}

func TestIntegrate(t *testing.T) {
	near(t, "normal density", stat.GaussLegendre(20).Integrate(stat.Density, -12, 12, 48), 1, 1e-14)
	near(t, "sine", stat.GaussLegendre(10).Integrate(math.Sin, 0, math.Pi, 4), 2, 1e-14)
	near(t, "backwards", stat.GaussLegendre(10).Integrate(math.Sin, math.Pi, 0, 4), -2, 1e-14)
}
