package stream_test

import (
	"testing"

	"github.com/assay-run/assay/host/runner"
)

type phaseUpdate struct {
	Status   string `json:"status"`
	Previous string `json:"previous_status"`
	Mode     string `json:"mode"`
	Phase    string `json:"phase"`
}

// The phases of a paper or live run are told as they come, each once; a client that comes
// later has the phase from its snapshot.
func TestPhases(t *testing.T) {
	x := newScript()
	s := start(t, setup{prepare: hasty})
	c, _ := s.rich(t)
	x.enter("reconciling")
	x.mode(t, s, runner.ModeLive)
	var p phaseUpdate
	c.await("status_update").into(t, &p)
	if want := (phaseUpdate{"running", "idle", "live", "starting"}); p != want && p.Phase != "reconciling" {
		t.Fatalf("got %+v, want %+v", p, want)
	}
	for _, phase := range []string{"reconciling", "warming", "trading", "reducing"} {
		x.enter(phase)
		for p.Phase != phase {
			c.await("status_update").into(t, &p)
		}
		if want := (phaseUpdate{"running", "running", "live", phase}); p != want && phase != "reconciling" {
			t.Errorf("got %+v, want %+v", p, want)
		}
	}
	late, _ := s.rich(t)
	x.trade(1)
	for _, client := range []*socket{c, late} {
		for f := client.next(); f.Type != "fill"; f = client.next() {
			if f.Type == "status_update" {
				t.Errorf("told again: %s", f.text)
			}
		}
	}
	x.end <- runner.Outcome{}
	c.await("status_update").into(t, &p)
	if want := (phaseUpdate{"completed", "running", "live", ""}); p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
}
