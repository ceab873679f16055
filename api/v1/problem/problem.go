// Package problem is the one table of error codes of the API: code, status,
// message and what its details hold. Handlers return a *Problem; package reply
// writes it as the error envelope. The OpenAPI enum and the page /docs/errors come
// from the same table.
//
// It imports nothing of this module. Other packages return their own typed errors;
// api/v1 alone turns those into problems.
package problem

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

// Problem is an answer that is not a success. It is an error, so that handlers can
// return it; its cause is for the log and never shown to the client.
type Problem struct {
	Code    Code
	Message string
	// Details are the extra members of error.details; request_id, path and
	// status_code are added when the problem is written.
	Details map[string]any
	// Header holds extra response headers, such as Allow or Retry-After.
	Header http.Header
	// Close ends the connection after the answer, because the rest of the request
	// has not been read.
	Close bool

	cause error
}

// New makes a problem with the standard message of its code.
func New(code Code) *Problem {
	return &Problem{Code: code, Message: Lookup(code).Message}
}

// Say makes a problem with a message of its own.
func Say(code Code, message string) *Problem {
	return &Problem{Code: code, Message: message}
}

// With adds one member to the details.
func (p *Problem) With(key string, value any) *Problem {
	if p.Details == nil {
		p.Details = map[string]any{}
	}
	p.Details[key] = value
	return p
}

// WithHeader adds one response header.
func (p *Problem) WithHeader(key, value string) *Problem {
	if p.Header == nil {
		p.Header = http.Header{}
	}
	p.Header.Set(key, value)
	return p
}

// WithCause keeps the private reason for the log.
func (p *Problem) WithCause(err error) *Problem {
	p.cause = err
	return p
}

// WithClose asks for the connection to be closed after the answer.
func (p *Problem) WithClose() *Problem {
	p.Close = true
	return p
}

// Error implements error.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Message }

// Unwrap is the private cause.
func (p *Problem) Unwrap() error { return p.cause }

// Extra implements edge.Problem.
func (p *Problem) Extra() (http.Header, bool) { return p.Header, p.Close }

// Status is the HTTP status of the code.
func (p *Problem) Status() int { return Lookup(p.Code).Status }

type envelope struct {
	Error body `json:"error"`
}

type body struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// Base is the path from which on errors have the envelope with its code.
const Base = "/api/v1"

// maxPath is how much of a path the plain body repeats.
const maxPath = 1 << 10

// plain is the body of every other answer. Path is "" where a request is refused
// before its path is known.
type plain struct {
	Error      string `json:"error"`
	StatusCode int    `json:"status_code"`
	Path       string `json:"path"`
}

// Coded reports whether errors of the path have the envelope.
func Coded(path string) bool { return path == Base || strings.HasPrefix(path, Base+"/") }

// Body is the body of the answer: the envelope for a path of the API, else the plain
// one. The path is that of the request, escaped.
func (p *Problem) Body(requestID, path string) []byte {
	if Coded(path) {
		return p.envelope(requestID, path)
	}
	out, _ := marshal(plain{p.Message, p.Status(), path[:min(len(path), maxPath)]}) // texts and a number
	return out
}

// envelope has the code. Details that cannot be written as JSON are left out rather
// than losing it.
func (p *Problem) envelope(requestID, path string) []byte {
	details := maps.Clone(p.Details)
	if details == nil {
		details = map[string]any{}
	}
	details["request_id"] = requestID
	switch status := p.Status(); status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError:
		details["path"], details["status_code"] = path, status
	}
	out, err := marshal(envelope{body{p.Code, p.Message, details}})
	if err != nil {
		out, _ = marshal(envelope{body{p.Code, p.Message, map[string]any{"request_id": requestID}}})
	}
	return out
}

func marshal(e any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}
