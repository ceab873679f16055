package metrics

import (
	"net/http"
	"slices"
	"time"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/exposition"
	"github.com/assay-run/assay/host/runner"
)

// Path is where the metrics are.
const Path = "/metrics"

// Options say what to show.
type Options struct {
	// Version and Commit are the program's.
	Version, Commit string
	StartedAt       time.Time
	// Routes are the routes of the edge; each path becomes a value of the label
	// route. Path itself need not be among them.
	Routes []edge.Route
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
	opts     Options
	requests *exposition.Requests
}

// New makes a registry.
func New(o Options) *Registry {
	routes := []string{Path}
	for _, route := range o.Routes {
		routes = append(routes, route.Path)
	}
	return &Registry{opts: o, requests: exposition.NewRequests("assay", routes, knownCodes())}
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

// Observe counts one answered request, see exposition.Requests.
func (r *Registry) Observe(pattern, method string, status int, took time.Duration) {
	r.requests.Observe(pattern, method, status, took)
}

// Routes is the one route of this package.
func (r *Registry) Routes() []edge.Route {
	return []edge.Route{{Method: http.MethodGet, Path: Path, Handler: r.Handler()}}
}

// Handler answers a scrape.
func (r *Registry) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// Sending bytes cannot fail before the answer has begun.
		_ = edge.Send(w, req, &edge.Answer{Raw: r.Text(), ContentType: "text/plain; version=0.0.4; charset=utf-8"})
	})
}
