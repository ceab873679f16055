package docs_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/docs"
	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/apitest"
)

func TestHeaders(t *testing.T) {
	base := serve(t, sample(t))
	types := map[string]string{
		"/docs/init.js": "text/javascript; charset=utf-8", "/docs/style.css": "text/css; charset=utf-8",
	}
	for _, p := range pages() {
		types[p] = "text/html; charset=utf-8"
	}
	for path, contentType := range types {
		t.Run(path, func(t *testing.T) {
			resp, body := apitest.Do(t, "GET", base+path)
			h := resp.Header
			if resp.StatusCode != 200 || h.Get("Content-Type") != contentType ||
				h.Get("Cache-Control") != "no-cache" || h.Get("X-Service-API-Version") != "v1" ||
				h.Get("X-Content-Type-Options") != "nosniff" ||
				h.Get("Content-Length") != strconv.Itoa(len(body)) {
				t.Errorf("%d %v", resp.StatusCode, h)
			}
			if want := strings.HasPrefix(path,
				"/docs"); (h.Get("Content-Security-Policy") == policy) != want {
				t.Errorf("policy: %q", h.Get("Content-Security-Policy"))
			}
			tag := h.Get("ETag")
			if !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) {
				t.Fatalf("the entity tag is not strong: %s", tag)
			}
			head, nothing := apitest.Do(t, "HEAD", base+path)
			if head.StatusCode != 200 || len(nothing) != 0 ||
				head.Header.Get("Content-Length") != h.Get("Content-Length") ||
				head.Header.Get("ETag") != tag {
				t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
			}
			same, nothing := apitest.Do(t, "GET", base+path, `If-None-Match: "x", W/`+tag)
			if same.StatusCode != 304 || len(nothing) != 0 || same.Header.Get("ETag") != tag ||
				same.Header.Get("X-Service-API-Version") != "v1" {
				t.Errorf("If-None-Match: %d %v", same.StatusCode, same.Header)
			}
			if other, _ := apitest.Do(t, "GET", base+path, `If-None-Match: "x"`); other.StatusCode != 200 {
				t.Errorf("another tag: %d", other.StatusCode)
			}
			if post, _ := apitest.Do(t, "POST", base+path); post.StatusCode != 405 ||
				post.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("POST: %d %v", post.StatusCode, post.Header)
			}
		})
	}
	for _, path := range []string{"/docs/", "/docs/errors/", "/docs/index.html", "/docs/scalar.js",
		"/docs/licenses/go.tsv"} {
		if resp, _ := apitest.Do(t, "GET", base+path); resp.StatusCode != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestGzip(t *testing.T) {
	base := serve(t, sample(t))
	for _, path := range []string{"/docs", "/docs/style.css", "/docs/licenses"} {
		_, plain := apitest.Do(t, "GET", base+path)
		resp, zipped := apitest.Do(t, "GET", base+path, "Accept-Encoding: br, gzip")
		if resp.Header.Get("Content-Encoding") != "gzip" ||
			!strings.HasSuffix(resp.Header.Get("ETag"), `-gzip"`) || len(zipped) >= len(plain) {
			t.Errorf("%s: %v", path, resp.Header)
		}
		if got := unzip(t, zipped); !bytes.Equal(got, plain) {
			t.Errorf("%s: the compressed and the plain body differ", path)
		}
		if resp, _ := apitest.Do(t, "GET", base+path, "Accept-Encoding: gzip",
			"If-None-Match: "+resp.Header.Get("ETag")); resp.StatusCode != 304 {
			t.Errorf("%s: the compressed tag does not match: %d", path, resp.StatusCode)
		}
		if resp, _ := apitest.Do(t, "GET", base+path,
			"Accept-Encoding: gzip;q=0"); resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: gzip was refused and sent", path)
		}
	}
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReferenceShowsEveryOperation, parameter, schema and code of the document, and weighs little.
func TestReferenceShowsEveryOperation(t *testing.T) {
	base := serve(t, docs.Options{})
	page := apitest.Get(t, base+"/docs")
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID, Summary string }
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(v1.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for path, operations := range doc.Paths {
		for method, o := range operations {
			call := strings.ToUpper(method) + " " + path
			for _, want := range []string{`id="` + o.OperationID + `"`, ">" + o.Summary + "<",
				">" + call + "<"} {
				if !strings.Contains(html.UnescapeString(page), want) {
					t.Errorf("%s: %s is not on the page", call, want)
				}
			}
			if strings.Contains(page, "<summary>Try "+call+"</summary>") {
				tried++
			}
		}
	}
	if tried < 10 || strings.Contains(page, "<summary>Try GET /api/v1/ws/status") {
		t.Errorf("%d operations can be tried", tried)
	}
	for name, s := range doc.Components.Schemas {
		if !strings.Contains(page, `id="schema-`+name+`"`) {
			t.Errorf("the schema %s is not on the page", name)
		}
		for field := range s.Properties {
			if !strings.Contains(page, "<code>"+field+"</code>") {
				t.Errorf("%s: the field %s is not on the page", name, field)
			}
		}
	}
	size := 0
	for _, path := range []string{"/docs", "/docs/init.js", "/docs/style.css"} {
		_, zipped := apitest.Do(t, "GET", base+path, "Accept-Encoding: gzip")
		size += len(zipped)
	}
	if size > 100<<10 {
		t.Errorf("the reference weighs %d bytes: the dashboard has at most 150 KiB", size)
	}
}

// TestHostileDocument: what stands in a document stays text.
func TestHostileDocument(t *testing.T) {
	const evil = `\"'><script>alert(1)</script><img src=x onerror=x()>`
	document := strings.ReplaceAll(`{"info":{"description":"EVIL"},
		"tags":[{"name":"x","description":"EVIL"}],
		"paths":{"/EVIL":{"post":{"operationId":"EVIL","tags":["x"],"summary":"EVIL","description":"EVIL",
			"parameters":[{"name":"EVIL","in":"query"}],"requestBody":{"content":{"application/json":
				{"schema":{"type":"object"},"example":{"a":"EVIL"}}}},
			"responses":{"200":{"description":"EVIL"}},"x-error-codes":["EVIL"]}}},
		"components":{"schemas":{"EVIL":{"type":"object","description":"EVIL",
			"properties":{"EVIL":{"enum":["EVIL"]}}}}}}`, "EVIL", evil)
	page := apitest.Get(t, serve(t, docs.Options{OpenAPI: []byte(document)})+"/docs")
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") ||
		strings.Count(page, "<script") != 1 {
		t.Error("a text of the document became HTML")
	}
	if _, err := docs.New(docs.Options{OpenAPI: []byte("{")}); err == nil {
		t.Error("a damaged document is taken")
	}
}

// TestEveryPageIsMade: what New returns is made when somebody asks, and none of it fails then.
func TestEveryPageIsMade(t *testing.T) {
	routes, err := docs.New(docs.Options{})
	if err != nil || len(routes) < 20 {
		t.Fatalf("%d routes: %v", len(routes), err)
	}
	url := serve(t, docs.Options{})
	for _, r := range routes {
		if text := apitest.Get(t, url+r.Path); len(text) < 100 {
			t.Errorf("%s is %q", r.Path, text)
		}
	}
}
