package family

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// searchFor is a search without a host: what is chosen needs nothing but the plan.
func searchFor(direction, rule string) *Search {
	f := project.DefaultFamily()
	f.Objective.Direction, f.SelectionRule = direction, rule
	return &Search{PlanFile: &PlanFile{Plan: &Plan{Family: f, StopRule: DefaultStopRule()}}}
}

func number(x float64) *float64 { return &x }

func done(index int, objective *float64, windows int) *Trial {
	return &Trial{Index: index, Params: json.RawMessage(`{}`), Status: Completed, Objective: objective,
		Windows: make([]Window, windows)}
}

// TestStopRule: twenty in a row, or more than half once there are twenty; by index.
func TestStopRule(t *testing.T) {
	for _, c := range []struct {
		name, trials, why string // x failed, . not
		at                int    // the trial that ends it, 0 for none
	}{
		{"in a row", "xxxxxxxxxxxxxxxxxxxx", "failures_in_a_row", 20},
		{"nineteen in a row", "xxxxxxxxxxxxxxxxxxx", "", 0},
		{"half is not over half", ".x.x.x.x.x.x.x.x.x.x.x.x", "", 0},
		{"over half after twenty", ".x.x.x.x.x.x.x.x.x.xxx", "failure_share", 21},
		{"early failures are forgiven", "xxxxx...............", "", 0},
		{"a row later", ".............................xxxxxxxxxxxxxxxxxxxx", "failures_in_a_row", 49},
	} {
		tl := tally{rule: DefaultStopRule()}
		at, why := 0, ""
		for i, r := range c.trials {
			if why = tl.add(r == 'x'); why != "" {
				at = i + 1
				break
			}
		}
		if at != c.at || c.at > 0 && why != c.why {
			t.Errorf("%s: ends at %d, %q; want %d, %q", c.name, at, why, c.at, c.why)
		}
	}
}

// TestRoom: as many trials may be begun as the rule counts whatever becomes of them, and
// no more; so it never ends a family before one that has been begun.
func TestRoom(t *testing.T) {
	for trials, want := range map[string]int{"": 20, ".": 19, "xxxxxxxxxxxxxxxxxxx": 1, "xxxxx.": 14,
		".x.x.x.x.x.x.x.x.x.x": 1, "..........": 11} {
		tl := tally{rule: DefaultStopRule()}
		for _, r := range trials {
			tl.add(r == 'x')
		}
		if got := tl.failuresLeft(100); got != want {
			t.Errorf("%q: %d, want %d", trials, got, want)
		}
		if got := tl.failuresLeft(1); got != 1 {
			t.Errorf("%q: %d of 1", trials, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		tl := tally{rule: StopRule{MaxFailures: rapid.IntRange(1, 9).Draw(t, "failures"),
			MaxFailureShare: rapid.Float64Range(.1, 1).Draw(t, "share")}}
		begun := 0
		for i := range 60 {
			if reach := i + tl.failuresLeft(1000); reach < begun {
				t.Fatalf("trial %d was begun, and from %d on only %d count", begun-1, i, reach)
			} else {
				begun = reach
			}
			if tl.add(rapid.Bool().Draw(t, "fails")) != "" {
				if begun > i+1 {
					t.Fatalf("ended by trial %d, %d were begun", i, begun)
				}
				return
			}
		}
	})
}

func TestPromote(t *testing.T) {
	s := searchFor(project.Maximise, project.RuleBest)
	failed := done(4, nil, 0)
	failed.Status = Failed
	list := []*Trial{done(0, number(1), 1), done(1, number(3), 1), done(2, nil, 1), done(3, number(1), 1),
		failed}
	for n, want := range map[int][]int{1: {1}, 2: {0, 1}, 3: {0, 1, 3}, 4: {0, 1, 2, 3}, 5: {0, 1, 2, 3}} {
		if got := s.promoteTrials(list, n); !slices.Equal(got, want) {
			t.Errorf("%d of them: %v, want %v", n, got, want)
		}
	}
	if got := searchFor(project.Minimise, project.RuleBest).promoteTrials(list, 2); !slices.Equal(got,
		[]int{0, 3}) {
		t.Error(got)
	}
}

// TestRanksAndPromotionAreOrders: whatever the objectives, ranks are 1..n, a better one
// is never behind, and the order in which trials come does not matter for who goes on.
func TestRanksAndPromotionAreOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := searchFor(rapid.SampledFrom([]string{project.Maximise, project.Minimise}).Draw(t, "direction"),
			project.RuleBest)
		n := rapid.IntRange(0, 30).Draw(t, "n")
		var list []*Trial
		for i := range n {
			var objective *float64
			if rapid.Bool().Draw(t, "defined") {
				objective = number(float64(rapid.IntRange(-3, 3).Draw(t, "objective")))
			}
			list = append(list, done(i, objective, rapid.IntRange(1, 2).Draw(t, "windows")))
		}
		s.rankTrials(list)
		seen := map[int]*Trial{}
		for _, x := range list {
			if (x.Rank == 0) != (x.Objective == nil) {
				t.Fatalf("rank %d of %v", x.Rank, x.Objective)
			}
			if x.Rank > 0 {
				seen[x.Rank] = x
			}
		}
		for r := 2; r <= len(seen); r++ {
			a, b := seen[r-1], seen[r]
			if a == nil || b == nil || len(a.Windows) < len(b.Windows) ||
				len(a.Windows) == len(b.Windows) &&
					(s.isBetter(b.Objective, a.Objective) || *a.Objective == *b.Objective &&
						a.Index > b.Index) {
				t.Fatalf("rank %d is before %d", r-1, r)
			}
		}
		k := rapid.IntRange(1, 10).Draw(t, "k")
		want := s.promoteTrials(list, k)
		slices.Reverse(list)
		if got := s.promoteTrials(list, k); !slices.Equal(got, want) || len(got) > k {
			t.Fatalf("%v, then %v", want, got)
		}
	})
}

func TestChoose(t *testing.T) {
	list := []*Trial{done(0, number(2), 5), done(1, number(3), 5), done(2, number(3), 5),
		done(3, number(1), 5)}
	for i, x := range []float64{1.5, 1, 1.5, 0.5} {
		list[i].Plateau = number(x)
	}
	for _, c := range []struct {
		direction, rule string
		want            int
	}{
		{project.Maximise, project.RuleBest, 1}, {project.Minimise, project.RuleBest, 3},
		{project.Maximise, project.RulePlateau, 0}, {project.Minimise, project.RulePlateau, 3},
	} {
		if got, err := searchFor(c.direction, c.rule).chooseTrial(list, nil); err != nil || got == nil ||
			got.Index != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	pruned := done(4, number(9), 2)
	pruned.Status = Pruned
	if got := finalists(append(list, pruned, done(5, nil, 5))); len(got) != 4 {
		t.Errorf("%d finalists", len(got))
	}
	if got, err := searchFor(project.Maximise, project.RuleBest).chooseTrial(nil, nil); got != nil ||
		err != nil {
		t.Error(got, err)
	}
}

// TestCrossValidation: a trial that owes its ratio to one stretch of time loses to one
// that earns a little everywhere, although its objective is better.
func TestCrossValidation(t *testing.T) {
	const days = 120
	steady, lucky := &selection.Series{}, &selection.Series{}
	for i := range days {
		at := market.Time(i) * 86_400_000
		noise := 0.01 * float64(1-i%2*2)
		steady.Date, lucky.Date = append(steady.Date, at), append(lucky.Date, at)
		steady.Return = append(steady.Return, 0.002+noise)
		gain := -0.001
		if i < days/6 {
			gain = 0.05
		}
		lucky.Return = append(lucky.Return, gain+noise)
	}
	for _, x := range []*selection.Series{steady, lucky} {
		x.From, x.To = x.Date, x.Date
	}
	list := []*Trial{done(0, number(1), 5), done(1, number(2), 5), done(2, number(3), 5)}
	got, err := searchFor(project.Maximise, project.RuleCPCV).chooseTrial(list,
		map[int]*selection.Series{0: steady, 1: lucky})
	if err != nil || got == nil || got.Index != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if list[2].CPCV != nil || *list[1].CPCV >= *list[0].CPCV {
		t.Error(list[1].CPCV, list[2].CPCV)
	}
	// Too few days for six folds: no trial has a score.
	short := &selection.Series{Date: steady.Date[:5], Return: steady.Return[:5], From: steady.From[:5],
		To: steady.To[:5]}
	if got, err := searchFor(project.Maximise, project.RuleCPCV).chooseTrial([]*Trial{done(0, number(1), 5)},
		map[int]*selection.Series{0: short}); got != nil || err != nil {
		t.Error(got, err)
	}
}

func TestBestInTraining(t *testing.T) {
	s := searchFor(project.Maximise, project.RuleBest)
	window := func(x *float64) Window { return Window{Train: x} }
	a, b, c := done(0, number(0), 0), done(1, number(0), 0), done(2, number(0), 0)
	a.Windows = []Window{window(number(1)), window(nil)}
	b.Windows = []Window{window(number(1)), window(number(-1))}
	c.Windows, c.Status = []Window{window(number(5))}, Failed
	for k, want := range []*Trial{a, b, nil} {
		if got := s.findBestInTraining([]*Trial{a, b, c}, k); got != want {
			t.Errorf("window %d: %+v", k, got)
		}
	}
}

func TestEfficiency(t *testing.T) {
	for _, c := range []struct {
		windows []Choice
		want    string
	}{
		{[]Choice{{TrainObjective: number(2), TestObjective: number(1)},
			{TrainObjective: number(2), TestObjective: number(0)}, {TrainObjective: number(9)}}, "0.25"},
		{[]Choice{{TrainObjective: number(-2), TestObjective: number(1)}}, "not_applicable"},
		{[]Choice{{TrainObjective: number(2)}}, "no_trial"},
	} {
		o := &Optimised{Windows: c.windows, Undefined: map[string]stat.Reason{}}
		o.efficiency()
		got := string(o.Undefined["efficiency"])
		if o.Efficiency != nil {
			got = fmt.Sprint(*o.Efficiency)
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.windows, got, c.want)
		}
	}
}
