package promotion

import (
	"encoding/json"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
)

// TestLookups: gates find what the bundle says in each of its sections, and nothing beside.
func TestLookups(t *testing.T) {
	limits := bundle.Limits{}
	look := lookups(&Ingested{
		Candidate: bundle.Candidate{Slug: "s"},
		Strategy: bundle.Strategy{Params: json.RawMessage(`{"a/b":{"~":[1,2.5]}}`),
			Symbols: []string{"BTC/USDT"}},
		Engine: bundle.Engine{Name: "e"}, Data: []bundle.Dataset{{Rows: 7}},
		Trials:      &bundle.Trials{FamilyTrials: 12},
		Limitations: []string{"x", "y"}, Extensions: json.RawMessage(`{"k":true}`),
	}, func() bundle.Limits { return limits }, func() int64 { return 0 })
	limits.MaxDrawdown = "0.25" // known before the first look, but after the fact
	for pointer, want := range map[string]any{
		"/candidate/slug": "s", "/strategy/params/a~1b/~0/1": 2.5, "/strategy/symbols/0": "BTC/USDT",
		"/engine/name": "e", "/data/0/rows": 7.0,
		"/trials/family_trials": 12.0, "/known_limitations/1": "y", "/extensions/k": true,
		"/limits/max_drawdown": "0.25",
	} {
		for range 2 {
			if got, ok := look(pointer); !ok || got != want {
				t.Errorf("%s: %v %v, want %v", pointer, got, ok, want)
			}
		}
	}
	for _, pointer := range []string{"/runs", "/artifacts/0", "/nothing", "/data/1", "/data/x",
		"/limits/max_drawdown/x", "/trials/other"} {
		if got, ok := look(pointer); ok {
			t.Errorf("%s: %v", pointer, got)
		}
	}
	if all, ok := look(""); !ok || len(all.(map[string]any)) != 8 {
		t.Errorf("the whole: %v", all)
	}
	none := lookups(&Ingested{}, func() bundle.Limits { return limits }, func() int64 { return 9 })
	for _, pointer := range []string{"/trials/family_trials", "/known_limitations", "/extensions"} {
		if got, ok := none(pointer); ok {
			t.Errorf("%s where there is none: %v", pointer, got)
		}
	}
}
