package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/runner"
)

// scripted launches paper and live runs that do what a test asks for.
type scripted struct{ runs chan *apitest.Run }

func (s scripted) Launch(_ context.Context, id string, req runner.StartRequest) (runner.Execution, error) {
	run := apitest.NewRun(id, req)
	s.runs <- run
	return run, nil
}

// TestResultsOfARunThatGoesOn: a paper or live run answers with what it has so far, in the form of the end,
// and reports that it is partial; the rows can be asked for as after it.
func TestResultsOfARunThatGoesOn(t *testing.T) {
	runs := scripted{make(chan *apitest.Run, 1)}
	s := apitest.Start(t, apitest.Options{Trading: runs})
	if a := s.Do(t, "POST", livePath,
		strings.Replace(liveBody, `"mode":"live",`, "", 1)); a.StatusCode != 200 {
		t.Fatalf("%s", a.Body)
	}
	run := <-runs.runs
	got := s.Do(t, "GET", results, "", "Prefer: rows=1")
	if got.StatusCode != 200 || got.Header.Get("Retry-After") != "" {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	v := got.JSON(t)
	if v["status"] != "running" || v["partial"] != true || v["stop_reason"] != "" || v["end_time"] == nil ||
		v["error"] != nil || len(v["orders"].([]any)) != 1 {
		t.Errorf("%v %v %v %v %v", v["status"], v["partial"], v["stop_reason"], v["end_time"],
			len(v["orders"].([]any)))
	}
	if n := len(v["equity_curve"].([]any)); n != 3000 {
		t.Errorf("%d points", n)
	}
	run.End()
	s.Await(t, "completed")
	if v := s.Do(t, "GET", results, "").JSON(t); v["status"] != "completed" || v["partial"] != false ||
		v["stop_reason"] != "finished" {
		t.Errorf("%v %v %v", v["status"], v["partial"], v["stop_reason"])
	}
}
