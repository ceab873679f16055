package family_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/family"
)

func to[T any](x T) *T { return &x }

// Every field of the page, and no other.
func TestWhatIsWritten(t *testing.T) {
	made := make8(t)
	canonical, err := digest.CanonicalJSON(made.Text)
	if err != nil || string(canonical) != string(made.Text) {
		t.Error("not canonical JSON", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(made.Text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"schema": `"family-plan/v1"`, "slug": `"sma_cross"`, "family_id": `"sma-cross"`,
		"hypothesis": `"Trends last."`, "amends": "null",
		"objective": `{"direction":"max","metric":"sharpe_ratio","on":"walk_forward"}`, "secondary": "[]",
		"sha": "null", "seed": `"7"`,
		"space":       `{"exit":{"type":"choice","values":["a","b"]},"fast":{"high":30,"low":5,"step":1,"type":"int"}}`,
		"constraints": `[{"left":"fast","op":"<","right":"slow"}]`, "method": `"sobol"`, "max_trials": "8",
		"selection_rule":  `"best_objective"`,
		"stop_rule":       `{"max_failure_share":0.5,"max_failures":20}`,
		"falsify_profile": `"falsify-profile/2"`,
		"prior_trials":    "12",
	} {
		if string(fields[name]) != want {
			t.Errorf("%s: %s, want %s", name, fields[name], want)
		}
		delete(fields, name)
	}
	if len(fields) != 2 || fields["request"] == nil || fields["trials"] == nil {
		t.Errorf("other fields: %v", fields)
	}
	if !strings.HasPrefix(string(fields["trials"]), `[{"index":0,"params":{"exit":"`) ||
		len(made.Plan.Trials) != 8 {
		t.Errorf("%s", fields["trials"])
	}
	// The request keeps the fixed parameters only.
	if !strings.Contains(string(fields["request"]), `"strategy_params":{"slow":50,"stake":0}`) {
		t.Errorf("%s", fields["request"])
	}
	if id, err := family.PlanID(made.Hash); err != nil || id != made.ID ||
		made.Hash != digest.SHA256Hex(made.Text) || len(id) != len("plan_")+16 || id != strings.ToLower(id) {
		t.Errorf("%s %s %v", made.Hash, made.ID, err)
	}
	run, err := made.Plan.Params(0)
	if err != nil || !strings.Contains(string(run), `"slow":50`) ||
		!strings.Contains(string(run), `"exit":`) {
		t.Errorf("%s %v", run, err)
	}
	for _, i := range []int{-1, 8} {
		if _, err := made.Plan.Params(i); err == nil {
			t.Errorf("trial %d", i)
		}
	}
}

// Another meaning makes another plan, another spelling does not.
func TestIdentity(t *testing.T) {
	base := make8(t)
	spelt := subject(t,
		`{"max_trials":8,"method":"sobol","constraints":[{"right":"slow","op":"<","left":"fast"}],
		"space":{"exit":{"values":["a","b"],"type":"choice"},"fast":{"step":1,"high":3e1,"low":5,"type":"int"}},"secondary":[]}`)
	spelt.Request = json.RawMessage(strings.Replace(trialRequest, `10000`, `1E4`, 1))
	same, err := family.MakePlan(spelt,
		family.PlanOptions{Hypothesis: " Trends last. ", Method: "sobol", MaxTrials: to(8),
			Seed: to(uint64(7))})
	if err != nil || same.Hash != base.Hash {
		t.Errorf("%v\n%s\n%s", err, same.Text, base.Text)
	}
	hashes := []string{base.Hash}
	for _, o := range []family.PlanOptions{
		{Hypothesis: "Trends end."}, {Method: "random"}, {Method: "lhs"}, {Method: "sha"}, {Method: "grid"},
		{MaxTrials: to(9)}, {Seed: to(uint64(8))}, {Amends: base.PlanFile},
	} {
		made, err := family.MakePlan(subject(t, familyBlock), o)
		if err != nil {
			t.Fatal(o, err)
		}
		hashes = append(hashes, made.Hash)
	}
	more := subject(t, familyBlock)
	more.PriorTrials = 13
	made, err := family.MakePlan(more, family.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hashes = append(hashes, made.Hash)
	slices.Sort(hashes)
	if n := len(slices.Compact(hashes)); n != 10 {
		t.Errorf("%d different plans", n)
	}
}

func TestSHA(t *testing.T) {
	made, err := family.MakePlan(subject(t, familyBlock),
		family.PlanOptions{Method: "sha", MaxTrials: to(27)})
	if err != nil || *made.Plan.SHA != (project.Halving{Eta: 3, MinWindows: 1}) ||
		!strings.Contains(string(made.Text), `"sha":{"eta":3,"min_windows":1}`) {
		t.Fatal(made, err)
	}
	rungs, err := made.Plan.Rungs(5)
	if want := []design.Rung{{Trials: 27, Budget: 1}, {Trials: 9, Budget: 3},
		{Trials: 3, Budget: 5}}; err != nil || !slices.Equal(rungs, want) {
		t.Error(rungs, err)
	}
	// Eight are too few for three rungs of a third each: one of them sees all windows anyhow.
	few, err := family.MakePlan(subject(t, familyBlock), family.PlanOptions{Method: "sha", MaxTrials: to(8)})
	if err != nil {
		t.Fatal(err)
	}
	rungs, err = few.Plan.Rungs(5)
	if want := []design.Rung{{Trials: 8, Budget: 1}, {Trials: 2, Budget: 3},
		{Trials: 1, Budget: 5}}; err != nil || !slices.Equal(rungs, want) {
		t.Error(rungs, err)
	}
	if rungs, err := make8(t).Plan.Rungs(5); err != nil ||
		!slices.Equal(rungs, []design.Rung{{Trials: 8, Budget: 5}}) {
		t.Error(rungs, err)
	}
	// The points of sha are those of sobol.
	sobol, err := family.MakePlan(subject(t, familyBlock), family.PlanOptions{MaxTrials: to(27)})
	if err != nil || string(sobol.Plan.Trials[26].Params) != string(made.Plan.Trials[26].Params) {
		t.Error(err)
	}
	s := subject(t,
		`{"method":"sha","sha":{"min_windows":6},"space":{"fast":{"type":"int","low":5,"high":30}}}`)
	_, err = family.MakePlan(s, family.PlanOptions{})
	refused(t, err, "LAB_JSON_INVALID", "/family/sha/min_windows")
	if made, err := family.MakePlan(s, family.PlanOptions{Method: "lhs", MaxTrials: to(5)}); err != nil ||
		made.Plan.SHA != nil {
		t.Error("another method has no rungs", err)
	}
}

func TestGridIsCut(t *testing.T) {
	made, err := family.MakePlan(subject(t, familyBlock), family.PlanOptions{Method: "grid"})
	if err != nil || len(made.Plan.Trials) != 8 || made.Left != 52-8 {
		t.Error(made, err)
	}
}

func TestRefusals(t *testing.T) {
	made := make8(t)
	other := *made.Plan
	other.FamilyID = "another"
	for _, c := range []struct {
		name, family string
		options      family.PlanOptions
		change       func(*family.PlanSubject)
		code, place  string
	}{
		{"no hypothesis", familyBlock, family.PlanOptions{}, func(s *family.PlanSubject) {
			s.Config.Hypothesis = " \n"
		}, "HYPOTHESIS_REQUIRED", "--hypothesis"},
		{"long hypothesis", familyBlock, family.PlanOptions{Hypothesis: strings.Repeat("é", 2001)}, nil,
			"USAGE", "--hypothesis"},
		{"broken hypothesis", familyBlock, family.PlanOptions{Hypothesis: "\xff"}, nil, "USAGE",
			"--hypothesis"},
		{"no family", "", family.PlanOptions{}, nil, "LAB_JSON_INVALID", "/family/space"},
		{"no space", `{"max_trials":3}`, family.PlanOptions{}, nil, "LAB_JSON_INVALID", "/family/space"},
		{"no method", familyBlock, family.PlanOptions{Method: "tpe"}, nil, "USAGE", "--method"},
		{"no trials", familyBlock, family.PlanOptions{MaxTrials: to(0)}, nil, "USAGE", "--max-trials"},
		{"too many", familyBlock, family.PlanOptions{MaxTrials: to(100001)}, nil, "PLAN_TOO_LARGE",
			"--max-trials"},
		{"too many in the file", `{"space":{"fast":{"type":"int","low":5,"high":30}},"max_trials":100001}`,
			family.PlanOptions{}, nil, "PLAN_TOO_LARGE", "/family/max_trials"},
		{"large grid", `{"space":{"fast":{"type":"int","low":0,"high":100000}},"method":"grid"}`,
			family.PlanOptions{}, nil, "PLAN_TOO_LARGE", "/family/space"},
		{"tight", familyBlock, family.PlanOptions{MaxTrials: to(53)}, nil, "PLAN_SPACE_TOO_TIGHT",
			"/family/space"},
		{"never", `{"space":{"fast":{"type":"int","low":60,"high":90}},"constraints":[{"left":"fast","op":"<","right":"slow"}]}`, family.PlanOptions{}, nil, "PLAN_SPACE_TOO_TIGHT", "/family/space"},
		{"unknown name",
			`{"space":{"fast":{"type":"int","low":6,"high":9}},"constraints":[{"left":"fast","op":"<","right":"slowly"}]}`, family.PlanOptions{}, nil, "LAB_JSON_INVALID", "/family/constraints/0/right"},
		{"no step", `{"space":{"e":{"type":"float","low":6,"high":9}}}`, family.PlanOptions{Method: "grid"},
			nil, "LAB_JSON_INVALID", "/family/space/e/step"},
		{"no windows", familyBlock, family.PlanOptions{}, func(s *family.PlanSubject) {
			s.Windows = 0
		}, "LAB_JSON_INVALID", "/splits"},
		{"another family", familyBlock,
			family.PlanOptions{Amends: &family.PlanFile{Plan: &other, Hash: made.Hash}}, nil, "USAGE",
			"--amends"},
	} {
		s := subject(t, c.family)
		if c.change != nil {
			c.change(&s)
		}
		_, err := family.MakePlan(s, c.options)
		t.Log(c.name, err)
		refused(t, err, c.code, c.place)
	}
	// What only the caller can get wrong.
	for _, text := range []string{`[]`, `{}`, strings.Replace(trialRequest, `"trial"`, `"run"`, 1),
		strings.Replace(trialRequest, `"seed":"1"`, `"sede":"1"`, 1)} {
		s := subject(t, familyBlock)
		s.Request = json.RawMessage(text)
		if _, err := family.MakePlan(s, family.PlanOptions{}); err == nil {
			t.Errorf("%.60s was taken", text)
		}
	}
}

func TestAmends(t *testing.T) {
	first := make8(t)
	s := subject(t, familyBlock)
	s.PriorTrials += 8
	second, err := family.MakePlan(s, family.PlanOptions{Amends: first.PlanFile, MaxTrials: to(16)})
	if err != nil || second.Plan.Amends == nil || *second.Plan.Amends != first.Hash ||
		second.Plan.PriorTrials != 20 {
		t.Fatal(second, err)
	}
	// More of the same search begins with the same trials, which need not run again.
	for i, trial := range first.Plan.Trials {
		if string(second.Plan.Trials[i].Params) != string(trial.Params) {
			t.Errorf("trial %d is another", i)
		}
	}
}
