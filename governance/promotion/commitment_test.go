package promotion_test

import (
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

// sides are the statements of one side: its commitment, and what it shows.
func (p *plane) sides(by, id, nonce, decisions string) (commits, shows statement) {
	p.t.Helper()
	a, n := p.answer(id, decisions), digest.SHA256Hex([]byte(nonce))
	sum, err := bundle.CommitmentOf(origin, id, keys[by].KeyID, n, a)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return statement{by, bundle.TypeCommitment, bundle.Commitment{Challenge: a.Challenge, Commitment: sum}},
		statement{by, bundle.TypeReveal, bundle.Reveal{Challenge: *a, Nonce: n}}
}

// wants holds what the plane says of a statement of a side, "" for nothing, and says it: what is refused
// counts for nothing either where a log has it.
func (p *plane) wants(id string, s statement, reason string) {
	p.t.Helper()
	before := len(p.state(id).Challenge.Answers)
	var err *bundle.Error
	switch v := s.predicate.(type) {
	case bundle.Commitment:
		v.LogOrigin = origin
		err = promotion.CheckCommitment(p.w, id, keys[s.by].KeyID, &v, "/x")
	case bundle.Reveal:
		v.LogOrigin = origin
		err = promotion.CheckReveal(p.w, id, keys[s.by].KeyID, &v, "/x")
	}
	if reason == "" && err != nil || reason != "" && (err == nil || err.Code != bundle.InvalidCommitment ||
		err.Reason != reason || err.Pointer != "/x") {
		p.t.Fatalf("%s: %v; want %q", s.by, err, reason)
	}
	p.say(id, s)
	if n := len(p.state(id).Challenge.Answers); reason != "" && n != before {
		p.t.Fatalf("what is refused for %s is an answer: %d, before %d", reason, n, before)
	}
}

// TestBothCommitBeforeEitherShows: the rung and the gate say by which way, and nothing is said of it once
// a shadow has executed the window.
func TestBothCommitBeforeEitherShows(t *testing.T) {
	p := challenged(t, promotion.RulesNewest)
	id := p.submit(p.proven(candles), signature("packer"))
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	p.reproduced(id, bundle.Canary, policy.Pending, "does not answer the challenge")
	commits, shows := p.sides("replayer", id, "n1", "decisions")
	p.wants(id, shows, bundle.ReasonUnknown)
	p.wants(id, commits, "")
	p.wants(id, shows, bundle.ReasonOrder) // reveal before the other commit
	if c := p.state(id).Challenge; c.Verdict != "open" || len(c.Commitments) != 1 || c.Commitments[0].Side != "replayer" ||
		c.Reason != "replayer committed, and waits for the commitment of the packer" {
		t.Fatalf("%+v", c)
	}
	packs, packShows := p.sides("packer", id, "n2", "decisions")
	p.wants(id, packs, "")
	p.wants(id, shows, "")
	p.reproduced(id, bundle.Canary, policy.Pass, "reproduced by another principal")
	p.verdict(id, "unconfirmed", 1)
	p.wants(id, shows, bundle.ReasonRepeated)
	p.wants(id, packShows, "")
	p.verdict(id, "agreed", 2)
	p.reproduced(id, bundle.Canary, policy.Pass, "by commitments of packer and replayer")
	for _, g := range p.plan(id, bundle.Canary).Gates {
		if g.GateID == "assurance.signed" && g.Reason != "all rungs are held"+policy.ByCommitments {
			t.Errorf("%s", g.Reason)
		}
	}
	p.sameAgain(id)
	if !p.work(id).ChallengeOpen {
		t.Fatal("the worker of shadows is not asked")
	}
	said := bundle.Shadow{Source: bundle.SourceImport, Exchange: "x", Symbols: []string{"BTC/USDT"},
		Timeframe: "1h", Sandbox: "full", Challenge: p.answer(id, "decisions")}
	p.say(id, statement{"shadow-1", bundle.TypeShadow, said})
	for _, g := range p.plan(id, bundle.Canary).Gates {
		if g.Kind == policy.Replay && g.Reason != "reproduced by another principal" {
			t.Errorf("%s", g.Reason)
		}
	}
}

// TestAttacksOnCommitments: nobody gets an answer in that they did not have before the other side showed
// its own.
func TestAttacksOnCommitments(t *testing.T) {
	p := challenged(t, promotion.RulesNewest)
	id := p.submit(p.proven(candles), signature("packer"))
	other := p.submit(p.proven(candles, params(`{"fast":11}`)), signature("packer"))
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	packs, packShows := p.sides("packer", id, "n1", "decisions")
	p.wants(id, packs, "")

	// The copied commitment, by another key or for another revision.
	stolen := packs
	stolen.by = "replayer"
	p.wants(id, stolen, bundle.ReasonCopied)
	p.wants(other, packs, bundle.ReasonWindow)
	moved := packs.predicate.(bundle.Commitment)
	moved.Challenge = p.answer(other, "decisions").Challenge
	p.wants(other, statement{"packer", bundle.TypeCommitment, moved}, bundle.ReasonCopied)

	// Both keys of the packer are one side, and keys without a role none.
	commits, shows := p.sides("replayer", id, "n2", "made up")
	p.wants(id, packShows, bundle.ReasonOrder)
	p.wants(id, commits, "")
	if p.say(id, packShows); len(p.state(id).Challenge.Answers) != 1 {
		t.Fatalf("%+v", p.state(id).Challenge)
	}

	// Whoever has seen the other answer can neither change their own nor begin anew, by no way.
	_, changed := p.sides("replayer", id, "n2", "decisions")
	p.wants(id, changed, bundle.ReasonDiffer)
	late, _ := p.sides("replayer", id, "n3", "decisions")
	p.wants(id, late, bundle.ReasonShown)
	plain := p.answer(id, "decisions")
	if e := promotion.CheckBound(p.w, id, "replayer", plain, "/x"); e == nil || e.Reason != bundle.ReasonOrder {
		t.Errorf("%v", e)
	}
	p.say(id, p.answered("replayer", id, "decisions"))
	p.verdict(id, "unconfirmed", 1)
	p.reproduced(id, bundle.Canary, policy.Pending, "does not answer the challenge")
	p.wants(id, shows, "")
	p.verdict(id, "disputed", 2)
	p.reproduced(id, bundle.Canary, policy.Pending, "neither counts")

	// A nonce that was shown hides nothing; another revision's answer is to another window.
	again, againShows := p.sides("packer", other, "n1", "decisions")
	mine, _ := p.sides("replayer", other, "n4", "decisions")
	p.wants(other, again, "")
	p.wants(other, mine, "")
	p.wants(other, againShows, bundle.ReasonNonce)
	p.wants(other, packShows, bundle.ReasonWindow)
	p.wants(other, shows, bundle.ReasonWindow)
	p.sameAgain(id, other)
}

// TestACommitmentIsMadeAnew while nobody has shown an answer: whoever has lost their nonce begins again.
func TestACommitmentIsMadeAnew(t *testing.T) {
	p := challenged(t, promotion.RulesNewest)
	id := p.submit(p.proven(candles), signature("packer"))
	lost, lostShows := p.sides("replayer", id, "lost", "decisions")
	commits, shows := p.sides("replayer", id, "kept", "decisions")
	packs, _ := p.sides("packer", id, "n", "decisions")
	for _, s := range []statement{lost, packs, commits} {
		p.wants(id, s, "")
	}
	p.wants(id, lostShows, bundle.ReasonDiffer)
	p.wants(id, shows, "")
	p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "packer" {
			k.Status = bundle.KeyRevoked
		}
	})
	if c := p.state(id).Challenge; len(c.Commitments) != 1 || c.Verdict != "unconfirmed" {
		t.Errorf("%+v", c)
	}
}
