// Package exposition writes the text format of Prometheus: families and samples (Text), and
// the requests of an HTTP server, counted and timed by route (Requests).
//
// It is a package of its own because the metrics pages of the service and of the control plane are
// made with it.
package exposition

import (
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// other stands for what is not in a closed set.
const other = "other"

// Requests counts the answered requests of a server by route, method and status.
type Requests struct {
	prefix string
	// routes is not written after NewRequests: counting needs no lock.
	routes  map[string]*route
	names   []string
	methods []string
	codes   []int
}

// NewRequests counts requests of these routes, answered with these statuses; what is
// neither is counted as other. The prefix begins the names of the metrics.
func NewRequests(prefix string, routes []string, codes []int) *Requests {
	r := &Requests{prefix: prefix, routes: map[string]*route{}, methods: []string{ // sorted
		http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions,
		http.MethodPatch, http.MethodPost, http.MethodPut, http.MethodTrace,
	}}
	r.codes = slices.Compact(slices.Sorted(slices.Values(codes)))
	for _, name := range append([]string{other}, routes...) {
		if r.routes[name] == nil {
			r.routes[name] = &route{codes: len(r.codes) + 1}
			r.routes[name].requests = make([]atomic.Int64, (len(r.methods)+1)*(len(r.codes)+1))
			r.names = append(r.names, name)
		}
	}
	slices.Sort(r.names)
	return r
}

// Observe counts one answered request. The pattern is the path of the matched
// route, "" if none matched. The status 0 is a connection that was taken over by
// the stream: it is counted as 101, and its duration is not that of an answer.
func (r *Requests) Observe(pattern, method string, status int, took time.Duration) {
	stats := r.routes[pattern]
	if stats == nil {
		stats = r.routes[other]
	}
	if status == 0 {
		status = http.StatusSwitchingProtocols
	}
	m, ok := slices.BinarySearch(r.methods, method)
	if !ok {
		m = len(r.methods)
	}
	c, ok := slices.BinarySearch(r.codes, status)
	if !ok {
		c = len(r.codes)
	}
	stats.count(m, c)
	if status != http.StatusSwitchingProtocols {
		stats.time(took)
	}
}

// Write writes the metrics <prefix>_http_requests_total and
// <prefix>_http_request_duration_seconds.
func (r *Requests) Write(t *Text) {
	requests, duration := r.prefix+"_http_requests_total", r.prefix+"_http_request_duration_seconds"
	t.Family(requests, "counter", "Answered requests by route pattern, method and status code.")
	for _, name := range r.names {
		stats := r.routes[name]
		for i := range stats.requests {
			if n := stats.requests[i].Load(); n > 0 {
				method, code := other, other
				if m := i / stats.codes; m < len(r.methods) {
					method = r.methods[m]
				}
				if c := i % stats.codes; c < len(r.codes) {
					code = strconv.Itoa(r.codes[c])
				}
				t.Sample(requests, float64(n), "route", name, "method", method, "code", code)
			}
		}
	}
	t.Family(duration, "histogram",
		"Time from the end of the request's header to the end of the handler. "+
			"Upgraded connections are not in it.")
	for _, name := range r.names {
		cumulative, seconds := r.routes[name].durations()
		total := cumulative[len(cumulative)-1]
		if total == 0 {
			continue
		}
		for i, le := range bounds {
			t.Sample(duration+"_bucket", float64(cumulative[i]), "route", name, "le", number(le))
		}
		t.Sample(duration+"_bucket", float64(total), "route", name, "le", "+Inf")
		t.Sample(duration+"_sum", seconds, "route", name)
		t.Sample(duration+"_count", float64(total), "route", name)
	}
}

// route counts the requests of one route. All its fields are written by atomic
// operations only.
type route struct {
	requests []atomic.Int64 // by method, then code; the last of each is "other"
	codes    int
	buckets  [len(bounds) + 1]atomic.Int64 // not cumulative; the last is above every bound
	nanos    atomic.Int64
}

// bounds are the upper bounds of the histogram in seconds: a status answer takes
// well under a millisecond, a long poll up to 30 s.
var bounds = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30}

func (r *route) count(method, code int) { r.requests[method*r.codes+code].Add(1) }

func (r *route) time(took time.Duration) {
	took = max(took, 0)
	r.buckets[sort.SearchFloat64s(bounds[:], took.Seconds())].Add(1)
	r.nanos.Add(int64(took))
}

// durations are the cumulative counts of the buckets and the sum in seconds.
func (r *route) durations() (cumulative []int64, seconds float64) {
	var sum int64
	for i := range r.buckets {
		sum += r.buckets[i].Load()
		cumulative = append(cumulative, sum)
	}
	return cumulative, time.Duration(r.nanos.Load()).Seconds()
}

// Text collects lines of the format.
type Text struct{ buf []byte }

// Bytes returns what has been collected.
func (t *Text) Bytes() []byte { return t.buf }

// Family begins a metric of a kind: counter, gauge or histogram.
func (t *Text) Family(name, kind, help string) {
	t.buf = append(t.buf, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

// Single is a metric with one sample.
func (t *Text) Single(name, kind, help string, value float64) {
	t.Family(name, kind, help)
	t.Sample(name, value)
}

// Sample writes one line. Labels are name, value, name, value.
func (t *Text) Sample(name string, value float64, labels ...string) {
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
