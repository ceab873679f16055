package policy_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

func TestFalsificationGate(t *testing.T) {
	strict := policy.Gate{ID: "f", Kind: policy.Falsified, AtMost: "pass", Accept: []string{"price_noise"}, AcceptFromE: 20}
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
		"pass":                        {strict, "pass", nil, 0, 0, policy.Pass},
		"a warning where it may":      {lax, "warn", warned, 0, 0, policy.Pass},
		"refuted":                     {lax, "fail", []bundle.TestVerdict{test("costs", "G", "fail")}, 1e9, 0, policy.Fail},
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
			Strict: true, Verified: true, Shadow: &policy.ShadowResult{E: c.e, Attested: true, Trusted: true, Bound: 0.03},
			Runs: []policy.Run{run("base", bundle.RoleBaseline), run("attack", bundle.RoleFalsification)},
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
