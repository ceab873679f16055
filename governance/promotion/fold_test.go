package promotion_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// TestStoppedInTheSamePost: what comes with the first submission counts before the machine
// gives the revision its place.
func TestStoppedInTheSamePost(t *testing.T) {
	for _, c := range []struct {
		name  string
		said  statement
		where string
	}{
		{"suspended", suspension("", true), "research/suspended"},
		{"critical", incident("otto", "i", "open", "critical"), "research/suspended"},
		{"rejected", rejection(), "research/rejected"},
		{"retired", retirement(), "retired/retired"},
		{"lowered", suspension(bundle.Research, false), "paper/active"}, // it is nowhere to be lowered from
	} {
		p := trusted(t)
		id := p.submit(p.good(), c.said)
		if p.at(id) != c.where {
			t.Errorf("%s: %s, want %s", c.name, p.at(id), c.where)
		}
	}
	p := trusted(t)
	parent := p.canary()
	id := p.submit(p.proven(version("2"), child(parent, "non_material")), signature("packer"),
		suspension("", false))
	p.stands(id, "canary/suspended")
	p.stands(parent, "canary/superseded")
	p.say(id, p.resume("rita", "risk", id), p.resume("anna", "approver", id))
	p.stands(id, "canary/eligible")
}

func TestHistoriesThatCannotBe(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good())
	unknown := "cr-" + strings.Repeat("0", 64)
	say := func(revision, from, to string, cause promotion.Cause) promotion.Entry {
		d := &promotion.StageDecision{To: to, Cause: cause, PolicyDigest: p.w.Policy().Digest,
			EvaluatedAt: p.stamp()}
		if from != "" {
			d.From = &from
		}
		return promotion.Entry{Seq: p.seq, Type: bundle.TypeStageDecision,
			Subject: []bundle.Subject{promotion.RevisionSubject(revision)}, Predicate: d}
	}
	related := say(id, "paper/active", "canary/active", promotion.CauseInherited)
	related.Predicate.(*promotion.StageDecision).RelatedRevisionID = unknown
	for name, e := range map[string]promotion.Entry{
		"from elsewhere":       say(id, "research/pending", "canary/active", promotion.CausePromoted),
		"a second first place": say(id, "", "live/active", promotion.CauseFirst),
		"of what is not there": say(unknown, "research/pending", "paper/active", promotion.CausePromoted),
		"from nobody":          related,
		"a policy that is broken": {Seq: p.seq, Type: bundle.TypePolicy,
			Predicate: &promotion.LoadedText{Text: `{}`, RecordedAt: p.stamp()}},
		"a trust that is broken": {Seq: p.seq, Type: bundle.TypeTrust,
			Predicate: &promotion.LoadedText{Text: `{}`, RecordedAt: p.stamp()}},
	} {
		w := promotion.New()
		if err := w.Apply(p.facts...); err != nil {
			t.Fatal(err)
		}
		facts, err := promotion.FactsOf(&e)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Apply(facts...); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := promotion.New().Apply(promotion.Fact{Type: promotion.RunLinked, Revision: id,
		Fields: &struct{}{}}); err == nil {
		t.Error("a fact about nothing")
	}
}

func TestWhatTheIngestAsks(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good(), signature("packer"))
	if got := p.w.Excluded(id); !slices.Equal(got,
		[]string{"owner@example.com", "packer", "requester@example.com"}) {
		t.Error(got)
	}
	if got := p.w.Holds(id); !slices.Equal(got, []string{"hash_claimed", "signed"}) {
		t.Error(got)
	}
	if p.w.Ended(id) || p.w.Trust() == nil {
		t.Error("ended, or open mode")
	}
	p.say(id, rejection())
	if !p.w.Ended(id) {
		t.Error("not ended")
	}
	none := "cr-" + strings.Repeat("0", 64)
	if p.w.Excluded(none) != nil || p.w.Holds(none) != nil || p.w.Ended(none) {
		t.Error("knows what is not there")
	}
	if _, due := p.w.NextFor(none, p.now); due {
		t.Error("decides about what is not there")
	}
}

// TestIncidentsWithinOneSecond: of two statements of one moment the later entry counts.
func TestIncidentsWithinOneSecond(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good())
	p.say(id, incident("otto", "i", "open", "warning"))
	p.stands(id, "research/pending")
	p.say(id, incident("otto", "i", "close", ""))
	p.stands(id, "paper/active")
	p.say(id, incident("otto", "i", "open", "warning"))
	if s := p.state(id); len(s.OpenIncidents) != 1 || s.OpenIncidents[0].Severity != "warning" ||
		s.OpenIncidents[0].By != "otto" {
		t.Errorf("%+v", s.OpenIncidents)
	}
}

// TestAnIncidentStopsAllThatRunTheSame, however their revisions are called.
func TestAnIncidentStopsAllThatRunTheSame(t *testing.T) {
	p := trusted(t)
	old := p.canary()
	id := p.submit(p.proven(version("2"), child(old, "non_material")), signature("packer"))
	p.stands(old, "canary/superseded")
	other := p.submit(p.good(params(`{"fast":99}`),
		func(b *bundle.Bundle) { b.Candidate.CandidateID = "other.one" }))
	p.say(old, incident("host-1", "kill", "open", "critical"))
	p.stands(id, "canary/suspended")
	p.stands(old, "canary/suspended")
	p.stands(other, "paper/active")
}

func TestAStopThatKillsGoesOnKilling(t *testing.T) {
	p := trusted(t)
	id := p.canary()
	p.say(id, suspension("", true))
	p.say(id, suspension("", false))
	reg, _ := p.w.Registry("sma-cross", p.now)
	if !reg.Entries[0].Kill {
		t.Error("a milder stop has lifted the kill")
	}
	p.say(id, incident("otto", "i", "open", "critical"))
	p.say(id, incident("otto", "i", "close", ""))
	if reg, _ = p.w.Registry("sma-cross", p.now); !reg.Entries[0].Kill {
		t.Error("closing the incident has lifted the kill")
	}
	p.say(id, p.resume("rita", "risk", id), p.resume("anna", "approver", id))
	if reg, _ = p.w.Registry("sma-cross", p.now); reg.Entries[0].Kill || reg.Entries[0].Status != "active" {
		t.Errorf("%+v", reg.Entries[0])
	}
}

// careful is the default policy with another paper stage.
func careful(t *testing.T, paper string) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(policy.First().Text, &doc); err != nil {
		t.Fatal(err)
	}
	var stage any
	if err := json.Unmarshal([]byte(paper), &stage); err != nil {
		t.Fatal(err)
	}
	doc["version"], doc["stages"].(map[string]any)["paper"] = 2, stage
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p.Text
}

func TestAPolicyThatAsksPeopleForPaper(t *testing.T) {
	p := trusted(t)
	p.text(bundle.TypePolicy, 2,
		careful(t, `{"approvals":[{"role":"any","count":1}],"gates":[{"id":"i","kind":"integrity"}]}`))
	id := p.submit(p.good())
	p.stands(id, "research/eligible")
	p.say(id, p.approve("owner@example.com", "risk", id, bundle.Paper))
	p.stands(id, "research/eligible")
	p.say(id, p.approve("anna", "approver", id, bundle.Paper))
	p.stands(id, "paper/active")
}

func TestWithoutAutoNothingGoesByItself(t *testing.T) {
	p := trusted(t)
	p.text(bundle.TypePolicy, 2, careful(t, `{"gates":[{"id":"i","kind":"integrity"}]}`))
	id := p.submit(p.good())
	p.stands(id, "research/eligible")
	p.say(id, p.approve("anna", "approver", id, bundle.Paper))
	p.stands(id, "paper/active")
}

func TestGatesThatReadTheBundle(t *testing.T) {
	p := trusted(t)
	p.text(bundle.TypePolicy, 2, careful(t, `{"auto":true,"gates":[
		{"id":"a","kind":"evidence_present","pointer":"/extensions/n_eff","min":10},
		{"id":"b","kind":"evidence_present","pointer":"/known_limitations"},
		{"id":"c","kind":"metric","roles":["baseline"],"metric":"total_trades","op":">=","value_from":"/extensions/n_eff"},
		{"id":"d","kind":"integrity","verified":true}]}`))
	id := p.submit(p.good(func(b *bundle.Bundle) {
		b.Extensions, b.KnownLimitations = json.RawMessage(`{"n_eff":42.5}`), []string{"spot only"}
	}))
	plan := p.plan(id, bundle.Paper)
	if plan.Verdict != "pending" || plan.Gates[0].Observed != 42.5 || plan.Gates[2].Threshold != 42.5 ||
		plan.Gates[1].Verdict != "pass" || plan.Gates[3].Verdict != "pending" {
		t.Errorf("%+v", plan.Gates)
	}
	// A later submission, whose artifacts were read.
	b := p.files[id].Bundle
	b.SealRequest.ExpiresAt = p.now.Add(20 * day).Format(time.RFC3339)
	doc, err := bundle.Seal(b)
	if err != nil {
		t.Fatal(err)
	}
	p.append(&promotion.Entry{
		Type: bundle.TypeSeal, Subject: []bundle.Subject{bundle.FileSubject(bundle.FileName, doc.FileSHA256)},
		Document: doc,
		Predicate: &promotion.Seal{
			CandidateRevisionID: id, FamilyID: "sma-cross", RequestedStage: bundle.Paper,
			ReceivedAt: p.stamp(), Rungs: []string{"hash_claimed", "hash_verified"},
			PolicyDigest: p.w.Policy().Digest, SealRequest: doc.Bundle.SealRequest, Part: 1, Parts: 1,
		},
	})
	p.settle()
	if s := p.state(id); s.Assurance != "hash_verified" || s.Stage != bundle.Paper {
		t.Errorf("%s, %s", s.Assurance, p.at(id))
	}
}

// TestTwoMustAgree: with approvals of people drawn at random, a revision is in canary if
// and only if two of them fit, each to a requirement of its own.
func TestTwoMustAgree(t *testing.T) {
	names := []string{"rita", "ruth", "anna", "owner@example.com", "otto", "packer"}
	rapid.Check(t, func(rt *rapid.T) {
		p := trusted(rt)
		id := p.submit(p.proven(target(bundle.Canary)), signature("packer"))
		p.say(id, p.replay("replayer", id), drill("otto", "pass"))
		risk, any := map[string]bool{}, map[string]bool{}
		for range rapid.IntRange(0, 5).Draw(rt, "approvals") {
			who := rapid.SampledFrom(names).Draw(rt, "who")
			role := rapid.SampledFrom([]string{"risk", "approver"}).Draw(rt, "role")
			if who != "owner@example.com" && slices.Contains(people[who], role) {
				any[who] = true
				risk[who] = risk[who] || role == "risk"
			}
			p.say(id, p.approve(who, role, id, bundle.Canary))
			agreed := len(any) >= 2 && slices.ContainsFunc(names, func(n string) bool { return risk[n] })
			if (p.state(id).Stage == bundle.Canary) != agreed {
				rt.Fatalf("stands at %s with %v, of risk %v", p.at(id), any, risk)
			}
			if agreed {
				return
			}
		}
	})
}

// TestNoStageIsSkipped follows random histories step by step.
func TestNoStageIsSkipped(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := trusted(rt)
		history(rt, p, rapid.IntRange(1, 15).Draw(rt, "length"))
		for _, f := range p.facts {
			d, ok := f.Fields.(*promotion.StageDecision)
			if !ok || f.Type == promotion.StageLeft || d.From == nil {
				continue
			}
			from, errFrom := promotion.ParsePlace(*d.From)
			to, errTo := promotion.ParsePlace(d.To)
			if errFrom != nil || errTo != nil {
				rt.Fatalf("%v, %v", errFrom, errTo)
			}
			switch up := bundle.Rank(to.Stage) - bundle.Rank(from.Stage); {
			case d.Cause == promotion.CausePromoted &&
				(up != 1 || d.PlanDigest == nil || from.Status != promotion.Pending &&
					from.Status != promotion.Active):
				rt.Fatalf("%s is promoted from %s to %s", f.Revision, from, to)
			case d.Cause != promotion.CausePromoted && up > 0:
				rt.Fatalf("%s rises from %s to %s by %s", f.Revision, from, to, d.Cause)
			case from.Status.Terminal():
				rt.Fatalf("%s comes back from %s", f.Revision, from)
			}
		}
	})
}
