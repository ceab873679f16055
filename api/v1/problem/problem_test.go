package problem

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	codes, anchors := map[Code]bool{}, map[string]bool{}
	for _, e := range Table() {
		if codes[e.Code] || anchors[e.Anchor()] || e.Message == "" || e.Advice == "" ||
			http.StatusText(e.Status) == "" || e.Status < 400 {
			t.Errorf("%+v", e)
		}
		codes[e.Code], anchors[e.Anchor()] = true, true
	}
	if e := Lookup("NONE"); e.Status != 500 {
		t.Errorf("%+v", e)
	}
	if a := Lookup(RunAlreadyActive).Anchor(); a != "run-already-active" {
		t.Error(a)
	}
}

func TestEnvelope(t *testing.T) {
	cause := errors.New("private")
	p := New(MethodNotAllowed).With("allow", []string{"GET"}).WithHeader("Allow", "GET").WithCause(cause)
	want := `{"error":{"code":"METHOD_NOT_ALLOWED","message":"This path does not answer this method.","details":{"allow":["GET"],"path":"/api/v1/<x>","request_id":"id","status_code":405}}}`
	if got := string(p.Body("id", "/api/v1/<x>")); got != want {
		t.Errorf("%s", got)
	}
	if !errors.Is(p, cause) || p.Header.Get("Allow") != "GET" || len(p.Details) != 1 {
		t.Errorf("%+v", p)
	}
	var v any
	if err := json.Unmarshal(New(NoRun).With("x", func() {}).Body("id", Base), &v); err != nil {
		t.Error(err)
	}
}

// TestBodyOutsideOfTheAPI: only paths of the API have a code; the others say message, status and path.
func TestBodyOutsideOfTheAPI(t *testing.T) {
	p := New(NotFound).With("private", "detail")
	for path, want := range map[string]string{
		"/no<pe":   `{"error":"There is nothing at this path.","status_code":404,"path":"/no<pe"}`,
		"":         `{"error":"There is nothing at this path.","status_code":404,"path":""}`,
		"/api/v10": `{"error":"There is nothing at this path.","status_code":404,"path":"/api/v10"}`,
	} {
		if got := string(p.Body("id", path)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	var long struct{ Path string }
	if err := json.Unmarshal(p.Body("id", "/"+strings.Repeat("x", 4000)), &long); err != nil ||
		len(long.Path) != 1024 {
		t.Errorf("%d bytes of the path, %v", len(long.Path), err)
	}
	if got := string(p.Body("id", Base)); !strings.Contains(got, `"code":"NOT_FOUND"`) {
		t.Error(got)
	}
}
