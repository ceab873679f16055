package control_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// TestNothingLiveWithoutUnseenDays: what was searched elsewhere, or knows the past, has every gate
// of paper and no day after its seal; for real money the gate of such days waits. Approvals do not
// stand for it, and no waiver does for live.
func TestNothingLiveWithoutUnseenDays(t *testing.T) {
	p := builtIn(t)
	now := p.Now()
	doc := planetest.Good(now, planetest.Earning, planetest.WithSoaks(now))
	submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, now))
	stands(t, p, doc, "paper/active")
	for _, stage := range []string{"canary", "live"} {
		g := gate(t, plan(t, p, doc, stage), "shadow.evidence")
		if g.Verdict != policy.Pending || g.Reason == "" {
			t.Errorf("%s: %+v", stage, g)
		}
	}
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "rita", "risk"),
		approval(t, p, doc, "anna", "approver"))
	stands(t, p, doc, "paper/active")
	for _, by := range []string{"rita", "anna"} {
		c := planetest.Common(doc, now)
		c.Reason, c.ExpiresAt = "it is urgent", bundle.FormatTime(now.Add(24*time.Hour))
		submit(t, p, http.StatusCreated, doc, planetest.Statement{By: by, Type: bundle.TypeWaiver,
			Predicate: bundle.Waiver{Common: c, Stage: bundle.Live, GateID: "shadow.evidence"}})
	}
	if g := gate(t, plan(t, p, doc, "live"), "shadow.evidence"); g.Verdict != policy.Pending ||
		len(g.WaivableBy) != 0 {
		t.Errorf("waived for live: %+v", g)
	}
}

// TestCandlesDatedAway: who dates the candles of a bundle elsewhere escapes the count of trials and
// chooses the window of the challenge; who claims more markets or baselines than were attacked gets
// them for nothing. All are refused with both values, and the log does not grow.
func TestCandlesDatedAway(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	now := p.Now()
	honest := planetest.Good(now, planetest.Earning, func(b *bundle.Bundle) {
		b.Runs = append(b.Runs, planetest.Run(now, "later", bundle.RoleOOS, time.Hour,
			map[string]float64{"total_trades": 10}))
		b.Data = append(b.Data, bundle.Dataset{DatasetID: "later", SHA256: b.Data[0].SHA256, Rows: 8784,
			Start: "2024-01-01T00:00:00Z", End: "2025-01-01T00:00:00Z"})
	})
	submit(t, p, http.StatusCreated, honest, planetest.Signed())
	size := p.Store.Size()
	for name, c := range map[string]struct {
		edit    func(*bundle.Bundle)
		pointer string
	}{
		"an earlier begin": {func(b *bundle.Bundle) { b.Data[0].Start = "2022-01-01T00:00:00Z" }, "/data/0/start"},
		"an earlier year": {func(b *bundle.Bundle) {
			b.Data[0].Start, b.Data[0].End = "2012-01-01T00:00:00Z", "2013-01-01T00:00:00Z"
		}, "/data/0/start"},
		"a window around a known place": {func(b *bundle.Bundle) {
			b.Data[0].End = "2023-01-02T00:00:00.000Z"
		}, "/data/0/end"},
		"another order": {func(b *bundle.Bundle) {
			b.Data[0], b.Data[1] = b.Data[1], b.Data[0]
		}, "/data/0/dataset_id"},
		"a dataset that nothing was run on": {func(b *bundle.Bundle) {
			b.Data = append(b.Data, bundle.Dataset{DatasetID: "x", SHA256: b.Data[0].SHA256,
				Start: "2012-01-01T00:00:00Z", End: "2013-01-01T00:00:00Z"})
		}, "/data/2"},
		"one of its datasets twice":  {func(b *bundle.Bundle) { b.Data = append(b.Data, b.Data[0]) }, "/data/2"},
		"the later candles left out": {func(b *bundle.Bundle) { b.Data = b.Data[:1] }, "/data/0/start"},
		"a timeframe without a baseline": {func(b *bundle.Bundle) {
			b.Strategy.Timeframes = []string{"1h", "4h"}
		}, "/strategy/timeframes/1"},
	} {
		forged := forge(t, honest, func(b *bundle.Bundle) {
			b.Data = slices.Clone(b.Data)
			c.edit(b)
		})
		refusedAt(t, p, name, forged, "/bundle"+c.pointer)
	}
	twice := planetest.Good(now, func(b *bundle.Bundle) {
		b.Runs = append(b.Runs, planetest.Run(now, "base2", bundle.RoleBaseline, time.Hour,
			map[string]float64{"total_trades": 100, "max_drawdown": 0.2, "stress_failed": 0}))
	}, planetest.Earning)
	if err := planetest.Put(p.Root, planetest.Files(&twice.Bundle)); err != nil {
		t.Fatal(err)
	}
	refusedAt(t, p, "a baseline that nothing has attacked", twice, "/bundle/runs/2/role")
	if p.Store.Size() != size {
		t.Error("the log grew")
	}
}

// refusedAt requires a signed bundle to be refused for what its files come to at a pointer.
func refusedAt(t *testing.T, p *planetest.Plane, name string, doc *bundle.Document, pointer string) {
	t.Helper()
	a := must[planetest.Answer](t)(p.Submit(doc, planetest.Signed()))
	var m mismatch
	if err := a.Decode(&m); err != nil || a.Status != http.StatusBadRequest ||
		m.Error.Code != "SUMMARY_MISMATCH" || m.Error.Details.Pointer != pointer {
		t.Errorf("%s: %d %.400s", name, a.Status, a.Body)
	}
}

// TestDaysOfOnesOwn: a key with the role of a worker states nothing about what its own person has packed,
// whatever other key that was signed with, nor about its family.
func TestDaysOfOnesOwn(t *testing.T) {
	p := plane(t, planetest.Options{Policy: policy.Default(), Trust: planetest.Trust(1, func(t *bundle.Trust) {
		t.Keys = append(t.Keys, planetest.TrustKey("packer", "second", bundle.TrustShadow),
			planetest.TrustKey("ruth", "third", bundle.TrustLab, bundle.TrustShadow),
			planetest.TrustKey("shadow-1", "shadow-1", bundle.TrustShadow))
	})})
	doc := planetest.Good(p.Now(), planetest.Earning)
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	first := bundle.FirstShadowDay(p.Now())
	p.Advance(first.Add(2*24*time.Hour + 4*time.Hour).Sub(p.Now()))
	own := fetched(doc, first, nil)
	own.By = "second"
	refusedFor(t, p, doc, own, string(bundle.InvalidShadow), bundle.ReasonOwn)
	other := planetest.Good(p.Now(), planetest.Earning, func(b *bundle.Bundle) {
		b.Strategy.Version = "1.0.9"
	})
	submit(t, p, http.StatusCreated, other, planetest.Statement{By: "third", Type: bundle.TypeBundle,
		Predicate: map[string]any{}})
	own.By = "third"
	refusedFor(t, p, doc, own, string(bundle.InvalidShadow), bundle.ReasonOwn)
	submit(t, p, http.StatusCreated, doc, fetched(doc, first, nil))
}

// TestDrillsOfOnesOwn: whoever has packed a program, before, in the same body or another revision of its
// family, does not say that its kill switch works, whatever key they say it with; that it does not, they may.
func TestDrillsOfOnesOwn(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1, func(t *bundle.Trust) {
		t.Keys = append(t.Keys, planetest.TrustKey("packer", "second", bundle.TrustOperator),
			planetest.TrustKey("otto", "third", bundle.TrustLab))
	})})
	doc := planetest.Good(p.Now())
	drill := func(doc *bundle.Document, by, result string) planetest.Statement {
		d := planetest.Drill(doc, p.Now(), result)
		return planetest.Statement{By: by, Type: bundle.TypeDrill, Predicate: d}
	}
	if a, err := p.Submit(doc, planetest.Signed(), drill(doc, "second", "pass")); err != nil ||
		a.Code() != string(bundle.InvalidDrill) || p.Store.Size() != 3 {
		t.Fatalf("%s, %v, %d entries", a.Body, err, p.Store.Size())
	}
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	refusedFor(t, p, doc, drill(doc, "second", "pass"), string(bundle.InvalidDrill), bundle.ReasonOwn)
	submit(t, p, http.StatusCreated, doc, drill(doc, "otto", "pass"), drill(doc, "second", "fail"))
	sibling := planetest.Good(p.Now(), func(b *bundle.Bundle) { b.Strategy.Version = "1.0.9" })
	submit(t, p, http.StatusCreated, sibling, planetest.Statement{By: "third", Type: bundle.TypeBundle,
		Predicate: map[string]any{}})
	p.Advance(time.Minute)
	refusedFor(t, p, doc, drill(doc, "otto", "pass"), string(bundle.InvalidDrill), bundle.ReasonOwn)
}

// TestTheFalsificationLeftOut: a baseline alone stays in research, although another person has replayed it.
func TestTheFalsificationLeftOut(t *testing.T) {
	p := builtIn(t)
	doc := planetest.Good(p.Now(), planetest.Earning, func(b *bundle.Bundle) { b.Runs = b.Runs[:1] })
	submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, p.Now()))
	stands(t, p, doc, "research/pending")
	for _, id := range []string{"falsification.survived", "search.dsr_max", "holding.not_worse"} {
		if g := gate(t, plan(t, p, doc, "paper"), id); g.Verdict != policy.Pending {
			t.Errorf("%+v", g)
		}
	}
}

// TestAfterTheEnd: what was retired does not come back by two people, and a key that nobody trusts stops nothing.
func TestAfterTheEnd(t *testing.T) {
	p, doc := ready(t, planetest.Trust(1))
	stop := planetest.Statement{By: "stranger", Type: bundle.TypeSuspension,
		Predicate: bundle.Suspension{Common: planetest.Common(doc, p.Now()), Kill: true}}
	refusedFor(t, p, doc, stop, "INVALID_SIGNATURE", "")
	stop.By = "otto"
	submit(t, p, http.StatusCreated, doc, stop)
	state := must[planetest.Answer](t)(p.Get("/promotion-state/candidate_revision/" + doc.Bundle.CandidateRevisionID))
	var stopped struct {
		SuspensionID string `json:"suspension_id"`
	}
	if err := state.Decode(&stopped); err != nil || stopped.SuspensionID == "" {
		t.Fatalf("%s, %v", state.Body, err)
	}
	submit(t, p, http.StatusCreated, doc, planetest.Statement{By: "otto", Type: bundle.TypeRetirement,
		Predicate: bundle.Ending{Common: planetest.Common(doc, p.Now())}})
	stands(t, p, doc, "retired/retired")
	for by, role := range map[string]string{"rita": "risk", "anna": "approver"} {
		resume := approval(t, p, doc, by, role, func(a *bundle.Approval) {
			a.Action, a.Stage, a.PlanDigest, a.SuspensionID = "resume", bundle.Paper, "", stopped.SuspensionID
		})
		if a, err := p.Submit(doc, resume); err != nil || a.Status >= http.StatusInternalServerError {
			t.Fatalf("%d %s, %v", a.Status, a.Body, err)
		}
	}
	stands(t, p, doc, "retired/retired")
}
