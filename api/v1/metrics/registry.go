package metrics

import (
	"net/http"
	"slices"
	"time"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/web"
	"github.com/assay-run/assay/host/runner"
)

// Path is where the metrics are.
const Path = "/metrics"

// other stands for what is not in a closed set.
const other = "other"

// Options say what to show.
type Options struct {
	// Version and Commit are the program's.
	Version, Commit string
	StartedAt       time.Time
	// Routes are the routes of the edge; each path becomes a value of the label
	// route. Path itself need not be among them.
	Routes []web.Route
	// Status and Counters show the run. Nil means that there is none.
	Status   func() runner.Snapshot
	Counters func() runner.Counters
	// Stream counts the clients connected and dropped, Plugins the strategies that
	// can be used and that cannot. Nil means none.
	Stream  func() (clients int, dropped int64)
	Plugins func() (available, unavailable int)
}

// Registry counts requests and shows every metric.
type Registry struct {
	opts Options
	// routes is not written after New: counting needs no lock.
	routes  map[string]*route
	names   []string
	methods []string
	codes   []int
}

// New makes a registry.
func New(o Options) *Registry {
	r := &Registry{opts: o, routes: map[string]*route{}, methods: knownMethods(), codes: knownCodes()}
	add := func(name string) {
		if r.routes[name] == nil {
			r.routes[name] = newRoute(len(r.methods), len(r.codes))
			r.names = append(r.names, name)
		}
	}
	for _, route := range o.Routes {
		add(route.Path)
	}
	add(Path)
	add(other)
	slices.Sort(r.names)
	return r
}

// knownMethods are the values of the label method besides "other".
func knownMethods() []string {
	return []string{http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions,
		http.MethodPatch, http.MethodPost, http.MethodPut, http.MethodTrace}
}

// knownCodes are the values of the label code besides "other": the successes of
// this API and the status of every error code.
func knownCodes() []int {
	codes := []int{http.StatusSwitchingProtocols, http.StatusOK, http.StatusNotModified, http.StatusTemporaryRedirect}
	for _, e := range problem.Table() {
		codes = append(codes, e.Status)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Observe counts one answered request. The pattern is the path of the matched
// route, "" if none matched. The status 0 is a connection that was taken over by
// the stream: it is counted as 101, and its duration is not that of an answer.
func (r *Registry) Observe(pattern, method string, status int, took time.Duration) {
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

// Routes is the one route of this package.
func (r *Registry) Routes() []web.Route {
	return []web.Route{{Method: http.MethodGet, Path: Path, Handler: r.Handler()}}
}

// Handler answers a scrape.
func (r *Registry) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// Sending bytes cannot fail before the answer has begun.
		_ = web.Send(w, req, &web.Answer{Raw: r.Text(), ContentType: "text/plain; version=0.0.4; charset=utf-8"})
	})
}
