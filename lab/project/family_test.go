package project_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/search/design"
)

func labJSON(family string) []byte {
	return []byte(
		`{"schema":"lab/v1","slug":"sma_cross","exchange":"sample","symbols":["BTC/USDT"],"timeframe":"1h"` +
			family + `}`)
}

func TestNoFamily(t *testing.T) {
	c, err := project.Parse("lab.json", labJSON(""))
	if err != nil || c.Family != nil || c.FamilyID != "sma-cross" {
		t.Error(c, err)
	}
}

func TestFamilyDefaults(t *testing.T) {
	c, err := project.Parse("lab.json",
		labJSON(`,"family":{"space":{"fast":{"type":"int","low":5,"high":30}}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := c.Family
	if f.Method != design.SobolMethod || f.MaxTrials != 64 || f.SHA != nil ||
		f.SelectionRule != project.RuleBest || f.Secondary == nil || f.Constraints == nil ||
		f.Objective != (project.Objective{Metric: "sharpe_ratio", On: "walk_forward", Direction: "max"}) ||
		f.Space.Len() != 1 {
		t.Errorf("%+v", f)
	}
	if sha := f.WithMethod(design.SHAMethod); *sha.SHA != (project.Halving{Eta: 3, MinWindows: 1}) ||
		sha.WithMethod(design.LHSMethod).SHA != nil || f.SHA != nil {
		t.Errorf("%+v", sha)
	}
}

func TestWholeFamily(t *testing.T) {
	text := `{"constraints":[{"left":"fast","op":"<","right":"slow"}],"max_trials":7,"method":"sha","objective":{"direction":"min","metric":"max_drawdown","on":"walk_forward"},` +
		`"secondary":["win_rate","total_trades"],"selection_rule":"plateau","sha":{"eta":2,"min_windows":2},"space":{"fast":{"high":30,"low":5,"step":1,"type":"int"}}}`
	f, err := project.ParseFamily([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := project.ParseFamily(again)
	if err != nil ||
		fmt.Sprint(twice.SHA, twice.Secondary, twice.Constraints, twice.Objective,
			twice.MaxTrials) != fmt.Sprint(f.SHA, f.Secondary, f.Constraints, f.Objective, f.MaxTrials) {
		t.Errorf("%s %v", again, err)
	}
	if f.SHA.Eta != 2 || f.SHA.MinWindows != 2 || f.MaxTrials != 7 || len(f.Constraints) != 1 ||
		!slices.Equal(f.Secondary, []string{"win_rate", "total_trades"}) {
		t.Errorf("%+v", f)
	}
}

// The places of faults are those in lab.json, whether the schema or the decoder finds them.
func TestFamilyFaults(t *testing.T) {
	for family, want := range map[string]string{
		`[]`:                               "/family",
		`{"tpe":1}`:                        "/family/tpe",
		`{"method":"tpe"}`:                 "/family/method",
		`{"max_trials":0}`:                 "/family/max_trials",
		`{"max_trials":1.5}`:               "/family/max_trials",
		`{"sha":{}}`:                       "/family/sha",
		`{"method":"sha","sha":{"eta":1}}`: "/family/sha/eta",
		`{"method":"sha","sha":{"min_windows":0}}`:                      "/family/sha/min_windows",
		`{"method":"sha","sha":{"rungs":0}}`:                            "/family/sha/rungs",
		`{"objective":{"metric":"luck"}}`:                               "/family/objective/metric",
		`{"objective":{"on":"test"}}`:                                   "/family/objective/on",
		`{"objective":{"direction":"up"}}`:                              "/family/objective/direction",
		`{"objective":{"metric":"max_drawdown"}}`:                       "/family/objective/direction",
		`{"objective":{"weight":1}}`:                                    "/family/objective/weight",
		`{"secondary":["luck"]}`:                                        "/family/secondary/0",
		`{"secondary":["win_rate","win_rate"]}`:                         "/family/secondary",
		`{"selection_rule":"luck"}`:                                     "/family/selection_rule",
		`{"space":{"fast":{"type":"int","low":9,"high":5}}}`:            "/family/space/fast/high",
		`{"space":{"fast":{"type":"int","low":1,"high":5,"log":true}}}`: "/family/space/fast/log",
		`{"space":{"fast":{"type":"int","low":1}}}`:                     "/family/space/fast/high",
		`{"space":{"a/b":{"type":"int","low":1,"high":5,"size":1}}}`:    "/family/space/a~1b/size",
		`{"space":{"e":{"type":"float","low":0,"high":5,"log":true}}}`:  "/family/space/e/low",
		`{"constraints":[{"left":"fast","op":"~","right":1}]}`:          "/family/constraints/0/op",
		`{"constraints":[{"left":"fast","op":"<"}]}`:                    "/family/constraints/0/right",
	} {
		_, err := project.Parse("lab.json", labJSON(`,"family":`+family))
		var bad *project.ConfigError
		if !errors.As(err, &bad) || bad.Faults[0].Pointer != want {
			t.Errorf("%s: %v, want %s", family, err, want)
		}
		// The decoder alone, as for a plan, knows them too.
		_, err = project.ParseFamily([]byte(family))
		list := design.FieldErrors(err)
		if len(list) == 0 || !strings.HasPrefix("/family"+list[0].Pointer, want) {
			t.Errorf("%s: %v, want %s", family, list, want)
		}
	}
	for _, family := range []string{`{`, `null`, `{"method":null}`, `{"max_trials":null}`,
		`{"secondary":null}`, `{"objective":null}`, `{"objective":{"metric":null}}`,
		`{"method":"sobol","method":"lhs"}`} {
		if _, err := project.ParseFamily([]byte(family)); err == nil {
			t.Errorf("%s was read", family)
		}
	}
}

// A metric whose direction nobody names is one of which more is better.
func TestEveryMetricCanBeAnObjective(t *testing.T) {
	silent := 0
	for _, m := range metric.All() {
		if _, err := project.ParseFamily(
			[]byte(`{"objective":{"metric":"` + m.Key + `","direction":"min"}}`)); err != nil {
			t.Error(err)
		}
		if _, err := project.ParseFamily([]byte(`{"objective":{"metric":"` + m.Key + `"}}`)); err == nil {
			silent++
		}
	}
	if silent != 17 {
		t.Errorf("%d metrics have a direction of their own: is the list of them right?", silent)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"space":{"fast":{"type":"int","low":5,"high":30}},"method":"sha","sha":{"eta":2}}`))
	f.Add([]byte(
		`{"objective":{"metric":"win_rate","direction":"max"},"secondary":["sqn"],"constraints":[{"left":"a","op":"<","right":"b"}]}`))
	f.Fuzz(func(t *testing.T, family []byte) {
		c, err := project.Parse("lab.json", labJSON(`,"family":`+string(family)))
		if err != nil || c.Family == nil {
			return
		}
		text, err := json.Marshal(c.Family)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := project.ParseFamily(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
