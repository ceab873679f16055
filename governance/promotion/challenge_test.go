package promotion_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

// challenged is a plane whose log knows its leaves, by some rules.
func challenged(t tb, rules int64) *plane {
	p := trusted(t)
	p.leaves = true
	p.adoptRules(rules)
	return p
}

func candles(b *bundle.Bundle) {
	b.Data = []bundle.Dataset{{DatasetID: "x", SHA256: digest.SHA256Hex([]byte("candles")), Rows: 8760,
		Start: "2023-01-01T00:00:00.000Z", End: "2024-01-01T00:00:00.000Z"}}
}

// answer returns an answer to the challenge of a revision, with decisions that are made up.
func (p *plane) answer(id, decisions string) *bundle.ChallengeAnswer {
	p.t.Helper()
	c, err := bundle.ChallengeOf(p.state(id).Challenge.Leaf, &p.files[id].Bundle)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return &bundle.ChallengeAnswer{Challenge: *c, DecisionSHA256: digest.SHA256Hex([]byte(decisions))}
}

func (p *plane) answered(by, id, decisions string) statement {
	s := p.replay(by, id)
	r := s.predicate.(bundle.Replay)
	r.Challenge = p.answer(id, decisions)
	s.predicate = r
	return s
}

// reproduced holds the gates of a stage that a replay passes against a verdict.
func (p *plane) reproduced(id string, s bundle.Stage, want policy.Verdict, words ...string) {
	p.t.Helper()
	seen := 0
	for _, g := range p.plan(id, s).Gates {
		if g.Kind != policy.Replay && g.GateID != "assurance.signed" {
			continue
		}
		if seen++; g.Verdict != want {
			p.t.Fatalf("%s %s: %s, %q; want %s", s, g.GateID, g.Verdict, g.Reason, want)
		}
		for _, w := range words {
			if g.Kind == policy.Replay && !strings.Contains(g.Reason, w) {
				p.t.Fatalf("%s: %q has no %q", s, g.Reason, w)
			}
		}
	}
	if seen != 2 {
		p.t.Fatalf("%d gates of %s look at replays", seen, s)
	}
}

func (p *plane) verdict(id, want string, answers int) {
	p.t.Helper()
	c := p.state(id).Challenge
	if c.Verdict != want || len(c.Answers) != answers {
		p.t.Fatalf("%+v; want %s of %d", c, want, answers)
	}
}

// TestHashesAloneReachNoMoney: a replay that repeats the hashes and numbers of the bundle and has
// no answer passes nothing for real money, however often it is said.
func TestHashesAloneReachNoMoney(t *testing.T) {
	p := challenged(t, promotion.RulesChallenge)
	id := p.submit(p.proven(candles), signature("packer"))
	p.say(id, p.replay("replayer", id), p.replay("replayer", id), drill("otto", "pass"))
	p.stands(id, "paper/active")
	p.reproduced(id, bundle.Canary, policy.Pending, "replayer does not answer the challenge", "--submit")
	p.reproduced(id, bundle.Live, policy.Pending)
	p.verdict(id, "open", 0)
	if p.work(id).ChallengeOpen {
		t.Error("a shadow answers before any replay: it could be copied")
	}

	p.say(id, p.answered("replayer", id, "decisions"))
	p.reproduced(id, bundle.Canary, policy.Pass)
	p.stands(id, "paper/eligible")
	p.verdict(id, "unconfirmed", 1)
	// A statement without an answer takes nothing back.
	p.idle(day)
	p.say(id, p.replay("replayer", id))
	p.reproduced(id, bundle.Live, policy.Pass)
}

// TestAnswersThatDiffer: neither of two keys counts, both are named, and one that is no longer
// trusted no longer stands in the way. Who has seen the other answer cannot give it afterwards.
func TestAnswersThatDiffer(t *testing.T) {
	p := challenged(t, promotion.RulesChallenge)
	id := p.submit(p.proven(candles), signature("packer"))
	p.say(id, p.answered("replayer", id, "made up"), drill("otto", "pass"))
	p.stands(id, "paper/eligible")
	if !p.work(id).ChallengeOpen {
		t.Fatal("the worker of shadows is not asked")
	}
	said := bundle.Shadow{Source: bundle.SourceImport, Exchange: "x", Symbols: []string{"BTC/USDT"},
		Timeframe: "1h", Sandbox: "full", Challenge: p.answer(id, "decisions")}
	p.say(id, statement{"shadow-1", bundle.TypeShadow, said})
	if p.work(id).ChallengeOpen {
		t.Error("the worker of shadows is asked twice")
	}
	both := []string{"by replayer (key " + keys["replayer"].KeyID[:16], "by shadow-1 (key " +
		keys["shadow-1"].KeyID[:16], "neither counts"}
	p.reproduced(id, bundle.Canary, policy.Pending, both...)
	p.stands(id, "paper/active")
	p.verdict(id, "disputed", 2)

	p.idle(day)
	p.say(id, p.answered("replayer", id, "decisions")) // too late: its first answer counts
	p.verdict(id, "disputed", 2)
	p.reproduced(id, bundle.Live, policy.Pending, both...)
	p.say(id, p.answered("packer", id, "decisions"))
	p.verdict(id, "disputed", 3)

	p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "shadow-1" || name == "packer" {
			k.Status = bundle.KeyRevoked
		}
	})
	p.verdict(id, "unconfirmed", 1)
	p.trust(3, "2039-01-01T00:00:00Z", nil)
	p.verdict(id, "disputed", 3)
	p.trust(4, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "replayer" {
			k.Status = bundle.KeyRevoked
		}
	})
	p.verdict(id, "agreed", 2)
}

// TestOlderReplaysKeepTheirEffect: what was recorded before the rule counts as it did, on what was
// promoted too; what comes after it needs an answer, also about an older revision.
func TestOlderReplaysKeepTheirEffect(t *testing.T) {
	p := challenged(t, promotion.RulesProspective)
	id := p.live(candles)
	p.stands(id, "live/active")
	other := p.submit(p.proven(candles, params(`{"fast":11}`)), signature("packer"), drill("otto", "pass"))
	p.adoptRules(promotion.RulesChallenge)
	p.stands(id, "live/active")
	p.reproduced(id, bundle.Live, policy.Pass)
	p.say(other, p.replay("replayer", other))
	p.reproduced(other, bundle.Canary, policy.Pending, "does not answer")
	p.say(other, p.answered("replayer", other, "decisions"))
	p.reproduced(other, bundle.Canary, policy.Pass)

	// The same log comes to the same, whoever folds it.
	w := promotion.New()
	if err := w.Apply(p.facts...); err != nil {
		t.Fatal(err)
	}
	again, refused := w.State(bundle.SubjectRevision, other, p.now)
	if refused != nil || !reflect.DeepEqual(again, p.state(other)) {
		t.Errorf("%+v, %v", again, refused)
	}
}

// TestWindowsOfTheLog: an answer to another window is refused with both values, and is none where a
// log has it all the same.
func TestWindowsOfTheLog(t *testing.T) {
	p := challenged(t, promotion.RulesChallenge)
	id := p.submit(p.proven(candles), signature("packer"))
	good := p.answer(id, "decisions")
	if e := promotion.CheckChallenge(p.w, id, good, "/x"); e != nil {
		t.Fatal(e)
	}
	if e := promotion.CheckChallenge(p.w, id, nil, "/x"); e != nil {
		t.Fatal(e)
	}
	for pointer, edit := range map[string]func(*bundle.ChallengeAnswer){
		"/seal_leaf_sha256": func(a *bundle.ChallengeAnswer) { a.Leaf = digest.SHA256Hex(nil) },
		"/start":            func(a *bundle.ChallengeAnswer) { a.Start = "2023-01-01T00:00:00.000Z" },
		"/candles":          func(a *bundle.ChallengeAnswer) { a.Candles = 1 },
	} {
		bad := *good
		edit(&bad)
		e := promotion.CheckChallenge(p.w, id, &bad, "/x")
		if e == nil || e.Code != bundle.InvalidChallenge || e.Reason != bundle.ReasonWindow || e.Pointer != "/x" ||
			!strings.Contains(e.Message, "/predicate/challenge"+pointer) || e.Declared == e.Computed {
			t.Errorf("%s: %+v", pointer, e)
		}
		s := p.replay("replayer", id)
		r := s.predicate.(bundle.Replay)
		r.Challenge = &bad
		s.predicate = r
		p.say(id, s)
	}
	p.verdict(id, "open", 0)
	unknown := bundle.RevisionPrefix + digest.SHA256Hex(nil)
	if e := promotion.CheckChallenge(p.w, unknown, good, "/x"); e == nil || e.Reason != bundle.ReasonUnknown {
		t.Errorf("%+v", e)
	}
	bare := p.submit(p.proven(params(`{"fast":12}`)), signature("packer"))
	e := promotion.CheckChallenge(p.w, bare, good, "/x")
	if c := p.state(bare).Challenge; e == nil || !strings.Contains(e.Message, "/data") || c.Start != nil ||
		!strings.Contains(c.Reason, "/data") {
		t.Errorf("%+v, %+v", e, c)
	}
}

// few is so few candles that earlier versions drew the whole range, in which the stored decisions
// of the baseline are the answer.
func few(b *bundle.Bundle) {
	b.Data = []bundle.Dataset{{DatasetID: "x", SHA256: digest.SHA256Hex([]byte("candles")), Rows: 1416,
		Start: "2023-01-01T00:00:00.000Z", End: "2023-03-01T00:00:00.000Z"}}
}

// TestWindowsOfFewCandles: whoever copies the decisions of the baseline's files has no answer, since
// the window is half of the candles. Answers that a log has to the whole range count as they did, are
// shown with their version, and are compared with their like only.
func TestWindowsOfFewCandles(t *testing.T) {
	p := challenged(t, promotion.RulesChallenge)
	id := p.submit(p.proven(few), signature("packer"), drill("otto", "pass"))
	whole, err := bundle.EarlierChallengeOf(p.state(id).Challenge.Leaf, &p.files[id].Bundle)
	if err != nil || whole.Candles != 1416 || p.state(id).Challenge.Candles != 708 {
		t.Fatalf("%+v, %v", whole, err)
	}
	copied := &bundle.ChallengeAnswer{Challenge: *whole, DecisionSHA256: digest.SHA256Hex([]byte("stored"))}
	if e := promotion.CheckChallenge(p.w, id, copied, "/x"); e == nil || e.Code != bundle.InvalidChallenge ||
		!strings.Contains(e.Message, "/schema") {
		t.Errorf("the decisions of the baseline's files are an answer: %+v", e)
	}

	old := p.replay("replayer", id)
	r := old.predicate.(bundle.Replay)
	r.Challenge = copied
	old.predicate = r
	p.say(id, old) // as a log of an earlier version has it
	p.reproduced(id, bundle.Canary, policy.Pass)
	p.verdict(id, "unconfirmed", 1)
	if a := p.state(id).Challenge.Answers[0]; a.Schema != bundle.SchemaChallenge {
		t.Errorf("%+v", a)
	}
	if p.work(id).ChallengeOpen {
		t.Error("a shadow answers a window that no replay has answered")
	}
	p.say(id, p.answered("packer", id, "decisions"))
	p.reproduced(id, bundle.Canary, policy.Pass)
	p.verdict(id, "unconfirmed", 2)
	if a := p.state(id).Challenge.Answers[1]; a.Schema != "" || !p.work(id).ChallengeOpen {
		t.Errorf("%+v", a)
	}
	p.idle(day)
	p.say(id, p.answered("replayer", id, "others"))
	p.verdict(id, "disputed", 3)
}
