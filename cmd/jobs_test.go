package cmd_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// labs are the processes of lab that a service has started.
func (s *service) labs() []int {
	s.t.Helper()
	var out []int
	for _, pid := range plugins(s.t, s.cmd.Process.Pid) {
		if name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm")); err == nil &&
			strings.TrimSpace(string(name)) == "lab" {
			out = append(out, pid)
		}
	}
	return out
}

// begin posts a job and returns it.
func (s *service) begin(path string, body object) object {
	s.t.Helper()
	var answer object
	if resp := s.call("POST", path, body, &answer); resp.StatusCode != http.StatusAccepted {
		s.t.Fatalf("%s: %d %v", path, resp.StatusCode, answer)
	}
	return answer
}

// awaitJob waits until a job has one of the states.
func (s *service) awaitJob(answer object, states ...string) object {
	s.t.Helper()
	id, _ := answer["job"].(object)["job_id"].(string)
	var job object
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s.call("GET", "/jobs/"+id, nil, &job)
		for _, want := range states {
			if job["status"] == want {
				return job
			}
		}
	}
	s.t.Fatalf("the job does not become %v: %v\n%s", states, job, s.stderr)
	return nil
}

// daily is a backtest of a few hundred candles.
func daily() object {
	return object{"strategy_name": "sma_cross", "symbols": []string{"BTC/USDT"}, "timeframe": "1d",
		"exchange": "sample", "start_date": "2021-01-01", "end_date": "2023-01-01"}
}

// newestRun is the run of the service that has ended last.
func (s *service) newestRun() string {
	s.t.Helper()
	var list object
	s.call("GET", "/runs?kind=service", nil, &list)
	return list["items"].([]any)[0].(object)["run_id"].(string)
}

func TestFalsificationIsAJob(t *testing.T) {
	ring.Proof(t, "it attacks a run with the whole battery")
	s := serve(t, t.TempDir())
	s.backtest(daily())
	before := s.await("idle")
	job := s.awaitJob(s.begin("/falsifications", object{"run_id": s.newestRun()}), "completed", "failed")
	links := job["links"].(object)
	base, _ := links["run_id"].(string)
	found, _ := links["falsification"].(string)
	if job["status"] != "completed" || base == "" || found == "" {
		t.Fatalf("%v\n%s", job, s.stderr)
	}
	var report, run object
	s.call("GET", "/falsifications/"+found, nil, &report)
	if tests, _ := report["tests"].([]any); report["base"] != base || len(tests) < 10 {
		t.Errorf("%v", report)
	}
	refuted, _ := report["refuted"].([]any)
	for i, want := range refuted { // failures come first
		if got := report["tests"].([]any)[i].(object)["sentence"]; got != want {
			t.Errorf("%q, want what the lab has said, %q", got, want)
		}
	}
	if len(refuted) == 0 {
		t.Errorf("an average of ten days is refuted by nothing: %v", report["overall"])
	}
	// The lab has played the very program, candles and parameters of the backtest.
	s.call("GET", "/runs/"+base, nil, &run)
	window, params := run["window"].(object), run["params"].(object)
	if run["kind"] != "run" || run["slug"] != "sma_cross" || params["fast"] != 10.0 ||
		window["start"] != "2021-01-01T00:00:00.000Z" || window["end"] != "2023-01-01T00:00:00.000Z" {
		t.Errorf("%v", run)
	}
	if after := s.await("idle"); after["run_id"] != before["run_id"] {
		t.Errorf("the status has changed: %v", after)
	}
	// What was found is of the backtest as well, which has another request hash.
	s.call("GET", "/runs/"+before["run_id"].(string), nil, &run)
	if verdict, _ := run["verdict"].(object); verdict["run_id"] != found {
		t.Errorf("the backtest's verdict is %v", run["verdict"])
	}
	// What the lab has made is attacked itself; the same question has the same answer.
	again := s.awaitJob(s.begin("/falsifications", object{"run_id": base}), "completed", "failed")
	if again["links"].(object)["falsification"] != found {
		t.Errorf("%v", again)
	}
	// The backtest as it was asked for is the same question too.
	again = s.awaitJob(s.begin("/falsifications", object{"backtest": daily()}), "completed", "failed")
	if links := again["links"].(object); links["run_id"] != base || links["falsification"] != found {
		t.Errorf("%v", again)
	}
	var refused object
	if resp := s.call("POST", "/falsifications", object{"run_id": found}, &refused); resp.StatusCode != 400 {
		t.Errorf("a falsification is attacked: %d %v", resp.StatusCode, refused)
	}
	if resp := s.call("POST", "/falsifications", object{"run_id": "run_none"}, nil); resp.StatusCode != 404 {
		t.Errorf("%d", resp.StatusCode)
	}
}

func searchRequest() object {
	return object{"strategy_name": "sma_cross", "symbols": []string{"BTC/USDT"}, "timeframe": "1d",
		"exchange": "sample", "start_date": "2019-01-01", "end_date": "2023-01-01", "method": "grid",
		"max_trials": 4, "seed": 7, "objective": object{"metric": "total_return", "direction": "max"},
		"hypothesis": "Trends outlast the lag of two averages.", "strategy_params": object{"stake": 500},
		"space": object{
			"fast": object{"type": "int", "low": 5, "high": 10, "step": 5},
			"slow": object{"type": "choice", "values": []int{30, 60}}}}
}

func TestSearchIsAJob(t *testing.T) {
	t.Parallel()
	ring.Slow(t, "the lab plays four trials")
	s := serve(t, t.TempDir())
	answer := s.begin("/families", searchRequest())
	id, _ := answer["plan_id"].(string)
	var family object
	s.call("GET", "/families/"+id, nil, &family)
	plan, _ := family["plan"].(object)
	if family["plan_hash"] != answer["plan_hash"] || plan["hypothesis"] != searchRequest()["hypothesis"] ||
		answer["prior_trials"] != 0.0 {
		t.Fatalf("the plan is not registered: %v %v", answer, family)
	}
	if job := s.awaitJob(answer, "completed", "failed"); job["status"] != "completed" ||
		job["links"].(object)["plan_id"] != id {
		t.Fatalf("%v\n%s", job, s.stderr)
	}
	s.call("GET", "/families/"+id, nil, &family)
	asked, _ := plan["request"].(object)["strategy_params"].(object)
	result, _ := family["result"].(object)
	selected, _ := result["selected"].(object)
	if family["done"] != 4.0 || family["failed"] != 0.0 || asked["stake"] != 500.0 ||
		result["plan_hash"] != answer["plan_hash"] || selected["params"] == nil {
		t.Errorf("%v of %v", family, asked)
	}
	for name, c := range map[string]struct {
		field   string
		value   any
		code    string
		pointer string
	}{
		"strategy": {"strategy_name", "none", "STRATEGY_NOT_FOUND", ""},
		"parameter": {"space", object{"slowest": object{"type": "int", "low": 1, "high": 2}},
			"VALIDATION_FAILED", "/space/slowest"},
		"bounds": {"space", object{"fast": object{"type": "int", "low": 9, "high": 2}},
			"VALIDATION_FAILED", "/space/fast"},
		"metric": {"objective", object{"metric": "luck"}, "VALIDATION_FAILED", "/objective/metric"},
		"fixed":  {"strategy_params", object{"slowest": 5}, "VALIDATION_FAILED", "/strategy_params/slowest"},
		"window": {"start_date", "2035-01-01", "VALIDATION_FAILED", "/end_date"},
	} {
		body := searchRequest()
		body[c.field] = c.value
		var refused struct {
			Error struct {
				Code    string
				Details struct{ Errors []struct{ Pointer string } }
			}
		}
		s.call("POST", "/families", body, &refused)
		pointer := ""
		if len(refused.Error.Details.Errors) > 0 {
			pointer = refused.Error.Details.Errors[0].Pointer
		}
		if refused.Error.Code != c.code || !strings.HasPrefix(pointer, c.pointer) {
			t.Errorf("%s: %+v", name, refused)
		}
	}
	var list object
	if s.call("GET", "/families", nil, &list); list["total"] != 1.0 {
		t.Errorf("what was refused is registered: %v", list)
	}
	s.refusesBacktests()
	if s.call("GET", "/jobs", nil, &list); list["total"] != 1.0 {
		t.Errorf("what was refused is a job: %v", list)
	}
}

// refusesBacktests asks for falsifications of backtests that cannot be made.
func (s *service) refusesBacktests() {
	s.t.Helper()
	for field, c := range map[string]struct {
		value   any
		code    string
		pointer string
	}{
		"strategy_name":   {"none", "STRATEGY_NOT_FOUND", ""},
		"strategy_params": {object{"slow": 1e9}, "INVALID_STRATEGY_PARAMS", "/backtest/strategy_params/slow"},
		"symbols":         {[]string{"NO/USDT"}, "UNSUPPORTED_SYMBOL", ""},
		"exchange":        {"nowhere", "EXCHANGE_NOT_FOUND", ""},
		"end_date":        {"1999-01-01", "INVALID_DATE_RANGE", ""},
	} {
		body := daily()
		body[field] = c.value
		var refused struct {
			Error struct {
				Code    string
				Details struct{ Errors []struct{ Pointer string } }
			}
		}
		s.call("POST", "/falsifications", object{"backtest": body}, &refused)
		var pointer string
		if len(refused.Error.Details.Errors) > 0 {
			pointer = refused.Error.Details.Errors[0].Pointer
		}
		if refused.Error.Code != c.code || pointer != c.pointer {
			s.t.Errorf("%s: %+v", field, refused)
		}
	}
}

// attacked starts a service whose job has come to the replays, and returns it with the processes
// of the lab and its plugins.
func attacked(t *testing.T, state string) (*service, object, []int) {
	t.Helper()
	ring.Slow(t, "the lab plays a run and begins to attack it")
	s := serve(t, state)
	s.backtest(daily())
	answer := s.begin("/falsifications", object{"run_id": s.newestRun(), "full": true})
	s.awaitJob(answer, "running")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, lab := range s.labs() {
			if children := plugins(t, lab); len(children) > 0 {
				return s, answer, append(children, lab)
			}
		}
	}
	t.Fatalf("the lab starts no plugin\n%s", s.stderr)
	return nil, nil, nil
}

func TestCancelledJobLeavesNoProcess(t *testing.T) {
	s, answer, pids := attacked(t, t.TempDir())
	id := answer["job"].(object)["job_id"].(string)
	var job object
	if s.call("DELETE", "/jobs/"+id, nil, &job); job["status"] != "cancelled" {
		t.Errorf("%v", job)
	}
	gone(t, pids)
	if labs := s.labs(); len(labs) > 0 {
		t.Errorf("labs %v", labs)
	}
}

func TestJobsEndWithTheService(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"asked": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			s, answer, pids := attacked(t, state)
			s.end(sig)
			gone(t, pids)
			later := serve(t, state)
			if job := later.awaitJob(answer, "interrupted"); job["ended_at"] == nil || job["error"] != nil {
				t.Errorf("%v", job)
			}
		})
	}
}

func TestNoLabBesideTheService(t *testing.T) {
	s := serve(t, t.TempDir(), "--lab", filepath.Join(t.TempDir(), "none"))
	s.backtest(daily())
	for path, body := range map[string]object{"/falsifications": {"run_id": s.newestRun()},
		"/families": searchRequest(), "/datasets/imports": imported(true, []string{"upl_a"}, object{}),
		"/datasets/fetches": {"exchange": "binance", "symbols": []string{"A/B"}, "timeframe": "1h"}} {
		var refused object
		if resp := s.call("POST", path, body, &refused); resp.StatusCode != http.StatusServiceUnavailable ||
			refused["error"].(object)["code"] != "LAB_UNAVAILABLE" {
			t.Errorf("%s: %d %v", path, resp.StatusCode, refused)
		}
	}
}
