package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/digest"
)

// TestARegisteredPlan: the first registration counts, also after the log was read again, and a
// search claims its own count only where every candle opened after it.
func TestARegisteredPlan(t *testing.T) {
	dir := t.TempDir()
	open := func() *planetest.Plane {
		return must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir}))
	}
	p := open()
	sum := digest.SHA256Hex([]byte("plan"))
	id := bundle.PlanID(sum)
	body := fmt.Sprintf(`{"schema":"plan-registration/v1","plan_id":"%s","plan_sha256":"%s",`+
		`"family_id":"fresh","slug":"fresh","trials":7}`, id, sum)
	post := func(text string) (int, map[string]any) {
		t.Helper()
		header := http.Header{"Content-Type": {"application/json"}}
		a, err := p.Do(http.MethodPost, "/plans", []byte(text), header)
		var v map[string]any
		if err == nil {
			err = json.Unmarshal(a.Body, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a.Status, v
	}
	status, first := post(body)
	if status != http.StatusOK || first["duplicate"] != false || first["plan_id"] != id {
		t.Fatal(status, first)
	}
	p.Advance(time.Hour)
	if status, again := post(body); status != 200 || again["duplicate"] != true ||
		again["registered_at"] != first["registered_at"] {
		t.Error(status, again)
	}
	for _, wrong := range []string{"{}", body[:len(body)-2] + "0}",
		`{"schema":"plan-registration/v1","plan_id":"plan_x","plan_sha256":"` + sum +
			`","family_id":"f","slug":"f","trials":7}`} {
		if status, v := post(wrong); status != http.StatusBadRequest && status != http.StatusOK {
			t.Error(wrong, status, v)
		} else if wrong != body[:len(body)-2]+"0}" && status != http.StatusBadRequest {
			t.Error(wrong, status, v)
		}
	}
	now := p.Now()
	submit(t, p, http.StatusCreated, planetest.Good(now, func(b *bundle.Bundle) {
		withTrials("ann", "search", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l")(b)
	}))
	doc := planetest.Good(now, planetest.Params(`{"fast":12}`), func(b *bundle.Bundle) {
		withTrials("bob", "fresh", "z")(b)
		b.Candidate.Lineage.FamilyRunID = id
	})
	submit(t, p, http.StatusCreated, doc)
	late := planetest.Good(now, planetest.Params(`{"fast":13}`), func(b *bundle.Bundle) {
		withTrials("bob", "fresh", "y")(b)
		b.Candidate.Lineage.FamilyRunID = id
		b.Data[0].Start, b.Data[0].End = now.Format(time.RFC3339), now.Add(24*time.Hour).Format(time.RFC3339)
		b.Candidate.CandidateID = "later.btc-usdt-1h"
	})
	submit(t, p, http.StatusCreated, late)
	for range 2 {
		n := plan(t, p, doc, "paper").Numbers.Trials
		if n.Plan == nil || n.Plan.Applies || n.Plan.Trials != 7 || n.Plane != 13 {
			t.Errorf("on older candles: %+v %+v", n, n.Plan)
		}
		n = plan(t, p, late, "paper").Numbers.Trials
		if n.Plan == nil || !n.Plan.Applies || n.Plan.Registered != 7 || n.Plane != n.Declared {
			t.Errorf("on candles after it: %+v %+v", n, n.Plan)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p = open()
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
