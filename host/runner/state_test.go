package runner

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

// TestTransitions spells out every state and event a second time.
func TestTransitions(t *testing.T) {
	ok := func(s state) string {
		return [numStates]string{"idle", "running", "stopping", "completed", "failed"}[s]
	}
	want := map[event][numStates]string{
		//             idle, running, stopping, completed, failed
		start: {"running", "RUN_ALREADY_ACTIVE", "RUN_ALREADY_ACTIVE", "RUN_ALREADY_ACTIVE",
			"RUN_ALREADY_ACTIVE"},
		replace: {"running", "RUN_ALREADY_ACTIVE", "RUN_ALREADY_ACTIVE", "running", "running"},
		launchFailed: {"RUN_START_FAILED", "INTERNAL_ERROR", "INTERNAL_ERROR", "RUN_START_FAILED",
			"RUN_START_FAILED"},
		stop:        {"RUN_NOT_ACTIVE", "stopping", "stopping", "RUN_NOT_ACTIVE", "RUN_NOT_ACTIVE"},
		shutdown:    {"idle", "stopping", "stopping", "completed", "failed"},
		reset:       {"idle", "RUN_STILL_RUNNING", "RUN_STILL_RUNNING", "idle", "idle"},
		dataEnd:     {"INTERNAL_ERROR", "completed", "completed", "INTERNAL_ERROR", "INTERNAL_ERROR"},
		stopped:     {"INTERNAL_ERROR", "INTERNAL_ERROR", "completed", "INTERNAL_ERROR", "INTERNAL_ERROR"},
		withdrawn:   {"INTERNAL_ERROR", "completed", "completed", "INTERNAL_ERROR", "INTERNAL_ERROR"},
		fault:       {"INTERNAL_ERROR", "failed", "failed", "INTERNAL_ERROR", "INTERNAL_ERROR"},
		interrupted: {"failed", "INTERNAL_ERROR", "INTERNAL_ERROR", "INTERNAL_ERROR", "INTERNAL_ERROR"},
		readResults: {"NO_RUN", "RESULTS_NOT_READY", "RESULTS_NOT_READY", "completed", "failed"},
	}
	if len(want) != int(numEvents) {
		t.Fatalf("%d of %d events are covered", len(want), numEvents)
	}
	for e, row := range want {
		for s := range numStates {
			got := string(transitions[e][s].refuse)
			if got == "" {
				got = ok(transitions[e][s].to)
			}
			if got != row[s] {
				t.Errorf("event %d in %s: %s, want %s", e, ok(s), got, row[s])
			}
		}
	}
}

func TestErrorTexts(t *testing.T) {
	e := newError(RunAlreadyActive, Snapshot{Status: "completed", RunID: "svc_1", Mode: "backtest"}, nil)
	if e.Error() != "The runner still holds a run (status: completed). Reset it, or replace it with the "+
		"header Replace-Run." {
		t.Error(e)
	}
	if e.RunID != "svc_1" || e.Status != "completed" || e.Mode != "backtest" ||
		e.Hint != "reset it, or replace it with Replace-Run: svc_1" {
		t.Errorf("%+v", e)
	}
	for status, want := range map[string]string{"idle": "start a run",
		"completed": "read its results, then reset", "failed": "read its results, then reset"} {
		if h := newError(RunNotActive, Snapshot{Status: status}, nil).Hint; h != want {
			t.Errorf("hint %q, want %q", h, want)
		}
	}
	if h := newError(RunAlreadyActive, Snapshot{Status: "running"},
		nil).Hint; h != "stop it, then reset or replace it" {
		t.Error(h)
	}
	if e := newError(RunAlreadyActive, Snapshot{Status: "running"}, nil); !strings.Contains(e.Message,
		"(status: running)") {
		t.Error(e)
	}
	cut := Snapshot{Status: "failed", Mode: ModeLive, Failure: &artifact.Failure{Code: CodeRunInterrupted}}
	if e := newError(RunAlreadyActive, cut, nil); !strings.Contains(e.Message, "(status: failed)") ||
		e.Hint != "reset it" {
		t.Error(e)
	}
	for _, c := range []Code{RunNotActive, RunStillRunning, NoRun, ResultsNotReady, RunStartFailed,
		ShuttingDown, Internal} {
		if newError(c, Snapshot{Status: "idle"}, nil).Error() == "" {
			t.Errorf("%s has no message", c)
		}
	}
}
