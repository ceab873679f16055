// Package api is the edge of the service as its clients see it: its routes behind
// host/base/edge, and the answers of the API to what no handler gets. After the edge come
// sunset and, for a GET, the refusal of a body; the operation's handler checks the rest: media
// type, size, JSON, schema, idempotency key, run state, lookups.
//
// The routes are handed in by cmd/assay: api/v1 has the operations, api/docs the documentation,
// api/ui the dashboard.
//
// It is small because the operations are in api/v1 and the checks in host/base/edge.
package api

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
)

// EdgeConfig is what the edge is made of.
type EdgeConfig struct {
	Hosts        edge.Hosts
	Routes       []edge.Route
	Deprecations view.Deprecations
	Logger       hclog.Logger
	// NoBody refuses the body of a GET or HEAD, on whatever route; it may be nil.
	NoBody func(*http.Request) error
	// Observe is called after each answered request; it may be nil.
	Observe func(edge.Observation)
	// Count, if set, counts the answered requests.
	Count *atomic.Int64
	// Now is the clock for sunsets.
	Now func() time.Time
}

// vary is the header of every answer.
const vary = "Accept-Encoding, Prefer"

// NewEdge makes the edge. Two routes of one method and path are a mistake of the program.
func NewEdge(cfg EdgeConfig) (*edge.Edge, error) {
	routes := make([]edge.Route, len(cfg.Routes))
	for i, r := range cfg.Routes {
		r.Handler = cfg.checked(r)
		routes[i] = r
	}
	return edge.New(edge.Config{
		Hosts: cfg.Hosts, Routes: routes, Vary: vary,
		Methods: []string{"DELETE", "GET", "HEAD", "POST", "PUT"},
		Deny:    deny, Logger: cfg.Logger, Observe: cfg.Observe, Count: cfg.Count,
		Matched: func(h http.Header, method, path string) {
			if gone := cfg.Deprecations.Endpoint(method, path); gone != nil {
				gone.SetHeaders(h)
			}
		},
	})
}

// checked returns a route's handler behind the checks of the API: sunset, no body of a GET.
func (cfg *EdgeConfig) checked(route edge.Route) http.Handler {
	gone := cfg.Deprecations.Endpoint(route.Method, route.Path)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone != nil && gone.Gone(cfg.Now()) {
			p := problem.WithMessage(problem.EndpointRemoved, gone.Message)
			edge.SendProblem(w, r, p.With("documentation", gone.Documentation))
			return
		}
		if route.Method == http.MethodGet && cfg.NoBody != nil {
			if err := cfg.NoBody(r); err != nil {
				edge.SendProblem(w, r, err)
				return
			}
		}
		route.Handler.ServeHTTP(w, r)
	})
}

// deny returns the answer to a request that no handler gets.
func deny(d edge.Denial) edge.Problem {
	if d.Reason == edge.FramedTwice {
		const both = "A request has either Content-Length or Transfer-Encoding, not both."
		return problem.WithMessage(problem.MalformedRequest, both).WithClose()
	}
	p := problem.New(problem.Code(d.Reason.Code())).WithCause(d.Cause)
	switch d.Reason {
	case edge.HTTPVersion:
		return p.WithClose()
	case edge.MethodNotAllowed:
		return p.WithHeader("Allow", strings.Join(d.Allow, ", ")).With("allow", d.Allow)
	}
	return p
}

// Refuse returns the answer to a request that never reached a handler: an [edge.Refuse].
func Refuse(status int, now time.Time) (int, http.Header, []byte) {
	return edge.RefuseWith(vary, deny)(status, now)
}

// Redirects lead people to the dashboard. No other path is ever redirected.
func Redirects() []edge.Route {
	toUI := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/ui")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	return []edge.Route{
		{Method: http.MethodGet, Path: "/", Handler: toUI},
		{Method: http.MethodGet, Path: "/ui/", Handler: toUI},
	}
}
