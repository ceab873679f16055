package control

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/exposition"
)

// vary is the header of every answer.
const vary = "Accept-Encoding"

// request is a request that has passed the edge.
type request struct {
	*http.Request
	*edge.Info
}

// handle answers a request.
type handle func(*request) (*edge.Answer, error)

// tagged is an answer of these bytes with their ETag; the content type is application/json if "".
func tagged(text []byte, contentType string) *edge.Answer {
	return &edge.Answer{Raw: text, ContentType: contentType, Tag: tagOf(text), SameTag: true}
}

// encoded is a JSON answer with its ETag.
func encoded(v any, err error) (*edge.Answer, error) {
	if err != nil {
		return nil, err
	}
	text, err := edge.Encode(v)
	return tagged(text, ""), err
}

// routes are the operations; metrics is the page of metrics.
func (p *Plane) routes(metrics handle) []edge.Route {
	get := func(path string, h handle) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: path, Handler: p.handler(h)}
	}
	return []edge.Route{
		{Method: http.MethodPost, Path: "/candidate-bundles/ingest", Handler: p.handler(p.ingest)},
		{Method: http.MethodPost, Path: "/plans", Handler: p.handler(p.registerPlan)},
		get("/candidate-bundles/{candidate_revision_id}", p.getBundle),
		get("/promotion-state/{subject_type}/{subject_id}", p.getState),
		get("/promotion-plans/{subject_type}/{subject_id}/{stage}", p.getPlan),
		get("/pending-experiments/{subject_type}/{subject_id}", p.getExperiments),
		get("/pending-experiments/{subject_type}/{subject_id}/{stage}", p.getExperiments),
		get("/portfolio", p.getPortfolio),
		get("/deployable-registry/{family_id}", p.getRegistry),
		get("/facts/{seq}", p.getFact),
		get("/shadow-work", p.getShadowWork),
		get("/shadow-chunks/{since}", p.getShadowChunks),
		{Method: http.MethodGet, Path: "/health", Handler: answered(p, p.getHealth)},
		get("/checkpoint", p.getCheckpoint),
		get("/log/consistency", p.getConsistency),
		get("/trust/trusted_root.json", p.getTrustedRoot),
		get("/trust/governance.pub", p.getStatementKey),
		get("/trust/log.vkey", p.getLogKey),
		get("/trust/rotations.json", func(r *request) (*edge.Answer, error) { return rotations(p, r) }),
		get("/trust/log.json", p.getLogInfo),
		get("/trust/trust.json", p.getTrust),
		{Method: http.MethodGet, Path: "/openapi.json", Handler: answered(p, p.getSpec)},
		get("/metrics", metrics),
	}
}

func newEdge(p *Plane, hosts edge.Hosts) *edge.Edge {
	var requests *exposition.Requests
	routes := p.routes(func(*request) (*edge.Answer, error) { return p.getMetrics(requests) })
	requests = newRequests(routes)
	e, err := edge.New(edge.Config{
		Hosts: hosts, Routes: routes, Prefix: "/api/v1", Methods: []string{"GET", "HEAD", "POST"}, Vary: vary,
		Deny: deny, Logger: p.opts.Logger,
		Observe: func(o edge.Observation) { requests.Observe(o.Route, o.Method, o.Status, o.Duration) },
	})
	if err != nil {
		panic(err) // two routes of one method and path
	}
	return e
}

// handler sends what handle answers, once the log is what the database has.
func (p *Plane) handler(handle handle) http.Handler {
	return answered(p, func(r *request) (*edge.Answer, error) {
		if err := refresh(r.Context(), p); err != nil {
			return nil, err
		}
		return handle(r)
	})
}

// refresh takes in what another plane has written.
func refresh(ctx context.Context, p *Plane) error {
	grown, err := p.store.Refresh(ctx)
	if grown {
		p.wake()
	}
	return err
}

// answered sends what handle answers.
func answered(p *Plane, handle handle) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &request{hr, edge.From(hr.Context())}
		a, err := handle(r)
		if err == nil && !r.BodyRead && r.Method != http.MethodPost {
			refused := say(edge.CodeMalformedRequest, "This operation takes no body.")
			refused.close, err = true, refused
		}
		if err == nil {
			err = edge.Send(w, hr, a)
		}
		if err == nil {
			return
		}
		refused := problemOf(err)
		if refused.code == codeInternal || refused.code == store.Unavailable {
			p.opts.Logger.Error("a request failed", "request_id", r.RequestID, "path", r.URL.EscapedPath(),
				"error", err)
		}
		edge.SendProblem(w, hr, refused)
	})
}

// tagOf is the ETag of a body: 16 hex digits of its SHA-256.
func tagOf(body []byte) string { return digest.SHA256Hex(body)[:16] }

// denials are the messages of requests that no handler gets.
var denials = map[edge.Reason]string{
	edge.HTTPVersion:      "This server speaks HTTP/1.1.",
	edge.FramedTwice:      "A request has either Content-Length or Transfer-Encoding, not both.",
	edge.HostForbidden:    "This host name is not one of this server's.",
	edge.NotFound:         "There is nothing at this path.",
	edge.MethodNotAllowed: "This path does not take this method.",
	edge.OriginForbidden:  "Another site may not do this.",
	edge.Internal:         internalText,
}

// deny is the answer to a request that no handler gets.
func deny(d edge.Denial) edge.Problem {
	p := say(bundle.Code(d.Reason.Code()), denials[d.Reason])
	switch d.Reason {
	case edge.HTTPVersion, edge.FramedTwice, edge.Internal:
		p.close = true
	case edge.MethodNotAllowed:
		p.allow, p.details = strings.Join(d.Allow, ", "), map[string]any{"allow": d.Allow}
	}
	if d.Unread {
		p.message, p.close = "This is no request that can be answered.", false
	}
	return p
}

// Refuse is the answer to what net/http refuses by itself, for listeners of this plane.
func Refuse(status int, now time.Time) (int, http.Header, []byte) {
	return edge.RefuseWith(vary, deny)(status, now)
}

// The codes of transport beside those of package edge.
const (
	codeEncoding bundle.Code = "UNSUPPORTED_CONTENT_ENCODING"
	codeInternal bundle.Code = edge.CodeInternal
)

// statuses are the statuses of codes that do not answer with 400.
var statuses = map[bundle.Code]int{
	edge.CodeHostForbidden: 403, edge.CodeOriginForbidden: 403,
	edge.CodeNotFound: 404, promotion.SubjectNotFound: 404, promotion.FamilyNotFound: 404,
	edge.CodeMethodNotAllowed: 405, edge.CodeRequestTimeout: 408,
	bundle.RevisionConflict: 409, bundle.RevisionRejected: 409,
	edge.CodeBodyTooLarge: 413, edge.CodeMediaType: 415, codeEncoding: 415,
	edge.CodeExpectation: 417, edge.CodeHeadersTooLarge: 431,
	codeInternal: 500, store.Corrupt: 500, store.Rollback: 500,
	edge.CodeTransferEncoding: 501, edge.CodeHTTPVersion: 505,
	store.NotWriter: 503, store.Unavailable: 503,
}

// problem is an answer that is not a success.
type problem struct {
	code    bundle.Code
	message string
	details map[string]any
	allow   string // of a 405
	close   bool   // end the connection
}

// Error implements error.
func (p *problem) Error() string { return string(p.code) + ": " + p.message }

// Status implements edge.Problem.
func (p *problem) Status() int {
	if s, ok := statuses[p.code]; ok {
		return s
	}
	return http.StatusBadRequest
}

// Extra implements edge.Problem.
func (p *problem) Extra() (http.Header, bool) {
	if p.Status() == http.StatusServiceUnavailable {
		return http.Header{"Retry-After": {"1"}}, p.close
	}
	if p.allow == "" {
		return nil, p.close
	}
	return http.Header{"Allow": {p.allow}}, p.close
}

// Body implements edge.Problem.
func (p *problem) Body(id, path string) []byte {
	details := map[string]any{"request_id": id}
	maps.Copy(details, p.details)
	switch status := p.Status(); status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError:
		details["path"], details["status_code"] = path, status
	}
	type envelope struct {
		Code    bundle.Code    `json:"code"`
		Details map[string]any `json:"details"`
		Message string         `json:"message"`
	}
	body, err := edge.Encode(map[string]envelope{"error": {p.code, details, p.message}})
	if err != nil { // of a detail that has no JSON
		bare := envelope{Code: codeInternal, Details: map[string]any{"request_id": id}}
		body, _ = edge.Encode(map[string]envelope{"error": bare})
	}
	return body
}

func say(code bundle.Code, message string) *problem { return &problem{code: code, message: message} }

// problemOf is what clients see of an error; of one that is no refusal only that there
// was one.
func problemOf(err error) *problem {
	var p *problem
	var refused *bundle.Error
	var damage *store.DamageError
	var other *store.NotWriterError
	var away *store.UnavailableError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &other):
		p = say(store.NotWriter,
			"This plane is not the writer: ask the one at details.writer, or again soon.")
		p.details = map[string]any{"writer": other.Writer}
		return p
	case errors.As(err, &away):
		return say(store.Unavailable, unavailableText)
	case errors.As(err, &refused):
		p = say(refused.Code, refused.Message)
		p.details = map[string]any{"pointer": refused.Pointer}
		if refused.Reason != "" {
			p.details["reason"] = refused.Reason
		}
		if refused.Code == bundle.SummaryMismatch || refused.Code == bundle.InvalidChallenge &&
			refused.Declared != nil {
			p.details["declared"], p.details["computed"] = refused.Declared, refused.Computed
		}
		return p
	case errors.As(err, &damage):
		return say(bundle.Code(damage.Code), damageText[damage.Code])
	case errors.Is(err, store.ErrNotFound):
		return say(promotion.SubjectNotFound, "nothing with this id is in the log")
	}
	return say(codeInternal, internalText)
}

const unavailableText = "The database of this control plane does not answer: ask again soon."

const internalText = "Something went wrong inside of the control plane."

var damageText = map[string]string{
	store.Corrupt: "The log of this control plane does not hold together; it takes and gives nothing " +
		"that counts.",
	store.Rollback: "The log of this control plane is an older copy of itself; it takes and gives nothing " +
		"that counts.",
}
