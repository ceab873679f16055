package v1

import (
	"net/http/httptest"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/runner"
)

// TestLongPollPlaces: when no further client can wait the answer comes at once and does not
// say that it waited.
func TestLongPollPlaces(t *testing.T) {
	a, err := New(Options{Runner: runner.New(runner.Options{Logger: hclog.NewNullLogger()})})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(tag string) (applied string) {
		r := httptest.NewRequest("GET", Base+"/status", nil)
		r.Header.Set("If-None-Match", tag)
		r.Header.Set("Prefer", "wait=30")
		answer, err := a.status(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Header.Get("Preference-Applied")
	}
	if got := ask(`W/"old"`); got != "wait=30" {
		t.Errorf("with a place: %q", got)
	}
	for range maxPolls {
		a.polls <- struct{}{}
	}
	if got := ask(`W/"` + a.tag(a.opts.Runner.Status()) + `"`); got != "" {
		t.Errorf("without a place: %q", got)
	}
}
