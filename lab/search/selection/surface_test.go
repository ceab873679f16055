package selection_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
)

func trial(objective float64, at ...float64) selection.SurfacePoint {
	return selection.SurfacePoint{At: at, Objective: &objective}
}

func near(t rapid.TB, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-11 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestImportanceByHand(t *testing.T) {
	list := selection.ImportanceOf([]string{"fast", "slow"}, []selection.SurfacePoint{
		trial(1, .01, .3), trial(3, .10, .3), trial(2, .60, .3), trial(6, .99, .3), {At: []float64{.5, .9}},
	})
	if list[0].Param != "fast" || list[1].Param != "slow" {
		t.Fatalf("%+v", list)
	}
	// Ranks 1 2 3 4 and 1 3 2 4: 1 - 6 (1 + 1) / (4 (16 - 1)).
	near(t, "rank correlation", list[0].RankCorrelation, .8)
	// Bins {1, 3}, {2}, {6} around a mean of 3: (2*1 + 1 + 9) / (4 + 0 + 1 + 9).
	near(t, "variance explained", list[0].VarianceExplained, 12.0/14)
	for _, name := range []string{"rank_correlation", "variance_explained"} {
		if list[1].Undefined[name] != stat.ZeroVariance {
			t.Errorf("%+v", list[1])
		}
	}
	if few := selection.ImportanceOf([]string{"a"},
		[]selection.SurfacePoint{trial(1, .5)}); few[0].Undefined["rank_correlation"] != stat.TooFewReturns ||
		few[0].RankCorrelation != nil {
		t.Errorf("%+v", few)
	}
	if equal := selection.ImportanceOf([]string{"a"},
		[]selection.SurfacePoint{trial(1, .5),
			trial(1, .6)}); equal[0].Undefined["variance_explained"] != stat.ZeroVariance {
		t.Errorf("%+v", equal)
	}
}

// What the objective follows is important, what it does not is not; a peak in the middle
// has no rank correlation but is seen all the same.
func TestImportanceOfShapes(t *testing.T) {
	s := random.New(1, random.Random, 0)
	var trials []selection.SurfacePoint
	for range 400 {
		at := []float64{s.Float64(), s.Float64(), s.Float64()}
		d := at[1] - .5
		trials = append(trials, trial(math.Exp(at[0])-20*d*d, at...))
	}
	list := selection.ImportanceOf([]string{"rise", "peak", "idle"}, trials)
	if r := *list[0].RankCorrelation; r < .2 {
		t.Errorf("rise %v", r)
	}
	if r, v := *list[1].RankCorrelation, *list[1].VarianceExplained; math.Abs(r) > .1 || v < .7 {
		t.Errorf("peak %v %v", r, v)
	}
	if r, v := *list[2].RankCorrelation, *list[2].VarianceExplained; math.Abs(r) > .15 || v > .06 {
		t.Errorf("idle %v %v", r, v)
	}
}

func points(t *rapid.T) []selection.SurfacePoint {
	n, d := rapid.IntRange(0, 30).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "d")
	trials := make([]selection.SurfacePoint, n)
	for i := range trials {
		for range d { // a coarse grid, so that distances tie
			trials[i].At = append(trials[i].At, float64(rapid.IntRange(0, 4).Draw(t, "u"))/5)
		}
		if rapid.IntRange(0, 5).Draw(t, "has") > 0 {
			v := float64(rapid.IntRange(-9, 9).Draw(t, "objective"))
			trials[i].Objective = &v
		}
	}
	return trials
}

func TestImportanceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := points(t)
		list := selection.ImportanceOf([]string{"a"}, trials)
		turned := slices.Clone(trials)
		for i := range turned {
			if o := turned[i].Objective; o != nil {
				v := -3**o + 1
				turned[i].Objective = &v
			}
		}
		other := selection.ImportanceOf([]string{"a"}, turned)
		if list[0].RankCorrelation == nil {
			if len(list[0].Undefined) != 2 || list[0].VarianceExplained != nil {
				t.Fatalf("%+v", list)
			}
			return
		}
		r, v := *list[0].RankCorrelation, *list[0].VarianceExplained
		if math.Abs(r) > 1 || v < 0 || v > 1 || math.Abs(*other[0].RankCorrelation+r) > 1e-9 ||
			math.Abs(*other[0].VarianceExplained-v) > 1e-9 {
			t.Fatalf("%v %v, turned round %v %v", r, v, *other[0].RankCorrelation,
				*other[0].VarianceExplained)
		}
	})
}

// TestPlateauIsItsDefinition compares with sorting all distances.
func TestPlateauIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := points(t)
		got := selection.Plateau(trials)
		for i := range trials {
			if trials[i].Objective == nil {
				if got[i] != nil {
					t.Fatalf("trial %d has a score", i)
				}
				continue
			}
			type other struct {
				index int
				far   float64
			}
			var others []other
			for j := range trials {
				if j == i || trials[j].Objective == nil {
					continue
				}
				far := 0.0
				for k, u := range trials[j].At {
					far += (u - trials[i].At[k]) * (u - trials[i].At[k])
				}
				others = append(others, other{j, far})
			}
			slices.SortStableFunc(others, func(a, b other) int { return cmp.Compare(a.far, b.far) })
			values := []float64{*trials[i].Objective}
			for _, o := range others[:min(8, len(others))] {
				values = append(values, *trials[o.index].Objective)
			}
			slices.Sort(values)
			near(t, "score", got[i], values[(len(values)-1)/2])
		}
	})
}

// A peak that stands alone scores less than a plateau below it.
func TestAPeakIsNoPlateau(t *testing.T) {
	var trials []selection.SurfacePoint
	for i := range 30 {
		u := float64(i) / 30
		objective := 0.0
		switch {
		case i == 25:
			objective = 9
		case i >= 5 && i < 15:
			objective = 2
		}
		trials = append(trials, trial(objective, u))
	}
	scores := selection.Plateau(trials)
	near(t, "peak", scores[25], 0)
	near(t, "plateau", scores[10], 2)
}

func BenchmarkPlateau(b *testing.B) {
	s := random.New(1, random.Random, 0)
	var trials []selection.SurfacePoint
	for range 1000 {
		trials = append(trials, trial(s.Normal(), s.Float64(), s.Float64(), s.Float64(), s.Float64()))
	}
	for b.Loop() {
		selection.Plateau(trials)
	}
}
