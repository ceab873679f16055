package control_test

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// builtIn is a plane under the policy that is built in, and with its trust.
func builtIn(t *testing.T) *planetest.Plane {
	t.Helper()
	return plane(t, planetest.Options{Policy: policy.Default(), Trust: planetest.Trust(1)})
}

func gate(t *testing.T, p *promotion.Plan, id string) promotion.PlanGate {
	t.Helper()
	for _, g := range p.Gates {
		if g.GateID == id {
			return g
		}
	}
	t.Fatalf("the plan has no gate %s", id)
	return promotion.PlanGate{}
}

func replayed(doc *bundle.Document, now time.Time, edit ...func(*bundle.Replay)) planetest.Statement {
	r := planetest.Replay(doc, now)
	for _, e := range edit {
		e(&r)
	}
	return planetest.Statement{By: "replayer", Type: bundle.TypeReplay, Predicate: r}
}

// TestPaperNeedsAReplay: numbers, signature and files alone lead nowhere; a replay that repeats
// hashes, or declared numbers without what follows from the daily results, neither.
func TestPaperNeedsAReplay(t *testing.T) {
	p := builtIn(t)
	now := p.Now()
	doc := planetest.Good(now, planetest.Earning)
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	stands(t, p, doc, "research/pending")
	if g := gate(t, plan(t, p, doc, "paper"), "assurance.signed"); g.Verdict != policy.Pending ||
		g.Reason != "not reproduced" || g.Why == "" {
		t.Errorf("%+v", g)
	}
	for name, edit := range map[string]func(*bundle.Replay){
		"hashes alone":     func(r *bundle.Replay) { r.Runs[0].Inputs = nil },
		"nothing derived":  func(r *bundle.Replay) { r.Runs[1].Inputs.Derived = nil },
		"one run left out": func(r *bundle.Replay) { r.Runs = r.Runs[:1] },
	} {
		alone := builtIn(t)
		submit(t, alone, http.StatusCreated, doc, planetest.Signed(), replayed(doc, now, edit))
		if s := state(t, alone, doc); s.Stage != bundle.Research {
			t.Errorf("%s: %s", name, s.Stage)
		}
	}
	submit(t, p, http.StatusCreated, doc,
		planetest.Statement{By: "packer", Type: bundle.TypeReplay, Predicate: planetest.Replay(doc, now)})
	stands(t, p, doc, "research/pending")
	submit(t, p, http.StatusCreated, doc, replayed(doc, now.Add(time.Second)))
	stands(t, p, doc, "paper/active")
	paper := plan(t, p, doc, "paper")
	for _, id := range []string{"return.test", "sharpe.lower_bound", "holding.not_worse", "search.dsr_max"} {
		if g := gate(t, paper, id); g.Verdict != policy.Pass || g.Observed == nil || g.Why == "" {
			t.Errorf("%+v", g)
		}
	}
}

// TestAReplayWithOtherDays: equal hashes and summaries beside another daily result are a replay that
// came to something else.
func TestAReplayWithOtherDays(t *testing.T) {
	p := builtIn(t)
	doc := planetest.Good(p.Now(), planetest.Earning)
	submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, p.Now(), func(r *bundle.Replay) {
		derived := *r.Runs[0].Inputs.Derived
		derived.Days = []bundle.DailyReturns{{Kind: "test", From: "2025-01-01", Returns: []float64{0.5}}}
		r.Runs[0].Inputs.Derived = &derived
	}))
	if g := gate(t, plan(t, p, doc, "paper"), "replay.independent"); g.Verdict != policy.Fail {
		t.Errorf("%+v", g)
	}
}

// TestLossesOutOfSample: what loses in its test, or has no table of daily results, stays in research.
func TestLossesOutOfSample(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(*bundle.Bundle)
		gate    string
		verdict policy.Verdict
	}{
		"a loss": {func(b *bundle.Bundle) {
			b.Runs[0].Summary["total_return"] = -0.2
		}, "return.test", policy.Fail},
		"no table": {func(b *bundle.Bundle) {
			delete(b.Runs[0].Summary, "total_return")
		}, "sharpe.lower_bound", policy.Pending},
		"no dsr_max": {func(b *bundle.Bundle) {
			delete(b.Runs[0].Summary, "total_return")
		}, "search.dsr_max", policy.Pending},
	} {
		p := builtIn(t)
		doc := planetest.Good(p.Now(), planetest.Earning, c.edit)
		submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, p.Now()))
		stands(t, p, doc, "research/pending")
		if g := gate(t, plan(t, p, doc, "paper"), c.gate); g.Verdict != c.verdict {
			t.Errorf("%s: %+v", name, g)
		}
		if c.verdict == policy.Fail {
			run := doc.Bundle.Runs[0].RunID
			var x promotion.Experiments
			get(t, p, "/pending-experiments/candidate_revision/"+doc.Bundle.CandidateRevisionID+"/paper", &x)
			i := slices.IndexFunc(x.Experiments, func(e promotion.Experiment) bool { return e.GateID == c.gate })
			if i < 0 || x.Experiments[i].SeeWith != "lab report "+run || x.Experiments[i].Sentence != "Not shown: "+
				"that it earns money on the locked test, because its total return is -20 %, where more than 0 % is "+
				"asked for." {
				t.Errorf("%+v", x.Experiments)
			}
		}
	}
}

// TestARefutationTakesTwoWaivers: risk alone cannot waive what a falsification says.
func TestARefutationTakesTwoWaivers(t *testing.T) {
	p := builtIn(t)
	doc := planetest.Good(p.Now(), planetest.Earning, func(b *bundle.Bundle) {
		b.Runs[1].Summary["gates_failed"] = 1
	})
	submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, p.Now()))
	waive := func(by, reason string) planetest.Statement {
		c := planetest.Common(doc, p.Now())
		c.Reason, c.ExpiresAt = reason, bundle.FormatTime(p.Now().Add(24*time.Hour))
		return planetest.Statement{By: by, Type: bundle.TypeWaiver, Predicate: bundle.Waiver{
			Common: c, Stage: bundle.Paper, GateID: "falsification.survived",
		}}
	}
	g := gate(t, plan(t, p, doc, "paper"), "falsification.survived")
	if g.Verdict != policy.Fail || strings.Join(g.WaivableBy, " ") != "risk approver" ||
		!strings.Contains(g.Reason, "test_0") {
		t.Errorf("%+v", g)
	}
	submit(t, p, http.StatusCreated, doc, waive("rita", "seen"))
	stands(t, p, doc, "research/pending")
	submit(t, p, http.StatusCreated, doc, waive("anna", " "))
	stands(t, p, doc, "research/pending")
	submit(t, p, http.StatusCreated, doc, waive("anna", "seen, too"))
	stands(t, p, doc, "paper/active")
	g = gate(t, plan(t, p, doc, "paper"), "falsification.survived")
	if g.Verdict != policy.Waived || !strings.Contains(g.Reason, "rita: seen and by anna: seen, too") {
		t.Errorf("%+v", g)
	}
}

// TestALabThatIsNotListed: a plane that lists programs takes no runs of others.
func TestALabThatIsNotListed(t *testing.T) {
	own, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	for _, listed := range []string{own, other} {
		p := plane(t,
			planetest.Options{Policy: policy.Default(), Trust: planetest.Trust(1), Engines: []string{listed}})
		doc := planetest.Good(p.Now(), planetest.Earning)
		submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, p.Now()))
		g := gate(t, plan(t, p, doc, "paper"), "engine.listed")
		if want := map[bool]policy.Verdict{true: policy.Pass,
			false: policy.Pending}[listed == own]; g.Verdict != want {
			t.Errorf("%s: %+v", listed, g)
		}
	}
}

// TestSoloStopsAtPaper: under the policy of one person the packer's own replay counts, and nothing
// goes further than paper.
func TestSoloStopsAtPaper(t *testing.T) {
	p := plane(t, planetest.Options{Policy: policy.Solo(), Trust: planetest.Trust(1)})
	now := p.Now()
	doc := planetest.Good(now, planetest.Earning)
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	stands(t, p, doc, "research/pending")
	submit(t, p, http.StatusCreated, doc,
		planetest.Statement{By: "packer", Type: bundle.TypeReplay, Predicate: planetest.Replay(doc, now)})
	stands(t, p, doc, "paper/active")
	if g := gate(t, plan(t, p, doc, "canary"), "assurance.signed"); g.Verdict != policy.Pending {
		t.Errorf("%+v", g)
	}
}

// TestPortfolio: two candidates with the same daily results correlate by 1, and a gate keeps the
// second from paper.
func TestPortfolio(t *testing.T) {
	text := strings.Replace(string(policy.Default().Text), `{"id":"incidents.none"`,
		`{"id":"unlike.others","kind":"correlation","max":0.8,"stages":["paper"]},{"id":"incidents.none"`, 1)
	p := plane(t, planetest.Options{Policy: must[*policy.Policy](t)(policy.Parse([]byte(text))), Trust: planetest.Trust(1)})
	first := planetest.Good(p.Now(), planetest.Earning)
	submit(t, p, http.StatusCreated, first, planetest.Signed(), replayed(first, p.Now()))
	stands(t, p, first, "paper/active")
	second := planetest.Good(p.Now(), planetest.Earning, planetest.Params(`{"fast":11}`), func(b *bundle.Bundle) {
		b.Candidate.CandidateID = "sma-cross.eth-usdt-1h"
	})
	submit(t, p, http.StatusCreated, second, planetest.Signed(), replayed(second, p.Now()))
	stands(t, p, second, "research/pending")
	if g := gate(t, plan(t, p, second, "paper"), "unlike.others"); g.Verdict != policy.Fail || g.Observed.(float64) < 0.999 {
		t.Errorf("%+v", g)
	}
	var alone promotion.Portfolio
	get(t, p, "/portfolio", &alone)
	if len(alone.Members) != 1 || len(alone.Pairs) != 0 || alone.Members[0].Days != 119 || *alone.Members[0].RiskShare != 1 {
		t.Errorf("%+v", alone)
	}
	// An edge of 40 bps and an impact of 5 at 10000: 16 times as much capital has an impact of 20.
	if c := alone.Members[0].Capacity; c == nil || *c != 160000 || alone.Capacity == nil ||
		math.Abs(*alone.Capacity-160000) > 1e-6 || *alone.CapacitySymbol != "BTC/USDT" {
		t.Errorf("%+v", alone)
	}
}
