package sharpe_test

import (
	"math"
	"testing"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func defined(t *testing.T, what string) func(float64, stat.Reason) float64 {
	return func(x float64, why stat.Reason) float64 {
		t.Helper()
		if why != "" {
			t.Errorf("%s: %s", what, why)
		}
		return x
	}
}

// Worked examples that others have printed, to the digits that they printed.
func TestPublishedRatios(t *testing.T) {
	year := []float64{.259, .198, .364, -.081, .057, .055, .188, .317, .24, .184, -.01, .526}
	near(t, "Sharpe", defined(t, "sharpe")(sharpe.Ratio(year, .05, 1)), .834364, 5e-7)
	near(t, "Sortino", defined(t, "sortino")(sharpe.Sortino([]float64{.17, .15, .23, -.05, .12, .09, .13, -.04}, 0)), 4.417261, 5e-7)
	months := []float64{.0089, .0012, -.002, .01, -.0002, .02, .03, .01, -.003, .01, .0102, -.01}
	near(t, "Omega", defined(t, "omega")(sharpe.Omega(months, .01)), .463901689, 1e-9)
}

func TestUndefinedRatios(t *testing.T) {
	flat := []float64{.1, .1, .1}
	for _, c := range []struct {
		name string
		why  stat.Reason
		want stat.Reason
	}{
		{"sharpe of one", reason(sharpe.Ratio([]float64{1}, 0, 0)), stat.TooFewReturns},
		{"sharpe of none", reason(sharpe.Ratio(nil, 0, 1)), stat.TooFewReturns},
		{"sharpe, flat", reason(sharpe.Ratio(flat, 0, 1)), stat.ZeroVariance},
		{"sortino of none", reason(sharpe.Sortino(nil, 0)), stat.TooFewReturns},
		{"sortino, no losses", reason(sharpe.Sortino(flat, .1)), stat.NoLosses},
		{"omega of none", reason(sharpe.Omega(nil, 0)), stat.TooFewReturns},
		{"omega, no losses", reason(sharpe.Omega(flat, 0)), stat.NoLosses},
	} {
		if c.why != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.why, c.want)
		}
	}
}

func reason(_ float64, why stat.Reason) stat.Reason { return why }
