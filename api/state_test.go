package api_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestEveryGetInEveryState reads everything while idle, running, completed and failed.
func TestEveryGetInEveryState(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Exchanges: []candle.Exchange{{
		ID: "sample", Symbols: []market.Symbol{"BTC/USDT"},
		Timeframes: []market.Timeframe{market.MustTimeframe("1h")},
		DateRange: map[market.Symbol]map[string]candle.Range{
			"BTC/USDT": {"1h": {Start: 1, End: 3600001, Candles: 1}}},
	}}})
	look := func(state, resultsCode string, resultsStatus int) {
		t.Helper()
		for _, path := range []string{"/api/v1/health", status, "/api/v1/status/detailed",
			"/api/v1/strategies", "/api/v1/exchanges", "/api/v1/meta", "/openapi.json"} {
			for _, method := range []string{"GET", "HEAD"} {
				if a := s.Do(t, method, path, "", "Accept-Encoding: gzip"); a.StatusCode != 200 {
					t.Errorf("%s: %s %s: %d %s", state, method, path, a.StatusCode, a.Body)
				}
			}
		}
		if got := s.Do(t, "GET", status, "").JSON(t)["status"]; got != state {
			t.Errorf("status is %v, want %s", got, state)
		}
		if a := s.Do(t, "GET", results, ""); a.StatusCode != resultsStatus || a.Code() != resultsCode {
			t.Errorf("%s: results: %d %s", state, a.StatusCode, a.Code())
		}
	}
	look("idle", "NO_RUN", 409)
	run := s.Begin(t)
	look("running", "RESULTS_NOT_READY", 409)
	if got := s.Do(t, "GET", results, "").Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	run.End()
	s.Await(t, "completed")
	look("completed", "", 200)
	s.Do(t, "DELETE", resetPath, "")
	code := 139
	s.Begin(t).Crash(artifact.Failure{Code: "PLUGIN_CRASHED", Message: "the plugin crashed", Phase: "trading",
		CandleTime: 1, PluginExitCode: &code})
	s.Await(t, "failed")
	look("failed", "", 200)
}

func TestTransitions(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	start := exchange{"start", "POST", startPath, apitest.Backtest, nil, 200, ""}
	refused := exchange{"second start", "POST", startPath, apitest.Backtest, nil, 409, "RUN_ALREADY_ACTIVE"}
	broken := exchange{"broken second start", "POST", startPath, `{}`, nil, 400, "VALIDATION_FAILED"}
	stopped := exchange{"stop", "POST", stopPath, "", nil, 200, ""}
	notActive := exchange{"late stop", "POST", stopPath, "", nil, 409, "RUN_NOT_ACTIVE"}
	cleared := exchange{"reset", "DELETE", resetPath, "", nil, 200, ""}
	play(t, s, []exchange{
		notActive, cleared,
		{"live is not offered", "POST", livePath, apitest.Backtest, nil, 400, "MODE_NOT_SUPPORTED"},
		start, refused, broken,
		{"start with cash that rounds to 0", "POST", startPath, with(`"initial_cash":1e-11`), nil, 400,
			"VALIDATION_FAILED"},
		{"reset while running", "DELETE", resetPath, "", nil, 409, "RUN_STILL_RUNNING"},
		stopped, notActive, refused, cleared, start,
		{"stop with {}", "POST", stopPath, "{}", nil, 200, ""},
		{"reset with null", "DELETE", resetPath, "null", nil, 200, ""},
	})
	run := s.Begin(t)
	for run.ID != s.Runner.Status().RunID {
		run = <-s.Runs
	}
	run.End()
	s.Await(t, "completed")
	a := s.Do(t, "POST", startPath, apitest.Backtest)
	want := "The runner still holds a run (status: completed). Reset it, or replace it with the header " +
		"Replace-Run."
	e := a.JSON(t)["error"].(map[string]any)
	if e["message"] != want || e["details"].(map[string]any)["run_id"] != run.ID ||
		e["details"].(map[string]any)["mode"] != "backtest" {
		t.Errorf("%v", e)
	}
}

func TestRunResponses(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	a := s.Do(t, "POST", startPath, apitest.Backtest)
	v := a.JSON(t)
	id, _ := v["run_id"].(string)
	if v["status"] != "running" || v["message"] != "Backtest of sma_cross on BTC/USDT 1h started" ||
		!strings.HasPrefix(id, "svc_") {
		t.Errorf("start: %v", v)
	}
	if got := a.Header.Get("Location"); got != status {
		t.Errorf("Location: %q", got)
	}
	if v := s.Do(t, "POST", stopPath, "").JSON(t); v["run_id"] != id || v["status"] != "completed" {
		t.Errorf("stop: %v", v)
	}
	if v := s.Do(t, "GET", status, "").JSON(t); v["partial"] != true || v["stop_reason"] != "stopped" ||
		v["phase"] != "" {
		t.Errorf("status: %v", v)
	}
	if v := s.Do(t, "DELETE", resetPath, "").JSON(t); v["run_id"] != id || v["status"] != "idle" {
		t.Errorf("reset: %v", v)
	}
	if v := s.Do(t, "DELETE", resetPath, "").JSON(t); v["run_id"] != "" || v["status"] != "idle" {
		t.Errorf("second resetPath: %v", v)
	}
}

func TestConcurrentStarts(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			req, _ := http.NewRequest("POST", s.URL+startPath, strings.NewReader(apitest.Backtest))
			req.Header.Set("Content-Type", "application/json")
			switch a := s.Send(t, req); {
			case a.StatusCode == 200:
				won.Add(1)
			case a.Code() == "RUN_ALREADY_ACTIVE":
				lost.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 99 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
}

func TestIdempotency(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	const key = "Idempotency-Key: k1"
	if a := s.Do(t, "POST", startPath, `{}`, key); a.Code() != "VALIDATION_FAILED" {
		t.Fatal("a refused start must not use up the key")
	}
	first := s.Do(t, "POST", startPath, apitest.Backtest, key)
	again := s.Do(t, "POST", startPath, " "+apitest.Backtest+"\n", key)
	if !bytes.Equal(first.Body, again.Body) || again.Header.Get("Idempotency-Replayed") != "true" ||
		again.Header.Get("Location") != status {
		t.Errorf("replay: %s, first %s", again.Body, first.Body)
	}
	play(t, s, []exchange{
		{"another body", "POST", startPath, with(`"initial_cash":5`), []string{key}, 409,
			"IDEMPOTENCY_KEY_REUSED"},
		{"another operation", "POST", livePath, apitest.Backtest, []string{key}, 409,
			"IDEMPOTENCY_KEY_REUSED"},
		{"no key", "POST", startPath, apitest.Backtest, nil, 409, "RUN_ALREADY_ACTIVE"},
		{"new key", "POST", startPath, apitest.Backtest, []string{"Idempotency-Key: k2"}, 409,
			"RUN_ALREADY_ACTIVE"},
	})
}

// TestReplaceRun: the header lets a valid start take the place of the run that it names; refused, the old
// result stands.
func TestReplaceRun(t *testing.T) {
	s := apitest.Start(t,
		apitest.Options{Launch: func(ctx context.Context, id string,
			req runner.StartRequest) (runner.Execution, error) {
			if string(req.InitialCash) == "7" {
				return refuse(ctx, id, req)
			}
			run := apitest.NewRun(id, req)
			run.End()
			return run, nil
		}})
	s.Do(t, "POST", startPath, apitest.Backtest)
	s.Await(t, "completed")
	old := s.Runner.Status().RunID
	named := "Replace-Run: " + old
	play(t, s, []exchange{
		{"without the header", "POST", startPath, apitest.Backtest, nil, 409, "RUN_ALREADY_ACTIVE"},
		{"another run", "POST", startPath, apitest.Backtest, []string{named + "x"}, 409,
			"RUN_ALREADY_ACTIVE"},
		{"not one name", "POST", startPath, apitest.Backtest, []string{"Replace-Run: a b"}, 400,
			"MALFORMED_REQUEST"},
		{"bad body", "POST", startPath, `{}`, []string{named}, 400, "VALIDATION_FAILED"},
		{"bad parameters", "POST", startPath, with(`"initial_cash":7`), []string{named}, 400,
			"INVALID_STRATEGY_PARAMS"},
		{"mode that is not offered", "POST", livePath, apitest.Backtest, []string{named}, 400,
			"MODE_NOT_SUPPORTED"},
	})
	if got := s.Do(t, "GET", results, "").JSON(t)["run_id"]; got != old {
		t.Fatalf("after refusals there is %v, not %s", got, old)
	}
	const key = "Idempotency-Key: replace"
	first := s.Do(t, "POST", startPath, apitest.Backtest, named, key)
	again := s.Do(t, "POST", startPath, apitest.Backtest, named, key)
	if first.StatusCode != 200 || first.JSON(t)["run_id"] == old || !bytes.Equal(first.Body, again.Body) ||
		again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replace: %d %s, again %s", first.StatusCode, first.Body, again.Body)
	}
	play(t, s, []exchange{
		{"same key, no header", "POST", startPath, apitest.Backtest, []string{key}, 409,
			"IDEMPOTENCY_KEY_REUSED"},
		{"same key, another run", "POST", startPath, apitest.Backtest, []string{key, named + "x"}, 409,
			"IDEMPOTENCY_KEY_REUSED"},
		{"the run is gone", "POST", startPath, apitest.Backtest, []string{named}, 409, "RUN_ALREADY_ACTIVE"},
	})
}

func TestConditionalAndCompressed(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	s.Begin(t).End()
	s.Await(t, "completed")
	for _, path := range []string{results, "/api/v1/strategies", "/api/v1/exchanges", "/openapi.json"} {
		plain := s.Do(t, "GET", path, "")
		zipped := s.Do(t, "GET", path, "", "Accept-Encoding: gzip")
		if !bytes.Equal(plain.Body, zipped.Body) {
			t.Errorf("%s: gzip changes the body", path)
		}
		if plain.Header.Get("Cache-Control") != "no-cache" ||
			!strings.Contains(plain.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: %v", path, plain.Header)
		}
		for _, a := range []apitest.Answer{plain, zipped} {
			tag := a.Header.Get("ETag")
			if strings.HasPrefix(tag, "W/") || tag == "" {
				t.Errorf("%s: tag %s is not strong", path, tag)
			}
			again := s.Do(t, "GET", path, "", "If-None-Match: "+tag)
			if again.StatusCode != 304 || len(again.Body) != 0 {
				t.Errorf("%s: %d with a tag", path, again.StatusCode)
			}
		}
		if len(plain.Body) >= 1024 && zipped.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", path)
		}
		if head := s.Do(t, "HEAD", path, ""); head.Header.Get("ETag") != plain.Header.Get("ETag") ||
			head.ContentLength > 0 && head.ContentLength != int64(len(plain.Body)) {
			t.Errorf("%s: HEAD differs: %v", path, head.Header)
		}
	}
	if a := s.Do(t, "GET", status, "", "Accept-Encoding: gzip;q=0"); a.Header.Get("Content-Encoding") != "" ||
		a.Header.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(a.Header.Get("ETag"), `W/"`) {
		t.Errorf("status: %v", a.Header)
	}
}

func TestPrefer(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	s.Begin(t).End()
	s.Await(t, "completed")
	a := s.Do(t, "GET", results, "", "Prefer: points=100, rows=1")
	v := a.JSON(t)
	if a.Header.Get("Preference-Applied") != "points=100, rows=1" || len(v["equity_curve"].([]any)) > 100 ||
		len(v["orders"].([]any)) != 1 {
		t.Errorf("%s: %d points, %d orders", a.Header.Get("Preference-Applied"),
			len(v["equity_curve"].([]any)), len(v["orders"].([]any)))
	}
	if id := v["orders"].([]any)[0].(map[string]any)["order_id"]; id != "o-000002" {
		t.Errorf("the newest order is kept, not %v", id)
	}
	if got := v["equity_curve_sampling"].(map[string]any)["method"]; got != "lttb+extremes" {
		t.Errorf("sampling %v", got)
	}
	whole := s.Do(t, "GET", results, "", "Prefer: points=1, rows=1001, wait=5")
	if n := len(whole.JSON(t)["equity_curve"].([]any)); n != 3000 ||
		whole.Header.Get("Preference-Applied") != "" {
		t.Errorf("%d points", n)
	}
	if d := s.Do(t, "GET", "/api/v1/status/detailed", "").JSON(t); len(d["equity_curve"].([]any)) > 2000 {
		t.Errorf("%d points in detail", len(d["equity_curve"].([]any)))
	}
}

func TestLongPoll(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	tag := s.Do(t, "GET", status, "").Header.Get("ETag")
	began := time.Now()
	answers := make(chan apitest.Answer, 1)
	go func() {
		answers <- s.Do(t, "GET", status, "", "If-None-Match: "+tag, "Prefer: wait=20")
	}()
	time.Sleep(50 * time.Millisecond)
	run := s.Begin(t)
	a := <-answers
	if v := a.JSON(t); v["status"] != "running" || a.Header.Get("Preference-Applied") != "wait=20" ||
		time.Since(began) > 15*time.Second {
		t.Errorf("%v after %s", v["status"], time.Since(began))
	}
	began = time.Now()
	a = s.Do(t, "GET", status, "", "If-None-Match: "+a.Header.Get("ETag"), "Prefer: wait=1")
	if took := time.Since(began); a.StatusCode != 200 || took < 900*time.Millisecond {
		t.Errorf("%d after %s", a.StatusCode, took)
	}
	if a := s.Do(t, "GET", status, "", "If-None-Match: "+a.Header.Get("ETag")); a.StatusCode != 200 {
		t.Errorf("/status answers %d to a tag", a.StatusCode)
	}
	run.End()
}

func TestStartFailure(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Launch: refuse})
	play(t, s, []exchange{
		{"parameters", "POST", startPath, apitest.Backtest, nil, 400, "INVALID_STRATEGY_PARAMS"},
		{"launch", "POST", startPath, strings.Replace(apitest.Backtest, "sma_cross", "crash", 1), nil, 500,
			"RUN_START_FAILED"},
		{"other", "POST", startPath, strings.Replace(apitest.Backtest, "sma_cross", "other", 1), nil, 500,
			"RUN_START_FAILED"},
	})
	if got := s.Runner.Status().Status; got != "idle" {
		t.Errorf("status is %s", got)
	}
}
