package stat_test

import (
	"math"
	"slices"
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
	if !math.IsInf(stat.Z(0), -1) || !math.IsInf(stat.Z(1), 1) || !math.IsInf(stat.UpperZ(0), 1) ||
		!math.IsInf(stat.UpperZ(1), -1) {
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

// One and two degrees of freedom have closed forms.
func TestStudentClosedForms(t *testing.T) {
	for _, x := range []float64{0, 1e-9, 0.1, 1, 2.5, 12.7, 1e4, 1e9} {
		one := 2 / math.Pi * math.Atan2(1, x)
		near(t, "df 1", stat.StudentTwoSided(x, 1)/one, 1, 1e-12)
		two := 2 / (math.Sqrt(2+x*x) * (math.Sqrt(2+x*x) + x))
		near(t, "df 2", stat.StudentTwoSided(-x, 2)/two, 1, 1e-12)
	}
}

func TestStudentAgainstTables(t *testing.T) {
	for _, c := range []struct{ df, p, t float64 }{
		{10, .05, 2.2281388519649385}, {1, .05, 1 / math.Tan(math.Pi*.025)}, {30, .01, 2.7499956535670305},
		{4, .5, 0.7406970841112683},
	} {
		near(t, "quantile", stat.StudentT(c.p, c.df), c.t, 1e-11*c.t)
	}
	// Far degrees of freedom are the normal, up to their first correction.
	near(t, "normal limit", stat.StudentTwoSided(1.96, 1e9), 2*stat.Upper(1.96), 1e-9)
}

func TestStudentAtTheEnds(t *testing.T) {
	near(t, "certain", stat.StudentT(1, 5), 0, 0)
	if !math.IsInf(stat.StudentT(0, 5), 1) || stat.StudentTwoSided(1e200, 5) != 0 {
		t.Error("ends")
	}
	for _, bad := range []float64{-.1, 1.1, math.NaN()} {
		if !math.IsNaN(stat.StudentT(bad, 5)) || !math.IsNaN(stat.StudentT(.5, 0)) {
			t.Errorf("%v has a quantile", bad)
		}
	}
	if x := stat.IncompleteBeta(-1, 2, .5, .5); !math.IsNaN(x) {
		t.Error(x)
	}
}

func TestStudentInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		df := math.Pow(10, rapid.Float64Range(0, 6).Draw(t, "log10 df"))
		p := math.Pow(10, rapid.Float64Range(-30, 0).Draw(t, "log10 p"))
		x := stat.StudentT(p, df)
		if back := stat.StudentTwoSided(x, df); math.Abs(back/p-1) > 1e-9 {
			t.Fatalf("df %v: %v became %v and %v", df, p, x, back)
		}
	})
}

// I_x(a, b) = 1 - I_y(b, a), and for whole numbers it is a binomial tail.
func TestIncompleteBeta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(1, 30).Draw(t, "a"), rapid.IntRange(1, 30).Draw(t, "b")
		x := rapid.Float64Range(0.001, 0.999).Draw(t, "x")
		n, tail := a+b-1, 0.0
		for k := a; k <= n; k++ {
			c := 1.0
			for i := 1; i <= k; i++ {
				c *= float64(n-k+i) / float64(i)
			}
			tail += c * math.Pow(x, float64(k)) * math.Pow(1-x, float64(n-k))
		}
		got := stat.IncompleteBeta(float64(a), float64(b), x, 1-x)
		if math.Abs(got-tail) > 1e-12 {
			t.Fatalf("I_%v(%d, %d) = %v, want %v", x, a, b, got, tail)
		}
		if other := stat.IncompleteBeta(float64(b), float64(a), 1-x, x); math.Abs(got+other-1) > 1e-12 {
			t.Fatalf("%v + %v", got, other)
		}
	})
}

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

func TestEigenvalues(t *testing.T) {
	for _, c := range []struct {
		m    [][]float64
		want []float64
	}{
		{[][]float64{{2, 1}, {1, 2}}, []float64{3, 1}},
		{[][]float64{{1, .5, .5}, {.5, 1, .5}, {.5, .5, 1}}, []float64{2, .5, .5}},
		{[][]float64{{2, -1, 0}, {-1, 2, -1}, {0, -1, 2}}, []float64{2 + math.Sqrt2, 2, 2 - math.Sqrt2}},
		{[][]float64{{1, 1}, {1, 1}}, []float64{2, 0}},
		{[][]float64{{7}}, []float64{7}},
		{nil, []float64{}},
	} {
		got := stat.Eigenvalues(c.m)
		if len(got) != len(c.want) {
			t.Fatal(got)
		}
		for i := range got {
			near(t, "eigenvalue", got[i], c.want[i], 1e-14)
		}
	}
}

// Rotations keep the trace and the sum of squares, and the matrix stays as it was.
func TestEigenvaluesKeepInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		m := make([][]float64, n)
		for i := range m {
			m[i] = make([]float64, n)
		}
		trace, squares := 0.0, 0.0
		for i := range n {
			for j := range i + 1 {
				m[i][j] = rapid.Float64Range(-1, 1).Draw(t, "entry")
				m[j][i] = m[i][j]
			}
			trace += m[i][i]
		}
		before := make([][]float64, n)
		for i := range m {
			before[i] = slices.Clone(m[i])
			squares += stat.Dot(m[i], m[i])
		}
		values := stat.Eigenvalues(m)
		if math.Abs(stat.Sum(values)-trace) > 1e-12 || math.Abs(stat.Dot(values, values)-squares) > 1e-11 {
			t.Fatalf("%v of trace %v and squares %v", values, trace, squares)
		}
		for i := range m {
			if !slices.Equal(m[i], before[i]) {
				t.Fatal("the matrix was changed")
			}
		}
	})
}
