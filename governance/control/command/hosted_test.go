package command_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
)

// soak is the gate about the fortnight in paper.
func (d *desk) soak(id string) string {
	d.t.Helper()
	var p promotion.Plan
	a, err := d.p.Get("/promotion-plans/candidate_revision/" + id + "/canary")
	if err == nil {
		err = a.Decode(&p)
	}
	for _, g := range p.Gates {
		if g.GateID == "soak.paper" {
			return string(g.Verdict) + ": " + g.Reason
		}
	}
	d.t.Fatalf("%v %s", err, a.Body)
	return ""
}

// TestAServiceSignsItsRun: what a service has signed before any bundle names the run counts for each bundle that
// lists these very files, if a host's key has made it.
func TestAServiceSignsItsRun(t *testing.T) {
	d := newDesk(t)
	doc := planetest.Good(d.p.Now(), planetest.WithSoaks(d.p.Now()))
	id, files := doc.Bundle.CandidateRevisionID, planetest.Files(&doc.Bundle)
	if a, err := d.p.Submit(doc, planetest.Signed()); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%v %s", err, a.Body)
	}
	report, metadata := files["runs/soak-paper/report.json"], files["runs/soak-paper/metadata.json"]
	post := func(doc *bundle.Document, by string, report []byte) planetest.Answer {
		t.Helper()
		env, err := bundle.SignRun("soak-paper", report, metadata, planetest.Start, planetest.Key(by))
		if err != nil {
			t.Fatal(err)
		}
		body, err := bundle.EncodePost(doc.Canonical, env)
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.p.Post(body)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for name, a := range map[string]planetest.Answer{
		"INVALID_ATTESTATION":          post(doc, "otto", report),
		"ATTESTATION_SUBJECT_MISMATCH": post(doc, "host", metadata),
		"INVALID_SIGNATURE":            post(doc, "a stranger", report),
	} {
		if a.Code() != name || a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if got := d.soak(id); !strings.HasPrefix(got, "pending") {
		t.Error(got)
	}
	if a := post(doc, "host", report); a.Status != http.StatusCreated {
		t.Fatalf("%s", a.Body)
	}
	if got := d.soak(id); !strings.HasPrefix(got, "pass") {
		t.Error(got)
	}
	if a := post(doc, "host", report); a.Status != http.StatusOK {
		t.Errorf("again: %d %s", a.Status, a.Body)
	}
}

// TestAHostSignsItsRun: the files must be those that the bundle names, and the key a host's.
func TestAHostSignsItsRun(t *testing.T) {
	d := newDesk(t)
	doc := planetest.Good(d.p.Now(), planetest.WithSoaks(d.p.Now()))
	if a, err := d.p.Submit(doc, planetest.Signed()); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%v %s", err, a.Body)
	}
	id := doc.Bundle.CandidateRevisionID
	soak := func() string { return d.soak(id) }
	if got := soak(); !strings.HasPrefix(got, "pending: 0 of") ||
		!strings.Contains(got, "no host has signed") {
		t.Fatal(got)
	}
	dir := t.TempDir()
	as := func(who string, want int, words, run string) {
		t.Helper()
		out := d.as(who, want, "hosted", id, "--run", run, "--run-state-dir", dir)
		if !strings.Contains(out, words) {
			t.Errorf("no %q:\n%s", words, out)
		}
	}
	as("host", 1, "RUN_NOT_FOUND", "soak-paper")
	if err := planetest.Put(dir, planetest.Files(&doc.Bundle)); err != nil {
		t.Fatal(err)
	}
	as("host", 1, "is no paper, canary or live run", "base")
	path := filepath.Join(dir, "runs", "soak-paper", "metadata.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range [][]byte{append(text, ' '), text} {
		if err := os.WriteFile(path, one, 0o600); err != nil {
			t.Fatal(err)
		}
		if len(one) > len(text) {
			as("host", 1, "ARTIFACT_HASH_MISMATCH", "soak-paper")
		}
	}
	as("otto", 1, "INVALID_ATTESTATION", "soak-paper")
	as("host", 0, "", "soak-paper")
	if got := soak(); !strings.HasPrefix(got, "pass") {
		t.Error(got)
	}
	if !bundle.RolePaper.Venue() || bundle.RoleOOS.Venue() {
		t.Error("the roles of venues")
	}
}
