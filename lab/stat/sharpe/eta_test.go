package sharpe_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Lo (2002) prints sqrt(12) = 3.46 without autocorrelation and 2.88 with 0.2, Harvey and
// Liu (2015) correct an annual ratio of 1 to 0.912.
func TestPublishedEta(t *testing.T) {
	near(t, "rho 0", defined(t, "eta")(sharpe.EtaAR1(12, 0)), math.Sqrt(12), 1e-15)
	near(t, "rho 0.2", defined(t, "eta")(sharpe.EtaAR1(12, .2)), 2.88, 5e-3)
	near(t, "corrected", defined(t, "corrected")(sharpe.Corrected(1, 12, .1)), .912, 5e-4)
}

// The closed form is the sum over all lags: q / sqrt(q + 2 sum (q-k) rho^k).
func TestEtaIsTheSumOverLags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, rho := rapid.IntRange(1, 400).Draw(t, "q"), rapid.Float64Range(-.9, .9).Draw(t, "rho")
		sum := float64(q)
		for k := 1; k < q; k++ {
			sum += 2 * float64(q-k) * math.Pow(rho, float64(k))
		}
		got, why := sharpe.EtaAR1(float64(q), rho)
		if want := float64(q) / math.Sqrt(sum); why != "" || math.Abs(got-want) > 1e-9*want {
			t.Fatalf("%v %s, want %v", got, why, want)
		}
	})
}

func TestUndefinedEta(t *testing.T) {
	for _, c := range [][2]float64{{0, .1}, {-1, .1}, {12, 1}, {12, -1}, {12, math.NaN()}, {math.Inf(1), 0}} {
		if eta, why := sharpe.EtaAR1(c[0], c[1]); why != stat.NotApplicable {
			t.Errorf("%v: %v %q", c, eta, why)
		}
	}
	if _, why := sharpe.Corrected(1, 12, 1); why != stat.NotApplicable {
		t.Error(why)
	}
}
