package metrics

import (
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/runner"
)

// Text is the whole page.
func (r *Registry) Text() []byte {
	t := &text{}
	t.family("assay_build_info", "gauge", "What is running; always 1.")
	t.sample("assay_build_info", 1, "version", r.opts.Version, "commit", r.opts.Commit)
	r.run(t)
	r.stream(t)
	r.http(t)
	r.plugins(t)
	r.process(t)
	return t.buf
}

func (r *Registry) run(t *text) {
	var s runner.Snapshot
	var c runner.Counters
	if r.opts.Status != nil {
		s = r.opts.Status()
	}
	if r.opts.Counters != nil {
		c = r.opts.Counters()
	}
	if s.Status == "" {
		s.Status = runner.StatusIdle
	}
	t.family("assay_run_state", "gauge", "1 for the status of the run, 0 for the others.")
	for _, status := range []string{runner.StatusIdle, runner.StatusRunning, runner.StatusCompleted, runner.StatusFailed} {
		t.sample("assay_run_state", truth(s.Status == status), "status", status)
	}
	t.family("assay_run_progress_ratio", "gauge", "Done part of the backtest, 0 to 1; absent in paper and live runs, which have no end.")
	if s.Mode == "" || s.Mode == runner.ModeBacktest {
		t.sample("assay_run_progress_ratio", progress(s.Progress))
	}
	t.family("assay_runs_total", "counter", "Ended runs by mode and outcome.")
	for _, mode := range []string{runner.ModeBacktest, runner.ModeLive, runner.ModePaper} {
		for _, outcome := range []string{runner.StatusCompleted, runner.StatusFailed} {
			t.sample("assay_runs_total", float64(ended(c, mode, outcome)), "mode", mode, "outcome", outcome)
		}
	}
	t.single("assay_candles_total", "counter", "Candles processed by runs.", float64(c.Candles))
	t.single("assay_orders_total", "counter", "Orders of runs.", float64(c.Orders))
	t.single("assay_fills_total", "counter", "Fills of runs.", float64(c.Fills))
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

func (r *Registry) stream(t *text) {
	var clients int
	var dropped int64
	if r.opts.Stream != nil {
		clients, dropped = r.opts.Stream()
	}
	t.single("assay_ws_clients", "gauge", "Connected stream clients.", float64(clients))
	t.single("assay_ws_dropped_total", "counter", "Stream clients that were closed because they read too slowly.", float64(dropped))
}

func (r *Registry) http(t *text) {
	const requests, duration = "assay_http_requests_total", "assay_http_request_duration_seconds"
	t.family(requests, "counter", "Answered requests by route pattern, method and status code.")
	for _, name := range r.names {
		stats := r.routes[name]
		for i := range stats.requests {
			if n := stats.requests[i].Load(); n > 0 {
				t.sample(requests, float64(n), "route", name, "method", r.method(i/stats.codes), "code", r.code(i%stats.codes))
			}
		}
	}
	t.family(duration, "histogram", "Time from the end of the request's header to the end of the handler. Upgrades to the stream are not in it.")
	for _, name := range r.names {
		cumulative, seconds := r.routes[name].durations()
		total := cumulative[len(cumulative)-1]
		if total == 0 {
			continue
		}
		for i, le := range bounds() {
			t.sample(duration+"_bucket", float64(cumulative[i]), "route", name, "le", number(le))
		}
		t.sample(duration+"_bucket", float64(total), "route", name, "le", "+Inf")
		t.sample(duration+"_sum", seconds, "route", name)
		t.sample(duration+"_count", float64(total), "route", name)
	}
}

func (r *Registry) method(i int) string {
	if i < len(r.methods) {
		return r.methods[i]
	}
	return other
}

func (r *Registry) code(i int) string {
	if i < len(r.codes) {
		return strconv.Itoa(r.codes[i])
	}
	return other
}

func (r *Registry) plugins(t *text) {
	var available, unavailable int
	if r.opts.Plugins != nil {
		available, unavailable = r.opts.Plugins()
	}
	t.family("assay_plugins", "gauge", "Strategies by whether they can be used.")
	t.sample("assay_plugins", float64(available), "status", "available")
	t.sample("assay_plugins", float64(unavailable), "status", "unavailable")
}

func (r *Registry) process(t *text) {
	var started float64
	if !r.opts.StartedAt.IsZero() {
		started = float64(r.opts.StartedAt.UnixMilli()) / 1000
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	t.single("process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.", started)
	t.single("go_goroutines", "gauge", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	t.single("go_memstats_heap_alloc_bytes", "gauge", "Bytes of heap in use.", float64(heap[0].Value.Uint64()))
}

// text collects lines of the format.
type text struct{ buf []byte }

func (t *text) family(name, kind, help string) {
	t.buf = append(t.buf, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

func (t *text) single(name, kind, help string, value float64) {
	t.family(name, kind, help)
	t.sample(name, value)
}

// sample writes one line. Labels are name, value, name, value.
func (t *text) sample(name string, value float64, labels ...string) {
	t.buf = append(t.buf, name...)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		t.buf = append(t.buf, sep)
		t.buf = append(t.buf, labels[i]+`="`...)
		t.buf = append(t.buf, escape(labels[i+1])...)
		t.buf = append(t.buf, '"')
	}
	if len(labels) > 0 {
		t.buf = append(t.buf, '}')
	}
	t.buf = append(t.buf, ' ')
	t.buf = append(t.buf, number(value)...)
	t.buf = append(t.buf, '\n')
}

// escape makes a label value safe: a backslash, a quote and a line end are escaped.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
