package monitor_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api"
	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/monitor"
	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
)

var update = flag.Bool("update", false, "write the golden files")

func started() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 500e6, time.UTC) }

func page(path string) edge.Route {
	return edge.Route{Method: http.MethodGet, Path: path,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
		})}
}

// running returns a registry in the middle of the third run.
func running() *monitor.Metrics {
	return newMetrics(monitor.MetricsOptions{
		Version: "1.0.0", Commit: `a"b\c` + "\nd", StartedAt: started(),
		Routes: []edge.Route{page("/api/v1/status"), page("/docs")},
		Status: func() runner.Snapshot {
			return runner.Snapshot{Status: "running", Mode: "backtest",
				Progress: runner.Progress{CandlesDone: 16, CandlesTotal: 25}}
		},
		Counters: func() runner.Counters {
			return runner.Counters{RunsTotal: 3, RunsFailed: 1, Candles: 2_628_000, Orders: 12, Fills: 10,
				Outcomes: []runner.OutcomeCount{
					{Mode: "backtest", Status: "completed", Count: 1},
					{Mode: "paper", Status: "failed", Count: 1}}}
		},
		Stream:  func() (int, int64) { return 2, 5 },
		Plugins: func() (int, int) { return 3, 1 },
	})
}

// newMetrics fills in what a test does not give.
func newMetrics(o monitor.MetricsOptions) *monitor.Metrics {
	if o.Status == nil {
		o.Status = func() runner.Snapshot { return runner.Snapshot{Status: "idle"} }
	}
	if o.Counters == nil {
		o.Counters = func() (c runner.Counters) { return c }
	}
	if o.Stream == nil {
		o.Stream = func() (clients int, dropped int64) { return 0, 0 }
	}
	if o.Plugins == nil {
		o.Plugins = func() (available, unavailable int) { return 0, 0 }
	}
	return monitor.NewMetrics(o)
}

func mustParse(t *testing.T, text []byte) map[string]family {
	t.Helper()
	list, err := parse(string(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := map[string]family{}
	for _, f := range list {
		out[f.name] = f
	}
	return out
}

func (f family) value(t *testing.T, labels string) float64 {
	t.Helper()
	for _, s := range f.samples {
		if strings.TrimPrefix(s.name, f.name)+fmt.Sprint(s.labels) == labels {
			return s.value
		}
	}
	t.Fatalf("%s has no sample %s: %v", f.name, labels, f.samples)
	return 0
}

func TestEveryMetric(t *testing.T) {
	r := running()
	r.Observe("/api/v1/status", "GET", 200, 3*time.Millisecond)
	got := mustParse(t, r.Text())
	want := map[string]string{
		"assay_build_info": "gauge", "assay_run_state": "gauge", "assay_run_progress_ratio": "gauge",
		"assay_runs_total":    "counter",
		"assay_candles_total": "counter", "assay_orders_total": "counter", "assay_fills_total": "counter",
		"assay_ws_clients":       "gauge",
		"assay_ws_dropped_total": "counter", "assay_http_requests_total": "counter",
		"assay_http_request_duration_seconds": "histogram",
		"assay_plugins":                       "gauge", "assay_alarms": "gauge",
		"process_start_time_seconds": "gauge", "go_goroutines": "gauge",
		"go_memstats_heap_alloc_bytes": "gauge",
	}
	for _, name := range []string{
		"assay_run_phase", "assay_run_orders_rejected_total", "assay_run_equity",
		"assay_run_last_candle_age_seconds",
	} {
		if len(got[name].samples) > 0 {
			t.Errorf("a backtest has %s", name)
		}
		delete(got, name)
	}
	for name, kind := range want {
		if f := got[name]; f.kind != kind || f.help == "" || len(f.samples) == 0 {
			t.Errorf("%s: %+v, want a %s with samples", name, f, kind)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d families, want %d", len(got), len(want))
	}
	for _, c := range []struct {
		family, labels string
		value          float64
	}{
		{"assay_build_info", "map[commit:a\"b\\c\nd version:1.0.0]", 1},
		{"assay_run_state", "map[status:running]", 1},
		{"assay_run_state", "map[status:idle]", 0},
		{"assay_run_progress_ratio", "map[]", 0.64},
		{"assay_runs_total", "map[mode:backtest outcome:completed]", 1},
		{"assay_runs_total", "map[mode:paper outcome:failed]", 1},
		{"assay_runs_total", "map[mode:live outcome:failed]", 0},
		{"assay_candles_total", "map[]", 2628000},
		{"assay_ws_clients", "map[]", 2},
		{"assay_ws_dropped_total", "map[]", 5},
		{"assay_http_requests_total", "map[code:200 method:GET route:/api/v1/status]", 1},
		{"assay_http_request_duration_seconds", "_bucket" + "map[le:0.0025 route:/api/v1/status]", 0},
		{"assay_http_request_duration_seconds", "_bucket" + "map[le:0.005 route:/api/v1/status]", 1},
		{"assay_http_request_duration_seconds", "_sum" + "map[route:/api/v1/status]", 0.003},
		{"assay_plugins", "map[status:available]", 3},
		{"assay_plugins", "map[status:unavailable]", 1},
		{"process_start_time_seconds", "map[]", 1795176000.5},
	} {
		if v := got[c.family].value(t, c.labels); v != c.value {
			t.Errorf("%s%s = %g, want %g", c.family, c.labels, v, c.value)
		}
	}
	if got["go_goroutines"].samples[0].value < 1 ||
		got["go_memstats_heap_alloc_bytes"].samples[0].value < 1000 {
		t.Errorf("process: %v %v", got["go_goroutines"], got["go_memstats_heap_alloc_bytes"])
	}
}

func TestGolden(t *testing.T) {
	r := running()
	for i := range 40 {
		r.Observe("/api/v1/status", "GET", 200, time.Duration(i*i)*time.Millisecond)
	}
	r.Observe("", "BREW", 418, time.Minute)
	text := regexp.MustCompile(`(?m)^(go_\w+) \d+$`).ReplaceAllString(string(r.Text()), "$1 N")
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs (go test -update):\n%s", golden, text)
	}
}

func TestNothingToShow(t *testing.T) {
	got := mustParse(t, newMetrics(monitor.MetricsOptions{}).Text())
	if got["assay_run_state"].value(t, "map[status:idle]") != 1 ||
		got["assay_run_progress_ratio"].value(t, "map[]") != 0 {
		t.Errorf("idle: %+v", got["assay_run_state"])
	}
	paper := newMetrics(
		monitor.MetricsOptions{Status: func() runner.Snapshot {
			return runner.Snapshot{Status: "running", Mode: "paper"}
		}})
	if f := mustParse(t, paper.Text())["assay_run_progress_ratio"]; len(f.samples) != 0 {
		t.Errorf("a paper run has no end, yet: %v", f.samples)
	}
}

// TestPaperAndLive: what a run that trades is watched by.
func TestPaperAndLive(t *testing.T) {
	now := started()
	s := runner.Snapshot{Status: "running", Mode: "live", Phase: "reducing", Progress: runner.Progress{
		Equity: 10041.5, Rejects: 18, LastCandle: now.Add(-90 * time.Second), UpdatedAt: now,
		Alarms: []alarm.Alarm{
			{Code: "BALANCE_DRIFT", Severity: alarm.Error},
			{Code: "CLOCK_SKEW", Severity: alarm.Warning, Acknowledged: true},
			{Code: "ORDER_REJECTED", Severity: alarm.Error, Subject: "BTC/USDT"},
			{Code: "ORDER_REJECTED", Severity: alarm.Error, Subject: "ETH/USDT"},
			{Code: "DAILY_LOSS_EXCEEDED", Severity: alarm.Warning},
		}}}
	r := newMetrics(monitor.MetricsOptions{Status: func() runner.Snapshot { return s }})
	got := mustParse(t, r.Text())
	for _, c := range []struct {
		family, labels string
		value          float64
	}{
		{"assay_alarms", "map[code:BALANCE_DRIFT severity:error]", 1},
		{"assay_alarms", "map[code:CLOCK_SKEW severity:warning]", 1},
		{"assay_alarms", "map[code:ORDER_REJECTED severity:error]", 2},
		{"assay_alarms", "map[code:DAILY_LOSS_EXCEEDED severity:error]", 0},
		{"assay_alarms", "map[code:DAILY_LOSS_EXCEEDED severity:warning]", 1},
		{"assay_alarms", "map[code:POSITION_UNPROTECTED severity:critical]", 0},
		{"assay_run_phase", "map[phase:reducing]", 1},
		{"assay_run_phase", "map[phase:trading]", 0},
		{"assay_run_orders_rejected_total", "map[]", 18},
		{"assay_run_equity", "map[]", 10041.5},
		{"assay_run_last_candle_age_seconds", "map[]", 90},
	} {
		if v := got[c.family].value(t, c.labels); v != c.value {
			t.Errorf("%s%s = %g, want %g", c.family, c.labels, v, c.value)
		}
	}
	s.Status, s.Phase = "completed", ""
	got = mustParse(t, r.Text())
	if n := len(got["assay_run_last_candle_age_seconds"].samples); n != 0 {
		t.Error("a run that has ended waits for no candle")
	}
	if v := got["assay_alarms"].value(t, "map[code:BALANCE_DRIFT severity:error]"); v != 1 {
		t.Error("the alarm does not survive the end")
	}
}

func TestTakenOverConnection(t *testing.T) {
	r := running()
	r.Observe("/docs", "GET", 0, time.Hour)
	got := mustParse(t, r.Text())
	if got["assay_http_requests_total"].value(t, "map[code:101 method:GET route:/docs]") != 1 {
		t.Error("status 0 is not counted as 101")
	}
	if n := len(got["assay_http_request_duration_seconds"].samples); n != 0 {
		t.Errorf("the life of a stream is in the histogram: %d samples", n)
	}
}

func TestLabelsStayBounded(t *testing.T) {
	r := running()
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, rng.IntN(30))
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		return string(b)
	}
	for range 20_000 {
		r.Observe("/"+word(), word(), rng.IntN(2000)-500, time.Duration(rng.Int64N(int64(time.Minute))))
		r.Observe("/docs", "GET", rng.IntN(600), time.Millisecond)
	}
	allowed := map[string]*regexp.Regexp{
		"route":  regexp.MustCompile(`^(other|/docs|/metrics|/api/v1/status)$`),
		"method": regexp.MustCompile(`^(other|GET|HEAD|POST|DELETE|PUT|PATCH|OPTIONS|TRACE|CONNECT)$`),
		"code":   regexp.MustCompile(`^(other|101|200|304|307|4\d\d|50[0135])$`),
	}
	got := mustParse(t, r.Text())
	requests := got["assay_http_requests_total"]
	var total float64
	for _, s := range requests.samples {
		total += s.value
		for label, value := range s.labels {
			if !allowed[label].MatchString(value) {
				t.Errorf("%s=%q is not in the closed set", label, value)
			}
		}
	}
	if len(requests.samples) > 60 || total != 40_000 {
		t.Errorf("%d series count %g requests, want few and 40000", len(requests.samples), total)
	}
	if got["assay_http_request_duration_seconds"].value(t, "_count"+"map[route:other]") == 0 {
		t.Error("unmatched requests are not timed")
	}
}

func TestConcurrentCounting(t *testing.T) {
	r := running()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				r.Observe("/docs", "GET", 200, time.Millisecond)
			}
		})
	}
	for range 50 {
		mustParse(t, r.Text())
	}
	wg.Wait()
	if v := mustParse(t, r.Text())["assay_http_requests_total"].value(t,
		"map[code:200 method:GET route:/docs]"); v != 16000 {
		t.Errorf("counted %g of 16000", v)
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	r := running()
	if n := testing.AllocsPerRun(100, func() { r.Observe("/docs", "GET", 200, time.Millisecond) }); n != 0 {
		t.Errorf("%g allocations per request", n)
	}
}

// serve runs the metrics behind the real edge on real TCP.
func serve(t *testing.T) string {
	t.Helper()
	routes := []edge.Route{page("/docs")}
	r := newMetrics(monitor.MetricsOptions{Version: "1.0.0", Commit: "abc", StartedAt: started(),
		Routes: routes})
	handler, err := api.NewEdge(api.EdgeConfig{
		Hosts: edge.NewHosts(), Routes: append(routes, r.Routes()...), Logger: hclog.NewNullLogger(),
		Now:     time.Now,
		Observe: func(o edge.Observation) { r.Observe(o.Route, o.Method, o.Status, o.Duration) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return apitest.Listen(t, handler)
}

func TestOverTCP(t *testing.T) {
	base := serve(t)
	apitest.Do(t, "GET", base+"/docs")
	apitest.Do(t, "HEAD", base+"/docs")
	apitest.Do(t, "GET", base+"/secret/"+strings.Repeat("x", 200))
	apitest.Do(t, "POST", base+"/docs")
	resp, body := apitest.Do(t, "GET", base+"/metrics")
	if resp.StatusCode != 200 ||
		resp.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" ||
		resp.Header.Get("X-Service-API-Version") != "v1" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	requests := mustParse(t, body)["assay_http_requests_total"]
	for _, labels := range []string{"code:200 method:GET route:/docs", "code:200 method:HEAD route:/docs",
		"code:404 method:GET route:other", "code:405 method:POST route:/docs"} {
		if requests.value(t, "map["+labels+"]") != 1 {
			t.Errorf("%s is not counted", labels)
		}
	}
	if strings.Contains(string(body), "secret") {
		t.Error("a path is in the metrics")
	}
	resp, body = apitest.Do(t, "HEAD", base+"/metrics")
	if resp.StatusCode != 200 || len(body) != 0 || resp.ContentLength <= 0 {
		t.Errorf("HEAD: %d with %d bytes of %d", resp.StatusCode, len(body), resp.ContentLength)
	}
	resp, _ = apitest.Do(t, "POST", base+"/metrics")
	if resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", resp.StatusCode, resp.Header)
	}
}

func TestGzip(t *testing.T) {
	resp, body := apitest.Do(t, "GET", serve(t)+"/metrics", "Accept-Encoding: gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("headers: %v", resp.Header)
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	mustParse(t, plain)
}

func ExampleMetrics_Observe() {
	r := newMetrics(monitor.MetricsOptions{Routes: []edge.Route{page("/docs")}})
	r.Observe("/docs", "GET", 200, 2*time.Millisecond)
	r.Observe("", "GET", 404, time.Millisecond)
	for line := range strings.Lines(string(r.Text())) {
		if strings.HasPrefix(line, "assay_http_requests_total{") {
			fmt.Print(line)
		}
	}
	// Output:
	// assay_http_requests_total{route="/docs",method="GET",code="200"} 1
	// assay_http_requests_total{route="other",method="GET",code="404"} 1
}
