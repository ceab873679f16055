package control

import (
	"errors"
	"net/http"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/edge"
)

// The codes of transport; those of documents are in package field.
const (
	codeMalformedRequest bundle.Code = "MALFORMED_REQUEST"
	codeHostForbidden    bundle.Code = "HOST_FORBIDDEN"
	codeOriginForbidden  bundle.Code = "ORIGIN_FORBIDDEN"
	codeNotFound         bundle.Code = "NOT_FOUND"
	codeMethodNotAllowed bundle.Code = "METHOD_NOT_ALLOWED"
	codeTimeout          bundle.Code = "REQUEST_TIMEOUT"
	codeTooLarge         bundle.Code = "BODY_TOO_LARGE"
	codeMediaType        bundle.Code = "UNSUPPORTED_MEDIA_TYPE"
	codeEncoding         bundle.Code = "UNSUPPORTED_CONTENT_ENCODING"
	codeExpectation      bundle.Code = "EXPECTATION_FAILED"
	codeHeaders          bundle.Code = "HEADERS_TOO_LARGE"
	codeInternal         bundle.Code = "INTERNAL_ERROR"
	codeTransfer         bundle.Code = "UNSUPPORTED_TRANSFER_ENCODING"
	codeHTTPVersion      bundle.Code = "HTTP_VERSION_NOT_SUPPORTED"
)

// statuses are the statuses of codes that do not answer with 400.
var statuses = map[bundle.Code]int{
	codeHostForbidden: http.StatusForbidden, codeOriginForbidden: http.StatusForbidden,
	codeNotFound: http.StatusNotFound, promotion.SubjectNotFound: http.StatusNotFound, promotion.FamilyNotFound: http.StatusNotFound,
	codeMethodNotAllowed: http.StatusMethodNotAllowed, codeTimeout: http.StatusRequestTimeout,
	bundle.RevisionConflict: http.StatusConflict, bundle.RevisionRejected: http.StatusConflict,
	codeTooLarge: http.StatusRequestEntityTooLarge, codeMediaType: http.StatusUnsupportedMediaType, codeEncoding: http.StatusUnsupportedMediaType,
	codeExpectation: http.StatusExpectationFailed, codeHeaders: http.StatusRequestHeaderFieldsTooLarge,
	codeInternal: http.StatusInternalServerError, store.Corrupt: http.StatusInternalServerError, store.Rollback: http.StatusInternalServerError,
	codeTransfer: http.StatusNotImplemented, codeHTTPVersion: http.StatusHTTPVersionNotSupported,
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
	for k, v := range p.details {
		details[k] = v
	}
	switch status := p.Status(); status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError:
		details["path"], details["status_code"] = path, status
	}
	body, err := edge.Encode(map[string]any{"error": map[string]any{"code": p.code, "message": p.message, "details": details}})
	if err != nil {
		body, _ = edge.Encode(map[string]any{"error": map[string]any{"code": codeInternal, "message": "", "details": map[string]any{"request_id": id}}})
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
