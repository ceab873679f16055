package promotion_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

// shadowed is a plane whose policy asks for shadows: for canary 60 days, 10 trades and E 3, for live
// E 20 for each claim.
func shadowed(t tb) *plane {
	p := strict(t)
	p.text(bundle.TypePolicy, 2, []byte(`{"schema":"promotion-policy/v1","id":"shadow","version":2,"stages":{
		"paper":{"auto":true,"gates":[]},
		"canary":{"approvals":[{"role":"risk","count":1},{"role":"any","count":1}],
			"gates":[{"id":"shadow.evidence","kind":"shadow","days":60,"trades":10,"evidence":3}]},
		"live":{"inherit":"canary","gates":[{"id":"shadow.evidence","kind":"shadow","days":60,"trades":10,"evidence":20,"per_claim":true}]}}}`))
	return p
}

// days are n days from a date on, with a return each.
func days(first time.Time, returns ...float64) []bundle.ShadowDay {
	var list []bundle.ShadowDay
	for i, x := range returns {
		begin := first.AddDate(0, 0, i)
		list = append(list, bundle.ShadowDay{
			Date: bundle.FormatDay(begin), Return: x, Fills: 2, Trades: 1, Rows: 24,
			Chunk:     digest.SHA256Hex([]byte(bundle.FormatDay(begin))),
			FetchedAt: begin.Add(25 * time.Hour).Format(time.RFC3339),
		})
	}
	return list
}

// same is n times a pattern of returns.
func same(n int, pattern ...float64) []float64 {
	var list []float64
	for i := range n {
		list = append(list, pattern[i%len(pattern)])
	}
	return list
}

func shadow(source string, list []bundle.ShadowDay, promised ...float64) statement {
	s := bundle.Shadow{Source: source, Exchange: "x", Symbols: []string{"BTC/USDT"}, Timeframe: "1h", Sandbox: "full", Days: list}
	if len(promised) > 0 {
		s.Promise = &bundle.Promise{RunID: "base"}
		for _, x := range promised {
			s.Promise.Days = append(s.Promise.Days, bundle.PromisedDay{Return: x, Fills: 2})
		}
	}
	return statement{"shadow-1", bundle.TypeShadow, s}
}

// play lets days pass and states them, each within 48 h of its close.
func (p *plane) play(id, source string, returns []float64, promised ...float64) {
	p.t.Helper()
	first, _ := bundle.Day(p.work(id).NextDay)
	for i, x := range returns {
		p.now = first.AddDate(0, 0, i+1).Add(2 * time.Hour)
		one := shadow(source, days(first.AddDate(0, 0, i), x), promised...)
		promised = nil
		p.say(id, one)
	}
}

func (p *plane) work(id string) promotion.ShadowRequest {
	p.t.Helper()
	work, err := promotion.ListShadowWork(p.w)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	for _, r := range work.Revisions {
		if r.CandidateRevisionID == id {
			return r
		}
	}
	p.t.Fatalf("%s is not played", id)
	return promotion.ShadowRequest{}
}

func (p *plane) gate(id string, stage bundle.Stage) promotion.PlanGate {
	p.t.Helper()
	for _, g := range p.plan(id, stage).Gates {
		if g.Kind == policy.Shadow {
			return g
		}
	}
	p.t.Fatalf("no gate of kind shadow")
	return promotion.PlanGate{}
}

func (p *plane) gateIs(id string, stage bundle.Stage, want policy.Verdict, words string) {
	p.t.Helper()
	if g := p.gate(id, stage); g.Verdict != want || !strings.Contains(g.Reason, words) {
		p.t.Fatalf("%s: %s, %q; want %s, %q", stage, g.Verdict, g.Reason, want, words)
	}
}

// edge is an edge that shows: days of +0.9 and -0.65 percent, with a bound of 3 percent.
var edge = []float64{0.009, -0.0065}

func TestShadowGates(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	p.stands(id, "paper/active")
	p.gateIs(id, bundle.Canary, policy.Pending, "not shown prospectively")
	if s := p.state(id).Shadow; s.Verdict != policy.Pending || s.FirstDay != "2026-11-21" || s.E != 1 || s.Days != 0 {
		t.Fatalf("%+v", s)
	}
	p.play(id, bundle.SourceExchange, same(59, edge...))
	p.gateIs(id, bundle.Canary, policy.Pending, "59 of 60 days")
	if said := p.state(id).Shadow.Reason; !strings.HasPrefix(said, policy.NotShown+"59 of 60 days: E is ") {
		t.Errorf("paper reads %q", said)
	}
	before := p.plan(id, bundle.Live).PlanDigest
	p.play(id, bundle.SourceExchange, same(101, edge...))
	p.gateIs(id, bundle.Canary, policy.Pass, "E is ")
	s := p.state(id).Shadow
	if s.Days != 160 || s.Trades != 160 || s.EBar != 20 || !s.Attested || *s.LastDay != "2027-04-29" || s.MissingDay != nil ||
		!strings.HasPrefix(s.Reason, policy.NotShown+"E is below 20: ") {
		t.Fatalf("%+v", s)
	}
	if s.E < 3 || s.E > 20 {
		t.Fatalf("E is %v: the edge of this test is another one", s.E)
	}
	p.gateIs(id, bundle.Live, policy.Pending, "E is below 20")
	if after := p.plan(id, bundle.Live).PlanDigest; after != before {
		t.Error("another day has changed the plan although no verdict has changed")
	}
	p.say(id, p.approve("rita", "risk", id, bundle.Canary), p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "canary/active")

	// A missing day stops the gate until it is filled. Late days count only where they lose.
	e := s.E
	p.idle(4 * day)
	p.gateIs(id, bundle.Canary, policy.Expired, "the day 2027-04-30 is missing")
	p.stands(id, "canary/expired")
	if got := p.state(id).Shadow.MissingDay; got == nil || *got != "2027-04-30" {
		t.Errorf("missing: %v", got)
	}
	first, _ := bundle.Day(p.work(id).NextDay)
	p.say(id, shadow(bundle.SourceExchange, days(first, 0.005, 0.005, 0.005, 0.005)))
	p.stands(id, "canary/active")
	s = p.state(id).Shadow
	if s.LateDays < 2 || s.E <= e || s.E > e*1.25 {
		t.Errorf("E went from %v to %v, %d late", e, s.E, s.LateDays)
	}
}

func TestUnattestedDaysShowOnly(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	p.play(id, bundle.SourceImport, same(300, edge...))
	p.gateIs(id, bundle.Canary, policy.Pending, "unattested")
	p.gateIs(id, bundle.Live, policy.Pending, "unattested")
	s := p.state(id).Shadow
	if s.Attested || s.Verdict != policy.Pass && s.E < 3 || !strings.Contains(s.Reason, "unattested") {
		t.Errorf("%+v", s)
	}
}

func TestClaims(t *testing.T) {
	p := shadowed(t)
	first := p.submit(p.good(), signature("packer"))
	p.submit(p.good(params(`{"fast":11}`)), signature("owner@example.com"))
	second := p.submit(p.good(params(`{"fast":12}`)), signature("packer"))
	for id, want := range map[string]int64{first: 1, second: 2} {
		first, _ := bundle.Day(p.work(id).NextDay)
		p.now = first.Add(26 * time.Hour)
		p.say(id, shadow(bundle.SourceExchange, days(first, 0.001)))
		if s := p.state(id).Shadow; s.Claim != want || s.EBar != float64(20*want) {
			t.Errorf("claim %d, bar %v, want claim %d", s.Claim, s.EBar, want)
		}
	}
	// The same packed again is no claim of its own, and looks at the days of its parent.
	successor := p.submit(p.good(child(first, bundle.ChangeNonMaterial), version("1.0.1")),
		signature("packer"))
	if s := p.state(successor).Shadow; s.PlayedRevisionID != first || s.Days != 1 || s.Claim != 1 {
		t.Errorf("%+v", s)
	}
	other := p.submit(p.good(child(first, bundle.ChangeMaterial), func(b *bundle.Bundle) { b.Limits.MaxDailyLoss = "299" }), signature("packer"))
	if s := p.state(other).Shadow; s.PlayedRevisionID != other || s.Days != 0 {
		t.Errorf("%+v", s)
	}
}

func TestALossBeyondTheBoundIsForEver(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	p.play(id, bundle.SourceExchange, append(same(100, edge...), -0.0601))
	p.play(id, bundle.SourceExchange, same(5, 0.02))
	p.gateIs(id, bundle.Canary, policy.Fail, "more than twice the declared 0.03")
	if s := p.state(id).Shadow; s.E != 0 || s.Verdict != policy.Fail {
		t.Errorf("%+v", s)
	}
}

func TestDriftStops(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	twin := p.submit(p.good(func(b *bundle.Bundle) { b.Candidate.FamilyID = "other" }), signature("packer"))
	promised := same(60, 0.02, -0.01, 0.015, 0.005)
	p.play(id, bundle.SourceImport, same(40, 0.02, -0.01, 0.015, 0.005), promised...)
	p.stands(id, "paper/active")
	p.play(id, bundle.SourceImport, same(30, -0.01, -0.011, -0.012))
	p.stands(id, "paper/suspended")
	p.stands(twin, "paper/suspended")
	s := p.state(id)
	last := s.History[len(s.History)-1]
	if last.Type != promotion.RevisionDrifted || !strings.Contains(last.Reason, "D is 2") || !strings.Contains(last.Reason, ">= 20; 5") {
		t.Errorf("%+v", last)
	}
	if s.Shadow.Verdict != policy.Fail || s.Shadow.D < 20 || s.SuspensionID == nil {
		t.Errorf("%+v", s.Shadow)
	}
	// People have seen it: the test begins anew.
	p.say(id, p.resume("rita", "risk", id), p.resume("anna", "approver", id))
	p.stands(id, "paper/active")
	if d := p.state(id).Shadow.D; d != 1 {
		t.Errorf("D is %v", d)
	}
	p.play(id, bundle.SourceImport, same(2, -0.01, -0.011))
	p.stands(id, "paper/active")
	p.play(id, bundle.SourceImport, same(60, -0.02, -0.021, -0.022))
	p.stands(id, "paper/suspended")

	// A revoked key does not let what it stopped go on, and its days count no more.
	p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "shadow-1" {
			k.Status = bundle.KeyRevoked
		}
	})
	p.stands(id, "paper/suspended")
	p.gateIs(id, bundle.Canary, policy.Pending, "no longer trusted")
}

func TestComparedRuns(t *testing.T) {
	p := strict(t)
	soak := p.soaked(bundle.RolePaper, 15)
	soak.Summary = nil
	id := p.submit(p.good(with(soak)), signature("packer"))
	verdict := func() string {
		for _, g := range p.plan(id, bundle.Canary).Gates {
			if g.GateID == "paper.matches_backtest" {
				return fmt.Sprint(g.Verdict, " ", g.Observed)
			}
		}
		return "none"
	}
	if got := verdict(); got != "pending <nil>" {
		t.Fatal(got)
	}
	if got := p.work(id).Uncompared; len(got) != 1 || got[0] != soak.RunID {
		t.Fatalf("%v", got)
	}
	compare := func(diverging int64) {
		s := shadow(bundle.SourceImport, nil)
		said := s.predicate.(bundle.Shadow)
		said.Compared = []bundle.ComparedRun{{RunID: soak.RunID, Fills: 4, Diverging: diverging}}
		s.predicate = said
		p.say(id, s)
	}
	compare(1)
	if got := verdict(); got != "fail 1" || len(p.work(id).Uncompared) != 0 {
		t.Error(got)
	}
	compare(0)
	if got := verdict(); got != "pass 0" {
		t.Error(got)
	}
}

func TestCheckShadow(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	successor := p.submit(p.good(child(id, bundle.ChangeNonMaterial), version("1.0.1")),
		signature("packer"))
	p.now = p.now.Add(5 * day)
	first, _ := bundle.Day("2026-11-21")
	good := shadow(bundle.SourceImport, days(first, 0.01, 0.02)).predicate.(bundle.Shadow)
	if err := promotion.CheckShadow(p.w, id, &good, "", p.now); err != nil {
		t.Fatal(err)
	}
	for reason, c := range map[string]struct {
		id   string
		edit func(*bundle.Shadow)
	}{
		bundle.ReasonUnknown:     {"cr-0", func(*bundle.Shadow) {}},
		bundle.ReasonOtherMarket: {id, func(s *bundle.Shadow) { s.Symbols = []string{"ETH/USDT"} }},
		bundle.ReasonPlayed:      {successor, func(*bundle.Shadow) {}},
		bundle.ReasonOrder:       {id, func(s *bundle.Shadow) { s.Days = s.Days[1:] }},
		bundle.ReasonAhead:       {id, func(s *bundle.Shadow) { s.Days = days(first, same(5, 0)...) }},
	} {
		s := good
		c.edit(&s)
		if err := promotion.CheckShadow(p.w, c.id, &s, "/x", p.now); err == nil || err.Code != bundle.InvalidShadow || err.Reason != reason || err.Pointer != "/x" {
			t.Errorf("%s: %v", reason, err)
		}
	}
	// Whoever owns, asked for or packed it does not say what it did, also of a copy by others.
	for _, by := range []string{"packer", "PACKER", "owner@example.com", "requester@example.com"} {
		for _, of := range []string{id, successor} {
			if !bundle.Among(promotion.Interested(p.w, of), by) {
				t.Errorf("%s may state the days of %s", by, of)
			}
		}
	}
	unknown := good
	unknown.Days, unknown.Compared = nil, []bundle.ComparedRun{{RunID: "base"}}
	if err := promotion.CheckShadow(p.w, id, &unknown, "", p.now); err == nil || err.Reason != bundle.ReasonUnknown {
		t.Errorf("%v", err)
	}
}
