package ui_test

import (
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api"
	"github.com/assay-run/assay/api/ui"
	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/base/edge"
)

// attribution needs escaping, as any text may.
const attribution = "Candles of <Somebody> & others"

// serve shows the dashboard behind the real edge on real TCP.
func serve(t *testing.T) string {
	t.Helper()
	u, err := ui.New(attribution)
	if err != nil {
		t.Fatal(err)
	}
	logger := hclog.NewNullLogger()
	handler, err := api.NewEdge(api.EdgeConfig{Hosts: edge.NewHosts(),
		Routes: append(api.Redirects(), u.Routes()...), Logger: logger, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return apitest.Listen(t, handler)
}

// dist returns every committed file of the bundle by name.
func dist(t *testing.T) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir("dist")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		data, err := os.ReadFile("dist/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = data
	}
	return files
}
