package control

import (
	"errors"
	"maps"
	"net/http"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/edge"
)

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
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refused):
		p = say(refused.Code, refused.Message)
		p.details = map[string]any{"pointer": refused.Pointer}
		if refused.Reason != "" {
			p.details["reason"] = refused.Reason
		}
		if refused.Code == bundle.SummaryMismatch {
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

const internalText = "Something went wrong inside of the control plane."

var damageText = map[string]string{
	store.Corrupt:  "The log of this control plane does not hold together; it takes and gives nothing that counts.",
	store.Rollback: "The log of this control plane is an older copy of itself; it takes and gives nothing that counts.",
}
