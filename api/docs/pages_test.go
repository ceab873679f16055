package docs_test

import (
	"encoding/json"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/docs"
	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/stream"
)

func TestGolden(t *testing.T) {
	base := serve(t, sample(t))
	golden(t, "errors.html", apitest.Get(t, base+"/docs/errors"))
	golden(t, "events.html", apitest.Get(t, base+"/docs/events"))
	golden(t, "deprecations.html", apitest.Get(t, base+"/docs/deprecations"))
}

// real returns what the service itself shows.
func real(t *testing.T) string {
	t.Helper()
	deprecations, err := v1.Deprecations()
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, docs.Options{Events: stream.Events(), Deprecations: deprecations})
}

func TestErrorsPageHasEveryCode(t *testing.T) {
	page := html.UnescapeString(apitest.Get(t, real(t)+"/docs/errors"))
	for _, e := range problem.Table() {
		row := `<tr id="` + e.Anchor() + `"><th scope="row"><a href="#` + e.Anchor() + `"><code>` + string(
			e.Code) + `</code></a></th><td>` +
			e.Message + `</td>`
		if !strings.Contains(page, row) {
			t.Errorf("%s is not on the page", e.Code)
		}
		if e.Advice == "" || !strings.Contains(page, e.Advice) {
			t.Errorf("%s: nobody is told what to do: %q", e.Code, e.Advice)
		}
	}
}

func TestFailedRunCodes(t *testing.T) {
	want := strings.Fields(
		`PLUGIN_CRASHED PLUGIN_TIMEOUT PLUGIN_PROTOCOL_ERROR PLUGIN_DIVERGED NOT_CAUSAL STRATEGY_ERROR DATA_ERROR
		EXCHANGE_ERROR EXCHANGE_AUTH_FAILED RISK_KILL STOP_UNCONFIRMED RUN_INTERRUPTED JOURNAL_QUARANTINED ARTIFACT_WRITE_FAILED INTERNAL_ERROR`)
	var got []string
	page := apitest.Get(t, real(t)+"/docs/errors")
	for _, r := range docs.Reasons() {
		got = append(got, r.Code)
		if r.Meaning == "" || r.Advice == "" || !strings.Contains(page, `<tr id="`+r.Anchor()+`">`) {
			t.Errorf("%s: %+v", r.Code, r)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("codes %v\nwant  %v", got, want)
	}
}

func TestDeprecationsPage(t *testing.T) {
	if page := apitest.Get(t, real(t)+"/docs/deprecations"); !strings.Contains(page, "Nothing is deprecated.") {
		t.Errorf("the shipped list is empty, yet:\n%s", page)
	}
	page := apitest.Get(t, serve(t, sample(t))+"/docs/deprecations")
	for _, want := range []string{`id="2026-09-old"`, "302 days", "2027-06-30T23:59:59.000Z",
		"GET /api/v1/status", "&lt;b&gt;gone", "/eta"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
}

var (
	loads = regexp.MustCompile(
		`<(?:script|img|iframe|source|video|audio|embed|object|link|form|base)\b[^>]*?\s(?:src|href|data|action|srcset)="([^"]*)"`)
	links = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)
	ids   = regexp.MustCompile(`\sid="([^"]*)"`)
)

func TestNothingForeignIsLoaded(t *testing.T) {
	for _, base := range []string{real(t), serve(t, sample(t))} {
		for _, path := range pages() {
			page := apitest.Get(t, base+path)
			found := loads.FindAllStringSubmatch(page, -1)
			if len(found) < 2 {
				t.Errorf("%s: only %d references found", path, len(found))
			}
			for _, m := range found {
				if m[1] != "data:," && !strings.HasPrefix(m[1], "/docs/") {
					t.Errorf("%s loads %s", path, m[1])
				}
			}
			if path != "/docs" &&
				regexp.MustCompile(`(?i)<script|<style|\son[a-z]+=|\sstyle=|javascript:`).MatchString(page) {
				t.Errorf("%s has a script or an inline style", path)
			}
		}
		if css := apitest.Get(t, base+"/docs/style.css"); strings.Contains(css, "url(") ||
			strings.Contains(css, "@import") {
			t.Error("the style sheet loads something")
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	base := real(t)
	anchors := map[string]map[string]bool{}
	for _, path := range pages() {
		anchors[path] = map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(apitest.Get(t, base+path), -1) {
			if anchors[path][m[1]] {
				t.Errorf("%s has two elements %s", path, m[1])
			}
			anchors[path][m[1]] = true
		}
	}
	elsewhere := []string{"/openapi.json", "/api/v1/meta", "/api/v1/asyncapi.json", "/ui", "/docs/guide"}
	for _, path := range pages() {
		for _, m := range links.FindAllStringSubmatch(apitest.Get(t, base+path), -1) {
			to, fragment, _ := strings.Cut(m[1], "#")
			if to == "" {
				to = path
			}
			if anchors[to] == nil && !slices.Contains(elsewhere, to) || fragment != "" &&
				!anchors[to][fragment] {
				t.Errorf("%s links to %s", path, m[1])
			}
		}
	}
}

// TestGuides: every guide is there, its links lead somewhere, and the search knows its sections.
func TestGuides(t *testing.T) {
	base := real(t)
	var index []struct{ Page, ID, Title, Text string }
	if err := json.Unmarshal([]byte(apitest.Get(t, base+"/docs/guide.json")), &index); err != nil {
		t.Fatal(err)
	}
	anchors := map[string]map[string]bool{"/docs/guide": {}}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	bodies := map[string]string{}
	for _, f := range files {
		path := "/docs/guide/" + strings.ToLower(strings.TrimSuffix(filepath.Base(f), ".md"))
		bodies[path] = apitest.Get(t, base+path)
		anchors[path] = map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(bodies[path], -1) {
			anchors[path][m[1]] = true
		}
	}
	for path, body := range bodies {
		for _, m := range links.FindAllStringSubmatch(body, -1) {
			to, fragment, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			if to == "" {
				to = path
			}
			if strings.HasPrefix(to, "/docs/guide") && (anchors[to] == nil || fragment != "" &&
				!anchors[to][fragment]) {
				t.Errorf("%s links to %s", path, m[1])
			}
		}
	}
	if !strings.Contains(bodies["/docs/guide/glossary"], "walk-forward") {
		t.Error("the glossary is empty")
	}
	if !strings.Contains(bodies["/docs/guide/operators"], `<li><a href="#runs-that-failed">`) {
		t.Error("a guide does not list its sections")
	}
	for _, s := range index {
		if s.Title == "" || !anchors["/docs/guide/"+s.Page][s.ID] {
			t.Errorf("the search leads to %s#%s", s.Page, s.ID)
		}
	}
	if len(index) < 100 {
		t.Errorf("the search knows %d sections", len(index))
	}
}

func TestEventsPage(t *testing.T) {
	page := html.UnescapeString(apitest.Get(t, real(t)+"/docs/events"))
	for _, e := range stream.Events() {
		if !strings.Contains(page, `<tr id="`+e.Direction+"-"+e.Clients+"-"+e.Type+`">`) ||
			!strings.Contains(page, "<pre>"+string(e.Example)+"</pre>") {
			t.Errorf("%s from the %s is not on the page", e.Type, e.Direction)
		}
		for _, f := range e.Payload {
			if !strings.Contains(page, "<dt><code>"+f.Name+"</code></dt><dd>"+f.Text+"</dd>") {
				t.Errorf("%s: field %s is not on the page", e.Type, f.Name)
			}
		}
	}
}

func TestEventsWithoutTable(t *testing.T) {
	page := apitest.Get(t, serve(t, docs.Options{})+"/docs/events")
	if strings.Contains(page, `id="server"`) || !strings.Contains(page, `id="plain"`) ||
		!strings.Contains(page, "4008") {
		t.Errorf("page:\n%s", page)
	}
}
