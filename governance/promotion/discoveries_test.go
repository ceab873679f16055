package promotion_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// discovering is a plane whose policy takes online e-BH for live, over the claims of a packer or of all.
func discovering(t tb, over string) *plane {
	p := established(t, promotion.RulesNewest)
	p.text(bundle.TypePolicy, 2, []byte(`{"schema":"promotion-policy/v1","id":"shadow","version":2,"stages":{
		"paper":{"auto":true,"gates":[]},
		"canary":{"approvals":[{"role":"risk","count":1},{"role":"any","count":1}],
			"gates":[{"id":"shadow.evidence","kind":"shadow","days":60,"trades":10,"evidence":3}]},
		"live":{"inherit":"canary","gates":[{"id":"shadow.evidence","kind":"shadow","days":60,"trades":10,
			"evidence":20,"e_bh":"`+over+`"}]}}}`))
	return p
}

// named is a candidate of its own.
func named(name string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		b.Candidate.CandidateID, b.Candidate.FamilyID = name+".btc-usdt-1h", name
		b.Strategy.Params = []byte(`{"name":"` + name + `"}`)
	}
}

// playAll states one more day of each revision.
func (p *plane) playAll(x float64, ids ...string) {
	p.t.Helper()
	first, _ := bundle.Day(p.work(ids[0]).NextDay)
	p.now = first.AddDate(0, 0, 1).Add(2 * time.Hour)
	for _, id := range ids {
		p.say(id, shadow(bundle.SourceExchange, days(first, x)))
	}
}

// barIs compares the bar of live, and how many discoveries it is for.
func (p *plane) barIs(id string, bar float64, place, k int64) {
	p.t.Helper()
	s, g := p.state(id).Shadow, p.gate(id, bundle.Live)
	if s.EBar != bar || s.Claim != place || s.Discoveries != k || s.Days > 0 && g.Threshold != bar {
		p.t.Fatalf("E %v, bar %v, claim %d, %d discoveries, %v; want bar %v, claim %d, %d", s.E, s.EBar, s.Claim,
			s.Discoveries, g.Threshold, bar, place, k)
	}
}

// TestDiscoveriesTogether: of two claims in canary each lowers the bar of the other, until one is stopped,
// or withholds a day.
func TestDiscoveriesTogether(t *testing.T) {
	p := discovering(t, "packer")
	a := p.submit(p.good(named("a")), signature("packer"))
	other := p.submit(p.good(named("other")), signature("owner@example.com"))
	b := p.submit(p.good(named("b")), signature("packer"))
	p.barIs(a, 40, 1, 1)
	p.barIs(other, 40, 1, 1)
	p.barIs(b, 120, 2, 1)
	for i := range 60 {
		p.playAll([]float64{0.012, -0.006}[i%2], a, b, other)
	}
	p.gateIs(a, bundle.Live, policy.Pending, "E is below 40: E is ")
	canary := func(id string) {
		p.say(id, p.approve("rita", "risk", id, bundle.Canary), p.approve("anna", "approver", id, bundle.Canary))
		if at := p.at(id); !strings.HasPrefix(at, "canary/") {
			t.Fatalf("%s stands at %s", id, at)
		}
	}
	canary(a)
	for i := 0; p.state(a).Shadow.E < 60; i++ {
		if i == 400 {
			t.Fatal("the edge of this test is another one")
		}
		p.playAll([]float64{0.012, -0.006}[i%2], a, b, other)
	}
	p.barIs(a, 40, 1, 1)
	p.barIs(b, 60, 2, 2)                                             // a would be one of two
	p.gateIs(b, bundle.Live, policy.Pass, "online e-BH with 2 disc") // b stands in paper: it waits for people
	p.barIs(other, 40, 1, 1)
	canary(b)
	p.barIs(a, 20, 1, 2)
	p.say(b, p.approve("rita", "risk", b, bundle.Live), p.approve("anna", "approver", b, bundle.Live))
	p.stands(b, "live/active")

	// What is stopped is no discovery, and keeps its place.
	p.say(a, statement{"rita", bundle.TypeSuspension, bundle.Suspension{}})
	p.barIs(b, 120, 2, 1)
	p.stands(b, "live/expired")
	p.say(a, p.resume("rita", "risk", a), p.resume("anna", "approver", a))
	p.stands(b, "live/active")

	// Neither is what withholds a day: whoever has seen a loss could keep E where it was.
	for range 3 {
		p.playAll(0, b, other)
	}
	p.barIs(b, 120, 2, 1)
	p.gateIs(b, bundle.Live, policy.Pending, "E is below 120")
	p.sameAgain(a, b, other)
}

// TestPlacesAreNeverFree: what died, and what was packed of the same again, keeps its place; nobody gains
// by another name where the whole plane is one stream.
func TestPlacesAreNeverFree(t *testing.T) {
	for over, want := range map[string][2]int64{"packer": {3, 1}, "plane": {3, 4}} {
		p := discovering(t, over)
		dead := p.submit(p.good(named("dead")), signature("packer"))
		p.submit(p.good(named("dead"), child(dead, bundle.ChangeNonMaterial), version("1.0.1")), signature("packer"))
		p.say(dead, retirement())
		next := p.submit(p.good(named("next")), signature("packer"))
		split := p.submit(p.good(named("split")), signature("owner@example.com"))
		for i, id := range []string{next, split} {
			i := want[i]
			p.barIs(id, float64(20*i*(i+1)), i, 1)
		}
	}
}
