package promotion_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

func result(t *testing.T, p *plane, id string, stage bundle.Stage, gateID string) (policy.Verdict, string) {
	t.Helper()
	for _, g := range p.plan(id, stage).Gates {
		if g.GateID == gateID {
			return g.Verdict, g.Reason
		}
	}
	t.Fatalf("the plan for %s has no gate %s", stage, gateID)
	return "", ""
}

func TestWhatWasReadPasses(t *testing.T) {
	p := strict(t)
	id := p.live()
	p.stands(id, "live/active")
	for _, g := range p.plan(id, bundle.Live).Gates {
		if g.Verdict != policy.Pass {
			t.Errorf("%s: %s %s", g.GateID, g.Verdict, g.Reason)
		}
	}
}

// TestNothingPassesUnread: without the files no gate passes, whatever is declared and whoever
// has signed it; a waiver does not help.
func TestNothingPassesUnread(t *testing.T) {
	p := strict(t)
	p.reads = false
	id := p.submit(p.proven(), signature("packer"))
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	p.stands(id, "research/pending")
	for _, g := range p.plan(id, bundle.Paper).Gates {
		if g.Verdict != policy.Pending && g.GateID != "incidents.none" && g.GateID != "bundle.signed" {
			t.Errorf("%s: %s", g.GateID, g.Verdict)
		}
		if g.Kind == "metric" && g.Observed != nil {
			t.Errorf("%s shows the declared %v", g.GateID, g.Observed)
		}
	}
	for _, g := range []string{"falsification.survived", "stress.survived", "trades.enough", "drawdown.limit",
		"evidence.age", "evidence.out_of_sample", "limits.declared"} {
		p.say(id, waiver(bundle.Paper, g))
	}
	p.stands(id, "research/pending")
	if rungs := strings.Join(p.state(id).Rungs, " "); rungs != "hash_claimed signed" {
		t.Error(rungs)
	}
	// Once the files are there, the same core is taken.
	p.reads = true
	p.again(id, bundle.Paper)
	p.stands(id, "paper/active")
}

// TestUnsignedBundlesStayInResearch where somebody is trusted; in open mode nobody could sign.
func TestUnsignedBundlesStayInResearch(t *testing.T) {
	p := strict(t)
	id := p.submit(p.good())
	p.stands(id, "research/pending")
	if v, why := result(t, p, id, bundle.Paper, "bundle.signed"); v != policy.Pending || why != "not signed" {
		t.Error(v, why)
	}
	p.say(id, signature("packer"))
	p.stands(id, "paper/active")

	open := newPlane(t)
	open.adopt()
	id = open.submit(open.good())
	open.stands(id, "paper/active")
	open.trust(1, "2039-01-01T00:00:00Z", nil)
	open.stands(id, "paper/expired") // it was let in when nobody could stand for it
}

// TestHashesAloneReproduceNothing: a statement that repeats what stands in the bundle, as
// those of earlier versions do.
func TestHashesAloneReproduceNothing(t *testing.T) {
	p := strict(t)
	id := p.submit(p.proven(), signature("packer"))
	p.reads = false
	p.say(id, p.replay("replayer", id))
	v, why := result(t, p, id, bundle.Canary, "replay.independent")
	if v != policy.Pending || !strings.Contains(why, "repeats hashes") {
		t.Error(v, why)
	}
	if strings.Contains(strings.Join(p.state(id).Rungs, " "), "reproduced") {
		t.Error("reproduced")
	}
	p.reads = true
	p.say(id, p.replay("packer", id)) // whoever packed it
	if v, _ = result(t, p, id, bundle.Canary, "replay.independent"); v != policy.Pending {
		t.Error(v)
	}
	p.say(id, p.replay("replayer", id))
	if v, _ = result(t, p, id, bundle.Canary, "replay.independent"); v != policy.Pass {
		t.Error(v)
	}
}

// TestAReplayWithOtherNumbersFails although its hashes are those of the bundle.
func TestAReplayWithOtherNumbersFails(t *testing.T) {
	for name, edit := range map[string]func(*bundle.Replay){
		"a metric": func(r *bundle.Replay) {
			r.Runs[0].Inputs.Summary = map[string]float64{"max_drawdown": 0.11}
		},
		"a verdict": func(r *bundle.Replay) {
			r.Runs[1].Inputs.Falsification.Tests = []bundle.TestVerdict{{ID: "determinism", Class: "G",
				Verdict: "fail"}}
		},
		"the number of trials": func(r *bundle.Replay) { r.Runs[1].Inputs.Falsification.Trials = 1 },
	} {
		p := strict(t)
		id := p.submit(p.proven(), signature("packer"))
		s := p.replay("replayer", id)
		said := s.predicate.(bundle.Replay)
		edit(&said)
		s.predicate = said
		p.say(id, s)
		if v, _ := result(t, p, id, bundle.Canary, "assurance.signed"); v != policy.Pending {
			t.Errorf("%s: %s", name, v)
		}
	}
}

// TestTheFalsificationIsReplayedToo before a bundle is reproduced.
func TestTheFalsificationIsReplayedToo(t *testing.T) {
	p := strict(t)
	id := p.submit(p.proven(), signature("packer"))
	s := p.replay("replayer", id)
	said := s.predicate.(bundle.Replay)
	said.Runs = said.Runs[:1]
	s.predicate = said
	p.say(id, s)
	if v, _ := result(t, p, id, bundle.Canary, "replay.independent"); v != policy.Pass {
		t.Errorf("the gate asks for baselines alone: %s", v)
	}
	if strings.Contains(strings.Join(p.state(id).Rungs, " "), "reproduced") {
		t.Error("reproduced without its falsification")
	}
}

// TestADrillWithoutRecordCountsForNothing, as those of earlier versions; a failed one does.
func TestADrillWithoutRecordCountsForNothing(t *testing.T) {
	p := strict(t)
	id := p.submit(p.proven(), signature("packer"))
	d := drill("otto", "pass")
	said := d.predicate.(bundle.Drill)
	said.Metadata = ""
	d.predicate = said
	p.say(id, d)
	if v, why := result(t, p, id, bundle.Canary, "drill.kill_switch"); v != policy.Pending ||
		!strings.Contains(why, "record of its run") {
		t.Error(v, why)
	}
	said.Result = "fail"
	d.predicate = said
	p.say(id, d)
	if v, _ := result(t, p, id, bundle.Canary, "drill.kill_switch"); v != policy.Fail {
		t.Error(v)
	}
}

// TestALogOfEarlierRules is judged by them up to where the new ones were adopted; from there
// on what stands on declared numbers has expired, until its files are read.
func TestALogOfEarlierRules(t *testing.T) {
	p := trusted(t)
	id := p.live()
	p.stands(id, "live/active")
	p.adopt()
	p.stands(id, "live/expired")
	reg, refused := p.w.Registry("sma-cross", p.now)
	if refused != nil || !strings.Contains(reg.Entries[0].Reason, "has not read the files") &&
		!strings.Contains(reg.Entries[0].Reason, "not been read") {
		t.Errorf("%+v %v", reg, refused)
	}
	p.again(id, bundle.Live)
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	p.stands(id, "live/active")
}

// TestASuccessorIsReadFirst: what nobody has read takes no place.
func TestASuccessorIsReadFirst(t *testing.T) {
	p := strict(t)
	parent := p.canary()
	p.reads = false
	successor := p.submit(p.proven(child(parent, bundle.ChangeNonMaterial), version("1.0.1")),
		signature("packer"))
	p.stands(successor, "research/pending")
	p.stands(parent, "canary/eligible")
}

// TestAFalsificationOfAnotherRunSaysNothing of the baseline.
func TestAFalsificationOfAnotherRunSaysNothing(t *testing.T) {
	p := strict(t)
	id := p.submit(p.good(func(b *bundle.Bundle) { b.Runs[0].RunID = "other" }), signature("packer"))
	if v, why := result(t, p, id, bundle.Paper, "falsification.survived"); v != policy.Pending ||
		!strings.Contains(why, "attacks a baseline") {
		t.Error(v, why)
	}
	p.stands(id, "research/pending")
}

// TestTrialsAreCountedByFiles: a number that no file has is no disclosure.
func TestTrialsAreCountedByFiles(t *testing.T) {
	p := strict(t)
	id := p.submit(p.good(func(b *bundle.Bundle) { b.Runs = b.Runs[:1] }), signature("packer"))
	if v, _ := result(t, p, id, bundle.Paper, "trials.disclosed"); v != policy.Pending {
		t.Error(v)
	}
}
