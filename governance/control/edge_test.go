package control_test

import (
	"bufio"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
)

const unknown = "cr-0000000000000000000000000000000000000000000000000000000000000000"

func TestRefusals(t *testing.T) {
	p := plane(t, planetest.Options{})
	doc := planetest.Good(planetest.Start)
	submit(t, p, http.StatusCreated, doc)
	id := doc.Bundle.CandidateRevisionID
	size := p.Store.Size()
	jsonType := http.Header{"Content-Type": {"application/json"}}
	const ingest = "/candidate-bundles/ingest"
	for _, c := range []struct {
		method, path string
		header       http.Header
		body         string
		status       int
		code         string
	}{
		{"POST", ingest, nil, "{}", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"POST", ingest, http.Header{"Content-Type": {"text/plain"}}, "{}", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"POST", ingest, http.Header{"Content-Type": {"application/json; charset=latin1"}}, "{}", 415,
			"UNSUPPORTED_MEDIA_TYPE"},
		{"POST", ingest, http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, "[]", 400,
			"INVALID_BUNDLE"},
		{"POST", ingest, http.Header{"Content-Type": {"text/plain"}, "Content-Encoding": {"gzip"}}, "{}", 415,
			"UNSUPPORTED_CONTENT_ENCODING"},
		{"POST", ingest, jsonType, "", 400, "MALFORMED_JSON"},
		{"POST", ingest, jsonType, "\xef\xbb\xbf{}", 400, "MALFORMED_JSON"},
		{"POST", ingest, jsonType, `{"bundle":[]}`, 400, "INVALID_BUNDLE"},
		{"POST", ingest, jsonType, strings.Repeat(" ", 4<<20+1), 413, "BODY_TOO_LARGE"},
		{"POST", ingest, http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"cross-site"}},
			"{}", 403, "ORIGIN_FORBIDDEN"},
		{"GET", ingest, nil, "", 405, "METHOD_NOT_ALLOWED"},
		{"DELETE", "/promotion-state/family/x", nil, "", 405, "METHOD_NOT_ALLOWED"},
		{"GET", "/", nil, "", 404, "NOT_FOUND"},
		{"GET", "/candidate-bundles", nil, "", 404, "NOT_FOUND"},
		{"GET", "/promotion-state/family/", nil, "", 404, "NOT_FOUND"},
		{"GET", "//promotion-state/family/x", nil, "", 404, "NOT_FOUND"},
		{"GET", "/api/v1/api/v1/health", nil, "", 404, "NOT_FOUND"},
		{"GET", "/promotion-state/strategy-family/x", nil, "", 400, "INVALID_SUBJECT_TYPE"},
		{"GET", "/promotion-state/famil%79/x", nil, "", 400, "INVALID_SUBJECT_TYPE"},
		{"GET", "/promotion-state/family/sma%2Dcross", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/promotion-state/family/..%2f..%2fetc", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/promotion-state/family/Sma", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/promotion-state/candidate_revision/sma-cross", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/promotion-state/family/none", nil, "", 404, "SUBJECT_NOT_FOUND"},
		{"GET", "/promotion-plans/nothing/X/Y", nil, "", 400, "INVALID_SUBJECT_TYPE"},
		{"GET", "/promotion-plans/family/X/Y", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/promotion-plans/candidate_revision/" + unknown + "/retired", nil, "", 400, "INVALID_STAGE"},
		{"GET", "/promotion-plans/candidate_revision/" + unknown + "/paper", nil, "", 404,
			"SUBJECT_NOT_FOUND"},
		{"GET", "/pending-experiments/candidate_revision/" + id + "?stage=x", nil, "", 400, "INVALID_STAGE"},
		{"GET", "/pending-experiments/candidate_revision/" + id + "?stage=", nil, "", 400, "INVALID_STAGE"},
		{"GET", "/pending-experiments/candidate_revision/" + id + "/x", nil, "", 400, "INVALID_STAGE"},
		{"GET", "/deployable-registry/none", nil, "", 404, "FAMILY_NOT_FOUND"},
		{"GET", "/deployable-registry/A%20", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/facts/-1", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/facts/01", nil, "", 400, "INVALID_IDENTIFIER"},
		{"GET", "/facts/999", nil, "", 404, "SUBJECT_NOT_FOUND"},
		{"GET", "/candidate-bundles/" + unknown, nil, "", 404, "SUBJECT_NOT_FOUND"},
		{"GET", "/candidate-bundles/x", nil, "", 400, "INVALID_IDENTIFIER"},
		{"POST", "/candidate-bundles/" + id, jsonType, "{}", 405, "METHOD_NOT_ALLOWED"},
	} {
		for _, prefix := range []string{"", "/api/v1"} {
			if strings.HasPrefix(c.path, "//") && prefix != "" {
				continue
			}
			a := must[planetest.Answer](t)(p.Do(c.method, prefix+c.path, []byte(c.body), c.header))
			if a.Status != c.status || a.Code() != c.code {
				t.Errorf("%s %s%s %v: %d %s, want %d %s", c.method, prefix, c.path, c.header, a.Status,
					a.Body, c.status, c.code)
			}
			everyAnswer(t, a)
			if c.status == 405 && a.Header.Get("Allow") == "" {
				t.Errorf("%s: no Allow", c.path)
			}
		}
	}
	if p.Store.Size() != size {
		t.Errorf("the log grew from %d to %d", size, p.Store.Size())
	}
}

// everyAnswer checks what all answers carry.
func everyAnswer(t *testing.T, a planetest.Answer) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Service-Api-Version": "v1", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy":            "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if a.Header.Get("X-Request-Id") == "" {
		t.Error("no X-Request-Id")
	}
}

func TestReads(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	doc := planetest.Good(planetest.Start)
	submit(t, p, http.StatusCreated, doc)
	id := doc.Bundle.CandidateRevisionID
	for _, path := range []string{
		"/promotion-state/candidate_revision/" + id, "/promotion-state/candidate/sma-cross.btc-usdt-1h",
		"/promotion-state/family/sma-cross",
		"/promotion-state/strategy/sma_cross", "/promotion-plans/family/sma-cross/live",
		"/pending-experiments/candidate_revision/" + id,
		"/pending-experiments/candidate_revision/" + id + "/canary",
		"/pending-experiments/strategy/sma_cross?stage=canary",
		"/portfolio",
		"/deployable-registry/sma-cross", "/candidate-bundles/" + id, "/facts/0", "/facts/3", "/checkpoint",
		"/trust/trusted_root.json", "/trust/governance.pub", "/trust/log.vkey", "/trust/log.json",
		"/trust/trust.json", "/trust/rotations.json",
	} {
		a := get(t, p, path, nil)
		everyAnswer(t, a)
		root := get(t, p, "/api/v1"+path, nil)
		tag := a.Header.Get("ETag")
		if len(tag) != 18 || root.Header.Get("ETag") != tag || string(root.Body) != string(a.Body) {
			t.Errorf("%s: ETag %s, under /api/v1 %s", path, tag, root.Header.Get("ETag"))
		}
		if b := must[planetest.Answer](t)(p.Do("GET", path, nil,
			http.Header{"If-None-Match": {tag}})); b.Status != http.StatusNotModified || len(b.Body) > 0 {
			t.Errorf("%s: If-None-Match %d", path, b.Status)
		}
		if b := must[planetest.Answer](t)(p.Do("HEAD", path, nil, nil)); b.Status != http.StatusOK ||
			b.Header.Get("ETag") != tag {
			t.Errorf("%s: HEAD %d", path, b.Status)
		}
		zipped := must[planetest.Answer](t)(p.Do("GET", path, nil, http.Header{"Accept-Encoding": {"gzip"}}))
		if len(a.Body) >= 1024 {
			z, err := gzip.NewReader(strings.NewReader(string(zipped.Body)))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if text, err := io.ReadAll(z); err != nil || string(text) != string(a.Body) {
				t.Errorf("%s: %v, other bytes when zipped", path, err)
			}
		}
	}
	if got := get(t, p, "/candidate-bundles/"+id, nil); string(got.Body) != string(doc.Canonical) {
		t.Error("the bundle has other bytes")
	}
	if a := get(t, p, "/health", nil); !strings.Contains(string(a.Body), `"status":"healthy"`) {
		t.Errorf("%s", a.Body)
	}
}

// TestRegistryIsReissued: the same bytes until the log has grown or an hour is over.
func TestRegistryIsReissued(t *testing.T) {
	p := plane(t, planetest.Options{})
	submit(t, p, http.StatusCreated, planetest.Good(planetest.Start))
	read := func() (string, *promotion.Registry) {
		r := &promotion.Registry{}
		return string(get(t, p, "/deployable-registry/sma-cross", r).Body), r
	}
	text, reg := read()
	if len(reg.Entries) != 1 || reg.Entries[0].Status != "active" || reg.Version != p.Store.Size() ||
		reg.Attestation.PayloadType != bundle.PayloadRegistry {
		t.Errorf("%s", text)
	}
	p.Advance(59 * time.Minute)
	if again, _ := read(); again != text {
		t.Error("signed again within the hour")
	}
	p.Advance(time.Minute)
	hour, _ := read()
	if hour == text {
		t.Error("not signed again after an hour")
	}
	submit(t, p, http.StatusCreated, planetest.Good(p.Now(), planetest.Params(`{"fast":11}`)))
	if _, grown := read(); grown.Version != p.Store.Size() || len(grown.Entries) != 2 {
		t.Errorf("version %d with %d entries", grown.Version, len(grown.Entries))
	}
}

// TestRegistryNeverGoesBack: a slow request does not answer an older version than was given
// out meanwhile, which a service would take for a rollback.
func TestRegistryNeverGoesBack(t *testing.T) {
	var p *planetest.Plane
	var met atomic.Bool
	var quick promotion.Registry
	p = plane(t, planetest.Options{At: func(point string) {
		if point != "registry.signed" || !met.CompareAndSwap(false, true) {
			return
		}
		if _, err := p.Submit(planetest.Good(p.Now(), planetest.Params(`{"fast":11}`))); err != nil {
			t.Error(err)
		}
		if a, err := p.Get("/deployable-registry/sma-cross"); err != nil || a.Decode(&quick) != nil {
			t.Errorf("%v %s", err, a.Body)
		}
	}})
	submit(t, p, http.StatusCreated, planetest.Good(planetest.Start))
	var slow promotion.Registry
	get(t, p, "/deployable-registry/sma-cross", &slow)
	if quick.Version == 0 || slow.Version != quick.Version {
		t.Errorf("version %d after %d was given out", slow.Version, quick.Version)
	}
}

// TestRawRequests: what net/http refuses by itself has the form of this plane too.
func TestRawRequests(t *testing.T) {
	p := plane(t, planetest.Options{})
	for text, want := range map[string]string{
		"nonsense\r\n\r\n":                                   "400 MALFORMED_REQUEST",
		"GET /health HTTP/1.1\r\n\r\n":                       "400 MALFORMED_REQUEST",
		"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n": "403 HOST_FORBIDDEN",
		"GET /health HTTP/3.0\r\nHost: localhost\r\n\r\n": "505 " +
			"HTTP_VERSION_NOT_SUPPORTED",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n": "405 " +
			"METHOD_NOT_ALLOWED",
		"GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n": "501 " +
			"UNSUPPORTED_TRANSFER_ENCODING",
		"GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: nonsense\r\n\r\n": "417 EXPECTATION_FAILED",
		"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
			"3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": "400 MALFORMED_REQUEST",
		"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a",
			2<<20) + "\r\n\r\n": "431 HEADERS_TOO_LARGE",
		"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/json\r\nContent-Length: 5000000\r\n\r\nGET /health HTT": "413 BODY_TOO_LARGE",
	} {
		c, err := net.Dial("tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		go func() { _, _ = io.WriteString(c, text) }()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%.60q: %v", text, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		a := planetest.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
		if got := resp.Status[:4] + a.Code(); got != want {
			t.Errorf("%.60q: %s, want %s", text, got, want)
		}
		everyAnswer(t, a)
		_ = c.Close()
	}
}
