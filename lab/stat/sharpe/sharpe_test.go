package sharpe_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

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
	near(t, "Sortino",
		defined(t, "sortino")(sharpe.Sortino([]float64{.17, .15, .23, -.05, .12, .09, .13, -.04}, 0)),
		4.417261, 5e-7)
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

// hedge is the fund of both papers: 24 months, mean .036, deviation .079.
const hedge = .036 / .079

func fund() sharpe.Shape { return sharpe.Shape{Skew: -2.448, Kurt: 10.164} }

// Bailey and Lopez de Prado (2012) and Lopez de Prado, Lipton and Zoonekynd (2025), to
// the digits that they printed.
func TestPublishedProbabilities(t *testing.T) {
	near(t, "SE under the null", fundSE(t, 0), .204, 5e-4)
	near(t, "PSR 2012", defined(t, "psr")(sharpe.PSR2012(.458, 0, 24, fund())), .913, 5e-4)
	near(t, "PSR 2025", defined(t, "psr")(sharpe.PSR2025(hedge, 0, 24, fund())), .987, 5e-4)
	near(t, "PSR 2025 at 0.1", defined(t, "psr")(sharpe.PSR2025(hedge, .1, 24, fund())), .939, 5e-4)
	near(t, "MinTRL 2025", defined(t, "trl")(sharpe.MinTRL2025(hedge, 0, fund(), .05)), 13.029, 5e-4)
	near(t, "miss", 1-defined(t, "power")(sharpe.Power(0, .5, 24, fund(), .05)), .315, 5e-4)
	near(t, "SE of Lo", defined(t, "lo")(sharpe.LoSE(.5, 12)), .306, 5e-4)
}

func fundSE(t *testing.T, at float64) float64 {
	// The error at the null of the 2025 form, from the probability it gives to one SE.
	p := defined(t, "psr")(sharpe.PSR2025(at+.204, at, 24, fund()))
	return .204 / stat.Z(p)
}

func shape(t *rapid.T) sharpe.Shape {
	skew := rapid.Float64Range(-3, 3).Draw(t, "skew")
	return sharpe.Shape{Skew: skew, Kurt: skew*skew + rapid.Float64Range(1.1, 12).Draw(t, "kurt beyond")}
}

// PSR at the estimate itself is a coin toss, rises with the estimate, and reaches any
// confidence at its minimum track record length.
func TestIdentities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, n := shape(t), rapid.Float64Range(2, 5000).Draw(t, "T")
		sr, up := rapid.Float64Range(-.5, .5).Draw(t, "sr"), rapid.Float64Range(.001, .5).Draw(t, "up")
		half, why := sharpe.PSR2012(sr, sr, n, f)
		if why != "" || half != .5 {
			t.Fatal(half, why)
		}
		if half, why := sharpe.PSR2025(sr, sr, n, f); why != "" || half != .5 {
			t.Fatal(half, why)
		}
		low, _ := sharpe.PSR2025(sr, sr-up, n, f)
		high, _ := sharpe.PSR2025(sr+up, sr-up, n, f)
		if !(low >= .5 && high >= low && high <= 1) {
			t.Fatal(low, high)
		}
		c := rapid.Float64Range(.51, .999).Draw(t, "confidence")
		length, why := sharpe.MinTRL2012(sr, sr-up, f, c)
		if why != "" || length <= 1 {
			t.Fatal(length, why)
		}
		if p, _ := sharpe.PSR2012(sr, sr-up, length, f); math.Abs(p-c) > 1e-9 {
			t.Fatalf("%v, want %v", p, c)
		}
		length, _ = sharpe.MinTRL2025(sr, sr-up, f, 1-c)
		if p, _ := sharpe.PSR2025(sr, sr-up, length, f); math.Abs(p-c) > 1e-9 {
			t.Fatalf("%v, want %v", p, c)
		}
		power, _ := sharpe.Power(sr, sr, n, f, .05)
		if math.Abs(power-.05) > 1e-12 {
			t.Fatal("a test of what is true rejects", power)
		}
	})
}

func TestUndefinedProbabilities(t *testing.T) {
	n := sharpe.Shape{Kurt: 3}
	impossible := sharpe.Shape{Skew: 4, Kurt: 3} // V(0.5) is negative
	for _, c := range []struct {
		name string
		why  stat.Reason
		want stat.Reason
	}{
		{"one observation", reason(sharpe.PSR2012(.1, 0, 1, n)), stat.NotApplicable},
		{"no observation", reason(sharpe.PSR2025(.1, 0, 0, n)), stat.NotApplicable},
		{"impossible moments", reason(sharpe.PSR2012(.5, 0, 10, impossible)), stat.NotApplicable},
		{"impossible moments at sr1", reason(sharpe.Power(0, .5, 10, impossible, .05)), stat.NotApplicable},
		{"impossible moments at sr0", reason(sharpe.Power(.5, 0, 10, impossible, .05)), stat.NotApplicable},
		{"no length", reason(sharpe.MinTRL2012(.1, .1, n, .95)), stat.SharpeNotAboveBenchmark},
		{"no length", reason(sharpe.MinTRL2025(.1, .2, n, .05)), stat.SharpeNotAboveBenchmark},
		{"impossible length", reason(sharpe.MinTRL2012(.5, .2, impossible, .95)), stat.NotApplicable},
		{"endless length", reason(sharpe.MinTRL2012(1e-200, 0, n, .95)), stat.NotApplicable},
		{"Lo without T", reason(sharpe.LoSE(.1, 0)), stat.NotApplicable},
	} {
		if c.why != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.why, c.want)
		}
	}
}

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
