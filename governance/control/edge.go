package control

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/exposition"
	"github.com/assay-run/assay/host/base/listen"
)

// prefix is where the routes are besides the root.
const prefix = "/api/v1"

// request is a request that has passed the edge.
type request struct {
	*http.Request
	inner  http.ResponseWriter
	prefix string   // "" or /api/v1, as it was called
	route  string   // the path of the matched route, "" if none
	params []string // the segments of the path that stand for something, still encoded
	read   bool     // nothing of the body is left
}

// route is one operation: a method on a path, whose segments in braces stand for something.
type route struct {
	method   string
	path     string
	segments []string
	handle   func(*request) (*answer, error)
}

// edge is the handler around all others.
type edge struct {
	p      *Plane
	hosts  listen.Hosts
	routes []route
	origin *http.CrossOriginProtection
	// requests counts what was answered.
	requests *exposition.Requests
}

func newEdge(p *Plane, hosts listen.Hosts) *edge {
	e := &edge{p: p, hosts: hosts, origin: http.NewCrossOriginProtection()}
	add := func(method, path string, handle func(*request) (*answer, error)) {
		e.routes = append(e.routes, route{method, path, strings.Split(path[1:], "/"), handle})
	}
	add(http.MethodPost, "/candidate-bundles/ingest", p.ingest)
	add(http.MethodGet, "/candidate-bundles/{candidate_revision_id}", p.getBundle)
	add(http.MethodGet, "/promotion-state/{subject_type}/{subject_id}", p.getState)
	add(http.MethodGet, "/promotion-plans/{subject_type}/{subject_id}/{stage}", p.getPlan)
	add(http.MethodGet, "/pending-experiments/{subject_type}/{subject_id}", p.getExperiments)
	add(http.MethodGet, "/pending-experiments/{subject_type}/{subject_id}/{stage}", p.getExperiments)
	add(http.MethodGet, "/deployable-registry/{family_id}", p.getRegistry)
	add(http.MethodGet, "/facts/{seq}", p.getFact)
	add(http.MethodGet, "/health", p.getHealth)
	add(http.MethodGet, "/checkpoint", p.getCheckpoint)
	add(http.MethodGet, "/trust/trusted_root.json", p.getTrustedRoot)
	add(http.MethodGet, "/trust/governance.pub", p.getStatementKey)
	add(http.MethodGet, "/trust/log.vkey", p.getLogKey)
	add(http.MethodGet, "/trust/log.json", p.getLogInfo)
	add(http.MethodGet, "/trust/trust.json", p.getTrust)
	add(http.MethodGet, "/openapi.json", p.getSpec)
	add(http.MethodGet, "/metrics", func(*request) (*answer, error) { return p.getMetrics(e.requests) })
	e.requests = newRequests(e.routes)
	return e
}

// find is the routes of a path, with what its segments stand for.
func (e *edge) find(path string) (found []route, params []string) {
	if !strings.HasPrefix(path, "/") {
		return nil, nil
	}
	segments := strings.Split(path[1:], "/")
	if slices.Contains(segments, "") {
		return nil, nil
	}
	for _, r := range e.routes {
		if len(r.segments) != len(segments) {
			continue
		}
		var p []string
		fits := true
		for i, s := range r.segments {
			if strings.HasPrefix(s, "{") {
				p = append(p, segments[i])
			} else if s != segments[i] {
				fits = false
			}
		}
		// Exact paths come first in the list and win over those with a variable segment.
		if fits && (len(found) == 0 || len(p) == len(params)) {
			found, params = append(found, r), p
		}
	}
	return found, params
}

// ServeHTTP implements http.Handler.
func (e *edge) ServeHTTP(inner http.ResponseWriter, hr *http.Request) {
	id := requestID(hr.Header)
	w := &writer{ResponseWriter: inner}
	r := &request{Request: hr, inner: inner, read: hr.ContentLength == 0}
	setHeaders(w.Header(), id)
	begin := time.Now()
	defer func() { e.requests.Observe(r.route, hr.Method, w.status, time.Since(begin)) }()
	conn := listen.Of(hr.Context())
	if conn != nil {
		defer conn.Answered() // the end of the answer leaves after this
	}
	if len(hr.TransferEncoding) > 0 {
		// Whoever stands in front may have framed this body differently.
		w.Header().Set("Connection", "close")
	}
	defer func() {
		if cause := recover(); cause != nil {
			e.recovered(w, hr, id, cause)
		}
	}()
	a, err := e.serve(r, conn)
	if err == nil {
		err = a.send(w, hr)
	}
	if err == nil {
		return
	}
	p := problemOf(err)
	if p.code == codeInternal {
		e.p.opts.Logger.Error("a request failed", "request_id", id, "path", hr.URL.EscapedPath(), "error", err)
	}
	if p.allow != "" {
		w.Header().Set("Allow", p.allow)
	}
	if p.close || !r.read {
		w.Header().Set("Connection", "close")
		if conn != nil {
			conn.Linger()
		}
	}
	write(w, hr, p.status(), "application/json", p.envelope(id, hr.URL.EscapedPath()))
}

// serve runs the checks in their order; the first that fails answers.
func (e *edge) serve(r *request, conn *listen.Conn) (*answer, error) {
	if r.ProtoMajor != 1 {
		return nil, &problem{code: codeHTTPVersion, message: "This server speaks HTTP/1.1.", close: true}
	}
	if len(r.TransferEncoding) > 0 && conn != nil && conn.FramedTwice(r.Method+" "+r.RequestURI+" ") {
		return nil, &problem{code: codeMalformedRequest, message: "A request has either Content-Length or Transfer-Encoding, not both.", close: true}
	}
	if !e.hosts.Allows(r.Host) {
		return nil, say(codeHostForbidden, "This host name is not one of this server's.")
	}
	if r.Method == http.MethodConnect || r.URL.Path == "*" {
		return nil, methodNotAllowed([]string{"GET", "HEAD", "POST"})
	}
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, prefix+"/"); ok {
		r.prefix, path = prefix, "/"+rest
	}
	routes, params := e.find(path)
	if len(routes) == 0 {
		return nil, say(codeNotFound, "There is nothing at this path.")
	}
	r.route, r.params = routes[0].path, params
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	i := slices.IndexFunc(routes, func(c route) bool { return c.method == method })
	if i < 0 {
		return nil, methodNotAllowed(allowed(routes))
	}
	if err := e.origin.Check(r.Request); err != nil {
		return nil, say(codeOriginForbidden, "Another site may not do this.")
	}
	a, err := routes[i].handle(r)
	if err == nil && !r.read && method == http.MethodGet {
		return nil, &problem{code: codeMalformedRequest, message: "This operation takes no body.", close: true}
	}
	return a, err
}

func allowed(routes []route) []string {
	var list []string
	for _, r := range routes {
		list = append(list, r.method)
		if r.method == http.MethodGet {
			list = append(list, http.MethodHead)
		}
	}
	slices.Sort(list)
	return list
}

func methodNotAllowed(allow []string) *problem {
	return &problem{
		code: codeMethodNotAllowed, message: "This path does not take this method.", allow: strings.Join(allow, ", "),
		details: map[string]any{"allow": allow},
	}
}

// recovered answers for a handler that panicked. The value of the panic may hold what a
// client sent, so only its type is logged.
func (e *edge) recovered(w *writer, r *http.Request, id string, cause any) {
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	e.p.opts.Logger.Error("a handler panicked", "type", fmt.Sprintf("%T", cause), "request_id", id, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Connection", "close")
	p := problemOf(errors.New("panic"))
	write(w, r, p.status(), "application/json", p.envelope(id, r.URL.EscapedPath()))
}

// writer remembers the status of an answer that has begun; 0 before.
type writer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// bodyTime is how long a body may take to arrive.
const bodyTime = 15 * time.Second

// damaged refuses where the log may not be continued or vouched for.
func (p *Plane) damaged() error {
	if d := p.store.Damage(); d != nil {
		return d
	}
	return nil
}
