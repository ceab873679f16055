package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/candidate"
)

// hostile is a name that is markup.
const hostile = `<img src=x onerror="alert(1)">`

// packCandidate puts a candidate into a state directory as lab candidate pack does; without receipt where it
// is nil.
func packCandidate(t *testing.T, state string, doc *bundle.Document, receipt []byte) string {
	t.Helper()
	id := doc.Bundle.CandidateRevisionID
	dir := candidate.NewStore(state).Dir(id)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, bundle.FileName), doc.Canonical, 0o600)
	}
	if err == nil && receipt != nil {
		err = os.WriteFile(filepath.Join(dir, candidate.ReceiptName), receipt, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// want asks a service and holds the answer against the document; it returns the body.
func want(t *testing.T, r *apitest.Recorder, p *process, path string, status int) map[string]any {
	t.Helper()
	got, body := ask(t, r, "GET", p.url, "/api/v1"+path, "")
	if got != status {
		t.Fatalf("%s: %d %v", path, got, body)
	}
	return body
}

// TestGovernanceOverTheAPI: candidates that were packed, and what a real plane says of them, through a real
// service; also while the plane is away.
func TestGovernanceOverTheAPI(t *testing.T) {
	ring.Slow(t, "it starts the service twice")
	p, err := planetest.Open(planetest.Options{Dir: filepath.Join(t.TempDir(), "g"),
		Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	up := true
	defer func() {
		if up {
			_ = p.Close() // the test has failed
		}
	}()
	recorder, err := apitest.NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	doc := planetest.Good(p.Now())
	a, err := p.Submit(doc, planetest.Signed())
	if err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%v %s", err, a.Body)
	}
	id := packCandidate(t, state, doc, a.Body)
	packed := packCandidate(t, state, planetest.Good(p.Now().Add(time.Hour), planetest.Title(hostile),
		func(b *bundle.Bundle) { b.Candidate.Owner, b.Candidate.Slug = hostile, "other" }), nil)
	pub := filepath.Join(t.TempDir(), "governance.pub")
	if err := os.WriteFile(pub, p.Store.Keys().Public.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}

	alone := launch(t, state)
	if got := want(t, recorder, alone, "/governance", 200); got["configured"] != false {
		t.Errorf("%v", got)
	}
	got := want(t, recorder, alone, "/governance/promotion-state/candidate_revision/"+id, 503)
	if got["error"].(map[string]any)["code"] != "CONTROL_UNREACHABLE" {
		t.Errorf("%v", got)
	}
	if got = want(t, recorder, alone, "/candidates/"+id, 200); got["verification"] != "unchecked" {
		t.Errorf("without a key: %v", got["verification"])
	}
	alone.end(t, syscall.SIGTERM)

	// A question of the deployment policy is what pins the log.
	policy, err := deploy.New(deploy.Options{Mode: deploy.Enforce, Source: newPlane(t, p.URL),
		Key: p.Store.Keys().Public.Public, StateDir: state, Now: p.Now})
	if err != nil {
		t.Fatal(err)
	}
	(&testPlane{t: t, policy: policy}).start()
	s := launch(t, state, "--control-url", p.URL, "--control-key", pub)
	readCandidates(t, recorder, s, id, packed, doc)
	readPlane(t, recorder, s, id)

	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	up = false
	got = want(t, recorder, s, "/governance/promotion-state/candidate_revision/"+id, 200)
	if got["reachable"] != false || got["reason"] == "" || got["verified"].(map[string]any)["ok"] != true {
		t.Errorf("%v", got)
	}
	if got := want(t, recorder, s, "/governance", 200); got["reachable"] != false ||
		got["checked_at"] == nil {
		t.Errorf("%v", got)
	}
	want(t, recorder, s, "/governance/promotion-plans/candidate_revision/"+id+"/live", 503)
	deceive(t, recorder, s, state, id, doc)
	s.end(t, syscall.SIGTERM)
}

// readCandidates reads the candidates: id is sealed, packed is newer and was not submitted.
func readCandidates(t *testing.T, recorder *apitest.Recorder, s *process, id, packed string,
	doc *bundle.Document) {
	t.Helper()
	list := want(t, recorder, s, "/candidates", 200)
	items := list["items"].([]any)
	if list["total"] != 2.0 || items[0].(map[string]any)["candidate_revision_id"] != packed ||
		items[0].(map[string]any)["verification"] != "packed" ||
		items[1].(map[string]any)["verification"] != "sealed" ||
		items[0].(map[string]any)["owner"] != hostile {
		t.Errorf("%v", list)
	}
	page := want(t, recorder, s, "/candidates?limit=1", 200)
	next := want(t, recorder, s, "/candidates?limit=1&cursor="+page["next_cursor"].(string), 200)
	if next["items"].([]any)[0].(map[string]any)["candidate_revision_id"] != id ||
		next["next_cursor"] != nil {
		t.Errorf("%v", next)
	}
	if got := want(t, recorder, s, "/candidates?run_id=base&slug=sma-cross", 200); got["total"] != 1.0 {
		t.Errorf("%v", got)
	}
	want(t, recorder, s, "/candidates?nothing=1", 400)
	want(t, recorder, s, "/candidates/cr-"+strings.Repeat("0", 64), 404)
	want(t, recorder, s, "/candidates/..%2F..%2Fservice.lock", 404)
	detail := want(t, recorder, s, "/candidates/"+id, 200)
	text, err := json.Marshal(detail["bundle"])
	if again, refused := bundle.Decode(text); err != nil || refused != nil ||
		!bytes.Equal(again.Canonical, doc.Canonical) || detail["receipt"] == nil ||
		len(detail["steps"].([]any)) < 10 {
		t.Errorf("%v %v", refused, detail)
	}
}

// readPlane reads each of the plane's documents of a revision.
func readPlane(t *testing.T, recorder *apitest.Recorder, s *process, id string) {
	t.Helper()
	subject := "/candidate_revision/" + id
	for path, schema := range map[string]string{
		"/promotion-state" + subject:               "promotion-state/v1",
		"/promotion-plans" + subject + "/canary":   "promotion-plan/v1",
		"/pending-experiments" + subject:           "pending-experiments/v1",
		"/pending-experiments" + subject + "/live": "pending-experiments/v1",
		"/deployable-registry/sma-cross":           "deployable-registry/v1",
	} {
		got := want(t, recorder, s, "/governance"+path, 200)
		v := got["verified"].(map[string]any)
		if got["document"].(map[string]any)["schema"] != schema || v["ok"] != true ||
			v["checkpoint"].(map[string]any)["remembered"] == nil || got["age_seconds"] != 0.0 {
			t.Errorf("%s: %v", path, v)
		}
	}
	for path, code := range map[string]string{
		"/promotion-state/person/x":                                         "VALIDATION_FAILED",
		"/promotion-state/candidate_revision/x":                             "VALIDATION_FAILED",
		"/promotion-state/family/..%2Ftrust":                                "VALIDATION_FAILED",
		"/promotion-plans" + subject + "/moon":                              "VALIDATION_FAILED",
		"/deployable-registry/%3Cscript%3E":                                 "VALIDATION_FAILED",
		"/promotion-state/family/sma-cross?x=1":                             "VALIDATION_FAILED",
		"/deployable-registry/none":                                         "FAMILY_NOT_FOUND",
		"/promotion-state/family/none":                                      "FAMILY_NOT_FOUND",
		"/promotion-state/candidate_revision/cr-" + strings.Repeat("0", 64): "CANDIDATE_NOT_FOUND",
	} {
		_, got := ask(t, recorder, "GET", s.url, "/api/v1/governance"+path, "")
		if e, _ := got["error"].(map[string]any); e["code"] != code {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := want(t, recorder, s, "/governance", 200); got["reachable"] != true || got["checkpoint"] == nil {
		t.Errorf("%v", got)
	}
}

// deceive changes what was packed: it is found out, and named.
func deceive(t *testing.T, recorder *apitest.Recorder, s *process, state, id string, doc *bundle.Document) {
	t.Helper()
	dir := candidate.NewStore(state).Dir(id)
	receipt := filepath.Join(dir, candidate.ReceiptName)
	text, err := os.ReadFile(receipt)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"another leaf": bytes.Replace(text, []byte(`"leaf_sha256":"`), []byte(`"leaf_sha256":"0`), 1),
		"no receipt":   []byte("{}"), "no JSON": []byte("{"),
	} {
		if err := os.WriteFile(receipt, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		got := want(t, recorder, s, "/candidates/"+id, 200)
		if got["verification"] != "failed" || len(got["problems"].([]any)) == 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, bundle.FileName), doc.Canonical[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	got := want(t, recorder, s, "/candidates/"+id, 200)
	if got["verification"] != "failed" || got["bundle"] != nil || got["candidate_id"] != "" {
		t.Errorf("%v", got)
	}
}
