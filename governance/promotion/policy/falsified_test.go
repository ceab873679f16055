package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

func TestFalsificationGate(t *testing.T) {
	strict := policy.Gate{ID: "f", Kind: policy.Falsified, AtMost: "pass", Accept: []string{"price_noise"},
		AcceptFromE: 20}
	lax := policy.Gate{ID: "f", Kind: policy.Falsified, AtMost: "warn"}
	test := func(id, class, verdict string) bundle.TestVerdict {
		return bundle.TestVerdict{ID: id, Class: class, Verdict: verdict}
	}
	warned := []bundle.TestVerdict{test("costs", "G", "pass"), test("price_noise", "G", "warn")}
	both := append(warned[:2:2], test("regime", "W", "fail"))
	for name, c := range map[string]struct {
		gate    policy.Gate
		overall string
		tests   []bundle.TestVerdict
		e       float64
		leftOut float64
		want    policy.Verdict
	}{
		"pass":                   {strict, "pass", nil, 0, 0, policy.Pass},
		"a warning where it may": {lax, "warn", warned, 0, 0, policy.Pass},
		"refuted": {lax, "fail", []bundle.TestVerdict{test("costs", "G", "fail")}, 1e9, 0,
			policy.Fail},
		"inconclusive":                {lax, "inconclusive", nil, 0, 0, policy.Pending},
		"accepted, without E":         {strict, "warn", warned, 0, 0, policy.Pending},
		"accepted, E of 19":           {strict, "warn", warned, 19, 0, policy.Pending},
		"accepted, E of 20":           {strict, "warn", warned, 20, 0, policy.Pass},
		"another warning beside":      {strict, "warn", both, 1e9, 0, policy.Fail},
		"a test was left out":         {strict, "warn", warned, 1e9, 1, policy.Fail},
		"a warning without its tests": {strict, "warn", nil, 1e9, 0, policy.Fail},
	} {
		run := func(id string, role bundle.Role) policy.Run {
			return policy.Run{Run: bundle.Run{RunID: id, Role: role, ReportSHA256: strings.Repeat("a", 64)}}
		}
		e := &policy.Evidence{
			Rules: policy.Rules{Strict: true}, Verified: true,
			Shadow: &policy.ShadowResult{E: c.e, Attested: true, Trusted: true, Bound: 0.03},
			Runs:   []policy.Run{run("base", bundle.RoleBaseline), run("attack", bundle.RoleFalsification)},
			Read: map[string]bundle.RunEvidence{"base": {}, "attack": {
				Falsification: &bundle.Falsification{BaseRunID: "base", Overall: c.overall, Tests: c.tests},
				Derived:       &bundle.Derived{Figures: map[string]float64{"tests_left_out": c.leftOut}},
			}},
		}
		if got := policy.Judge(&c.gate, bundle.Canary, e, now); got.Verdict != c.want {
			t.Errorf("%s: %s: %s", name, got.Verdict, got.Reason)
		}
		e.Shadow.Attested = false
		if got := policy.Judge(&c.gate, bundle.Canary, e, now); got.Verdict == policy.Pass && c.e > 0 {
			t.Errorf("%s: passes on candles from files", name)
		}
		e.Read["attack"].Falsification.BaseRunID = "other"
		if got := policy.Judge(&c.gate, bundle.Canary, e, now); got.Verdict == policy.Pass {
			t.Errorf("%s: passes though it is of another run", name)
		}
	}
}

// TestWarningsAreAcceptedByReason: what cannot be shown may be lifted by unseen candles, what was found
// may not. Earlier rules take the name of the test.
func TestWarningsAreAcceptedByReason(t *testing.T) {
	gate := policy.Default().Stage(bundle.Canary).Gates
	i := slices.IndexFunc(gate, func(g policy.Gate) bool { return g.Kind == policy.Falsified })
	usual, own := gate[i], gate[i]
	own.Accept = []string{"price_noise:sharpe_falls", "random_entries"}
	for _, c := range []struct {
		gate         *policy.Gate
		test, reason string
		want         policy.Verdict
	}{
		{&usual, "param_neighbourhood", "no_literals", policy.Pass},
		{&usual, "param_neighbourhood", "no_sources", policy.Pass},
		{&usual, "param_neighbourhood", "without_effect", policy.Pass},
		{&usual, "param_neighbourhood", "sharpe_falls", policy.Fail}, // neighbours do worse
		{&usual, "param_neighbourhood", "", policy.Pending},          // of an earlier lab
		{&usual, "metamorphic", "calendar_both", policy.Pass},
		{&usual, "metamorphic", "returns_differ", policy.Fail},
		{&usual, "price_noise", "noise_beyond_gate", policy.Pass},
		{&usual, "price_noise", "sharpe_not_positive", policy.Fail}, // at the gate's 3 %
		{&usual, "cost_stress", "net_loss", policy.Fail},
		{&own, "price_noise", "sharpe_falls", policy.Pass},
		{&own, "price_noise", "noise_beyond_gate", policy.Fail},
		{&own, "random_entries", "p_not_small", policy.Pass},
		{&own, "random_entries", "", policy.Pending},
		{&own, "cost_stress", "", policy.Fail},
	} {
		read := bundle.RunEvidence{
			Falsification: &bundle.Falsification{BaseRunID: "base", Overall: "warn", Tests: []bundle.TestVerdict{
				{ID: c.test, Class: "G", Verdict: "warn", Reason: c.reason}}},
			Derived: &bundle.Derived{Figures: map[string]float64{"tests_left_out": 0}},
		}
		e := &policy.Evidence{
			Rules: policy.Rules{Strict: true, Witnessed: true}, Verified: true,
			Shadow: &policy.ShadowResult{E: 20, Attested: true, Trusted: true, Bound: 0.03},
			Runs: []policy.Run{{Run: bundle.Run{RunID: "base", Role: bundle.RoleBaseline}},
				{Run: bundle.Run{RunID: "attack", Role: bundle.RoleFalsification}}},
			Read:   map[string]bundle.RunEvidence{"base": {}, "attack": read},
			Lookup: func(string) (any, bool) { return nil, false },
		}
		for _, stage := range []bundle.Stage{bundle.Canary, bundle.Live} {
			if got := policy.Judge(c.gate, stage, e, now); got.Verdict != c.want {
				t.Errorf("%s, %s: %s: %s", c.test, c.reason, got.Verdict, got.Reason)
			}
		}
		if c.want == policy.Pass {
			e.Shadow.E = 19.9
			if got := policy.Judge(c.gate, bundle.Canary, e, now); got.Verdict != policy.Pending {
				t.Errorf("%s, %s with E of 19.9: %s", c.test, c.reason, got.Verdict)
			}
			e.Shadow.E, e.Shadow.Lacking = 20, []string{"w1"}
			if got := policy.Judge(c.gate, bundle.Live, e, now); got.Verdict != policy.Pending {
				t.Errorf("%s, %s, not witnessed: %s", c.test, c.reason, got.Verdict)
			}
		}
		e.Shadow.E, e.Witnessed = 20, false
		byName := slices.Contains(c.gate.Accept, c.test)
		if got := policy.Judge(c.gate, bundle.Canary, e, now); (got.Verdict == policy.Pass) != byName {
			t.Errorf("%s by the rules before: %s: %s", c.test, got.Verdict, got.Reason)
		}
	}
}

// TestWhatWasTooGoodToBeTrue: a refutation by plausibility alone waits for E of 20 on unseen candles, in
// every stage. One that hides something else is never lifted, nor is one that was sealed before.
func TestWhatWasTooGoodToBeTrue(t *testing.T) {
	const pass, fail, pending = policy.Pass, policy.Fail, policy.Pending
	beside := func(id, class, verdict, reason string) func(*policy.Evidence) {
		return func(e *policy.Evidence) {
			f := e.Read["attack"].Falsification
			f.Tests = append(f.Tests, bundle.TestVerdict{ID: id, Class: class, Verdict: verdict, Reason: reason})
		}
	}
	figure := func(name string, value float64) func(*policy.Evidence) {
		return func(e *policy.Evidence) { e.Read["attack"].Derived.Figures[name] = value }
	}
	for name, c := range map[string]struct {
		edit          func(*policy.Evidence)
		paper, canary policy.Verdict
	}{
		"E of 20":             {func(*policy.Evidence) {}, pass, pass},
		"E of 19.9":           {func(e *policy.Evidence) { e.Shadow.E = 19.9 }, pending, pending},
		"an accepted warning": {beside("price_noise", "G", "warn", "noise_beyond_gate"), pass, pass},
		"another warning":     {beside("regime", "W", "fail", "one_year"), pass, fail},
		"another refutation":  {beside("tails", "G", "fail", ""), fail, fail},
		"an open gate":        {beside("tails", "G", "inconclusive", ""), fail, fail},
		"looser thresholds":   {figure("reserves", 1), fail, fail},
		"a gate was left out": {figure("tests_left_out", 1), fail, fail},
		"another one alone": {func(e *policy.Evidence) {
			e.Read["attack"].Falsification.Tests[0].ID = "tails"
		}, fail, fail},
		"sealed before": {func(e *policy.Evidence) {
			delete(e.Read["attack"].Derived.Figures, "reserves")
		}, fail, fail},
		"by the rules before":   {func(e *policy.Evidence) { e.Lifts = false }, fail, fail},
		"candles from files":    {func(e *policy.Evidence) { e.Shadow.Attested = false }, pending, pending},
		"a day is missing":      {func(e *policy.Evidence) { e.Shadow.Due = now }, pending, pending},
		"no day was ever there": {func(e *policy.Evidence) { e.Shadow = nil }, pending, pending},
	} {
		e := &policy.Evidence{
			Rules: policy.Rules{Strict: true, Witnessed: true, Lifts: true}, Verified: true,
			Shadow: &policy.ShadowResult{E: 20, Attested: true, Trusted: true, Bound: 0.03},
			Runs: []policy.Run{{Run: bundle.Run{RunID: "base", Role: bundle.RoleBaseline}},
				{Run: bundle.Run{RunID: "attack", Role: bundle.RoleFalsification}}},
			Read: map[string]bundle.RunEvidence{"base": {}, "attack": {
				Falsification: &bundle.Falsification{BaseRunID: "base", Overall: "fail",
					Tests: []bundle.TestVerdict{{ID: "plausibility", Class: "G", Verdict: "fail"}}},
				Derived: &bundle.Derived{Figures: map[string]float64{"tests_left_out": 0, "reserves": 0}},
			}},
			Lookup: func(string) (any, bool) { return nil, false },
		}
		c.edit(e)
		for stage, want := range map[bundle.Stage]policy.Verdict{
			bundle.Paper: c.paper, bundle.Canary: c.canary,
		} {
			gates := policy.Default().Stage(stage).Gates
			i := slices.IndexFunc(gates, func(g policy.Gate) bool { return g.Kind == policy.Falsified })
			got := policy.Judge(&gates[i], stage, e, now)
			words := map[policy.Verdict]string{pass: "lifted by E of at least 20", pending: "would lift"}[want]
			if got.Verdict != want || !strings.Contains(got.Reason, words) {
				t.Errorf("%s, %s: %s: %s; want %s", name, stage, got.Verdict, got.Reason, want)
			}
		}
	}
}

// TestCandlesThatTheProgramWasMadeWith: neither the verdict nor a number of a falsification on them passes,
// and the gate says what to do; a refutation stays one.
func TestCandlesThatTheProgramWasMadeWith(t *testing.T) {
	for overall, want := range map[string]policy.Verdict{
		"pass": policy.Pending, "warn": policy.Pending, "fail": policy.Fail,
	} {
		figures := map[string]float64{"tests_left_out": 0, "dsr_max": 0.99, "holding_high": 0.1}
		e := &policy.Evidence{
			Rules: policy.Rules{Strict: true, Witnessed: true, Prospective: true}, Verified: true,
			Runs: []policy.Run{{Run: bundle.Run{RunID: "base", Role: bundle.RoleBaseline}},
				{Run: bundle.Run{RunID: "attack", Role: bundle.RoleFalsification}}},
			Read: map[string]bundle.RunEvidence{"base": {}, "attack": {
				Falsification: &bundle.Falsification{BaseRunID: "base", Overall: overall},
				Derived:       &bundle.Derived{Figures: figures},
			}},
			Lookup: func(string) (any, bool) { return nil, false },
		}
		for _, g := range policy.Default().Stage(bundle.Paper).Gates {
			if g.Kind != policy.Falsified && g.Metric != "dsr_max" && g.Metric != "holding_high" {
				continue
			}
			delete(figures, "candles_known")
			before := policy.Judge(&g, bundle.Paper, e, now)
			figures["candles_known"] = 1
			got, wanted, words := policy.Judge(&g, bundle.Paper, e, now), want, ""
			if g.Kind != policy.Falsified {
				wanted = policy.Pending
			}
			if wanted == policy.Pending {
				words = "attack attacks candles that the program"
			}
			if overall != "fail" && before.Verdict != policy.Pass || got.Verdict != wanted ||
				!strings.Contains(got.Reason, words) {
				t.Errorf("%s, %s: %s, then %s: %s", overall, g.ID, before.Verdict, got.Verdict, got.Reason)
			}
		}
	}
}

// TestGatesOfTheDefaultAreRefused names what is wrong with a changed gate of the policy that is
// built in.
func TestGatesOfTheDefaultAreRefused(t *testing.T) {
	for _, c := range []struct{ from, to, code, pointer string }{
		{`"at_most":"warn"`, `"at_most":"fail"`, "INVALID_FIELD", "/stages/paper/gates/10/at_most"},
		{`"accept_from_e":20,`, ``, "INVALID_FIELD", "/stages/canary/gates/1/accept"},
		{`"waivable_by":["risk","approver"]`, `"waivable_by":["lab"]`, "INVALID_FIELD",
			"/stages/canary/gates/0/waivable_by/0"},
		{`"waivable_by":["risk","approver"]`, `"waivable_by":[]`, "INVALID_FIELD",
			"/stages/canary/gates/0/waivable_by"},
		{`"kind":"engine"`, `"kind":"engine","sha256":["x"]`, "INVALID_DIGEST",
			"/stages/paper/gates/17/sha256/0"},
		{`"kind":"engine"`, `"kind":"correlation","max":0.5`, "MISSING_FIELD",
			"/stages/paper/gates/17/stages"},
		{`"kind":"engine"`, `"kind":"correlation","max":0.5,"stages":["research"]`, "INVALID_FIELD",
			"/stages/paper/gates/17/stages/0"},
		{`"version":3}`, `"version":3,"solo":1}`, "INVALID_FIELD", "/solo"},
	} {
		text := string(policy.Default().Text)
		if !strings.Contains(text, c.from) {
			t.Fatalf("the policy has no %s", c.from)
		}
		_, err := policy.Parse([]byte(strings.Replace(text, c.from, c.to, 1)))
		var refused *bundle.Error
		if !errors.As(err, &refused) || string(refused.Code) != c.code || refused.Pointer != c.pointer {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	for _, p := range []*policy.Policy{policy.Default(), policy.Solo()} {
		for _, stage := range []bundle.Stage{bundle.Paper, bundle.Canary, bundle.Live} {
			for _, g := range p.Stage(stage).Gates {
				if g.Reason == "" {
					t.Errorf("%s: %s of %s has no reason", p.ID, g.ID, stage)
				}
			}
		}
		if again := policy.Named(p.ID); again == nil || again.Digest != p.Digest {
			t.Error(p.ID)
		}
	}
}

// TestEachTimeframeIsAttacked: a second timeframe, or a second baseline, stands on no falsification of
// the first. Earlier rules let it, so that their decisions stay what they were.
func TestEachTimeframeIsAttacked(t *testing.T) {
	gates := []policy.Gate{
		{ID: "f", Kind: policy.Falsified, AtMost: "warn"},
		{ID: "m", Kind: policy.Metric, Roles: []bundle.Role{bundle.RoleFalsification}, Metric: "gates_failed",
			Op: "=="},
	}
	for _, c := range []struct {
		name, claimed, bases, attacked string
		want                           policy.Verdict
		words                          string
	}{
		{"one timeframe", "1h", "1h", "1h", policy.Pass, ""},
		{"both are attacked", "1h 4h", "1h 4h", "1h 4h", policy.Pass, ""},
		{"the second has no falsification", "1h 4h", "1h 4h", "1h", policy.Pending,
			"no falsification attacks the baseline base-4h"},
		{"the second has no baseline", "1h 4h", "1h", "1h", policy.Pending,
			"no baseline of the timeframe 4h is attacked"},
		{"an earlier seal does not say which", "1h 4h", "1h ?", "1h ?", policy.Pending, "submit it again"},
		{"a second baseline of one timeframe", "1h", "1h 1h2", "1h", policy.Pending,
			"no falsification attacks the baseline base-1h2"},
	} {
		e := &policy.Evidence{Verified: true, Rules: policy.Rules{Strict: true},
			Read: map[string]bundle.RunEvidence{}, Lookup: func(string) (any, bool) {
				var list []any
				for _, tf := range strings.Fields(c.claimed) {
					list = append(list, tf)
				}
				return list, true
			}}
		add := func(id string, role bundle.Role, read bundle.RunEvidence) {
			e.Runs = append(e.Runs, policy.Run{Run: bundle.Run{RunID: id, Role: role,
				Summary: map[string]float64{"gates_failed": 0}}})
			e.Read[id] = read
		}
		for _, tf := range strings.Fields(c.bases) {
			add("base-"+tf, bundle.RoleBaseline, bundle.RunEvidence{Timeframe: strings.Trim(tf, "?")})
		}
		for _, tf := range strings.Fields(c.attacked) {
			add("attack-"+tf, bundle.RoleFalsification, bundle.RunEvidence{
				Falsification: &bundle.Falsification{BaseRunID: "base-" + tf, Overall: "pass"}})
		}
		for _, g := range gates {
			e.Witnessed = false
			if got := policy.Judge(&g, bundle.Paper, e, now); got.Verdict != policy.Pass {
				t.Errorf("%s, %s, earlier rules: %s %s", c.name, g.ID, got.Verdict, got.Reason)
			}
			e.Witnessed = true
			got := policy.Judge(&g, bundle.Paper, e, now)
			if got.Verdict != c.want || !strings.Contains(got.Reason, c.words) {
				t.Errorf("%s, %s: %s %s", c.name, g.ID, got.Verdict, got.Reason)
			}
		}
	}
}

// TestAReasonThatIsMadeUp: a replay by another person holds the reasons of the seal against its own.
func TestAReasonThatIsMadeUp(t *testing.T) {
	found := func(reason string) *bundle.Inputs {
		return &bundle.Inputs{Summary: map[string]float64{"gates_failed": 0},
			Falsification: &bundle.Falsification{BaseRunID: "base", Overall: "warn", Tests: []bundle.TestVerdict{
				{ID: "param_neighbourhood", Class: "G", Verdict: "warn", Reason: reason}}}}
	}
	gate := policy.Gate{ID: "r", Kind: policy.Replay, Roles: []bundle.Role{bundle.RoleFalsification}}
	for _, c := range []struct {
		name, sealed, replayed string
		want, before           policy.Verdict
	}{
		{"the same", "no_literals", "no_literals", policy.Pass, policy.Pass},
		{"made up", "no_literals", "sharpe_falls", policy.Fail, policy.Pass},
		{"replayed by an earlier lab", "no_literals", "", policy.Pending, policy.Pass},
		{"sealed by an earlier plane", "", "no_literals", policy.Pass, policy.Pass},
	} {
		sum, err := found(c.sealed).SHA256()
		if err != nil {
			t.Fatal(err)
		}
		e := &policy.Evidence{
			Rules: policy.Rules{Strict: true}, Verified: true,
			Runs: []policy.Run{{Run: bundle.Run{RunID: "attack", Role: bundle.RoleFalsification}}},
			Read: map[string]bundle.RunEvidence{"attack": {RunID: "attack", InputsSHA256: sum,
				Falsification: found(c.sealed).Falsification}},
			Replays: []policy.ReplayResult{{Principal: "rachel", Runs: []bundle.ReplayedRun{
				{RunID: "attack", Inputs: found(c.replayed)}}}},
		}
		if got := policy.Judge(&gate, bundle.Paper, e, now); got.Verdict != c.before {
			t.Errorf("%s, earlier rules: %s: %s", c.name, got.Verdict, got.Reason)
		}
		e.Witnessed = true
		if got := policy.Judge(&gate, bundle.Paper, e, now); got.Verdict != c.want {
			t.Errorf("%s: %s: %s", c.name, got.Verdict, got.Reason)
		}
	}
}
