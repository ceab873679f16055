package api

import (
	"net/http"
	"time"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/web"
)

// parserCodes are the codes of what net/http refuses before any handler.
var parserCodes = map[int]problem.Code{
	http.StatusExpectationFailed:           problem.ExpectationFailed,
	http.StatusRequestHeaderFieldsTooLarge: problem.HeadersTooLarge,
	http.StatusNotImplemented:              problem.UnsupportedTransferEncoding,
	http.StatusHTTPVersionNotSupported:     problem.HTTPVersionNotSupported,
}

// Refuse is the answer to a request that never reached a handler: a listen.Refuse.
func Refuse(status int, now time.Time) (int, http.Header, []byte) {
	code, ok := parserCodes[status]
	if !ok {
		code = problem.MalformedRequest
	}
	p, id := problem.New(code), web.NewRequestID()
	h := http.Header{}
	web.SetHeaders(h, id)
	h.Set("Content-Type", "application/json")
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	return p.Status(), h, p.Body(id, "")
}
