package promotion_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// TestAWitnessOfWhoPacksAgain: for whoever packs a program again its days begin with a witness that they do
// not run. The first packer's days stay as they are, or packing a program would take its witness away.
func TestAWitnessOfWhoPacksAgain(t *testing.T) {
	for rules, want := range map[int64]policy.Verdict{
		promotion.RulesWitnessed: policy.Pass, promotion.RulesIndependent: policy.Pending,
	} {
		p := ruled(t, rules, fmt.Sprintf(`"witnesses":{"need":1,"of":[{"key":%q,"principal":"Wanda"},{"key":%q}]},`,
			vkey(t, "w1"), vkey(t, "w2")))
		first := p.submit(p.good(), signature("packer"))
		again := p.submit(p.good(child(first, bundle.ChangeNonMaterial), owner("wanda")), signature("packer"))
		p.cosign(p.cosignature("w1", p.now))
		p.play(first, bundle.SourceExchange, same(70, 0.02, -0.004))
		p.gateIs(first, bundle.Live, policy.Pass, "after 70 days and 70 trades")
		if n := p.state(again).Shadow.Days; n != 70 {
			t.Fatalf("it looks at %d days", n)
		}
		words := ""
		if want == policy.Pending {
			words = "no cosignature counts of w1 (run by Wanda, whose revision it is), w2"
		}
		if g := p.gate(again, bundle.Live); g.Verdict != want || !strings.Contains(g.Reason, words) {
			t.Errorf("rules %d: %s %s", rules, g.Verdict, g.Reason)
		}
		p.cosign(p.cosignature("w2", p.now))
		if e := p.state(again).Shadow.E; (e < 1) != (want == policy.Pending) { // its days are older than that
			t.Errorf("rules %d: E is %v", rules, e)
		}
		p.gateIs(first, bundle.Live, policy.Pass, "after 70 days and 70 trades")
		p.sameAgain(first, again)
	}
}

// TestASoleAnswer: the default policy refuses canary on a sole answer, which may be made up. What a log had
// before the rule keeps its effect.
func TestASoleAnswer(t *testing.T) {
	ask := func(p *plane) {
		p.text(bundle.TypePolicy, 3, []byte(`{"schema":"promotion-policy/v1","id":"asks","version":3,"stages":{
			"paper":{"auto":true,"gates":[]},
			"canary":{"approvals":[{"role":"risk","count":1},{"role":"any","count":1}],"gates":[
				{"id":"challenge.confirmed","kind":"challenge"}]},
			"live":{"inherit":"canary","gates":[]}}}`))
	}
	is := func(p *plane, id string, want policy.Verdict, words string) {
		t.Helper()
		i := slices.IndexFunc(p.plan(id, bundle.Canary).Gates, func(g promotion.PlanGate) bool {
			return g.Kind == policy.Challenge
		})
		g := p.plan(id, bundle.Canary).Gates[i]
		if g.Verdict != want || !strings.Contains(g.Reason, words) {
			t.Errorf("%s %q, want %s with %q", g.Verdict, g.Reason, want, words)
		}
	}
	executed := func(p *plane, id, decisions string) statement {
		return statement{"shadow-1", bundle.TypeShadow, bundle.Shadow{Source: bundle.SourceImport, Exchange: "x",
			Symbols: []string{"BTC/USDT"}, Timeframe: "1h", Sandbox: "full", Challenge: p.answer(id, decisions)}}
	}
	begin := func(rules int64) (*plane, string) {
		p := challenged(t, rules)
		if rules == promotion.RulesNewest {
			ask(p)
		}
		return p, p.submit(p.proven(candles), signature("packer"))
	}
	p, id := begin(promotion.RulesNewest)
	is(p, id, policy.Pending, "nobody has answered the challenge of the seal: a worker of shadows answers")
	p.say(id, p.answered("replayer", id, "made up"))
	is(p, id, policy.Pending, "the answer of replayer may be made up")
	p.say(id, p.answered("packer", id, "made up")) // a copy
	is(p, id, policy.Pending, "and that of another one copied")
	p.say(id, executed(p, id, "decisions"))
	is(p, id, policy.Pending, "answers to the challenge differ")

	p, id = begin(promotion.RulesNewest)
	p.say(id, p.answered("replayer", id, "decisions"), executed(p, id, "decisions"))
	is(p, id, policy.Pass, "a worker of shadows came to the answer of replayer")

	p, id = begin(promotion.RulesNewest)
	p.say(id, p.replay("replayer", id))
	commits, shows := p.sides("replayer", id, "n1", "decisions")
	packs, packShows := p.sides("packer", id, "n2", "decisions")
	p.say(id, commits, packs, shows)
	is(p, id, policy.Pending, "may be made up")
	p.say(id, packShows)
	is(p, id, policy.Pass, policy.ByCommitments)

	p, id = begin(promotion.RulesWitnessed)
	p.say(id, p.answered("replayer", id, "made up"))
	p.adoptRules(promotion.RulesNewest)
	ask(p)
	is(p, id, policy.Pass, "replayed before this rule")
	p.say(id, executed(p, id, "decisions"))
	is(p, id, policy.Pending, "answers to the challenge differ")
}
