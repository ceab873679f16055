package promotion_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/deploy"
)

// entries are the entries of a family, by the plugin that they let run.
func (p *plane) entries(family string) map[string]promotion.RegistryEntry {
	p.t.Helper()
	reg, refused := p.w.Registry(family, p.now)
	if refused != nil {
		p.t.Fatalf("%v", refused)
	}
	all := map[string]promotion.RegistryEntry{}
	for _, e := range reg.Entries {
		all[e.PluginSHA256+e.ParamsSHA256] = e
	}
	return all
}

// entry is the only one there is.
func (p *plane) entry() promotion.RegistryEntry {
	p.t.Helper()
	all := p.entries("sma-cross")
	if len(all) != 1 {
		p.t.Fatalf("%d entries", len(all))
	}
	for _, e := range all {
		return e
	}
	return promotion.RegistryEntry{}
}

func owner(name string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.Candidate.Owner, b.SealRequest.RequestedBy = name, name }
}

// sameTrades says that a plugin makes the trades of the parent, by copying what the parent
// lists for all to read.
func sameTrades(by, parent string, b bundle.Bundle) statement {
	r := bundle.Replay{ParentRevisionID: &parent}
	for _, run := range b.Runs {
		r.Runs = append(r.Runs, bundle.ReplayedRun{
			RunID: run.RunID, RequestHash: run.RequestHash, ReportSHA256: run.ReportSHA256,
			Trades: []bundle.SplitTrades{{SplitID: "test", SHA256: digest.SHA256Hex([]byte("a"))}},
		})
	}
	return statement{by, bundle.TypeReplay, r}
}

// TestAnotherPluginTakesNoPlaceOfALiveOne unless it has all that the place asks for but the
// people: what is missing in each case keeps it in research, and the parent where it was.
func TestAnotherPluginTakesNoPlaceOfALiveOne(t *testing.T) {
	cases := []struct {
		name     string
		without  bundle.Role // a role whose runs the successor lacks
		said     func(parent string, b bundle.Bundle) []statement
		inherits bool
	}{
		{"signed, replayed, drilled", "", func(parent string, b bundle.Bundle) []statement {
			return []statement{signature("packer"), sameTrades("replayer", parent, b), drill("otto", "pass")}
		}, true},
		{"nobody has signed", "", func(parent string, b bundle.Bundle) []statement {
			return []statement{sameTrades("replayer", parent, b), drill("otto", "pass")}
		}, false},
		{"replayed by who signed", "", func(parent string, b bundle.Bundle) []statement {
			return []statement{signature("packer"), sameTrades("packer", parent, b), drill("otto", "pass")}
		}, false},
		{"never drilled", "", func(parent string, b bundle.Bundle) []statement {
			return []statement{signature("packer"), sameTrades("replayer", parent, b)}
		}, false},
		{"without a baseline", bundle.RoleBaseline, func(parent string, b bundle.Bundle) []statement {
			return []statement{signature("packer"), sameTrades("replayer", parent, b), drill("otto", "pass")}
		}, false},
		{"without a soak", bundle.RoleCanary, func(parent string, b bundle.Bundle) []statement {
			return []statement{signature("packer"), sameTrades("replayer", parent, b), drill("otto", "pass")}
		}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := trusted(t)
			parent := p.live(lists(p, "base", "test", "a"))
			successor := p.proven(plugin("v2"), child(parent, "non_material"), func(b *bundle.Bundle) {
				b.Runs = slices.DeleteFunc(b.Runs, func(r bundle.Run) bool { return r.Role == c.without })
			})
			id := p.submit(successor, c.said(parent, successor)...)
			if inherited := p.state(id).Stage == bundle.Live; inherited != c.inherits {
				t.Fatalf("the successor stands at %s, the parent at %s", p.at(id), p.at(parent))
			}
			if !c.inherits {
				p.stands(parent, "live/active")
				return
			}
			p.stands(parent, "live/superseded")
			e := p.entries("sma-cross")[successor.Strategy.Plugin.SHA256+p.files[id].Bundle.Strategy.ParamsSHA256]
			if e.Status != deploy.StatusActive || len(e.ApprovedBy) != 0 || e.ExpiresAt == nil {
				t.Errorf("nobody has approved this plugin: %+v", e)
			}
		})
	}
}

// TestAnUnsignedPostMovesNothing: whatever anybody posts about what is live or in paper,
// its entry stays the same to the letter.
func TestAnUnsignedPostMovesNothing(t *testing.T) {
	posts := map[string]func(p *plane, parent string){
		"a successor": func(p *plane, parent string) {
			p.submit(p.proven(version("2"), child(parent, "non_material"), owner("mallory")))
		},
		"a successor of zero limits": func(p *plane, parent string) {
			p.submit(p.proven(child(parent, "non_material"),
				limits(func(l *bundle.Limits) { l.MaxOrderValue = "0" })))
		},
		"a successor without evidence": func(p *plane, parent string) {
			p.submit(p.good(child(parent, "non_material"), func(b *bundle.Bundle) { b.Runs = b.Runs[:1] }))
		},
		"a rival": func(p *plane, _ string) { p.submit(p.proven(params(`{"fast":11}`))) },
		"a twin of another candidate": func(p *plane, _ string) {
			p.submit(p.proven(func(b *bundle.Bundle) { b.Candidate.CandidateID = "twin" }, owner("mallory")))
		},
		"a namesake in another family": func(p *plane, _ string) {
			p.submit(p.proven(params(`{"fast":99}`),
				func(b *bundle.Bundle) { b.Candidate.FamilyID = "other" }))
		},
		"the same once more": func(p *plane, parent string) {
			p.repost(parent, bundle.Research, "rita")
		},
		"the same once more, higher": func(p *plane, parent string) { p.repost(parent, bundle.Live, "anna") },
	}
	for place, come := range map[string]func(p *plane) string{
		"live":  func(p *plane) string { return p.live() },
		"paper": func(p *plane) string { return p.submit(p.proven(), signature("packer")) },
	} {
		for name, post := range posts {
			t.Run(place+"/"+name, func(t *testing.T) {
				p := trusted(t)
				parent := come(p)
				before, digest, at := p.entries("sma-cross"), p.plan(parent, bundle.Live).PlanDigest,
					p.at(parent)
				post(p, parent)
				p.stands(parent, at)
				for key, e := range before {
					if got := p.entries("sma-cross")[key]; !sameEntry(e, got) {
						t.Errorf("the entry was\n%+v\nand is\n%+v", e, got)
					}
				}
				if got := p.plan(parent, bundle.Live).PlanDigest; got != digest {
					t.Error("the plan has changed, and approvals of it are void")
				}
			})
		}
	}
}

func sameEntry(a, b promotion.RegistryEntry) bool {
	return a.CandidateRevisionID == b.CandidateRevisionID && a.Status == b.Status && a.Stage == b.Stage &&
		a.Owner == b.Owner &&
		slices.Equal(a.ApprovedBy, b.ApprovedBy) && deref(a.ExpiresAt) == deref(b.ExpiresAt) &&
		a.Kill == b.Kill && a.Limits == b.Limits &&
		a.SealLogIndex == b.SealLogIndex
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestAnUnsignedRivalWaits in research until a lab stands for it, and then takes the place.
func TestAnUnsignedRivalWaits(t *testing.T) {
	p := trusted(t)
	first := p.submit(p.good(), signature("packer"))
	rival := p.submit(p.good(params(`{"fast":11}`)))
	p.stands(first, "paper/active")
	p.stands(rival, "research/eligible")
	p.say(rival, signature("packer"))
	p.stands(first, "paper/superseded")
	p.stands(rival, "paper/active")
}

// TestWithoutTrustNobodyNeedsToSign: in open mode all works up to paper as it did.
func TestWithoutTrustNobodyNeedsToSign(t *testing.T) {
	p := newPlane(t)
	first := p.submit(p.good())
	successor := p.submit(p.good(version("2"), child(first, "non_material")))
	p.stands(successor, "paper/active")
	p.stands(first, "paper/superseded")
	p.repost(first, bundle.Live, "anybody")
	p.stands(first, "paper/active")
	p.stands(successor, "paper/superseded")
}

// TestRequestedByIsNoVeto: only the first submission and signed ones say to whom a revision
// belongs and how far it shall go.
func TestRequestedByIsNoVeto(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.proven(), signature("packer"))
	for _, name := range []string{"rita", "anna", "ruth"} {
		p.repost(id, bundle.Research, name)
	}
	if got := p.w.Excluded(id); !slices.Equal(got,
		[]string{"owner@example.com", "packer", "requester@example.com"}) {
		t.Error(got)
	}
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	p.say(id, p.approve("rita", "risk", id, bundle.Canary), p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "canary/eligible")
	// Signed it counts, also where the signature comes later than the submission.
	p.say(id, signature("packer"))
	if got := p.w.Excluded(id); !slices.Contains(got, "ruth") || slices.Contains(got, "anna") {
		t.Error(got)
	}
	if s := p.state(id); s.TargetStage != bundle.Research {
		t.Errorf("the target is %s", s.TargetStage)
	}
}

// TestWhoOwnedTheParentDoesNotApproveTheSuccessor.
func TestWhoOwnedTheParentDoesNotApproveTheSuccessor(t *testing.T) {
	p := trusted(t)
	parent := p.canary()
	successor := p.submit(p.proven(version("2"), child(parent, "non_material"), owner("mallory")),
		signature("packer"))
	p.stands(successor, "canary/eligible")
	if got := p.w.Excluded(successor); !slices.Equal(got,
		[]string{"mallory", "owner@example.com", "packer", "requester@example.com"}) {
		t.Error(got)
	}
	p.say(successor, p.approve("owner@example.com", "risk", successor, bundle.Live),
		p.approve("anna", "approver", successor, bundle.Live))
	p.stands(successor, "canary/eligible")
	p.say(successor, p.approve("rita", "risk", successor, bundle.Live))
	p.stands(successor, "live/active")
}

// TestWhoApprovedTheParentDoesNotOwnTheSuccessor: it would have their own approval.
func TestWhoApprovedTheParentDoesNotOwnTheSuccessor(t *testing.T) {
	p := trusted(t)
	parent := p.canary()
	successor := p.submit(p.proven(version("2"), child(parent, "non_material"), owner("anna")),
		signature("packer"))
	p.stands(successor, "paper/eligible") // by itself, like any other
	p.stands(parent, "canary/eligible")
}

// TestAStopReachesAllThatRunTheSame: the parent that was approved, its successor, a twin that
// came by itself, and what is posted afterwards.
func TestAStopReachesAllThatRunTheSame(t *testing.T) {
	for _, kill := range []bool{true, false} {
		p := trusted(t)
		parent := p.live()
		successor := p.submit(p.proven(version("2"), child(parent, "non_material")), signature("packer"))
		twin := p.submit(
			p.proven(func(b *bundle.Bundle) {
				b.Candidate.CandidateID, b.Candidate.FamilyID = "twin", "twins"
			}), signature("packer"))
		p.stands(successor, "live/active")
		p.stands(twin, "paper/eligible")
		p.say(parent, suspension("", kill))
		later := p.submit(p.proven(version("3"),
			func(b *bundle.Bundle) { b.Candidate.CandidateID = "later" }), signature("packer"))
		p.stands(successor, "live/suspended")
		p.stands(twin, "paper/suspended")
		p.stands(later, "research/suspended")
		for _, family := range []string{"sma-cross", "twins"} {
			for _, e := range p.entries(family) {
				if e.Status != deploy.StatusSuspended || e.Kill != kill {
					t.Errorf("%s: %s, kill %v", family, e.Status, e.Kill)
				}
			}
		}
		p.say(successor, p.resume("rita", "risk", successor), p.resume("anna", "approver", successor))
		p.stands(successor, "live/active")
		if e := p.entry(); e.Kill || e.Status != deploy.StatusActive ||
			!slices.Equal(e.ApprovedBy, []string{"anna", "rita"}) {
			t.Errorf("resumed: %+v", e)
		}
		p.stands(twin, "paper/suspended") // nobody has said that it goes on
		p.stands(p.submit(p.proven(version("4"),
			func(b *bundle.Bundle) {
				b.Candidate.CandidateID = "afterwards"
			}), signature("packer")), "paper/eligible")
	}
}

// TestLoweringTheParentLowersTheSuccessor, and a kill that lowers nothing kills all the same.
func TestLoweringTheParentLowersTheSuccessor(t *testing.T) {
	p := trusted(t)
	parent := p.live()
	successor := p.submit(p.proven(version("2"), child(parent, "non_material")), signature("packer"))
	p.say(parent, suspension(bundle.Paper, true))
	p.stands(successor, "paper/eligible")
	if e := p.entry(); e.Status != deploy.StatusRevoked || !e.Kill || e.CandidateRevisionID != successor {
		t.Errorf("%+v", e)
	}
	q := trusted(t)
	id := q.submit(q.proven(), signature("packer"))
	q.say(id, suspension(bundle.Canary, true))
	if e := q.entry(); !e.Kill {
		t.Errorf("the kill is lost: %+v", e)
	}
}

// TestTwinsMakeNothingGood: what nobody stands for does not speak for what was lowered or
// has ended.
func TestTwinsMakeNothingGood(t *testing.T) {
	for name, end := range map[string]statement{"lowered": suspension(bundle.Paper, false),
		"retired": retirement()} {
		p := trusted(t)
		id := p.live()
		p.stands(p.submit(p.proven(func(b *bundle.Bundle) { b.Candidate.CandidateID = "twin" })),
			"paper/active")
		p.say(id, end)
		if e := p.entry(); e.Status != deploy.StatusRevoked || e.CandidateRevisionID != id {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestAWaiverEnds where it says, in the plan and in the registry, for good.
func TestAWaiverEnds(t *testing.T) {
	for name, edit := range map[string]func(*bundle.Bundle){
		"of a gate that waits": func(b *bundle.Bundle) {},
		"of a gate that fails": func(b *bundle.Bundle) {
			b.Runs = append(b.Runs, (&plane{now: start}).soaked(bundle.RolePaper, 15))
			b.Runs[2].Summary["diverging_fills"] = 3
		},
	} {
		p := trusted(t)
		id := p.submit(p.good(edit), signature("packer"), waiver(bundle.Canary, "soak.paper"),
			waiver(bundle.Canary, "paper.matches_backtest"))
		p.say(id, p.replay("replayer", id), drill("otto", "pass"))
		p.say(id, p.approve("rita", "risk", id, bundle.Canary),
			p.approve("anna", "approver", id, bundle.Canary))
		end := p.now.Add(5 * day).Format("2006-01-02T15:04:05Z")
		for _, later := range []int{0, 4, 6, 40, 400} {
			p.now = start.AddDate(0, 0, later)
			if e := p.entry(); deref(e.ExpiresAt) != end || e.Stage != bundle.Canary {
				t.Errorf("%s, day %d: expires %s, not %s", name, later, deref(e.ExpiresAt), end)
			}
		}
		p.now = start.AddDate(0, 0, 6)
		plan := p.plan(id, bundle.Canary)
		i := slices.IndexFunc(plan.Gates, func(g promotion.PlanGate) bool {
			return g.GateID == "paper.matches_backtest"
		})
		if g := plan.Gates[i]; g.Verdict != "expired" || deref(g.ValidUntil) != end ||
			plan.Verdict != "pending" || !strings.Contains(g.Reason, "run out") {
			t.Errorf("%s: %+v", name, g)
		}
		p.say(id, drill("otto", "pass"))
		p.stands(id, "canary/expired")
		if e := p.entry(); deref(e.ExpiresAt) != end || !strings.HasPrefix(e.Reason, "expired: ") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestAWaiverThatEndedHidesNothingNew: what fails by later evidence fails.
func TestAWaiverThatEndedHidesNothingNew(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.proven(), signature("packer"), waiver(bundle.Canary, "drill.kill_switch"))
	p.say(id, p.replay("replayer", id))
	p.say(id, p.approve("rita", "risk", id, bundle.Canary), p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "canary/active")
	p.idle(8 * day)
	p.stands(id, "canary/expired")
	p.say(id, drill("otto", "fail"))
	p.stands(id, "paper/active")
}

// TestTrustThatEnds takes the places that rest on it along, and gives them back.
func TestTrustThatEnds(t *testing.T) {
	revoke := func(names ...string) func(string, *bundle.TrustKey) {
		return func(name string, k *bundle.TrustKey) {
			if slices.Contains(names, name) {
				k.Status = "revoked"
			}
		}
	}
	for name, c := range map[string]struct {
		edit func(string, *bundle.TrustKey)
		ends string
		why  string
	}{
		"signer":    {revoke("packer"), "2039-01-01T00:00:00Z", "assurance.signed"},
		"approvers": {revoke("rita", "anna"), "2039-01-01T00:00:00Z", "approved"},
		"one":       {revoke("rita"), "2039-01-01T00:00:00Z", "approved"},
		"all":       {nil, "2026-11-20T12:30:01Z", "trust.json"},
	} {
		p := trusted(t)
		id := p.canary()
		p.trust(2, c.ends, c.edit)
		p.idle(day)
		p.settle()
		p.stands(id, "canary/expired")
		e := p.entry()
		if e.ExpiresAt == nil || deref(e.ExpiresAt) > p.stamp() || !strings.Contains(e.Reason, c.why) {
			t.Errorf("%s: expires %s, %q", name, deref(e.ExpiresAt), e.Reason)
		}
		if s := p.state(id); len(s.DeployableModes) > 0 || deref(s.EvidenceValidUntil) != deref(e.ExpiresAt) {
			t.Errorf("%s: %v until %s", name, s.DeployableModes, deref(s.EvidenceValidUntil))
		}
		p.trust(3, "2039-01-01T00:00:00Z", nil)
		if e := p.entry(); e.Reason != "" || deref(e.ExpiresAt) < p.stamp() {
			t.Errorf("%s: %s, %q", name, deref(e.ExpiresAt), e.Reason)
		}
	}
	// Who has left is replaced by stopping and letting go on.
	p := trusted(t)
	id := p.canary()
	p.trust(2, "2039-01-01T00:00:00Z", revoke("rita"))
	p.say(id, suspension("", false))
	p.say(id, p.resume("ruth", "risk", id), p.resume("anna", "approver", id))
	p.stands(id, "canary/eligible")
	if e := p.entry(); !slices.Equal(e.ApprovedBy, []string{"anna", "ruth"}) || e.Reason != "" {
		t.Errorf("%+v", e)
	}
}

// TestSignaturesSayOfWhichFiles.
func TestSignaturesSayOfWhichFiles(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good(), signature("packer"))
	i := slices.IndexFunc(p.facts, func(f promotion.Fact) bool { return f.Type == promotion.BundleSigned })
	if got := p.facts[i].Fields.(*promotion.Signature); !slices.Equal(got.Files,
		[]string{p.files[id].FileSHA256}) || got.Principal != "packer" {
		t.Errorf("%+v", got)
	}
}
