package promotion_test

import (
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
)

func lists(p *plane, run, split, content string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		b.Artifacts = append(b.Artifacts, bundle.Artifact{
			Name:   "runs/" + run + "/splits/" + split + "/trades.csv",
			SHA256: digest.SHA256Hex([]byte(content)), Size: 1, RunID: run,
		})
	}
}

func limits(edit func(*bundle.Limits)) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { edit(&b.Limits) }
}

func TestChangeClasses(t *testing.T) {
	collar := 100.0
	unknown := "cr-" + digest.SHA256Hex([]byte("nobody"))
	cases := []struct {
		name     string
		declared string
		edits    []func(*bundle.Bundle)
		class    string
		differs  bool
		inherits bool
	}{
		{"more evidence", "non_material", []func(*bundle.Bundle){version("2")}, "evidence_only", false, true},
		{"more evidence, called material", "material", []func(*bundle.Bundle){version("2")}, "evidence_only",
			true, true},
		{"tighter limits", "non_material",
			[]func(*bundle.Bundle){
				limits(func(l *bundle.Limits) {
					l.MaxCapital, l.PriceCollarBps = "9999.99", &collar
				})}, "evidence_only", false, true},
		{"more capital", "non_material",
			[]func(*bundle.Bundle){
				limits(func(l *bundle.Limits) {
					l.MaxCapital = "10000.000000000000000001"
				})}, "material", true, false},
		{"no daily loss", "non_material",
			[]func(*bundle.Bundle){limits(func(l *bundle.Limits) { l.MaxDailyLoss = "" })}, "material", true,
			false},
		{"more orders", "material",
			[]func(*bundle.Bundle){limits(func(l *bundle.Limits) { l.MaxOrdersPerMinute = 11 })}, "material",
			false, false},
		{"other parameters", "non_material", []func(*bundle.Bundle){params(`{"fast":11}`)}, "material", true,
			false},
		{"another plugin", "non_material", []func(*bundle.Bundle){plugin("v2")}, "material", true, false},
		{"another market", "material",
			[]func(*bundle.Bundle){func(b *bundle.Bundle) {
				b.Strategy.Symbols = []string{"ETH/USDT"}
			}}, "material", false, false},
		{"another candidate", "non_material",
			[]func(*bundle.Bundle){func(b *bundle.Bundle) {
				b.Candidate.CandidateID = "sma-cross.other"
			}}, "material", true, false},
		{"unknown parent", "non_material", []func(*bundle.Bundle){child(unknown, "non_material")}, "material",
			true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := trusted(t)
			parent := p.canary()
			id := p.submit(
				p.proven(append([]func(*bundle.Bundle){version("1.1"), child(parent, c.declared)},
					c.edits...)...), signature("packer"))
			class, differs := p.w.ChangeClass(id)
			if class != c.class || differs != c.differs {
				t.Errorf("%s, %v", class, differs)
			}
			if inherited := p.state(id).Stage == bundle.Canary; inherited != c.inherits {
				t.Errorf("in %s", p.at(id))
			}
			if superseded := p.at(parent) == "canary/superseded"; superseded != c.inherits {
				t.Errorf("the parent is %s", p.at(parent))
			}
		})
	}
	p := trusted(t)
	id := p.submit(p.good())
	if class, differs := p.w.ChangeClass(id); class != "initial" || differs {
		t.Error(class, differs)
	}
	if class, _ := p.w.ChangeClass(unknown); class != "" {
		t.Error(class)
	}
}

// TestAnotherPluginWithTheSameTrades: a re-run by somebody else, in the same post as the
// bundle, makes the change not material.
func TestAnotherPluginWithTheSameTrades(t *testing.T) {
	cases := []struct {
		name, by string
		trades   []bundle.SplitTrades
		class    string
	}{
		{"all", "replayer",
			[]bundle.SplitTrades{{SplitID: "test", SHA256: digest.SHA256Hex([]byte("a"))},
				{SplitID: "full", SHA256: digest.SHA256Hex([]byte("b"))}}, "non_material"},
		{"by the packer", "packer",
			[]bundle.SplitTrades{{SplitID: "test", SHA256: digest.SHA256Hex([]byte("a"))},
				{SplitID: "full", SHA256: digest.SHA256Hex([]byte("b"))}}, "material"},
		{"one is missing", "replayer",
			[]bundle.SplitTrades{{SplitID: "test", SHA256: digest.SHA256Hex([]byte("a"))}}, "material"},
		{"one differs", "replayer",
			[]bundle.SplitTrades{{SplitID: "test", SHA256: digest.SHA256Hex([]byte("a"))},
				{SplitID: "full", SHA256: digest.SHA256Hex([]byte("c"))}}, "material"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := trusted(t)
			parent := p.canary(lists(p, "base", "test", "a"), lists(p, "base", "full", "b"))
			next := p.proven(plugin("v2"), child(parent, "non_material"))
			replay := statement{c.by, bundle.TypeReplay,
				bundle.Replay{ParentRevisionID: &parent, Runs: []bundle.ReplayedRun{{
					RunID: "base", RequestHash: next.Runs[0].RequestHash,
					ReportSHA256: next.Runs[0].ReportSHA256, Trades: c.trades,
				}}}}
			id := p.submit(next, signature("packer"), replay, drill("otto", "pass"))
			if class, _ := p.w.ChangeClass(id); class != c.class {
				t.Error(class)
			}
			if want := map[bool]bundle.Stage{true: bundle.Canary,
				false: bundle.Paper}[c.class == "non_material"]; p.state(id).Stage != want {
				t.Error(p.at(id))
			}
		})
	}
}

func TestTheSuccessorOfWhatIsStoppedIsStopped(t *testing.T) {
	p := trusted(t)
	parent := p.canary()
	p.say(parent, suspension("", true))
	stop := *p.state(parent).SuspensionID
	id := p.submit(p.proven(version("1.1"), child(parent, "non_material")), signature("packer"))
	p.stands(id, "canary/suspended")
	p.stands(parent, "canary/superseded")
	if got := *p.state(id).SuspensionID; got != stop {
		t.Errorf("%s, not the parent's stop", got)
	}
	reg, refused := p.w.Registry("sma-cross", p.now)
	if refused != nil || len(reg.Entries) != 1 || reg.Entries[0].Status != "suspended" ||
		!reg.Entries[0].Kill || reg.Entries[0].CandidateRevisionID != id {
		t.Errorf("%+v, %v", reg, refused)
	}
	p.say(id, p.resume("rita", "risk", id), p.resume("ruth", "approver", id))
	p.stands(id, "canary/eligible")
}

func TestWhatWasRejectedComesBackUnderNoOtherName(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good())
	twin := p.submit(p.good(version("2"),
		func(b *bundle.Bundle) { b.Candidate.CandidateID = "sma-cross.twin" }))
	p.stands(twin, "paper/active")
	p.say(id, rejection())
	p.stands(twin, "research/pending")
	later := p.submit(p.good(version("3")))
	p.stands(later, "research/pending")
	if g := p.plan(later, bundle.Paper).Gates[2]; g.Verdict != "fail" || g.Kind != "lineage" {
		t.Errorf("%+v", g)
	}
	other := p.submit(p.good(params(`{"fast":12}`)))
	p.stands(other, "paper/active")
}

func TestAParentThatComesLater(t *testing.T) {
	p := trusted(t)
	first := p.good(target(bundle.Research))
	doc, err := bundle.Seal(first)
	if err != nil {
		t.Fatal(err)
	}
	id := p.submit(p.good(version("2"), params(`{"fast":11}`),
		child(doc.Bundle.CandidateRevisionID, "material")))
	p.stands(id, "research/pending")
	p.submit(first)
	p.stands(id, "paper/active")
}
