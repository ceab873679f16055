package sharpe_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

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
	n := sharpe.Normal()
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
