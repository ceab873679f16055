// Package edge is the HTTP edge of the servers of this module: where they listen and which
// Host headers they answer, connections with bounds on number and write stalls, the checks
// before every handler, and the headers, entity tags, compression and error bodies of every
// answer.
//
// [Edge] checks in this order, and the first failure answers: HTTP version, framing, host,
// path, method, origin. What an answer of no looks like is decided by its owner: see
// [Config.Deny]. net/http refuses some requests by itself, before any handler and in a form of
// its own. Connections of a limited listener recognise exactly those answers and write what
// [Refuse] makes of them instead, so that a client sees one form of refusal only.
package edge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Route is one operation: a method on an exact path, whose segments in braces stand for
// something. A route of GET serves HEAD too.
type Route struct {
	Method, Path string
	Handler      http.Handler
}

// Config is what an edge is made of.
type Config struct {
	Hosts  Hosts
	Routes []Route
	// Prefix is where the routes are besides the root, "" if nowhere else.
	Prefix string
	// Methods are those of the whole server, for requests of no path.
	Methods []string
	// Vary is the header of every answer.
	Vary string
	// Deny makes the answer to a request that no handler gets, or that one panicked on.
	Deny   func(Denial) Problem
	Logger hclog.Logger
	// Matched is called for each request with a route, before the check of its origin; it may
	// be nil. Method is GET for HEAD.
	Matched func(h http.Header, method, path string)
	// Observe is called after each answered request; it may be nil.
	Observe func(Observation)
	// Count, if set, counts the answered requests.
	Count *atomic.Int64
}

// Denial is why a request is denied.
type Denial struct {
	Reason Reason
	Allow  []string // of MethodNotAllowed
	// Unread reports that net/http refused the request before any handler.
	Unread bool
	Cause  error
}

// Reason is a reason of a Denial.
type Reason int

// The reasons.
const (
	Malformed Reason = iota
	ExpectationFailed
	HeadersTooLarge
	TransferEncoding // one that is not known
	HTTPVersion
	FramedTwice // Content-Length beside Transfer-Encoding
	HostForbidden
	NotFound
	MethodNotAllowed
	OriginForbidden
	Internal // the handler panicked, or its answer cannot be made
)

// The error codes of HTTP itself.
const (
	CodeMalformedRequest = "MALFORMED_REQUEST"
	CodeHostForbidden    = "HOST_FORBIDDEN"
	CodeOriginForbidden  = "ORIGIN_FORBIDDEN"
	CodeNotFound         = "NOT_FOUND"
	CodeMethodNotAllowed = "METHOD_NOT_ALLOWED"
	CodeRequestTimeout   = "REQUEST_TIMEOUT"
	CodeBodyTooLarge     = "BODY_TOO_LARGE"
	CodeMediaType        = "UNSUPPORTED_MEDIA_TYPE"
	CodeExpectation      = "EXPECTATION_FAILED"
	CodeHeadersTooLarge  = "HEADERS_TOO_LARGE"
	CodeTransferEncoding = "UNSUPPORTED_TRANSFER_ENCODING"
	CodeHTTPVersion      = "HTTP_VERSION_NOT_SUPPORTED"
	CodeInternal         = "INTERNAL_ERROR"
)

// Code returns the error code of a reason.
func (r Reason) Code() string {
	return map[Reason]string{
		Malformed: CodeMalformedRequest, ExpectationFailed: CodeExpectation,
		HeadersTooLarge: CodeHeadersTooLarge, TransferEncoding: CodeTransferEncoding,
		HTTPVersion: CodeHTTPVersion, FramedTwice: CodeMalformedRequest,
		HostForbidden: CodeHostForbidden, NotFound: CodeNotFound, MethodNotAllowed: CodeMethodNotAllowed,
		OriginForbidden: CodeOriginForbidden, Internal: CodeInternal,
	}[r]
}

// Problem is an error that is an answer.
type Problem interface {
	error
	Status() int
	// Extra returns further headers, and whether the connection ends.
	Extra() (h http.Header, closes bool)
	// Body is that of a request of a path as it was sent, "" before it is known.
	Body(requestID, path string) []byte
}

// Observation is one answered request. Route is the pattern of the route or "" when none
// matched, never the path as sent.
type Observation struct {
	Route, Method string
	Status        int
	Duration      time.Duration
}

// Edge is the handler around all others.
type Edge struct {
	cfg    Config
	exact  map[string]*place
	others []*place // with segments in braces
	origin *http.CrossOriginProtection
}

// place is the routes of one path.
type place struct {
	path     string
	segments []string
	handlers map[string]http.Handler
	allow    []string
}

// New makes an edge. Two routes of one method and path are a mistake of the program.
func New(cfg Config) (*Edge, error) {
	e := &Edge{cfg: cfg, exact: map[string]*place{}, origin: http.NewCrossOriginProtection()}
	for _, r := range cfg.Routes {
		p := e.exact[r.Path]
		if p == nil {
			p = &place{path: r.Path, segments: segments(r.Path), handlers: map[string]http.Handler{}}
			e.exact[r.Path] = p
			if strings.Contains(r.Path, "{") {
				e.others = append(e.others, p)
			}
		}
		if p.handlers[r.Method] != nil {
			return nil, fmt.Errorf("edge: two routes for %s %s", r.Method, r.Path)
		}
		p.handlers[r.Method] = r.Handler
		p.allow = append(p.allow, r.Method)
		if r.Method == http.MethodGet {
			p.allow = append(p.allow, http.MethodHead)
		}
		slices.Sort(p.allow)
	}
	for _, p := range e.others {
		delete(e.exact, p.path)
	}
	return e, nil
}

func segments(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// find returns the routes of a path, with what its segments stand for, still encoded.
func (e *Edge) find(path string) (found *place, params []string) {
	if p := e.exact[path]; p != nil {
		return p, nil
	}
	list := segments(path)
	if !strings.HasPrefix(path, "/") || slices.Contains(list, "") {
		return nil, nil
	}
	for _, p := range e.others {
		if params, ok := p.match(list); ok {
			return p, params
		}
	}
	return nil, nil
}

func (p *place) match(list []string) (params []string, ok bool) {
	if len(list) != len(p.segments) {
		return nil, false
	}
	for i, s := range p.segments {
		if strings.HasPrefix(s, "{") {
			params = append(params, list[i])
		} else if s != list[i] {
			return nil, false
		}
	}
	return params, true
}

// Info is what the edge knows about one request.
type Info struct {
	RequestID string
	// Writer is the innermost writer: what a WebSocket upgrade needs.
	Writer http.ResponseWriter
	// Linger makes the connection take in the rest of an unread body before it closes, so that
	// the client gets to read the answer.
	Linger func()
	// BodyRead reports that nothing of the body is left on the connection.
	BodyRead bool
	// Pattern is the path of the matched route, "" before it is known; Params are what its
	// segments in braces stand for, still encoded, and Prefix is [Config.Prefix] if the
	// request came by it.
	Pattern, Prefix string
	Params          []string

	deny func(Denial) Problem
}

type infoKey struct{}

// With puts an Info into the context of a request.
func With(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, infoKey{}, info)
}

// From returns the Info of a request. Outside of an edge it is a fresh one.
func From(ctx context.Context) *Info {
	if info, ok := ctx.Value(infoKey{}).(*Info); ok {
		return info
	}
	return &Info{RequestID: NewRequestID()}
}

// bodyTime is how long a body may take to arrive.
const bodyTime = 15 * time.Second

// EndBody notes that the body was read and lifts its deadline, which would only end the
// request itself now.
func (i *Info) EndBody() {
	i.BodyRead = true
	if i.Writer != nil {
		_ = http.NewResponseController(i.Writer).SetReadDeadline(time.Time{})
	}
}

// ServeHTTP implements http.Handler.
func (e *Edge) ServeHTTP(inner http.ResponseWriter, r *http.Request) {
	started := time.Now()
	info := &Info{
		RequestID: RequestID(r.Header), Writer: inner, BodyRead: r.ContentLength == 0, deny: e.cfg.Deny,
	}
	if c := Of(r.Context()); c != nil {
		info.Linger = c.Linger
		defer c.Answered() // the end of the answer leaves after this
	}
	r = r.WithContext(With(r.Context(), info))
	w := &writer{ResponseWriter: inner}
	SetHeaders(w.Header(), info.RequestID, e.cfg.Vary)
	if len(r.TransferEncoding) > 0 {
		// Whoever stands in front may have framed this body differently: what comes behind it is
		// never taken for a request.
		w.Header().Set("Connection", "close")
		if info.Linger != nil {
			info.Linger()
		}
	}
	if r.ContentLength != 0 {
		// Only the innermost writer reaches the server.
		_ = http.NewResponseController(inner).SetReadDeadline(started.Add(bodyTime))
	}
	defer func() {
		if e.cfg.Count != nil {
			e.cfg.Count.Add(1)
		}
		if cause := recover(); cause != nil {
			e.recovered(w, r, cause)
		}
		if e.cfg.Observe != nil {
			e.cfg.Observe(Observation{
				Route: info.Pattern, Method: r.Method, Status: w.status, Duration: time.Since(started),
			})
		}
	}()
	handler, denial := e.check(w, r, info)
	if handler == nil {
		SendProblem(w, r, e.cfg.Deny(denial))
		return
	}
	handler.ServeHTTP(w, r)
}

// check runs the checks in their order; the first that fails is the denial.
func (e *Edge) check(w http.ResponseWriter, r *http.Request, info *Info) (http.Handler, Denial) {
	if r.ProtoMajor != 1 {
		return nil, Denial{Reason: HTTPVersion}
	}
	if len(r.TransferEncoding) > 0 {
		if c := Of(r.Context()); c != nil && c.FramedTwice(r.Method+" "+r.RequestURI+" ") {
			return nil, Denial{Reason: FramedTwice}
		}
	}
	if !e.cfg.Hosts.Allows(r.Host) {
		return nil, Denial{Reason: HostForbidden}
	}
	if r.Method == http.MethodConnect || r.URL.Path == "*" {
		return nil, Denial{Reason: MethodNotAllowed, Allow: e.cfg.Methods}
	}
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, e.cfg.Prefix+"/"); ok && e.cfg.Prefix != "" {
		info.Prefix, path = e.cfg.Prefix, "/"+rest
	}
	found, params := e.find(path)
	if found == nil {
		return nil, Denial{Reason: NotFound}
	}
	info.Pattern, info.Params = found.path, params
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handler := found.handlers[method]
	if handler == nil {
		return nil, Denial{Reason: MethodNotAllowed, Allow: found.allow}
	}
	if e.cfg.Matched != nil {
		e.cfg.Matched(w.Header(), method, found.path)
	}
	if err := e.origin.Check(r); err != nil {
		return nil, Denial{Reason: OriginForbidden, Cause: err}
	}
	return handler, Denial{}
}

// recovered answers for a handler that panicked. The value of the panic may hold what a client
// sent, so only its type is logged.
func (e *Edge) recovered(w *writer, r *http.Request, cause any) {
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	e.cfg.Logger.Error("a handler panicked", "type", fmt.Sprintf("%T", cause),
		"request_id", From(r.Context()).RequestID, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	SendProblem(w, r, e.cfg.Deny(Denial{Reason: Internal}))
}

// SendProblem writes the error body of err. An error that is no Problem becomes that of
// Internal, whose body holds nothing of the cause. If the request's body has not been read the
// connection is closed: its rest must never be taken for the next request.
func SendProblem(w http.ResponseWriter, r *http.Request, err error) {
	info := From(r.Context())
	p, ok := errors.AsType[Problem](err)
	if !ok {
		if info.deny == nil {
			http.Error(w, "", http.StatusInternalServerError)
			return
		}
		p = info.deny(Denial{Reason: Internal, Cause: err})
	}
	extra, closes := p.Extra()
	h := w.Header()
	maps.Copy(h, extra)
	h.Set("Content-Type", "application/json")
	h.Del("ETag")
	if closes || r.ContentLength != 0 && !info.BodyRead {
		h.Set("Connection", "close")
		if info.Linger != nil {
			info.Linger()
		}
	}
	body := p.Body(info.RequestID, r.URL.EscapedPath())
	if len(body) >= gzipFrom && AcceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		body = compress(body)
	}
	sendBytes(w, r, p.Status(), body)
}

// writer remembers the status of an answer that has begun; 0 before.
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
