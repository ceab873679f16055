package paramneighbourhood

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
)

func number(x float64) *float64 { return &x }

// The least change of a parameter that a plan has searched is a step of the plan, where
// the strategy itself would take a smaller one.
func TestNeighboursTakeTheStepsOfThePlan(t *testing.T) {
	space, err := design.DecodeSpace([]byte(`{"fast":{"type":"int","low":10,"high":60,"step":10}}`))
	if err != nil {
		t.Fatal(err)
	}
	q := &request.Prepared{Strategy: &catalog.Strategy{}}
	q.Strategy.ParamsSchema = json.RawMessage(`{"properties":{"fast":{"type":"integer","minimum":1}}}`)
	q.Manifest.Request.StrategyParams = json.RawMessage(`{"fast":20}`)
	for _, c := range []struct {
		plan *battery.Plan
		want []int
	}{
		{nil, []int{16, 18, 19, 21, 22, 24}},
		{&battery.Plan{Space: space}, []int{10, 30}},
	} {
		made, err := plan(&battery.Bench{Base: battery.Base{Prepared: q, Plan: c.plan}})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range made.Plays {
			var params struct{ Fast int }
			if err := json.Unmarshal(p.How.Params, &params); err != nil {
				t.Fatal(err)
			}
			got = append(got, params.Fast)
		}
		if slices.Sort(got); !slices.Equal(slices.Compact(got), c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// Where all neighbours decide as the base nothing is shown; of numbers in the sources only the
// others count.
func TestANeighbourWithoutEffectShowsNothing(t *testing.T) {
	b := &battery.Bench{Played: &request.Replayed{Results: &artifact.Results{DecisionHash: "abc"}}}
	b.Judge = judge.Judge{Policy: judge.DefaultPolicy(),
		Base: judge.Base{Sharpe: number(1), Trades: 40, T: 500}}
	same := judge.Replay{Status: judge.Completed, DecisionHash: "abc", Sharpe: number(1)}
	other := judge.Replay{Status: judge.Completed, DecisionHash: "def", Sharpe: number(-1)}
	yes := []bool{true, true, true, false}
	padded := []judge.Replay{same, same, other, {}}
	if f := besides(b, "literals", padded, yes); f.Verdict != judge.Fail || f.NReplays != 1 ||
		f.Params["without_effect"] != 2 || f.Params["not_accepted"] != 1 {
		t.Errorf("%+v", f.Test)
	}
	if f := besides(b, "parameters", padded, yes); f.Verdict != judge.Pass && f.Verdict != judge.Warn ||
		f.NReplays != 3 {
		t.Errorf("%+v", f.Test)
	}
	for _, of := range []string{"literals", "parameters"} {
		f := besides(b, of, []judge.Replay{same, same, same, {}}, yes)
		if f.Verdict != judge.Warn || f.ReasonCode != judge.WithoutEffect || len(f.Rows) != 3 {
			t.Errorf("%s: %+v", of, f.Test)
		}
	}
}

// A strategy without parameters whose sources are not at hand does not get past the test.
func TestUndeclaredParametersAreNotShown(t *testing.T) {
	for reason, b := range map[string]*battery.Bench{
		judge.NoSources:  {},
		judge.NoLiterals: {Base: battery.Base{Sources: &project.Sources{}}},
	} {
		c, err := literals(b)
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Judge(t.Context())
		if err != nil || f.Verdict != judge.Warn || f.ReasonCode != reason || len(c.Plays) != 0 {
			t.Errorf("%+v, %v", f.Test, err)
		}
	}
}
