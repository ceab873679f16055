package promotion_test

import (
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/digest"
)

// TestAnotherProgramNeedsAPerson: where money is real, a program that trades the same takes over
// the stage only once a person who may has agreed to its plan.
func TestAnotherProgramNeedsAPerson(t *testing.T) {
	for _, rules := range []int64{promotion.RulesVerified, promotion.RulesProspective} {
		p := trusted(t)
		p.adoptRules(rules)
		parent := p.live(lists(p, "base", "test", "a"))
		p.stands(parent, "live/active")
		next := p.proven(plugin("v2"), child(parent, "non_material"))
		var runs []bundle.ReplayedRun
		for _, r := range next.Runs[:2] {
			runs = append(runs, bundle.ReplayedRun{
				RunID: r.RunID, RequestHash: r.RequestHash, ReportSHA256: r.ReportSHA256, Inputs: inputs(r),
				Trades: []bundle.SplitTrades{{SplitID: "test", SHA256: digest.SHA256Hex([]byte("a"))}},
			})
		}
		replay := statement{"replayer", bundle.TypeReplay, bundle.Replay{ParentRevisionID: &parent, Runs: runs}}
		id := p.submit(next, signature("packer"), replay, drill("otto", "pass"))
		if class, _ := p.w.ChangeClass(id); class != "non_material" {
			t.Fatal(class)
		}
		if rules == promotion.RulesVerified {
			p.stands(id, "live/active")
			continue
		}
		if s := p.state(id); bundle.Rank(s.Stage) > bundle.Rank(bundle.Paper) {
			t.Fatal(p.at(id))
		}
		p.stands(parent, "live/active")
		p.say(id, p.approve("rita", "risk", id, bundle.Live))
		p.stands(id, "live/active")
		p.stands(parent, "live/superseded")
	}
}
