package control_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/hosttest"
)

// TestIngestsAreToldAndCounted: each post is one line at info and one count, without what
// was sent; the page has the log, the revisions and the requests.
func TestIngestsAreToldAndCounted(t *testing.T) {
	log := &hosttest.Buffer{}
	p := plane(t, planetest.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info})})
	doc := planetest.Good(planetest.Start, planetest.Title("a title that stays here"))
	submit(t, p, http.StatusCreated, doc)
	submit(t, p, http.StatusOK, doc)
	if a := must[planetest.Answer](t)(p.Post([]byte(`{"bundle":["sent"]}`))); a.Status != 400 {
		t.Fatal(a.Status)
	}
	_ = must[planetest.Answer](t)(p.Get("/api/v1/promotion-state/family/none"))
	a := must[planetest.Answer](t)(p.Get("/metrics"))
	if a.Status != 200 || a.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	for _, want := range []string{
		`governance_ingests_total{outcome="accepted"} 1`, `governance_ingests_total{outcome="duplicate"} 1`,
		`governance_ingests_total{outcome="refused"} 1`, `governance_ingests_total{outcome="failed"} 0`,
		`governance_revisions{stage="`,
		`governance_http_requests_total{route="/candidate-bundles/ingest",method="POST",code="201"} 1`,
		`governance_http_requests_total{route="/promotion-state/{subject_type}/{subject_id}",method="GET",code="404"} 1`,
		"governance_log_entries ",
	} {
		if !strings.Contains(string(a.Body), want) {
			t.Errorf("%s is missing:\n%s", want, a.Body)
		}
	}
	text := log.String()
	for want, times := range map[string]int{
		"outcome=accepted": 1, "outcome=duplicate": 1, "outcome=refused": 1, "code=INVALID_BUNDLE": 1,
		"assurance=": 2,
		"candidate_revision_id=" + doc.Bundle.CandidateRevisionID: 2, "[INFO]": 3, "stays here": 0, "sent": 0,
	} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q is %d times in the log, not %d:\n%s", want, got, times, text)
		}
	}
}

// TestAnswersAreOfTheSpec: what the plane answers is what its OpenAPI document says.
func TestAnswersAreOfTheSpec(t *testing.T) {
	p := plane(t, planetest.Options{})
	spec := must[planetest.Answer](t)(p.Get("/openapi.json"))
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.Body))
	if err != nil || spec.Status != 200 || spec.Header.Get("Content-Type") != "application/json" {
		t.Fatal(spec.Status, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("http://plane/openapi.json", document); err != nil {
		t.Fatal(err)
	}
	holds := func(name string, a planetest.Answer) {
		t.Helper()
		schema, err := c.Compile("http://plane/openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
		if err == nil {
			err = schema.Validate(body)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, a.Body)
		}
	}
	doc := planetest.Good(planetest.Start)
	holds("Receipt", must[planetest.Answer](t)(p.Submit(doc)))
	id := doc.Bundle.CandidateRevisionID
	for path, name := range map[string]string{
		"/promotion-state/candidate_revision/" + id:            "State",
		"/promotion-plans/candidate_revision/" + id + "/paper": "Plan",
		"/pending-experiments/candidate_revision/" + id:        "Experiments",
		"/facts/0": "Fact", "/health": "Health", "/trust/log.json": "LogInfo", "/trust/rotations.json": "Rotations", "/nothing": "Error",
		"/facts/x":   "Error",
		"/portfolio": "Portfolio",
		"/deployable-registry/" + doc.Bundle.Candidate.FamilyID: "Registry",
	} {
		holds(name, must[planetest.Answer](t)(p.Get(path)))
	}
}
