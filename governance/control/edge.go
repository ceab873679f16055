package control

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
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

// answer is a success.
type answer struct {
	status      int // 200 if 0
	body        any // JSON, unless raw is set
	raw         []byte
	contentType string // application/json if empty
	location    string
	tag         bool   // with an ETag of the body
	sum         string // the ETag where it is known
}

// routes are the operations; metrics is the page of metrics.
func (p *Plane) routes(metrics func(*request) (*answer, error)) []edge.Route {
	var list []edge.Route
	add := func(method, path string, handle func(*request) (*answer, error)) {
		list = append(list, edge.Route{Method: method, Path: path, Handler: p.handler(handle)})
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
	add(http.MethodGet, "/metrics", metrics)
	return list
}

func newEdge(p *Plane, hosts edge.Hosts) *edge.Edge {
	var requests *exposition.Requests
	routes := p.routes(func(*request) (*answer, error) { return p.getMetrics(requests) })
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

// handler sends what handle answers.
func (p *Plane) handler(handle func(*request) (*answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &request{hr, edge.From(hr.Context())}
		a, err := handle(r)
		if err == nil && !r.BodyRead && r.Method != http.MethodPost {
			err = &problem{code: codeMalformedRequest, message: "This operation takes no body.", close: true}
		}
		if err == nil {
			err = a.send(w, hr)
		}
		if err == nil {
			return
		}
		refused := problemOf(err)
		if refused.code == codeInternal {
			p.opts.Logger.Error("a request failed", "request_id", r.RequestID, "path", r.URL.EscapedPath(), "error", err)
		}
		edge.SendProblem(w, hr, refused)
	})
}

func (a *answer) send(w http.ResponseWriter, r *http.Request) error {
	body := a.raw
	if body == nil {
		var err error
		if body, err = edge.Encode(a.body); err != nil {
			return err
		}
	}
	out := &edge.Answer{Raw: body, ContentType: a.contentType, Status: a.status, SameTag: true}
	if a.location != "" {
		out.Header = http.Header{"Location": {a.location}}
	}
	if a.tag {
		out.Tag = cmp.Or(a.sum, tagOf(body))
	}
	return edge.Send(w, r, out)
}

// tagOf is the ETag of a body: 16 hex digits of its SHA-256.
func tagOf(body []byte) string { return digest.SHA256Hex(body)[:16] }

// deny is the answer to a request that no handler gets.
func deny(d edge.Denial) edge.Problem {
	if d.Unread {
		return say(parserCodes[d.Reason], "This is no request that can be answered.")
	}
	switch d.Reason {
	case edge.HTTPVersion:
		return &problem{code: codeHTTPVersion, message: "This server speaks HTTP/1.1.", close: true}
	case edge.FramedTwice:
		return &problem{
			code: codeMalformedRequest, close: true,
			message: "A request has either Content-Length or Transfer-Encoding, not both.",
		}
	case edge.HostForbidden:
		return say(codeHostForbidden, "This host name is not one of this server's.")
	case edge.NotFound:
		return say(codeNotFound, "There is nothing at this path.")
	case edge.MethodNotAllowed:
		return &problem{
			code: codeMethodNotAllowed, message: "This path does not take this method.",
			allow: strings.Join(d.Allow, ", "), details: map[string]any{"allow": d.Allow},
		}
	case edge.OriginForbidden:
		return say(codeOriginForbidden, "Another site may not do this.")
	}
	return &problem{code: codeInternal, message: internalText, close: true}
}

// parserCodes are the codes of what net/http refuses before any handler.
var parserCodes = map[edge.Reason]bundle.Code{
	edge.Malformed: codeMalformedRequest, edge.ExpectationFailed: codeExpectation, edge.HeadersTooLarge: codeHeaders,
	edge.TransferEncoding: codeTransfer, edge.HTTPVersion: codeHTTPVersion,
}

// Refuse is the answer to what net/http refuses by itself, for listeners of this plane.
func Refuse(status int, now time.Time) (int, http.Header, []byte) {
	return edge.RefuseWith(vary, deny)(status, now)
}
