package promotion_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// outcome is what must not depend on the order in which statements arrived.
func (p *plane) outcome(id string) string {
	s := p.state(id)
	plans := ""
	for _, stage := range []bundle.Stage{bundle.Paper, bundle.Canary, bundle.Live} {
		plan := p.plan(id, stage)
		plans += fmt.Sprintf(" %s %s %s missing %d", stage, plan.Verdict, plan.PlanDigest,
			plan.Approvals.Missing)
	}
	open := []string{}
	for _, i := range s.OpenIncidents {
		open = append(open, i.IncidentID+i.Severity)
	}
	slices.Sort(open)
	return fmt.Sprint(s.Stage, s.StageStatus, s.Rungs, s.DeployableModes, s.EvidenceValidUntil != nil, open,
		plans)
}

// ordered says the same statements in the order that rapid draws, and in the order given.
func ordered(rt *rapid.T, prepare func(p *plane) (string, []statement)) {
	a := trusted(rt)
	id, list := prepare(a)
	a.say(id, list...)
	want := a.outcome(id)

	b := trusted(rt)
	id, list = prepare(b)
	for _, s := range rapid.Permutation(list).Draw(rt, "order") {
		b.say(id, s)
	}
	if got := b.outcome(id); got != want {
		rt.Fatalf("in another order:\n %s\n %s", got, want)
	}
}

// TestOrderOfApprovalsReplaysAndDrills: which approvals count, is decided by the plan that
// they name; so they name the one that all evidence together comes to.
func TestOrderOfApprovalsReplaysAndDrills(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	rapid.Check(t, func(rt *rapid.T) {
		lucky := rapid.Bool().Draw(rt, "all replays equal")
		stage := rapid.SampledFrom([]bundle.Stage{bundle.Canary, bundle.Live}).Draw(rt, "approved for")
		ordered(rt, func(p *plane) (string, []statement) {
			id := p.submit(p.proven(), signature("packer"))
			evidence := []statement{p.replay("replayer", id), p.replay("otto", id), p.replay("packer", id),
				signature("packer")}
			if !lucky {
				r := p.replay("packer", id).predicate.(bundle.Replay)
				r.Runs[0].ReportSHA256 = r.Runs[1].ReportSHA256
				evidence = append(evidence, statement{"packer", bundle.TypeReplay, r})
			}
			for i, result := range []string{"pass", "fail", "pass"} {
				d := drill("otto", result).predicate.(bundle.Drill)
				d.DoneAt = p.now.Add(-time.Duration(10-i) * time.Hour).Format(time.RFC3339)
				evidence = append(evidence, statement{"otto", bundle.TypeDrill, d})
			}
			q := trusted(rt)
			q.say(q.submit(q.proven(), signature("packer")), evidence...)
			approvals := []statement{q.approve("rita", "risk", id, stage),
				q.approve("anna", "approver", id, stage), q.approve("ruth", "approver", id, stage)}
			return id, append(evidence, approvals...)
		})
	})
}

// TestOrderOfIncidents: whether an incident is open goes by the clocks of who opened and
// closed it.
func TestOrderOfIncidents(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	rapid.Check(t, func(rt *rapid.T) {
		severity := rapid.SampledFrom([]string{"warning", "critical"}).Draw(rt, "severity")
		n := rapid.IntRange(1, 6).Draw(rt, "statements")
		var list []statement
		first := start.Add(-day)
		for i := range n {
			event := rapid.SampledFrom([]string{"open", "close"}).Draw(rt, "event")
			said := bundle.Incident{IncidentID: rapid.SampledFrom([]string{"i-1", "i-2"}).Draw(rt, "id"),
				Event: event, Severity: severity}
			said.MadeAt, said.ExpiresAt = first.Add(time.Duration(i)*time.Hour).Format(time.RFC3339),
				start.Add(day).Format(time.RFC3339)
			list = append(list, statement{"otto", bundle.TypeIncident, said})
		}
		ordered(rt, func(p *plane) (string, []statement) {
			id := p.submit(p.proven(), signature("packer"))
			said := slices.Clone(list)
			for i := range said {
				in := said[i].predicate.(bundle.Incident)
				in.CandidateRevisionID = id
				said[i].predicate = in
			}
			return id, said
		})
	})
}

// history says n things at random about revisions of a candidate or two.
func history(rt *rapid.T, p *plane, n int) {
	var ids []string
	one := func() string { return rapid.SampledFrom(ids).Draw(rt, "revision") }
	stages := []bundle.Stage{bundle.Research, bundle.Paper, bundle.Canary, bundle.Live}
	for i := range n {
		p.idle(time.Duration(rapid.IntRange(0, 40*24).Draw(rt, "hours")) * time.Hour / 8)
		if len(ids) == 0 || rapid.IntRange(0, 5).Draw(rt, "new") == 0 {
			edits := []func(*bundle.Bundle){version(fmt.Sprint(i)),
				target(rapid.SampledFrom(stages).Draw(rt, "target"))}
			if len(ids) > 0 && rapid.Bool().Draw(rt, "has a parent") {
				edits = append(edits, child(one(), "non_material"))
			}
			if rapid.Bool().Draw(rt, "other parameters") {
				edits = append(edits, params(`{"fast":11}`))
			}
			ids = append(ids, p.submit(p.proven(edits...), signature("packer")))
			continue
		}
		id := one()
		switch rapid.IntRange(0, 11).Draw(rt, "what") {
		case 0, 1:
			p.say(id, p.replay("replayer", id),
				drill("otto", rapid.SampledFrom([]string{"pass", "pass", "fail"}).Draw(rt, "result")))
		case 2, 3, 4:
			s := rapid.SampledFrom(stages[1:]).Draw(rt, "stage")
			p.say(id, p.approve("rita", "risk", id, s), p.approve("anna", "approver", id, s))
		case 5:
			p.say(id, suspension(
				rapid.SampledFrom([]bundle.Stage{"", bundle.Research, bundle.Paper, bundle.Canary}).Draw(rt,
					"to"), false))
		case 6:
			event := rapid.SampledFrom([]string{"open", "close", "close"}).Draw(rt, "event")
			p.say(id, incident("otto", "i-1", event,
				rapid.SampledFrom([]string{"warning", "critical"}).Draw(rt, "severity")))
		case 7, 8:
			if p.state(id).SuspensionID != nil {
				p.say(id, p.resume("rita", "risk", id), p.resume("anna", "approver", id))
			}
		case 9:
			p.again(id, rapid.SampledFrom(stages).Draw(rt, "target"))
		case 10:
			p.say(id, waiver(bundle.Canary, "drill.kill_switch"))
		case 11:
			if rapid.IntRange(0, 2).Draw(rt, "final") == 0 {
				p.say(id, rapid.SampledFrom([]statement{rejection(), retirement()}).Draw(rt, "end"))
			}
		}
	}
}

// TestIncrementalEqualsFromScratch folds 1,000 random histories again, from facts that were
// written down: all answers are the same to the byte. On the way no candidate has two
// revisions active in a stage, and nobody is in canary or live without two people.
func TestIncrementalEqualsFromScratch(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	n := ring.Size(100, 1000, 1000)
	done := 0
	for done < n {
		rapid.Check(t, func(rt *rapid.T) {
			done++
			p := trusted(rt)
			history(rt, p, rapid.IntRange(1, 12).Draw(rt, "length"))
			again := promotion.New()
			for _, f := range p.facts {
				text, err := f.Encode()
				if err != nil {
					rt.Fatalf("%v", err)
				}
				read, err := promotion.Decode(text)
				if err != nil {
					rt.Fatalf("%v", err)
				}
				if err := again.Apply(read); err != nil {
					rt.Fatalf("%v", err)
				}
			}
			if a, b := answers(rt, p.w, p.now), answers(rt, again, p.now); a != b {
				rt.Fatalf("from scratch:\n%s\n%s", a, b)
			}
			rejudged(rt, p)
		})
	}
}

func answers(rt *rapid.T, w *promotion.World, now time.Time) string {
	var all []any
	family, refused := w.State(bundle.SubjectFamily, "sma-cross", now)
	if refused != nil {
		rt.Fatalf("%v", refused)
	}
	all = append(all, family)
	active := map[string]string{}
	for _, r := range family.Revisions {
		s, _ := w.State(bundle.SubjectRevision, r.CandidateRevisionID, now)
		x, _ := w.Experiments(bundle.SubjectRevision, r.CandidateRevisionID, "", now)
		all = append(all, s, x)
	}
	for _, c := range family.Champions {
		place := c.CandidateID + string(c.Stage)
		if other, ok := active[place]; ok {
			rt.Fatalf("%s and %s are both active at %s", other, c.CandidateRevisionID, place)
		}
		active[place] = c.CandidateRevisionID
	}
	reg, _ := w.Registry("sma-cross", now)
	for _, e := range reg.Entries {
		if e.Status == deploy.StatusActive && slices.Contains(e.Modes, "live") && len(e.ApprovedBy) < 2 {
			rt.Fatalf("%s may trade, approved by %v", e.CandidateRevisionID, e.ApprovedBy)
		}
	}
	all = append(all, reg)
	text, err := json.Marshal(all)
	if err != nil {
		rt.Fatalf("%v", err)
	}
	return string(text)
}

// rejudged takes each decision of a log for a question: with the facts before it, the
// machine must come to it again.
func rejudged(rt *rapid.T, p *plane) {
	w := promotion.New()
	for i := 0; i < len(p.facts); {
		k := i
		for k < len(p.facts) && p.facts[k].Seq == p.facts[i].Seq {
			k++
		}
		if d, ok := p.facts[i].Fields.(*promotion.StageDecision); ok {
			got, due := w.NextFor(p.facts[i].Revision, p.facts[i].At)
			a, _ := json.Marshal(got.StageDecision)
			b, _ := json.Marshal(d)
			if !due || string(a) != string(b) {
				rt.Fatalf("at %d: the log has %s, the machine says %s", p.facts[i].Seq, b, a)
			}
		}
		if err := w.Apply(p.facts[i:k]...); err != nil {
			rt.Fatalf("%v", err)
		}
		i = k
	}
}

// TestIdleDaysPromoteNothing lets 400 days pass: asked each day, the machine never says
// anything, and the revision ends where evidence has run out.
func TestIdleDaysPromoteNothing(t *testing.T) {
	for _, place := range places {
		p := trusted(t)
		// A run dated ahead: time makes its gate pass, and nothing comes of it.
		ahead := p.submit(p.good(func(b *bundle.Bundle) {
			b.Candidate.CandidateID, b.Strategy.Params = "sma-cross.ahead", json.RawMessage(`{"fast":7}`)
			b.Runs[0].CompletedAt = p.now.Add(10 * day).Format(time.RFC3339)
		}))
		id := place.come(p)
		p.stands(ahead, "research/pending")
		before := p.seq
		for range 400 {
			p.idle(day)
			p.settle()
		}
		if p.seq != before {
			t.Errorf("%s: %d decisions of themselves", place.name, p.seq-before)
		}
		if s := p.state(id); s.StageStatus == promotion.Active || len(s.DeployableModes) > 0 {
			t.Errorf("%s: still %s, may run as %v", place.name, s.StageStatus, s.DeployableModes)
		}
	}
}

func TestDecideIsWhatNextComesTo(t *testing.T) {
	p := trusted(t)
	p.quiet = true
	id := p.submit(p.good())
	all, err := promotion.Decide(p.facts, p.now, p.seq)
	if err != nil || len(all) != 2 || all[0].Cause != promotion.CauseFirst || all[1].To != "paper/active" ||
		all[1].Revision != id {
		t.Fatalf("%+v, %v", all, err)
	}
	p.quiet = false
	p.settle()
	p.stands(id, "paper/active")
	if all, err := promotion.Decide(p.facts, p.now, p.seq); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := p.w.Apply(p.facts[0]); err == nil {
		t.Error("facts in the wrong order")
	}
}
