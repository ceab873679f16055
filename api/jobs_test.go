package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/upload"
)

const (
	falsifications = "/api/v1/falsifications"
	families       = "/api/v1/families"
	jobs           = "/api/v1/jobs"
	search         = `{"strategy_name":"sma_cross","space":{"fast":{"type":"int","low":5,"high":9}},` +
		`"symbols":["BTC/USDT"],"timeframe":"1h","exchange":"sample","hypothesis":"Trends last."}`
)

// endless is a lab whose jobs go on until they are cancelled.
type endless struct {
	v1.Lab
	jobs *job.Manager
}

func wait(ctx context.Context, _ job.Call) (job.Links, error) {
	<-ctx.Done()
	return job.Links{}, ctx.Err()
}

// Falsify implements v1.Lab.
func (l endless) Falsify(_ context.Context, runID string, _ bool) (job.Job, error) {
	if runID == "none" {
		return job.Job{}, &library.NotFoundError{Kind: library.KindRun, ID: runID}
	}
	return l.jobs.Add("falsification", job.Links{RunID: &runID}, wait)
}

// FalsifyBacktest implements v1.Lab.
func (l endless) FalsifyBacktest(_ context.Context, b runner.StartRequest, _ bool) (job.Job, error) {
	made := b.Mode + " of " + b.StrategyName + " with " + string(b.InitialCash)
	return l.jobs.Add("falsification", job.Links{RunID: &made}, wait)
}

// Search implements v1.Lab.
func (l endless) Search(_ context.Context, s v1.SearchRequest) (v1.Search, error) {
	plan := "plan_of_" + s.StrategyName
	j, err := l.jobs.Add("family", job.Links{PlanID: &plan}, wait)
	return v1.Search{Job: j, PlanID: plan, PlanHash: "ab", PriorTrials: 3}, err
}

func withJobs(t testing.TB) *apitest.Service {
	t.Helper()
	return withLimits(t, upload.Limits{})
}

// withLimits bounds the uploads, too.
func withLimits(t testing.TB, l upload.Limits) *apitest.Service {
	t.Helper()
	program := filepath.Join(t.TempDir(), "lab")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := job.Open(job.Options{Program: program, StateDir: t.TempDir(), Logger: hclog.NewNullLogger(),
		Busy: func() bool { return false }})
	t.Cleanup(func() { _ = m.Close() })
	return apitest.Start(t, apitest.Options{Jobs: m, Lab: endless{jobs: m}, Uploads: l})
}

func TestJobs(t *testing.T) {
	s := withJobs(t)
	a := s.Do(t, "POST", falsifications, `{"run_id":"run_a"}`)
	one, _ := a.JSON(t)["job"].(map[string]any)
	path := fmt.Sprint(jobs, "/", one["job_id"])
	if a.StatusCode != 202 || a.Header.Get("Location") != path || one["kind"] != "falsification" ||
		one["links"].(map[string]any)["run_id"] != "run_a" {
		t.Fatalf("%d %s", a.StatusCode, a.Body)
	}
	a = s.Do(t, "POST", families, search)
	if got := a.JSON(t); a.StatusCode != 202 || got["plan_id"] != "plan_of_sma_cross" ||
		got["prior_trials"] != 3.0 {
		t.Fatalf("%d %s", a.StatusCode, a.Body)
	}
	list := s.Do(t, "GET", jobs+"?limit=1", "").JSON(t)
	if list["total"] != 2.0 || list["items"].([]any)[0].(map[string]any)["kind"] != "family" {
		t.Errorf("%v", list)
	}
	for range 2 { // a second time it stays as it is
		if a = s.Do(t, "DELETE", path, ""); a.JSON(t)["status"] != "cancelled" {
			t.Errorf("%d %s", a.StatusCode, a.Body)
		}
	}
	a = s.Do(t, "GET", path, "")
	if tag := a.Header.Get("ETag"); a.JSON(t)["status"] != "cancelled" || tag == "" ||
		s.Do(t, "GET", path, "", "If-None-Match: "+tag).StatusCode != 304 {
		t.Errorf("%d %s", a.StatusCode, a.Body)
	}
	if got := s.Runner.Status().Status; got != "idle" {
		t.Errorf("a job has made the status %s", got)
	}
}

func TestABacktestIsAttackedAtOnce(t *testing.T) {
	s := withJobs(t)
	const backtest = `{"strategy_name":"sma_cross","symbols":["BTC/USDT"],"timeframe":"1h"`
	a := s.Do(t, "POST", falsifications, `{"backtest":`+backtest+`}}`)
	begun, _ := a.JSON(t)["job"].(map[string]any)
	if a.StatusCode != 202 ||
		begun["links"].(map[string]any)["run_id"] != "backtest of sma_cross with 10000" {
		t.Fatalf("%d %s", a.StatusCode, a.Body)
	}
	for _, c := range []struct{ path, body, pointer string }{
		{falsifications, `{"run_id":"a","backtest":` + backtest + `}}`, "/backtest"},
		{falsifications, `{"full":true}`, "/run_id"},
		{falsifications, `{"backtest":{"strategy_name":"sma_cross"}}`, "/backtest"},
		{falsifications, `{"backtest":` + backtest + `,"initial_cash":1e-20}}`, "/backtest/initial_cash"},
		{falsifications, `{"backtest":` + backtest + `,"exchange_config":{}}}`, "/backtest/exchange_config"},
		{families, strings.Replace(search, `"space"`, `"strategy_params":{"fast":7},"space"`, 1),
			"/strategy_params/fast"},
	} {
		a := s.Do(t, "POST", c.path, c.body)
		details, _ := a.JSON(t)["error"].(map[string]any)["details"].(map[string]any)
		list, _ := details["errors"].([]any)
		if a.StatusCode != 400 || len(list) == 0 ||
			!strings.HasPrefix(fmt.Sprint(list[0].(map[string]any)["pointer"]), c.pointer) {
			t.Errorf("%s: %d %s", c.body, a.StatusCode, a.Body)
		}
	}
}

func TestJobRefusals(t *testing.T) {
	s := withJobs(t)
	change := func(from, to string) string { return strings.Replace(search, from, to, 1) }
	play(t, s, []exchange{
		{"no run", "POST", falsifications, `{"run_id":"none"}`, nil, 404, "RUN_NOT_FOUND"},
		{"no field", "POST", falsifications, `{}`, nil, 400, "VALIDATION_FAILED"},
		{"unknown field", "POST", falsifications, `{"run_id":"a","fast":1}`, nil, 400, "VALIDATION_FAILED"},
		{"full is a word", "POST", falsifications, `{"run_id":"a","full":"yes"}`, nil, 400,
			"VALIDATION_FAILED"},
		{"query", "POST", falsifications + "?x=1", `{"run_id":"a"}`, nil, 400, "VALIDATION_FAILED"},
		{"bad key", "POST", falsifications, `{"run_id":"a"}`, []string{"Idempotency-Key: a b"}, 400,
			"MALFORMED_REQUEST"},
		{"foreign", "POST", falsifications, `{"run_id":"a"}`, []string{"Origin: http://evil.example"}, 403,
			"ORIGIN_FORBIDDEN"},
		{"no hypothesis", "POST", families, change(`,"hypothesis":"Trends last."`, ""), nil, 409,
			"HYPOTHESIS_REQUIRED"},
		{"blank hypothesis", "POST", families, change("Trends last.", " "), nil, 409, "HYPOTHESIS_REQUIRED"},
		{"no space", "POST", families, change(`{"fast":{"type":"int","low":5,"high":9}}`, "{}"), nil, 400,
			"VALIDATION_FAILED"},
		{"no job", "GET", jobs + "/job_none", "", nil, 404, "JOB_NOT_FOUND"},
		{"no job to cancel", "DELETE", jobs + "/job_none", "", nil, 404, "JOB_NOT_FOUND"},
		{"a body to cancel", "DELETE", jobs + "/job_none", `{"x":1}`, nil, 400, "VALIDATION_FAILED"},
		{"a bad page", "GET", jobs + "?limit=0", "", nil, 400, "VALIDATION_FAILED"},
		{"put", "PUT", jobs, "", nil, 405, "METHOD_NOT_ALLOWED"},
	})
	if total := s.Do(t, "GET", jobs, "").JSON(t)["total"]; total != 0.0 {
		t.Errorf("refusals have made %v jobs", total)
	}
}

func TestJobsAreRepeatedByKey(t *testing.T) {
	s := withJobs(t)
	const body, key = `{"run_id":"run_a"}`, "Idempotency-Key: k1"
	first, again := s.Do(t, "POST", falsifications, body, key), s.Do(t, "POST", falsifications, body, key)
	if again.StatusCode != 202 || string(first.Body) != string(again.Body) ||
		again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s", again.StatusCode, again.Body)
	}
	if a := s.Do(t, "POST", falsifications, `{"run_id":"run_b"}`, key); a.Code() != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("%d %s", a.StatusCode, a.Body)
	}
}

func TestJobQueueIsBounded(t *testing.T) {
	s := withJobs(t)
	begun := 0
	for range job.MaxQueued + 2 {
		a := s.Do(t, "POST", falsifications, `{"run_id":"run_a"}`)
		if a.StatusCode == 202 {
			begun++
		} else if a.Code() != "JOB_QUEUE_FULL" {
			t.Fatalf("%d %s", a.StatusCode, a.Body)
		}
	}
	// The first may be at work or wait still.
	if begun != job.MaxQueued && begun != job.MaxQueued+1 {
		t.Errorf("%d jobs were taken", begun)
	}
}

func TestJobsWithoutLab(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Lab: endless{}})
	play(t, s, []exchange{
		{"falsification", "POST", falsifications, `{"run_id":"run_a"}`, nil, 503, "LAB_UNAVAILABLE"},
		{"search", "POST", families, search, nil, 503, "LAB_UNAVAILABLE"},
		{"upload", "POST", uploads, "x", []string{octets}, 503, "LAB_UNAVAILABLE"},
		{"import", "POST", imports, oneFile, nil, 503, "LAB_UNAVAILABLE"},
		{"fetch", "POST", fetches, oneYear, nil, 503, "LAB_UNAVAILABLE"},
		{"list", "GET", jobs, "", nil, 200, ""},
	})
}
