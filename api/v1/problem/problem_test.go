package problem

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
)

func TestTable(t *testing.T) {
	codes, anchors := map[Code]bool{}, map[string]bool{}
	for _, e := range Table() {
		if codes[e.Code] || anchors[e.Anchor()] || e.Message == "" || e.Advice == "" || http.StatusText(e.Status) == "" || e.Status < 400 {
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
	want := `{"error":{"code":"METHOD_NOT_ALLOWED","message":"This path does not answer this method.","details":{"allow":["GET"],"path":"/<x>","request_id":"id","status_code":405}}}`
	if got := string(p.Envelope("id", "/<x>")); got != want {
		t.Errorf("%s", got)
	}
	if !errors.Is(p, cause) || p.Header.Get("Allow") != "GET" || len(p.Details) != 1 {
		t.Errorf("%+v", p)
	}
	var v any
	if err := json.Unmarshal(New(NoRun).With("x", func() {}).Envelope("id", "/"), &v); err != nil {
		t.Error(err)
	}
}
