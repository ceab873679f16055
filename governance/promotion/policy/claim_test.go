package policy_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// Each gate of the policies that are built in asks for something that can be said in words, without its id.
func TestGatesSayWhatTheyAskFor(t *testing.T) {
	for _, name := range []string{"default", "solo"} {
		p := policy.Named(name)
		for _, stage := range bundle.PromotionStages()[1:] {
			gates := p.Stage(stage).Gates
			if len(gates) == 0 {
				t.Errorf("%s has no gate for %s", name, stage)
			}
			for i := range gates {
				said := gates[i].Claim()
				if strings.Contains(said, gates[i].ID) || strings.ContainsAny(said, "_/=") ||
					strings.HasSuffix(said, ".") {
					t.Errorf("%s: %s says %q", name, gates[i].ID, said)
				}
			}
		}
	}
	for want, g := range map[string]policy.Gate{
		"it earns money on the locked test":        {Kind: policy.Metric, Metric: "total_return", SplitKinds: []string{"test"}},
		"its sharpe ratio is > 1":                  {Kind: policy.Metric, Metric: "sharpe_ratio", Op: ">", Value: 1},
		"its sharpe ratio is > /limits/x":          {Kind: policy.Metric, Metric: "sharpe_ratio", Op: ">", ValueFrom: "/limits/x"},
		"its kill switch works":                    {Kind: policy.Freshness, Drill: "kill_switch"},
		"its bundle has enough of /known":          {Kind: policy.EvidencePresent, Pointer: "/known"},
		"it has every run that is asked for":       {Kind: policy.EvidencePresent, Roles: roles(bundle.RoleOOS)},
		"it is signed and hash verified":           {Kind: policy.Assurance, Rungs: []string{"signed", "hash_verified"}},
		"it has run in canary for long enough":     {Kind: policy.Soak, Role: bundle.RoleCanary},
		"it differs from what already runs":        {Kind: policy.Correlation},
		"another person comes to the same results": {Kind: policy.Replay},
		"its runs come out the same again":         {Kind: policy.Replay, Own: true},
		"it passes a.gate":                         {ID: "a.gate", Kind: "unknown"},
		"its evidence is recent":                   {Kind: policy.Freshness},
		"it survives the attempts to refute it":    {Kind: policy.Falsified},
		"its drawdown stays within its limit":      {Kind: policy.Metric, Metric: "max_drawdown"},
		"it was run on candles that no parameter was chosen by": {Kind: policy.EvidencePresent,
			Roles: roles(bundle.RoleOOS), SplitKinds: []string{"test"}},
	} {
		if said := g.Claim(); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
	g := policy.Gate{Kind: policy.Falsified}
	for reason, want := range map[string]string{
		"":                  "Not shown: that it survives the attempts to refute it.",
		"run_a refutes: x.": "Not shown: that it survives the attempts to refute it, because run_a refutes: x.",
	} {
		if said := g.Sentence(&policy.Result{Reason: reason}); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
	for want, c := range map[string]struct {
		gate   policy.Gate
		result policy.Result
	}{
		"its drawdown stays within its limit, because its largest drawdown is 45.33 %, where at most 25 % is asked for": {
			policy.Gate{Kind: policy.Metric, Metric: "max_drawdown"},
			policy.Result{Verdict: policy.Fail, Observed: 0.453250524206, Op: "<=", Threshold: 0.25}},
		"its win rate is > 0.5, because run_a: win_rate is 0.4, not > 0.5": {
			policy.Gate{Kind: policy.Metric, Metric: "win_rate", Op: ">", Value: 0.5},
			policy.Result{Verdict: policy.Fail, Observed: 0.4, Op: ">", Threshold: 0.5,
				Reason: "run_a: win_rate is 0.4, not > 0.5"}},
		"it has run in paper for long enough, because it has run for 1.5 of 14 days: no host has signed it": {
			policy.Gate{Kind: policy.Soak, Role: bundle.RolePaper},
			policy.Result{Verdict: policy.Pending, Observed: 129600.0, Threshold: 1209600.0,
				Reason: "129600 of 1209600 seconds in paper: no host has signed it"}},
	} {
		if said := c.gate.Sentence(&c.result); said != "Not shown: that "+want+"." {
			t.Errorf("%q, want %q", said, want)
		}
	}
}
