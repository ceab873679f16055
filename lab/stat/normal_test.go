package stat_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

func TestNormalAgainstTables(t *testing.T) {
	near(t, "Phi(1.96)", stat.Phi(1.96), 0.9750021048517795, 1e-15)
	near(t, "Phi(-6)", stat.Phi(-6)/9.865876450376946e-10, 1, 1e-12)
	near(t, "Upper(6)", stat.Upper(6)/9.865876450376946e-10, 1, 1e-12)
	near(t, "Z(0.975)", stat.Z(0.975), 1.959963984540054, 1e-14)
	near(t, "Z(0.95)", stat.Z(0.95), 1.6448536269514722, 1e-14)
	near(t, "Z(0.05)", stat.Z(0.05), -1.6448536269514722, 1e-14)
	near(t, "Z(0.5)", stat.Z(0.5), 0, 0)
	near(t, "UpperZ(1e-10)", stat.UpperZ(1e-10), 6.361340902404056, 1e-13)
	near(t, "UpperZ(1e-20)", stat.UpperZ(1e-20), 9.262340089798408, 1e-13)
}

func TestNormalAtTheEnds(t *testing.T) {
	if !math.IsInf(stat.Z(0), -1) || !math.IsInf(stat.Z(1), 1) || !math.IsInf(stat.UpperZ(0), 1) || !math.IsInf(stat.UpperZ(1), -1) {
		t.Error("ends")
	}
	for _, p := range []float64{-.1, 1.1, math.NaN()} {
		if !math.IsNaN(stat.Z(p)) || !math.IsNaN(stat.UpperZ(p)) {
			t.Errorf("%v has a quantile", p)
		}
	}
	if z := stat.UpperZ(math.SmallestNonzeroFloat64); !(z > 38 && z < 39) {
		t.Error(z)
	}
}

// The inverse undoes the function over 300 orders of magnitude.
func TestInverseNormal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Pow(10, rapid.Float64Range(-300, -0.31).Draw(t, "log10 q"))
		if back := stat.Upper(stat.UpperZ(q)); math.Abs(back/q-1) > 1e-11 {
			t.Fatalf("%v became %v", q, back)
		}
		if stat.Z(q) != -stat.UpperZ(q) {
			t.Fatal("not symmetric")
		}
	})
}
