package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// testHistories: after whatever was said, a start derives from the log what the running
// plane had made of it step by step, and a rebuild changes nothing.
func testHistories(t *testing.T, h home) {
	ring.Undetected(t, "it writes from one goroutine")
	count := ring.Size(6, 100, 1000)
	if h.server != nil {
		count /= 50
	}
	for seed := range uint64(count) {
		at := h.place(t)
		live(t, at, rand.New(rand.NewPCG(seed, 1)))
		if d, err := store.Rebuild(t.Context(), at, true); err != nil || len(d) > 0 {
			t.Fatalf("history %d: %v %v", seed, d, err)
		}
		if got := damage(t, at); got != "" {
			t.Fatalf("history %d: %s", seed, got)
		}
	}
}

// live runs a plane through a history.
func live(t *testing.T, at store.Place, r *rand.Rand) {
	t.Helper()
	p, err := planetest.Open(planetest.Options{Dir: at.Dir, Database: at.Database, Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	var docs []*bundle.Document
	for range 25 {
		p.Advance(time.Duration(r.IntN(40)) * time.Hour)
		if len(docs) == 0 || r.IntN(4) == 0 {
			docs = append(docs, newcomer(p, r, docs))
		}
		doc := docs[r.IntN(len(docs))]
		a, err := p.Submit(doc, anything(t, p, r, doc)...)
		if err != nil || a.Status >= 500 {
			t.Fatalf("%v %d %s", err, a.Status, a.Body)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func newcomer(p *planetest.Plane, r *rand.Rand, docs []*bundle.Document) *bundle.Document {
	now := p.Now()
	return planetest.Good(now, planetest.WithSoaks(now),
		planetest.Params(fmt.Sprintf(`{"fast":%d}`, r.IntN(2))), planetest.Title(fmt.Sprint(len(docs))),
		func(b *bundle.Bundle) {
			if len(docs) > 0 && r.IntN(2) == 0 {
				b.Candidate.Lineage = bundle.Lineage{
					ParentRevisionID: &docs[r.IntN(len(docs))].Bundle.CandidateRevisionID,
					ChangeClass:      bundle.ChangeNonMaterial}
			}
		})
}

// anything is some statement about a bundle, which may be refused.
func anything(t *testing.T, p *planetest.Plane, r *rand.Rand, doc *bundle.Document) []planetest.Statement {
	t.Helper()
	now := p.Now()
	c := planetest.Common(doc, now)
	c.MadeAt = now.Format(time.RFC3339Nano)
	var plan promotion.Plan
	var state promotion.State
	stage := []bundle.Stage{bundle.Canary, bundle.Live}[r.IntN(2)]
	id := doc.Bundle.CandidateRevisionID
	if a, err := p.Get("/promotion-plans/candidate_revision/" + id + "/" + string(stage)); err == nil &&
		a.Status == 200 {
		_ = a.Decode(&plan)
	}
	if a, err := p.Get("/promotion-state/candidate_revision/" + id); err == nil && a.Status == 200 {
		_ = a.Decode(&state)
	}
	two := func(kind string, predicate func(role string) any) []planetest.Statement {
		return []planetest.Statement{{By: "rita", Type: kind, Predicate: predicate("risk")},
			{By: "anna", Type: kind, Predicate: predicate("approver")}}
	}
	switch r.IntN(11) {
	case 0:
		return []planetest.Statement{{By: "host", Type: bundle.TypeSuspension,
			Predicate: bundle.Suspension{Common: c, Kill: r.IntN(2) == 0}}}
	case 1:
		return []planetest.Statement{{By: "otto", Type: bundle.TypeSuspension,
			Predicate: bundle.Suspension{Common: c, ToStage: bundle.Paper}}}
	case 2:
		return []planetest.Statement{{By: "otto", Type: bundle.TypeIncident,
			Predicate: bundle.Incident{Common: c, IncidentID: "i", Event: "open", Severity: "critical"}}}
	case 3:
		return []planetest.Statement{{By: "otto", Type: bundle.TypeIncident,
			Predicate: bundle.Incident{Common: c, IncidentID: "i", Event: "close"}}}
	case 4:
		if r.IntN(4) == 0 {
			return []planetest.Statement{{By: "anna", Type: bundle.TypeRejection,
				Predicate: bundle.Ending{Common: c}}}
		}
		return nil
	case 5, 6:
		if plan.PlanDigest == "" {
			return nil
		}
		return two(bundle.TypeApproval, func(role string) any {
			return bundle.Approval{Common: c, Action: "promote", Stage: stage, Role: role,
				PlanDigest: plan.PlanDigest}
		})
	case 7:
		if state.SuspensionID == nil {
			return nil
		}
		return two(bundle.TypeApproval, func(role string) any {
			return bundle.Approval{Common: c, Action: "resume", Stage: stage, Role: role,
				SuspensionID: *state.SuspensionID}
		})
	case 8:
		d := planetest.Drill(doc, now, []string{"pass", "pass", "fail"}[r.IntN(3)])
		d.Common = c
		return []planetest.Statement{{By: "otto", Type: bundle.TypeDrill, Predicate: d}}
	case 9:
		return []planetest.Statement{{By: "replayer", Type: bundle.TypeReplay,
			Predicate: planetest.Replay(doc, now)}}
	}
	return []planetest.Statement{planetest.Signed()}
}
