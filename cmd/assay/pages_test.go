package main

import (
	"html"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/plugin-sdk/sample"
)

// TestPages follows the links of /meta, and looks for what the pages owe to others.
func TestPages(t *testing.T) {
	p := launch(t, t.TempDir())
	recorder, err := apitest.NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	_, meta := ask(t, recorder, "GET", p.url, "/api/v1/meta", "")
	links := meta["links"].(map[string]any)
	if links["ui"] != "/ui" || len(links) != 4 {
		t.Errorf("links: %v", links)
	}
	for name, path := range links {
		page(t, p.url+path.(string), name)
	}
	if page(t, p.url+"/ui", "ui") != page(t, p.url+"/api/v1/ui", "ui") {
		t.Error("/ui and /api/v1/ui differ")
	}
	for _, path := range []string{"/ui/licenses", "/docs/licenses"} {
		text := html.UnescapeString(page(t, p.url+path, path))
		for _, want := range []string{"preact", "@preact/signals-core", "lightweight-charts", "fancy-canvas",
			"TradingView Lightweight Charts™", sample.Attribution()} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %.60q", path, want)
			}
		}
	}
	if code := p.end(t, syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d: %s", code, p.output)
	}
}

func page(t *testing.T, url, name string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s %v", name, resp.Status, err)
	}
	return string(text)
}
