package multiple_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat/multiple"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The six p-values of Harvey and Liu (2015), shuffled, with what they print for BHY.
func TestPublishedAdjustment(t *testing.T) {
	a := multiple.Adjust([]float64{.06, .005, .0135, .009, .045, .0128})
	for i, want := range []float64{.06, .0496, .0496, .0496, .06, .0496} {
		near(t, "BHY as printed", a.HLBHY[i], want, 5e-5)
	}
	for i, want := range []float64{.36, .03, .081, .054, .27, .0768} {
		near(t, "Bonferroni", a.Bonferroni[i], want, 1e-12)
	}
	for i, want := range []float64{.09, .03, .0512, .045, .09, .0512} {
		near(t, "Holm", a.Holm[i], want, 1e-12)
	}
}

func TestAdjustNothing(t *testing.T) {
	a := multiple.Adjust(nil)
	for _, list := range [][]float64{a.Bonferroni, a.Holm, a.BH, a.BY, a.HLBHY} {
		if list == nil || len(list) != 0 {
			t.Error(list)
		}
	}
	if a := multiple.Adjust([]float64{.3}); a.Bonferroni[0] != .3 || a.Holm[0] != .3 || a.BH[0] != .3 || a.BY[0] != .3 || a.HLBHY[0] != .3 {
		t.Error(a)
	}
}

// Every adjustment keeps the order, stays in [p, 1] and does not depend on where a p-value
// stands; Holm is at most Bonferroni, BH at most either and at most BY.
func TestAdjustments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		a := multiple.Adjust(p)
		for i := range p {
			for _, list := range [][]float64{a.Bonferroni, a.Holm, a.BH, a.BY} {
				if list[i] < p[i] || list[i] > 1 {
					t.Fatalf("%v became %v", p[i], list[i])
				}
				for j := range p {
					if p[i] < p[j] && list[i] > list[j] || p[i] == p[j] && list[i] != list[j] {
						t.Fatal("the order is lost")
					}
				}
			}
			if a.Holm[i] > a.Bonferroni[i] || a.BH[i] > a.Holm[i] || a.BH[i] > a.BY[i] || a.HLBHY[i] > a.BY[i] {
				t.Fatalf("%+v", a)
			}
		}
		order := rapid.Permutation(indices(len(p))).Draw(t, "order")
		moved := make([]float64, len(p))
		for i, at := range order {
			moved[i] = p[at]
		}
		b := multiple.Adjust(moved)
		for i, at := range order {
			if b.BY[i] != a.BY[at] || b.Holm[i] != a.Holm[at] || b.HLBHY[i] != a.HLBHY[at] {
				t.Fatal("the place matters")
			}
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
