package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
)

// small are searches that take no time.
func small(t *testing.T, s search) search {
	t.Helper()
	s.Trials, s.Days = min(s.Trials, 8), 120
	s.Distinct = min(s.Distinct, 4)
	return s
}

func TestSearchesDoNotDependOnWorkers(t *testing.T) {
	for _, s := range append(otherSearches(), edgeSearches()[3]) {
		s := small(t, s)
		one, err := s.play(t.Context(), 9, 1, 1, 0)
		three, err2 := s.play(t.Context(), 9, 3, 1, 0)
		if err != nil || err2 != nil || one != three || one.N != 9 || one.Formulas != 3 {
			t.Errorf("%s: %+v, %+v by three workers, %v, %v", s.Name, one, three, err, err2)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := small(t, search{Trials: 3}).play(ctx, 9, 2, 1, 0); err == nil {
		t.Error("nobody has heard that it is over")
	}
}

// The returns have the correlation, the copies, the tails and the skill that their names say.
func TestReturnsOfSearches(t *testing.T) {
	made := func(s search) [][]float64 { return s.returns(random.New(1, random.Calibrate, 1)) }
	correlation := func(x, y []float64) float64 {
		a, b := stat.Deviations(x), stat.Deviations(y)
		return stat.Dot(a, b) / math.Sqrt(stat.Dot(a, a)*stat.Dot(b, b))
	}
	x := made(search{Trials: 4, Days: 20000, Rho: .9, Clusters: 2})
	if a, b := correlation(x[0], x[2]), correlation(x[0], x[1]); math.Abs(a-.9) > .01 || math.Abs(b) > .03 {
		t.Errorf("%v within a cluster, %v between", a, b)
	}
	x = made(search{Trials: 6, Days: 20000, Distinct: 4, Sharpe: 3})
	if correlation(x[1], x[5]) < 1-1e-12 || math.Abs(correlation(x[0], x[1])) > .03 {
		t.Error("copies are others, or others copies")
	}
	if r := ratioOf(x[0]) * math.Sqrt(daysPerYear); math.Abs(r-3) > .5 {
		t.Errorf("an annual ratio of %v, not 3", r)
	}
	for _, c := range []struct {
		tail        tail
		heavy, wild bool
	}{{normal, false, false}, {ownTails, true, false}, {sharedTails, true, true}, {garch, true, true}} {
		x := made(search{Trials: 2, Days: 20000, Tail: c.tail})
		m, _ := stat.Of(x[0])
		var a, b []float64
		for t := range x[0] {
			a, b = append(a, math.Abs(x[0][t])), append(b, math.Abs(x[1][t]))
		}
		if heavy, wild := m.Kurt > 3.3, correlation(a, b) > .1; heavy != c.heavy || wild != c.wild {
			t.Errorf(
				"tail %d: kurtosis %v, absolute returns correlate by %v",
				c.tail,
				m.Kurt,
				correlation(a, b),
			)
		}
	}
}

// What is decided early would be decided so in the end: a coin that reaches in every
// twentieth case is left open, one that is far from it is not.
func TestDecided(t *testing.T) {
	for _, c := range []struct {
		reached, of int
		want        bool
	}{{4, 4, false}, {5, 8, false}, {8, 8, true}, {50, 996, false}, {20, 100, true}, {0, 200, false},
		{0, 300, true}, {49, 998, false}} {
		if decided(c.reached, c.of) != c.want {
			t.Errorf("%d of %d: decided is %v", c.reached, c.of, !c.want)
		}
	}
}

// The section takes the place of its own and leaves the rest of the page alone; what is no
// page is refused before anything is played.
func TestOnlyTheSectionIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	o := options{only: partSelection, out: path, searches: 2, workers: 1, seed: 1}
	list := []search{small(t, search{Trials: 3})}
	page := "# Page\n\nBattery.\n" + selectionTitle + "\nold\n" + madeTitle + "\nSo.\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	err := playSearches(t.Context(), o, func(s *searched) error {
		whole, err := withSelection(page, s.section())
		if err != nil {
			return err
		}
		return write(o, whole)
	}, list...)
	text, err2 := os.ReadFile(path)
	got := string(text)
	if err != nil || err2 != nil || !strings.HasPrefix(got, "# Page\n\nBattery.\n"+selectionTitle) ||
		!strings.HasSuffix(got, madeTitle+"\nSo.\n") ||
		strings.Contains(got, "old") ||
		!strings.Contains(got, "**2 cases per cell**") {
		t.Errorf("%v %v\n%s", err, err2, got)
	}
	if before, section, after := cutSelection("no page"); before != "no page" || section+after != "" {
		t.Error(before, section, after)
	}
	if _, err := withSelection("no page", "x"); err == nil {
		t.Error("a file that is no page is taken")
	}
	for _, bad := range []options{{only: "everything"}, {only: partSelection},
		{only: partSelection, out: path + ".none"}} {
		if err := calibrate(t.Context(), bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
