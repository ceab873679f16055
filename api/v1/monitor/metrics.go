package monitor

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/exposition"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
)

// Path is where the metrics are.
const Path = "/metrics"

// MetricsOptions are what to show.
type MetricsOptions struct {
	// Version and Commit are the program's.
	Version, Commit string
	StartedAt       time.Time
	// Routes are the routes of the edge; each path becomes a value of the label
	// route. Path itself need not be among them.
	Routes []edge.Route
	// Status and Counters show the run.
	Status   func() runner.Snapshot
	Counters func() runner.Counters
	// Stream counts the clients connected and dropped, Plugins the strategies that
	// can be used and that cannot.
	Stream  func() (clients int, dropped int64)
	Plugins func() (available, unavailable int)
}

// Metrics counts requests and shows every metric.
type Metrics struct {
	opts     MetricsOptions
	requests *exposition.Requests
}

// NewMetrics makes a registry.
func NewMetrics(o MetricsOptions) *Metrics {
	routes := []string{Path}
	for _, route := range o.Routes {
		routes = append(routes, route.Path)
	}
	return &Metrics{opts: o, requests: exposition.NewRequests("assay", routes, knownCodes())}
}

// knownCodes are the values of the label code besides "other": the successes of
// this API and the status of every error code.
func knownCodes() []int {
	codes := []int{http.StatusSwitchingProtocols, http.StatusOK, http.StatusNotModified,
		http.StatusTemporaryRedirect}
	for _, e := range problem.Table() {
		codes = append(codes, e.Status)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Observe counts one answered request, see exposition.Requests.
func (r *Metrics) Observe(pattern, method string, status int, took time.Duration) {
	r.requests.Observe(pattern, method, status, took)
}

// Routes returns the one route of this package.
func (r *Metrics) Routes() []edge.Route {
	return []edge.Route{{Method: http.MethodGet, Path: Path, Handler: r.Handler()}}
}

// Handler answers a scrape.
func (r *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// Sending bytes cannot fail before the answer has begun.
		_ = edge.Send(w, req,
			&edge.Answer{Raw: r.Text(), ContentType: "text/plain; version=0.0.4; charset=utf-8"})
	})
}

// Text returns the whole page.
func (r *Metrics) Text() []byte {
	t := &exposition.Text{}
	t.Family("assay_build_info", "gauge", "What is running; always 1.")
	t.Sample("assay_build_info", 1, "version", r.opts.Version, "commit", r.opts.Commit)
	s := r.opts.Status()
	r.run(t, s)
	r.trading(t, s)
	r.stream(t)
	r.requests.Write(t)
	r.plugins(t)
	r.process(t)
	return t.Bytes()
}

// phases are those of a paper or live run.
var phases = []string{"starting", "reconciling", "warming", "trading", "reducing", "halted", "stopping"}

// trading is what a paper or live run is watched by. Without one there are the alarms only, all 0.
func (r *Metrics) trading(t *exposition.Text, s runner.Snapshot) {
	t.Family("assay_alarms", "gauge",
		"Open alarms of the paper or live run by code and severity, acknowledged or not.")
	open := map[[2]string]int{}
	for _, row := range engine.AlarmTable() {
		open[[2]string{row.Code, string(row.Severity)}] = 0
	}
	for _, a := range s.Progress.Alarms {
		open[[2]string{a.Code, string(a.Severity)}]++
	}
	for _, k := range slices.SortedFunc(maps.Keys(open), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		t.Sample("assay_alarms", float64(open[k]), "code", k[0], "severity", k[1])
	}
	on := s.Mode == runner.ModePaper || s.Mode == runner.ModeLive
	t.Family("assay_run_phase", "gauge",
		"1 for the phase of the paper or live run, 0 for the others; absent without one.")
	if on {
		for _, p := range phases {
			t.Sample("assay_run_phase", truth(s.Phase == p), "phase", p)
		}
	}
	p := s.Progress
	t.Family("assay_run_orders_rejected_total", "counter",
		"Rejected orders of the paper or live run; absent without one.")
	if on {
		t.Sample("assay_run_orders_rejected_total", float64(p.Rejects))
	}
	t.Family("assay_run_equity", "gauge",
		"Equity of the paper or live run in its quote currency; absent without one.")
	if on {
		t.Sample("assay_run_equity", p.Equity)
	}
	t.Family("assay_run_last_candle_age_seconds", "gauge",
		"Time since a candle closed last in the paper or live run; absent before the first and after the "+
			"end.")
	if on && s.Status == runner.StatusRunning && !p.LastCandle.IsZero() && !p.UpdatedAt.IsZero() {
		t.Sample("assay_run_last_candle_age_seconds", max(p.UpdatedAt.Sub(p.LastCandle), 0).Seconds())
	}
}

func (r *Metrics) run(t *exposition.Text, s runner.Snapshot) {
	c := r.opts.Counters()
	t.Family("assay_run_state", "gauge", "1 for the status of the run, 0 for the others.")
	for _, status := range []string{runner.StatusIdle, runner.StatusRunning, runner.StatusCompleted,
		runner.StatusFailed} {
		t.Sample("assay_run_state", truth(s.Status == status), "status", status)
	}
	t.Family("assay_run_progress_ratio", "gauge",
		"Done part of the backtest, 0 to 1; absent in paper and live runs, which have no end.")
	if s.Mode == "" || s.Mode == runner.ModeBacktest {
		t.Sample("assay_run_progress_ratio", progress(s.Progress))
	}
	t.Family("assay_runs_total", "counter", "Ended runs by mode and outcome.")
	for _, mode := range []string{runner.ModeBacktest, runner.ModeLive, runner.ModePaper} {
		for _, outcome := range []string{runner.StatusCompleted, runner.StatusFailed} {
			t.Sample("assay_runs_total", float64(ended(c, mode, outcome)), "mode", mode, "outcome", outcome)
		}
	}
	t.Single("assay_candles_total", "counter", "Candles processed by runs.", float64(c.Candles))
	t.Single("assay_orders_total", "counter", "Orders of runs.", float64(c.Orders))
	t.Single("assay_fills_total", "counter", "Fills of runs.", float64(c.Fills))
}

func progress(p runner.Progress) float64 {
	if p.CandlesTotal <= 0 {
		return 0
	}
	return float64(p.CandlesDone) / float64(p.CandlesTotal)
}

func ended(c runner.Counters, mode, status string) int64 {
	for _, o := range c.Outcomes {
		if o.Mode == mode && o.Status == status {
			return o.Count
		}
	}
	return 0
}

func (r *Metrics) stream(t *exposition.Text) {
	clients, dropped := r.opts.Stream()
	t.Single("assay_ws_clients", "gauge", "Connected stream clients.", float64(clients))
	t.Single("assay_ws_dropped_total", "counter",
		"Stream clients that were closed because they read too slowly.", float64(dropped))
}

func (r *Metrics) plugins(t *exposition.Text) {
	available, unavailable := r.opts.Plugins()
	t.Family("assay_plugins", "gauge", "Strategies by whether they can be used.")
	t.Sample("assay_plugins", float64(available), "status", "available")
	t.Sample("assay_plugins", float64(unavailable), "status", "unavailable")
}

func (r *Metrics) process(t *exposition.Text) {
	var started float64
	if !r.opts.StartedAt.IsZero() {
		started = float64(r.opts.StartedAt.UnixMilli()) / 1000
	}
	t.Single("process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.",
		started)
	t.Single("go_goroutines", "gauge", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	t.Single("go_memstats_heap_alloc_bytes", "gauge", "Bytes of heap in use.",
		float64(heapBytes()))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
