package design_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/search/design"
)

func TestRungs(t *testing.T) {
	for _, c := range []struct {
		n, eta, least, all int
		want               []design.Rung
	}{
		{81, 3, 1, 81,
			[]design.Rung{{Trials: 81, Budget: 1}, {Trials: 27, Budget: 3}, {Trials: 9, Budget: 9},
				{Trials: 3, Budget: 27}, {Trials: 1, Budget: 81}}},
		// Clipped to all five windows, and over then.
		{27, 3, 1, 5, []design.Rung{{Trials: 27, Budget: 1}, {Trials: 9, Budget: 3}, {Trials: 3, Budget: 5}}},
		{10, 3, 1, 100,
			[]design.Rung{{Trials: 10, Budget: 1}, {Trials: 3, Budget: 3}, {Trials: 1, Budget: 9}}},
		{4, 2, 5, 5, []design.Rung{{Trials: 4, Budget: 5}}},
	} {
		if got, err := design.Rungs(c.n, c.eta, c.least, c.all); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v %v", c, got, err)
		}
	}
	for _, c := range [][4]int{{0, 2, 1, 1}, {1, 1, 1, 1}, {1, 2, 0, 1}, {1, 2, 2, 1}} {
		if got, err := design.Rungs(c[0], c[1], c[2], c[3]); err == nil {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func TestHalvingEndsWithEverything(t *testing.T) {
	for _, c := range []struct {
		n, eta, least, all int
		want               []design.Rung
	}{
		{27, 3, 1, 5, []design.Rung{{Trials: 27, Budget: 1}, {Trials: 9, Budget: 3}, {Trials: 3, Budget: 5}}},
		{8, 3, 1, 5, []design.Rung{{Trials: 8, Budget: 1}, {Trials: 2, Budget: 3}, {Trials: 1, Budget: 5}}},
		{10, 3, 1, 100,
			[]design.Rung{{Trials: 10, Budget: 1}, {Trials: 3, Budget: 3}, {Trials: 1, Budget: 100}}},
		{2, 3, 1, 5, []design.Rung{{Trials: 2, Budget: 1}, {Trials: 1, Budget: 5}}},
		{1, 3, 1, 5, []design.Rung{{Trials: 1, Budget: 5}}},
	} {
		if got, err := design.Halving(c.n, c.eta, c.least, c.all); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v %v", c, got, err)
		}
	}
	if got, err := design.Halving(0, 3, 1, 5); err == nil {
		t.Error(got)
	}
}

func TestRungsShrinkAndGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, eta := rapid.IntRange(1, 1<<53).Draw(t, "n"), rapid.IntRange(2, 1<<53).Draw(t, "eta")
		least := rapid.IntRange(1, 1<<53).Draw(t, "least")
		all := rapid.IntRange(least, 1<<53).Draw(t, "all")
		rungs, err := design.Rungs(n, eta, least, all)
		if err != nil || len(rungs) == 0 {
			t.Fatal(rungs, err)
		}
		for i, r := range rungs {
			if r.Trials < 1 || r.Budget < least || r.Budget > all || i > 0 &&
				(r.Trials >= rungs[i-1].Trials || r.Budget <= rungs[i-1].Budget) {
				t.Fatal(rungs)
			}
		}
		whole, err := design.Halving(n, eta, least, all)
		if last := whole[len(whole)-1]; err != nil || last.Budget != all || last.Trials < 1 {
			t.Fatal(whole, err)
		}
		for i, r := range whole[:len(whole)-1] {
			if r != rungs[i] || whole[i+1].Trials >= r.Trials || whole[i+1].Budget <= r.Budget {
				t.Fatal(whole, rungs)
			}
		}
	})
}
