package stat_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

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
