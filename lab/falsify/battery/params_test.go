package battery

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/evaluate"
)

// The least change of a parameter that a plan has searched is a step of the plan, where
// the strategy itself would take a smaller one.
func TestNeighboursTakeTheStepsOfThePlan(t *testing.T) {
	space, err := design.DecodeSpace([]byte(`{"fast":{"type":"int","low":10,"high":60,"step":10}}`))
	if err != nil {
		t.Fatal(err)
	}
	q := &evaluate.Prepared{Strategy: &catalog.Strategy{}}
	q.Strategy.ParamsSchema = json.RawMessage(`{"properties":{"fast":{"type":"integer","minimum":1}}}`)
	q.Manifest.Request.StrategyParams = json.RawMessage(`{"fast":20}`)
	for _, c := range []struct {
		plan *Plan
		want []int
	}{
		{nil, []int{16, 18, 19, 21, 22, 24}},
		{&Plan{Space: space}, []int{10, 30}},
	} {
		made, err := (&bench{Base: Base{Question: q, Plan: c.plan}}).paramNeighbourhood()
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range made.plays {
			var params struct{ Fast int }
			if err := json.Unmarshal(p.how.Params, &params); err != nil {
				t.Fatal(err)
			}
			got = append(got, params.Fast)
		}
		if slices.Sort(got); !slices.Equal(slices.Compact(got), c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
