package promotion_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// byDisinterested plays an attack under the rules before and those of RulesDisinterested, and a log of each
// comes to the same when it is folded anew.
func byDisinterested(t *testing.T, attack func(t *testing.T, p *plane, closed bool, is policy.Verdict)) {
	t.Helper()
	for rules, is := range map[int64]policy.Verdict{
		promotion.RulesIndependent: policy.Pass, promotion.RulesDisinterested: policy.Pending,
	} {
		p := ruled(t, rules, "")
		attack(t, p, rules == promotion.RulesDisinterested, is)
		for id := range p.files {
			p.sameAgain(id)
		}
	}
}

// TestAWorkerThatPacksLater: who has stated the days of a program and then signs it, a copy of it, or another
// revision of its family has stated days of their own. They count where they lose, and a loss is not packed
// away.
func TestAWorkerThatPacksLater(t *testing.T) {
	for name, packs := range map[string]func(p *plane, id string){
		"the same bundle": func(p *plane, id string) { p.say(id, signature("shadow-1")) },
		"its child": func(p *plane, id string) {
			p.submit(p.good(child(id, bundle.ChangeNonMaterial)), signature("shadow-1"))
		},
		"another one of its family": func(p *plane, _ string) {
			p.submit(p.good(params(`{"fast":11}`)), signature("shadow-1"))
		},
	} {
		byDisinterested(t, func(t *testing.T, p *plane, closed bool, is policy.Verdict) {
			id := p.submit(p.good(), signature("packer"))
			p.play(id, bundle.SourceExchange, same(70, 0.02, -0.004))
			p.gateIs(id, bundle.Canary, policy.Pass, "after 70 days and 70 trades")
			drift := p.state(id).Shadow.D
			packs(p, id)
			words := "after 70 days and 70 trades"
			if closed {
				words = "no day counts, 70 days stated by shadow-1, whose revision it is"
			}
			p.gateIs(id, bundle.Canary, is, words)
			if s := p.state(id).Shadow; s.D != drift || closed && (s.Days != 0 || s.Trades != 0 || s.E >= 1) {
				t.Errorf("%s: %+v", name, s)
			}
			if who := promotion.Interested(p.w, id); !bundle.Among(who, "Shadow-1") {
				t.Errorf("%s: of %q none is shadow-1", name, who)
			}
		})
	}
}

// TestARuinIsNotPackedAway: a worker who packs what it has ruined leaves it ruined.
func TestARuinIsNotPackedAway(t *testing.T) {
	p := ruled(t, promotion.RulesDisinterested, "")
	id := p.submit(p.good(), signature("packer"))
	p.play(id, bundle.SourceExchange, []float64{0.01, -0.0601})
	p.say(id, signature("shadow-1"))
	p.gateIs(id, bundle.Canary, policy.Fail, "more than twice the declared 0.03")
}

// TestAReplayerThatPacksLater: two who pack the same runs do not vouch for each other, whatever the order,
// and a third one does.
func TestAReplayerThatPacksLater(t *testing.T) {
	for _, later := range []bool{false, true} {
		for _, rules := range []int64{promotion.RulesIndependent, promotion.RulesDisinterested} {
			p := challenged(t, rules)
			p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
				if name == "otto" {
					k.Roles = []string{bundle.TrustReplay}
				}
			})
			pack := func() {
				p.submit(p.good(candles, version("1.0.1")), signature("replayer"))
			}
			if !later {
				pack()
			}
			id := p.submit(p.good(candles), signature("packer"))
			p.say(id, p.answered("replayer", id, "decisions"))
			if later {
				p.reproduced(id, bundle.Canary, policy.Pass)
				pack()
			}
			if p.sameAgain(id); rules == promotion.RulesIndependent {
				p.reproduced(id, bundle.Canary, policy.Pass)
				continue
			}
			p.reproduced(id, bundle.Canary, policy.Pending, "that of replayer, who has packed it")
			if slices.Contains(p.state(id).Rungs, bundle.RungReproduced) {
				t.Errorf("%q", p.state(id).Rungs)
			}
			p.say(id, p.answered("otto", id, "decisions"))
			p.reproduced(id, bundle.Canary, policy.Pass)
		}
	}
}

// TestADrillOfOnesOwn: who owns, asked for or packed a program, or comes to pack it, does not say that its
// kill switch works. That it did not, anybody may.
func TestADrillOfOnesOwn(t *testing.T) {
	for by, then := range map[string]func(p *plane, id string){
		"owner@example.com": nil,
		"packer":            nil,
		"otto":              func(p *plane, id string) { p.say(id, signature("otto")) },
		"host-1": func(p *plane, _ string) {
			p.submit(p.good(params(`{"fast":11}`)), signature("host-1"))
		},
	} {
		for rules, want := range map[int64]policy.Verdict{
			promotion.RulesIndependent: policy.Pass, promotion.RulesDisinterested: policy.Pending,
		} {
			p := established(t, rules)
			p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
				if name == by {
					k.Roles = []string{bundle.TrustOperator, bundle.TrustLab}
				}
			})
			is := func(id string, want policy.Verdict, words string) {
				t.Helper()
				gates := p.plan(id, bundle.Canary).Gates
				i := slices.IndexFunc(gates, func(g promotion.PlanGate) bool {
					return g.GateID == "drill.kill_switch"
				})
				if g := gates[i]; g.Verdict != want || !strings.Contains(g.Reason, words) {
					t.Errorf("%s, rules %d: %s, %q; want %s, %q", by, rules, g.Verdict, g.Reason, want, words)
				}
			}
			id := p.submit(p.proven(), signature("packer"), drill(by, "pass"))
			if then != nil {
				is(id, policy.Pass, "recent enough")
				then(p, id)
			}
			words := "recent enough"
			if want == policy.Pending {
				words = "that of " + by + ", whose revision it is, does not count"
			}
			is(id, want, words)
			p.idle(day)
			p.say(id, drill(by, "fail"))
			is(id, policy.Fail, "failed")
			p.idle(day)
			p.say(id, drill("rita", "pass")) // not an operator's
			is(id, policy.Fail, "failed")
			p.sameAgain(id)
		}
	}
}

// TestARunComparedByOnesOwn: a worker who comes to pack a program has found nothing of its paper run, and
// another one is asked.
func TestARunComparedByOnesOwn(t *testing.T) {
	p := ruled(t, promotion.RulesDisinterested, "")
	soak := p.soaked(bundle.RolePaper, 15)
	id := p.submit(p.good(with(soak)), signature("packer"))
	s := shadow(bundle.SourceImport, nil)
	said := s.predicate.(bundle.Shadow)
	said.Compared = []bundle.ComparedRun{{RunID: soak.RunID, Fills: 4}}
	s.predicate = said
	p.say(id, s)
	if got := p.state(id).Shadow.Compared; len(got) != 1 || len(p.work(id).Uncompared) != 0 {
		t.Fatalf("%+v", got)
	}
	p.say(id, signature("shadow-1"))
	if got := p.state(id).Shadow.Compared; len(got) != 0 || len(p.work(id).Uncompared) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestTwoPackersAreOneSide: who has packed the same runs cannot be the other side of a packer's commitment.
func TestTwoPackersAreOneSide(t *testing.T) {
	for rules, want := range map[int64]string{
		promotion.RulesIndependent: "", promotion.RulesDisinterested: bundle.ReasonOrder,
	} {
		p := challenged(t, rules)
		id := p.submit(p.proven(candles), signature("packer"))
		p.submit(p.proven(candles, version("1.0.1")), signature("replayer"))
		packs, shows := p.sides("packer", id, "n1", "decisions")
		again, _ := p.sides("replayer", id, "n2", "decisions")
		p.say(id, packs, again)
		p.wants(id, shows, want)
		p.sameAgain(id)
	}
}
