package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/dsse"
)

// ready is a plane with a revision that only people keep from canary.
func ready(t *testing.T, trust *bundle.Trust) (*planetest.Plane, *bundle.Document) {
	t.Helper()
	p := plane(t, planetest.Options{Trust: trust})
	now := p.Now()
	doc := planetest.Good(now, planetest.WithSoaks(now))
	if a, err := p.SubmitReplayed(doc, planetest.Statement{By: "otto", Type: bundle.TypeDrill,
		Predicate: planetest.Drill(doc, now, "pass")}); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%v %s", err, a.Body)
	}
	stands(t, p, doc, "paper/eligible")
	return p, doc
}

func plan(t *testing.T, p *planetest.Plane, doc *bundle.Document, stage string) *promotion.Plan {
	t.Helper()
	out := &promotion.Plan{}
	get(t, p, "/promotion-plans/candidate_revision/"+doc.Bundle.CandidateRevisionID+"/"+stage, out)
	return out
}

func approval(t *testing.T, p *planetest.Plane, doc *bundle.Document, by, role string,
	edit ...func(*bundle.Approval)) planetest.Statement {
	t.Helper()
	shown := plan(t, p, doc, "canary")
	a := bundle.Approval{
		Common: planetest.Common(doc, p.Now()), Action: "promote", Stage: bundle.Canary, Role: role,
		PlanDigest: shown.PlanDigest, TrustDigest: *shown.TrustDigest,
	}
	for _, e := range edit {
		e(&a)
	}
	return planetest.Statement{By: by, Type: bundle.TypeApproval, Predicate: a}
}

// refusedFor posts a statement that must be refused with this code and reason, and that
// must leave nothing behind.
func refusedFor(t *testing.T, p *planetest.Plane, doc *bundle.Document, said planetest.Statement, code,
	reason string) {
	t.Helper()
	size := p.Store.Size()
	a := submit(t, p, http.StatusBadRequest, doc, said)
	var body struct {
		Error struct{ Details struct{ Reason string } }
	}
	if err := a.Decode(&body); err != nil || a.Code() != code || body.Error.Details.Reason != reason {
		t.Errorf("by %s: %s, want %s %s", said.By, a.Body, code, reason)
	}
	if p.Store.Size() != size {
		t.Error("the log grew")
	}
}

func TestApprovalsThatAreRefused(t *testing.T) {
	p, doc := ready(t, planetest.Trust(1))
	refusedFor(t, p, doc, approval(t, p, doc, planetest.Owner, "risk"), "INVALID_ATTESTATION",
		"self_approval")
	refusedFor(t, p, doc, approval(t, p, doc, "anna", "risk"), "INVALID_ATTESTATION", "role")
	refusedFor(t, p, doc, approval(t, p, doc, "packer", "risk"), "INVALID_ATTESTATION", "role")
	refusedFor(t, p, doc, approval(t, p, doc, "stranger", "risk"), "INVALID_SIGNATURE", "")
	refusedFor(t, p, doc,
		approval(t, p, doc, "rita", "risk", func(a *bundle.Approval) {
			a.LogOrigin = "other.example"
		}), "INVALID_ATTESTATION", "audience")
	refusedFor(t, p, doc,
		approval(t, p, doc, "rita", "risk", func(a *bundle.Approval) {
			a.CandidateRevisionID = unknown
		}), "INVALID_ATTESTATION", "audience")
	refusedFor(t, p, doc, approval(t, p, doc, "rita", "risk", func(a *bundle.Approval) {
		a.MadeAt, a.ExpiresAt = bundle.FormatTime(p.Now().Add(-time.Hour)), bundle.FormatTime(p.Now())
	}), "INVALID_ATTESTATION", "expired")
	refusedFor(t, p, doc,
		approval(t, p, doc, "rita", "risk", func(a *bundle.Approval) {
			a.MadeAt = bundle.FormatTime(p.Now().Add(time.Hour))
		}), "INVALID_ATTESTATION", "expired")
	refusedFor(t, p, doc, planetest.Statement{By: "rita", Type: bundle.TypeWaiver, Predicate: bundle.Waiver{
		Common: func() bundle.Common {
			c := planetest.Common(doc, p.Now())
			c.ExpiresAt = bundle.FormatTime(p.Now().Add(8 * 24 * time.Hour))
			return c
		}(), Stage: bundle.Canary, GateID: "soak.paper",
	}}, "INVALID_ATTESTATION", "expired")
	// A statement about another file, beside this one.
	other := planetest.Good(p.Now(), planetest.Title("other"))
	env, err := other.Attest(bundle.TypeApproval, approval(t, p, doc, "rita", "risk").Predicate,
		planetest.Key("rita"))
	if err != nil {
		t.Fatal(err)
	}
	body := must[[]byte](t)(bundle.EncodePost(doc.Canonical, env))
	if a := must[planetest.Answer](t)(p.Post(body)); a.Status != http.StatusBadRequest ||
		a.Code() != "ATTESTATION_SUBJECT_MISMATCH" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	stands(t, p, doc, "paper/eligible")
}

// TestDecisionsNameTheTrust: what is recorded and decided names the trust.json that counts then, and an
// approval that was given under another one is refused.
func TestDecisionsNameTheTrust(t *testing.T) {
	old, newer := planetest.Trust(1), planetest.Trust(2)
	p, doc := ready(t, old)
	early := approval(t, p, doc, "anna", "approver")
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "rita", "risk"))
	if err := p.Store.Reconfigure(t.Context(), policy.First(), newer); err != nil {
		t.Fatal(err)
	}
	refusedFor(t, p, doc, early, "INVALID_ATTESTATION", "trust")
	first := p.Store.Size()
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "anna", "approver"))
	stands(t, p, doc, "canary/eligible")
	for seq, want := range map[int64]*bundle.Trust{first - 2: old, first: newer, first + 1: newer} {
		var page struct {
			Facts []struct {
				Type   promotion.FactType
				Fields struct {
					TrustDigest string `json:"trust_digest"`
				}
			}
		}
		get(t, p, fmt.Sprintf("/facts/%d", seq), &page)
		if len(page.Facts) == 0 || page.Facts[0].Fields.TrustDigest != want.Digest() {
			t.Errorf("entry %d: %+v, not %s", seq, page.Facts, want.Digest())
		}
	}
}

// TestApprovalsThatDoNotCount are kept, but promote nothing.
func TestApprovalsThatDoNotCount(t *testing.T) {
	trust := planetest.Trust(1, func(tr *bundle.Trust) {
		tr.Keys = append(tr.Keys, planetest.TrustKey("rita", "second key of rita", bundle.TrustApprover))
	})
	p, doc := ready(t, trust)
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "rita", "risk"))
	// the same person
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "second key of rita", "approver"))
	if missing := plan(t, p, doc, "canary").Approvals.Missing; missing != 1 {
		t.Errorf("two keys of one person: %d missing", missing)
	}
	swapped := approval(t, p, doc, "anna", "approver", func(a *bundle.Approval) {
		a.PlanDigest = plan(t, p, doc, "live").PlanDigest
	})
	r := read(t, submit(t, p, http.StatusCreated, doc, swapped))
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "APPROVAL_PLAN_DIFFERS" {
		t.Errorf("%v", r.Warnings)
	}
	stands(t, p, doc, "paper/eligible")
	p.Advance(6 * 24 * time.Hour) // rita's has run out
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "anna", "approver"))
	if s := state(t, p, doc); s.Stage != bundle.Paper {
		t.Errorf("an approval that has expired counted: %s", s.Stage)
	}
	p.Advance(400 * 24 * time.Hour)
	if s := state(t, p, doc); s.Stage != bundle.Paper {
		t.Errorf("time promoted it to %s", s.Stage)
	}
}

// TestTwoPeople: two approvals of different people, in one post or two, in any order.
func TestTwoPeople(t *testing.T) {
	for _, order := range [][]string{{"rita", "anna"}, {"anna", "rita"}} {
		p, doc := ready(t, planetest.Trust(1))
		role := map[string]string{"rita": "risk", "anna": "approver"}
		submit(t, p, http.StatusCreated, doc, approval(t, p, doc, order[0], role[order[0]]),
			approval(t, p, doc, order[1], role[order[1]]))
		stands(t, p, doc, "canary/eligible")
	}
}

// TestExpiredTrust: nothing counts any more but stops.
func TestExpiredTrust(t *testing.T) {
	p, doc := ready(t,
		planetest.Trust(1, func(tr *bundle.Trust) {
			tr.ExpiresAt = bundle.FormatTime(planetest.Start.Add(time.Hour))
		}))
	p.Advance(2 * time.Hour)
	refusedFor(t, p, doc, approval(t, p, doc, "rita", "risk"), "INVALID_SIGNATURE", "")
	submit(t, p, http.StatusCreated, doc,
		planetest.Statement{By: "host", Type: bundle.TypeSuspension,
			Predicate: bundle.Suspension{Common: planetest.Common(doc, p.Now())}})
	stands(t, p, doc, "paper/suspended")
}

// TestRevokedKey: with the next trust.json a key counts no more, nor what it had signed.
func TestRevokedKey(t *testing.T) {
	p, doc := ready(t, planetest.Trust(1))
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "rita", "risk"))
	revoked := planetest.Trust(2, func(tr *bundle.Trust) {
		for i := range tr.Keys {
			if tr.Keys[i].Principal == "rita" {
				tr.Keys[i].Status = bundle.KeyRevoked
			}
		}
	})
	if err := p.Store.Reconfigure(t.Context(), nil, revoked); err != nil {
		t.Fatal(err)
	}
	refusedFor(t, p, doc, approval(t, p, doc, "rita", "risk"), "INVALID_SIGNATURE", "")
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "anna", "approver"))
	if s := state(t, p, doc); s.Stage != bundle.Paper {
		t.Errorf("the approval of a revoked key counted: %s", s.Stage)
	}
}

// TestEnvelopeOfTwo: one envelope with the signatures of two people is two statements.
func TestEnvelopeOfTwo(t *testing.T) {
	p, doc := ready(t, planetest.Trust(1))
	said := approval(t, p, doc, "rita", "risk")
	first := must[dsse.Envelope](t)(doc.Attest(said.Type, said.Predicate, planetest.Key("rita")))
	second := must[dsse.Envelope](t)(doc.Attest(said.Type, said.Predicate, planetest.Key("ruth")))
	first.Signatures = append(first.Signatures, second.Signatures...)
	body := must[[]byte](t)(bundle.EncodePost(doc.Canonical, first))
	size := p.Store.Size()
	if a := must[planetest.Answer](t)(p.Post(body)); a.Status != http.StatusCreated {
		t.Fatalf("%s", a.Body)
	}
	stands(t, p, doc, "canary/eligible")
	if grown := p.Store.Size() - size; grown != 3 {
		t.Errorf("the log grew by %d", grown)
	}
	text := string(get(t, p, fmt.Sprint("/facts/", size), nil).Body)
	if !strings.Contains(text, "approval_granted") {
		t.Errorf("%s", text)
	}
}

// TestAcceptedBodyAgain: a body that was taken is a duplicate for ever, also after its statements
// have expired, and still a new statement must hold now and each signature must be one.
func TestAcceptedBodyAgain(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1, func(tr *bundle.Trust) {
		for i := range tr.Keys {
			if tr.Keys[i].Principal == "replayer" { // the key runs out on the way, too
				tr.Keys[i].ValidUntil = bundle.FormatTime(planetest.Start.Add(24 * time.Hour))
			}
		}
	})})
	doc := planetest.Good(p.Now(), planetest.WithSoaks(p.Now()))
	replay := planetest.Statement{By: "replayer", Type: bundle.TypeReplay,
		Predicate: planetest.Replay(doc, p.Now())}
	submit(t, p, http.StatusCreated, doc, planetest.Signed(), replay)
	agree := approval(t, p, doc, "rita", "risk")
	submit(t, p, http.StatusCreated, doc, agree)
	size := p.Store.Size()
	for _, later := range []time.Duration{0, 2 * 24 * time.Hour, 100 * 24 * time.Hour} {
		p.Advance(later)
		a := submit(t, p, http.StatusOK, doc, planetest.Signed(), replay, agree)
		var rec struct{ Duplicate bool }
		if err := a.Decode(&rec); err != nil || !rec.Duplicate || p.Store.Size() != size {
			t.Errorf("after %v: %v, %d entries, want %d: %s", later, err, p.Store.Size(), size, a.Body)
		}
	}
	// The same words, said now by somebody else, have expired.
	again := agree
	again.By = "ruth"
	refusedFor(t, p, doc, again, "INVALID_ATTESTATION", "expired")
	env := must[dsse.Envelope](t)(doc.Attest(replay.Type, replay.Predicate, planetest.Key("replayer")))
	env.Signatures[0].Sig = must[dsse.Envelope](t)(doc.Attest(bundle.TypeBundle, map[string]any{},
		planetest.Key("replayer"))).Signatures[0].Sig
	body := must[[]byte](t)(bundle.EncodePost(doc.Canonical, env))
	if a := must[planetest.Answer](t)(p.Post(body)); a.Code() != "INVALID_SIGNATURE" {
		t.Errorf("another signature over what was recorded: %d %s", a.Status, a.Code())
	}
}
