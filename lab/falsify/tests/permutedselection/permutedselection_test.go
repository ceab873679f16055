package permutedselection

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func number(x float64) *float64 { return &x }

func TestAMissingObjectiveIsTheWorst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.OneOf(rapid.Just[*float64](nil),
			rapid.Map(rapid.Float64Range(-9, 9), number))).Draw(t, "list")
		p := &battery.Plan{Minimise: rapid.Bool().Draw(t, "minimise")}
		var best *float64
		for _, x := range list {
			if better(p, x, best) {
				best = x
			}
		}
		for _, x := range list {
			if x != nil && (best == nil || *x != *best && (*x > *best) != p.Minimise) {
				t.Errorf("%v is better than %v", *x, best)
			}
		}
	})
}

// window is a play of 60 days with so many trades, growing by a share each day.
func window(trades int, growth float64) *request.Replayed {
	c := metric.Curve{}
	equity := 10000.0
	for i := range 60 {
		at := market.Time(1577836800000).Add(time.Duration(i) * 24 * time.Hour)
		c.OpenTime, c.CloseTime = append(c.OpenTime, at), append(c.CloseTime, at.Add(24*time.Hour))
		c.Equity, c.Exposure = append(c.Equity, equity), append(c.Exposure, 1)
		equity *= 1 + growth + .01*math.Sin(float64(i))
	}
	return &request.Replayed{
		Input: metric.Input{
			Timeframe: market.MustTimeframe("1d"), Calendar: metric.Calendar24x7, Curves: []metric.Curve{c},
			Trades: make([]market.Trade, trades),
		},
		Results: &artifact.Results{InitialCash: "10000", FinalValue: "10100.5", DecisionHash: "d"},
	}
}

// attempted is a trial of five equal windows.
func attempted(t *testing.T, r *request.Replayed) *attempt {
	t.Helper()
	a := &attempt{inputs: make([]metric.Input, 5), hashes: map[string]string{}, left: 5}
	for w := range 5 {
		if err := a.take(w, r); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// A trial is weighed by its stitched windows, and one that the plan would call too small
// to have a ratio has none, however good it looks.
func TestTrialsAreWeighedAsInThePlan(t *testing.T) {
	for _, minimise := range []bool{false, true} {
		p := &battery.Plan{Metric: "total_return", Minimise: minimise}
		s := &searched{Trial: -1}
		ratio := &searched{Trial: -1}
		for trial, r := range []*request.Replayed{window(5, .9), window(6, .001), window(6, .004),
			window(6, .004), window(6, -.002)} {
			if err := s.weigh(p, trial, attempted(t, r)); err != nil {
				t.Fatal(err)
			}
			if err := ratio.weigh(&battery.Plan{Metric: "sharpe_ratio", Minimise: minimise}, trial,
				attempted(t, r)); err != nil {
				t.Fatal(err)
			}
		}
		want := map[bool]int{false: 2, true: 4}[minimise]
		if ratio.Trial != want || ratio.Best.Trades != 30 || ratio.Best.NetPnL != "502.5" ||
			ratio.Best.Sharpe == nil || *ratio.Best.Sharpe != *ratio.Objective ||
			ratio.Best.DecisionHash == "" {
			t.Errorf("minimise %v: %+v", minimise, ratio)
		}
		if s.Best.TotalReturn == nil || *s.Best.TotalReturn != *s.Objective {
			t.Errorf("minimise %v: %+v", minimise, s)
		}
	}
	a := attempted(t, &request.Replayed{Failure: &artifact.Failure{}})
	if !a.void || a.left != 0 {
		t.Errorf("%+v", a)
	}
}

// Whichever of two equal trials ends first, the first of the plan is taken.
func TestTheOrderOfTrialsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &searched{Trial: -1}
		for _, trial := range rapid.Permutation([]int{0, 1, 2, 3}).Draw(rt, "order") {
			if err := s.weigh(&battery.Plan{Metric: "sharpe_ratio"}, trial,
				attempted(t, window(6, float64(min(trial, 2))/1000))); err != nil {
				rt.Fatal(err)
			}
		}
		if s.Trial != 2 {
			rt.Fatal(s.Trial)
		}
	})
}

func TestWindowsOfASearchLieInTrain(t *testing.T) {
	b := &battery.Bench{Base: battery.Base{Train: battery.Part{From: 100, To: 900}, Plan: &battery.Plan{}}}
	w := searchWindows(b)
	if len(w) != 5 || w[0] != (battery.Part{From: 400, To: 500}) ||
		w[4] != (battery.Part{From: 800, To: 900}) || len(split.Tests(7)) != 0 {
		t.Error(w)
	}
}

// No column of replays.csv is invented, and what has no objective has none.
func TestASearchIsShownByItsBestTrial(t *testing.T) {
	b := &battery.Bench{Base: battery.Base{Plan: &battery.Plan{Metric: "max_drawdown", Minimise: true},
		Train: battery.Part{From: 0, To: 800}},
		Judge: judge.Judge{Base: judge.Base{T: 500}, Policy: judge.DefaultPolicy()}}
	list := []*searched{{Trial: 1, Objective: number(.1),
		Best: judge.Replay{Status: judge.Completed, Sharpe: number(2), NetPnL: "1"}}}
	for range 19 {
		list = append(list,
			&searched{Trial: 0, Objective: number(.2),
				Best: judge.Replay{Status: judge.Completed, Sharpe: number(-1)}})
	}
	list = append(list, &searched{Trial: -1, Best: judge.Replay{Status: judge.Completed}})
	f := chosen(b, list)
	if f.Verdict != judge.Pass || *f.Statistic.Value != .1 || f.Statistic.Name != "best_objective" ||
		*f.Rows[0].Sharpe != 2 || f.Rows[0].Variant != "train" || f.NReplays != 20 {
		t.Errorf("%+v %+v", f.Test, f.Rows[0])
	}
	file := fileOf([]*searched{
		{Trial: 1, Objective: number(.1), Best: judge.Replay{Variant: "train"}},
		{Trial: -1, Best: judge.Replay{Variant: "permuted"}},
	})
	if got := string(file.Content); len(f.Evidence) != 2 ||
		got != "variant,replica,trial_index,objective\ntrain,0,1,0.1\npermuted,0,,\n" || file.Rows != 2 ||
		f.Evidence[1].Rows != 21 {
		t.Errorf("%q", got)
	}
}

// What was noted is there again, but for a line that was not written to its end.
func TestTheJournalSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b.jsonl")
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]*searched{}
	for i := range 3 {
		want[i] = &searched{Trial: i, Objective: number(1.0 / 3),
			Best:   judge.Replay{Status: judge.Completed, Sharpe: number(.1), NetPnL: fmt.Sprint(i)},
			Failed: &place{1, i}}
		if err := j.note(i, want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	torn, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString(`{"search":3,"trial"`); err != nil || torn.Close() != nil {
		t.Fatal(err)
	}
	for range 2 { // the torn line is gone then
		if j, err = openJournal(path); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(j.found, want) {
			t.Errorf("%+v", j.found)
		}
		want[len(want)] = &searched{Trial: -1}
		if err := j.note(len(want)-1, want[len(want)-1]); err != nil || j.close() != nil {
			t.Fatal(err)
		}
	}
	none, err := openJournal("")
	if err != nil || none.note(0, want[0]) != nil || none.close() != nil {
		t.Error("a journal is not needed: ", err)
	}
}

func TestOnlyWhatFitsThePlanIsTakenFromAJournal(t *testing.T) {
	b := &battery.Bench{Base: battery.Base{Train: battery.Part{From: 0, To: 800},
		Plan: &battery.Plan{Params: make([]json.RawMessage, 2)}}}
	for _, s := range []*searched{{Trial: -1}, {Trial: 1, Objective: number(0), Failed: &place{1, 4}}} {
		if !fits(b, s) {
			t.Errorf("%+v does not fit", s)
		}
	}
	for _, s := range []*searched{{}, {Trial: 2, Objective: number(0)}, {Trial: -2},
		{Trial: -1, Objective: number(0)}, {Trial: -1, Failed: &place{2, 0}},
		{Trial: -1, Failed: &place{0, 5}}, {Trial: -1, Failed: &place{0, -1}}} {
		if fits(b, s) {
			t.Errorf("%+v fits", s)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"search":1,"trial":2,"objective":0.5,"best":{"Status":"completed"}}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		j := &journal{found: map[int]*searched{}}
		sound := j.read(text)
		again := &journal{found: map[int]*searched{}}
		if sound > int64(len(text)) || again.read(text[:sound]) != sound ||
			!reflect.DeepEqual(j.found, again.found) {
			t.Errorf("%q: %d", text, sound)
		}
	})
}
