package control_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/control/planetest"
)

// answered checks that an answer is a success or an envelope, and never an accident.
func answered(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code >= 500 && w.Code != http.StatusNotImplemented && w.Code != http.StatusHTTPVersionNotSupported {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	const version = "X-Service-API-Version" // as it is written, not as Go would
	if w.Header().Get("X-Request-Id") == "" ||
		!slices.Contains(slices.Collect(maps.Keys(w.Header())), version) {
		t.Fatalf("headers %v", w.Header())
	}
	if w.Code/100 == 2 || w.Code == http.StatusNotModified {
		return
	}
	var e struct {
		Error struct {
			Code    string
			Details map[string]any
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error.Code == "" ||
		e.Error.Details["request_id"] == nil {
		t.Fatalf("%d is no envelope: %s", w.Code, w.Body)
	}
}

// FuzzIngest: whatever is posted is answered, and makes the log grow only with a 201.
func FuzzIngest(f *testing.F) {
	h, s := handler(f, planetest.Trust(1))
	doc := planetest.Good(planetest.Start)
	f.Add(doc.Canonical)
	f.Add([]byte(
		`{"bundle":` + string(
			doc.Canonical) + `,"attestations":[{"payload":"","payloadType":"","signatures":[]}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := s.Size()
		w := posted(h, body)
		answered(t, w)
		if grown := s.Size() > before; grown != (w.Code == http.StatusCreated) {
			t.Fatalf("%d, and the log went from %d to %d", w.Code, before, s.Size())
		}
	})
}

// FuzzPath: every path is answered, and no read changes anything.
func FuzzPath(f *testing.F) {
	h, s := handler(f, planetest.Trust(1))
	for _, path := range []string{"/promotion-state/family/x", "/api/v1/facts/0", "/%2e%2e/x",
		"/pending-experiments/family/a?stage=%00", "//", "/trust/log.json/"} {
		f.Add("GET", path)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		if !strings.HasPrefix(path, "/") {
			return
		}
		r, err := http.NewRequest(method, "http://localhost"+path, nil)
		if err != nil {
			return
		}
		before := s.Size()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if method != http.MethodHead {
			answered(t, w)
		}
		if s.Size() != before {
			t.Fatal("a read changed the log")
		}
	})
}
