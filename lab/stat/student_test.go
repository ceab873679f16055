package stat_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

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
		{10, .05, 2.2281388519649385}, {1, .05, 1 / math.Tan(math.Pi*.025)}, {30, .01, 2.7499956535670305}, {4, .5, 0.7406970841112683},
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
