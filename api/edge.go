package api

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/api/web"
	"github.com/assay-run/assay/host/base/listen"
)

// EdgeConfig is what the edge is made of.
type EdgeConfig struct {
	Hosts        listen.Hosts
	Routes       []web.Route
	Deprecations *view.Deprecations
	Logger       hclog.Logger
	// NoBody refuses the body of a GET or HEAD, on whatever route; it may be nil.
	NoBody func(*http.Request) error
	// Observe is told of each answered request; it may be nil.
	Observe func(Observation)
	// Now is the clock for sunsets.
	Now func() time.Time
}

// Observation is one answered request. Route is the pattern of the route or ""
// when none matched, never the path as sent.
type Observation struct {
	Route, Method string
	Status        int
	Duration      time.Duration
}

// Edge is the handler around all others.
type Edge struct {
	cfg      EdgeConfig
	routes   map[string]pathRoutes
	origin   *http.CrossOriginProtection
	shared   *web.Shared
	requests atomic.Int64
}

type pathRoutes struct {
	handlers map[string]http.Handler
	allow    string
}

// NewEdge makes the edge. Two routes of one method and path are a mistake of the
// program.
func NewEdge(cfg EdgeConfig) (*Edge, error) {
	e := &Edge{cfg: cfg, routes: map[string]pathRoutes{}, origin: http.NewCrossOriginProtection(), shared: web.NewShared()}
	for _, r := range cfg.Routes {
		p := e.routes[r.Path]
		if p.handlers == nil {
			p.handlers = map[string]http.Handler{}
		}
		if p.handlers[r.Method] != nil {
			return nil, fmt.Errorf("api: two routes for %s %s", r.Method, r.Path)
		}
		p.handlers[r.Method] = r.Handler
		p.allow = allow(p.handlers)
		e.routes[r.Path] = p
	}
	return e, nil
}

func allow(handlers map[string]http.Handler) string {
	var methods []string
	for m := range handlers {
		methods = append(methods, m)
		if m == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	sort.Strings(methods)
	return strings.Join(methods, ", ")
}

// Requests counts the requests answered since the start.
func (e *Edge) Requests() int64 { return e.requests.Load() }

// bodyTime is how long a body may take to arrive.
const bodyTime = 15 * time.Second

// ServeHTTP implements http.Handler.
func (e *Edge) ServeHTTP(inner http.ResponseWriter, r *http.Request) {
	started := time.Now()
	info := &web.Info{RequestID: web.RequestID(r.Header), Writer: inner}
	if c := listen.Of(r.Context()); c != nil {
		info.Linger = c.Linger
		defer c.Answered() // the end of the answer leaves after this
	}
	r = r.WithContext(web.With(r.Context(), e.shared, info))
	w := &writer{ResponseWriter: inner}
	web.SetHeaders(w.Header(), info.RequestID)
	if len(r.TransferEncoding) > 0 {
		// Whoever stands in front may have framed this body differently: what comes
		// behind it is never taken for a request.
		w.Header().Set("Connection", "close")
		if info.Linger != nil {
			info.Linger()
		}
	}
	if r.ContentLength != 0 {
		_ = http.NewResponseController(inner).SetReadDeadline(started.Add(bodyTime))
	}
	defer func() {
		e.requests.Add(1)
		if cause := recover(); cause != nil {
			e.recovered(w, r, cause)
		}
		if e.cfg.Observe != nil {
			e.cfg.Observe(Observation{Route: info.Pattern, Method: r.Method, Status: w.status, Duration: time.Since(started)})
		}
	}()
	if err := e.serve(w, r, info); err != nil {
		web.SendProblem(w, r, err)
	}
}

// serve runs the checks in their order; the first that fails answers.
func (e *Edge) serve(w *writer, r *http.Request, info *web.Info) error {
	if r.ProtoMajor != 1 {
		return problem.New(problem.HTTPVersionNotSupported).WithClose()
	}
	if len(r.TransferEncoding) > 0 {
		if c := listen.Of(r.Context()); c != nil && c.FramedTwice(r.Method+" "+r.RequestURI+" ") {
			return problem.Say(problem.MalformedRequest, "A request has either Content-Length or Transfer-Encoding, not both.").WithClose()
		}
	}
	if !e.cfg.Hosts.Allows(r.Host) {
		return problem.New(problem.HostForbidden)
	}
	if r.Method == http.MethodConnect || r.URL.Path == "*" {
		return methodNotAllowed("DELETE, GET, HEAD, POST")
	}
	path := r.URL.EscapedPath()
	routes, ok := e.routes[path]
	if !ok {
		return problem.New(problem.NotFound)
	}
	info.Pattern = path
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handler := routes.handlers[method]
	if handler == nil {
		return methodNotAllowed(routes.allow)
	}
	gone := e.cfg.Deprecations.Endpoint(method, path)
	if gone != nil {
		gone.SetHeaders(w.Header())
	}
	if err := e.origin.Check(r); err != nil {
		return problem.New(problem.OriginForbidden).WithCause(err)
	}
	if gone != nil && gone.Gone(e.cfg.Now()) {
		return problem.Say(problem.EndpointRemoved, gone.Message).With("documentation", gone.Documentation)
	}
	if method == http.MethodGet && e.cfg.NoBody != nil {
		if err := e.cfg.NoBody(r); err != nil {
			return err
		}
	}
	handler.ServeHTTP(w, r)
	return nil
}

func methodNotAllowed(allow string) *problem.Problem {
	return problem.New(problem.MethodNotAllowed).
		WithHeader("Allow", allow).
		With("allow", strings.Split(allow, ", "))
}

// recovered answers for a handler that panicked. The value of the panic may hold
// what a client sent, so only its type is logged.
func (e *Edge) recovered(w *writer, r *http.Request, cause any) {
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	e.cfg.Logger.Error("a handler panicked", "type", fmt.Sprintf("%T", cause),
		"request_id", web.From(r.Context()).RequestID, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	web.SendProblem(w, r, problem.New(problem.InternalError))
}

// writer remembers whether an answer has begun.
type writer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
