package docs_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api"
	"github.com/assay-run/assay/api/docs"
	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
)

var update = flag.Bool("update", false, "write the golden files")

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// pages are the HTML pages.
func pages() []string {
	return []string{"/docs", "/docs/errors", "/docs/events", "/docs/deprecations", "/docs/licenses"}
}

// serve shows the documentation behind the real edge on real TCP.
func serve(t *testing.T, o docs.Options) string {
	t.Helper()
	d, err := docs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	logger := hclog.NewNullLogger()
	handler, err := api.NewEdge(api.EdgeConfig{Hosts: edge.NewHosts(), Routes: d, Logger: logger,
		Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return apitest.Listen(t, handler)
}

// sample is small and does not change when the tables of the service grow.
func sample(t *testing.T) docs.Options {
	t.Helper()
	going, err := view.ParseDeprecations([]byte(`[
		{"id":"2026-09-old","kind":"endpoint","method":"GET","path":"/api/v1/old","announced_at":"2026-09-01","deprecated_at":"2026-10-01","sunset_at":"2027-06-30T23:59:59Z",
		 "replacement":{"method":"GET","path":"/api/v1/status"},"message":"Use the status instead."},
		{"id":"2026-10-field","kind":"field","method":"GET","path":"/api/v1/status","field":"/eta","announced_at":"2026-10-01","deprecated_at":"2026-10-01","sunset_at":"2027-01-31","message":"It is <b>gone</b>."}]`))
	if err != nil {
		t.Fatal(err)
	}
	return docs.Options{
		Errors: []problem.Entry{
			{Code: "NO_RUN", Status: 409, Message: "There is no run yet.",
				Details: []string{"status", "hint"}, Advice: "Start one."},
			{Code: "NOT_FOUND", Status: 404, Message: "There is nothing at this path.",
				Advice: "Look at <openapi.json>."},
		},
		Reasons: []docs.Reason{{Code: "DATA_ERROR", Meaning: "Bad candles.", Advice: "Import them again.",
			Data:  []string{"reason"},
			Kinds: []docs.Kind{{Value: "corrupt_dataset", Meaning: "The hash differs."}}}},
		Events: []stream.EventDoc{
			{Type: "status_update", Direction: "server", Clients: "plain", Summary: "The status.",
				Rate: "on connect", Example: []byte(`{"status":"idle","run_id":""}`)},
			{Type: "status_update", Direction: "server", Clients: "rich", Summary: "A change.",
				Rate: "each change", Example: []byte(`{"status":"</pre><script>"}`),
				Payload: []stream.FieldDoc{{Name: "status", Text: "the new <status>"}, {Name: "run_id"}}},
			{Type: "heartbeat", Direction: "server", Clients: "rich", Rate: "every 15 s"},
			{Type: "snapshot", Direction: "client", Clients: "rich", Summary: "Asks for a snapshot.",
				Rate: "after a gap in seq", Example: []byte(`{}`)},
		},
		Deprecations: going,
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update):\n%s", path, got)
	}
}
