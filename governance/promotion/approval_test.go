package promotion_test

import (
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
)

// ready is a revision that only lacks people for canary.
func ready(t *testing.T) (*plane, string) {
	t.Helper()
	p := trusted(t)
	id := p.submit(p.proven(), signature("packer"))
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	p.stands(id, "paper/eligible")
	return p, id
}

func TestApprovalsThatDoNotCount(t *testing.T) {
	other := bundle.DigestPrefix + "00000000000000000000000000000000000000000000000000000000000000ff"
	cases := []struct {
		name string
		give func(p *plane, id string) []statement
	}{
		{"by the owner", func(p *plane, id string) []statement {
			return []statement{p.approve("owner@example.com", "risk", id, bundle.Canary),
				p.approve("anna", "approver", id, bundle.Canary)}
		}},
		{"two of one person", func(p *plane, id string) []statement {
			return []statement{p.approve("ruth", "risk", id, bundle.Canary),
				p.approve("ruth", "approver", id, bundle.Canary)}
		}},
		{"nobody from risk", func(p *plane, id string) []statement {
			return []statement{p.approve("anna", "approver", id, bundle.Canary),
				p.approve("ruth", "approver", id, bundle.Canary)}
		}},
		{"of another plan", func(p *plane, id string) []statement {
			return []statement{approval("rita", "risk", bundle.Canary, other),
				p.approve("anna", "approver", id, bundle.Canary)}
		}},
		{"of another stage", func(p *plane, id string) []statement {
			return []statement{p.approve("rita", "risk", id, bundle.Live),
				p.approve("anna", "approver", id, bundle.Live)}
		}},
		{"in a role that the key has not", func(p *plane, id string) []statement {
			return []statement{p.approve("anna", "risk", id, bundle.Canary),
				p.approve("ruth", "approver", id, bundle.Canary)}
		}},
		{"to resume", func(p *plane, id string) []statement {
			resume := bundle.Approval{Action: "resume", Stage: bundle.Canary, Role: "risk",
				SuspensionID: other}
			return []statement{{"rita", bundle.TypeApproval, resume},
				p.approve("anna", "approver", id, bundle.Canary)}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, id := ready(t)
			p.say(id, c.give(p, id)...)
			p.stands(id, "paper/eligible")
			if missing := p.plan(id, bundle.Canary).Approvals.Missing; missing == 0 {
				t.Error("nobody is missing")
			}
		})
	}
}

func TestOnePersonFillsTheRightPlace(t *testing.T) {
	p, id := ready(t)
	// Ruth could be the one from risk or anybody; Rita only the one from risk.
	p.say(id, p.approve("ruth", "risk", id, bundle.Canary), p.approve("rita", "risk", id, bundle.Canary))
	p.stands(id, "canary/eligible")
	s := p.state(id)
	if last := s.History[len(s.History)-1]; last.By != "policy:default-v1" ||
		last.Reason != "the plan passes, approved by 2 people" || last.PlanDigest == nil {
		t.Errorf("%+v", last)
	}
}

func TestThePackerMayNotApprove(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.proven(), signature("rita")) // a key of Rita's with the role lab would do
	p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "rita" {
			k.Roles = []string{"lab", "risk"}
		}
	})
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	p.stands(id, "paper/eligible")
	p.say(id, p.approve("rita", "risk", id, bundle.Canary), p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "paper/eligible")
	p.say(id, p.approve("ruth", "risk", id, bundle.Canary))
	p.stands(id, "canary/eligible")
}

func TestApprovalsExpire(t *testing.T) {
	p, id := ready(t)
	p.say(id, p.approve("rita", "risk", id, bundle.Canary))
	p.idle(5 * day)
	p.say(id, p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "paper/eligible")
	p.say(id, p.approve("rita", "risk", id, bundle.Canary))
	p.stands(id, "canary/eligible")
}

func TestAChangedPlanVoidsApprovals(t *testing.T) {
	p, id := ready(t)
	p.say(id, p.approve("rita", "risk", id, bundle.Canary))
	p.idle(time.Minute)
	p.say(id, drill("host-1", "pass"))
	p.say(id, p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "paper/eligible")
	if a := p.plan(id, bundle.Canary).Approvals; len(a.Granted) != 1 || a.Granted[0].Principal != "anna" ||
		a.Missing != 1 {
		t.Errorf("%+v", a)
	}
}

func TestWhoWasRevokedDoesNotCount(t *testing.T) {
	p, id := ready(t)
	p.say(id, p.approve("rita", "risk", id, bundle.Canary))
	p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "rita" {
			k.Status = bundle.KeyRevoked
		}
	})
	p.say(id, p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "paper/eligible")
}

func TestExpiredTrustStartsNothing(t *testing.T) {
	p, id := ready(t)
	p.trust(2, p.now.Add(time.Hour).Format(time.RFC3339), nil)
	p.say(id, p.approve("rita", "risk", id, bundle.Canary))
	p.idle(2 * time.Hour)
	p.say(id, p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "paper/active")
	if v := p.plan(id, bundle.Canary).Verdict; v != "pending" {
		t.Errorf("the plan is %s", v)
	}
	p.say(id, suspension("", true))
	p.stands(id, "paper/suspended")
}

func TestOpenModeGoesUpToPaper(t *testing.T) {
	p := newPlane(t)
	id := p.submit(p.proven())
	p.stands(id, "paper/active")
	for _, stage := range []bundle.Stage{bundle.Canary, bundle.Live} {
		if plan := p.plan(id, stage); plan.Verdict != "pending" {
			t.Errorf("%s: %s", stage, plan.Verdict)
		}
	}
}

// TestWhatIsLoweredStaysLow: approvals from before a stop do not start anything again, and
// neither does the machine.
func TestWhatIsLoweredStaysLow(t *testing.T) {
	p := trusted(t)
	id := p.canary()
	p.say(id, suspension(bundle.Paper, false))
	p.stands(id, "paper/eligible")
	p.say(id, p.replay("replayer", id))
	p.stands(id, "paper/eligible")
	p.say(id, p.approve("rita", "risk", id, bundle.Canary), p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "canary/eligible")

	p.say(id, suspension(bundle.Research, false))
	p.say(id, p.replay("replayer", id))
	p.stands(id, "research/pending")
	p.again(id, bundle.Live)
	p.stands(id, "paper/eligible")
}

func TestResumingTakesTwo(t *testing.T) {
	p := trusted(t)
	id := p.live()
	p.say(id, incident("host-1", "kill-1", "open", "critical"))
	p.stands(id, "live/suspended")
	p.say(id, p.resume("rita", "risk", id), p.resume("anna", "approver", id))
	p.stands(id, "live/suspended") // the incident is open
	p.say(id, incident("otto", "kill-1", "close", ""))
	p.stands(id, "live/active")

	facts := p.say(id, suspension("", false))
	first := facts[len(facts)-1].ID
	p.say(id, suspension("", false))
	stale := bundle.Approval{Action: "resume", Stage: bundle.Live, Role: "risk", SuspensionID: first}
	p.say(id, statement{"rita", bundle.TypeApproval, stale}, p.resume("anna", "approver", id))
	p.stands(id, "live/suspended") // Rita's is for a stop that another one followed
	p.say(id, p.resume("rita", "risk", id))
	p.stands(id, "live/active")
	if s := p.state(id); s.History[len(s.History)-1].Type != promotion.RevisionResumed {
		t.Errorf("%+v", s.History)
	}
}

func TestResumingSupersedesTheRival(t *testing.T) {
	p := trusted(t)
	a := p.live()
	b := p.live(params(`{"fast":11}`))
	p.stands(a, "live/superseded")
	p.say(a, p.resume("rita", "risk", a), p.resume("ruth", "approver", a))
	p.stands(a, "live/active")
	p.stands(b, "live/superseded")
}

func TestWaivers(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good(func(b *bundle.Bundle) { b.Runs[0].Summary["total_trades"] = 3 }))
	p.stands(id, "research/pending")
	p.say(id, waiver(bundle.Canary, "trades.enough"))
	p.stands(id, "research/pending") // for another stage
	long := bundle.Waiver{Stage: bundle.Paper, GateID: "trades.enough"}
	long.MadeAt, long.ExpiresAt, long.CandidateRevisionID = p.stamp(), p.now.Add(30*day).Format(time.RFC3339),
		id
	p.say(id, statement{"rita", bundle.TypeWaiver, long})
	p.stands(id, "paper/active")
	p.idle(7*day - time.Second)
	p.say(id, drill("otto", "pass"))
	p.stands(id, "paper/active")
	if got := p.plan(id, bundle.Paper); got.Gates[8].Verdict != "waived" || got.Verdict != "pass" {
		t.Errorf("%s %+v", got.Verdict, got.Gates[8])
	}
	p.idle(day + time.Second)
	p.stands(id, "paper/expired")
	p.say(id, drill("otto", "pass"))
	p.stands(id, "paper/expired") // what was waived has not become worse
}

func TestWhatNobodyMayWaive(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good(target(bundle.Paper)))
	for _, gate := range []string{"integrity.bundle", "request.stage", "lineage.clean", "assurance.signed",
		"incidents.none"} {
		p.say(id, waiver(bundle.Canary, gate))
	}
	p.say(id, incident("otto", "i", "open", "warning"))
	p.say(id, statement{"owner@example.com", bundle.TypeWaiver,
		bundle.Waiver{Stage: bundle.Canary, GateID: "soak.paper"}})
	for _, g := range p.plan(id, bundle.Canary).Gates {
		if g.Verdict == "waived" {
			t.Errorf("%s is waived", g.GateID)
		}
	}
}
