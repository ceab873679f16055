package api

import (
	"bytes"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"time"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/web"
)

// parserHeaders is what net/http writes right behind the status line when it
// refuses a request before any handler. No handler of ours can produce it.
const parserHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// parserRefusal recognises a refusal that net/http writes by itself.
func parserRefusal(p []byte) (problem.Code, bool) {
	const statusLine = len("HTTP/1.1 400 ")
	if len(p) < statusLine || !bytes.HasPrefix(p, []byte("HTTP/1.")) || p[8] != ' ' || p[12] != ' ' {
		return "", false
	}
	status, err := strconv.Atoi(string(p[9:12]))
	if err != nil || status < 400 {
		return "", false
	}
	if status == http.StatusExpectationFailed {
		return problem.ExpectationFailed, true
	}
	end := bytes.Index(p, []byte("\r\n"))
	if end < 0 || !bytes.HasPrefix(p[end:], []byte(parserHeaders)) {
		return "", false
	}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return problem.HeadersTooLarge, true
	case http.StatusNotImplemented:
		return problem.UnsupportedTransferEncoding, true
	case http.StatusHTTPVersionNotSupported:
		return problem.HTTPVersionNotSupported, true
	}
	return problem.MalformedRequest, true
}

// refusal is the whole answer to a request that never reached a handler.
func refusal(code problem.Code, requestID string, now time.Time) []byte {
	p := problem.New(code)
	body := p.Envelope(requestID, "")
	h := http.Header{}
	web.SetHeaders(h, requestID)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Connection", "close")
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	keys := make([]string, 0, len(h))
	for k := range h {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", p.Status(), http.StatusText(p.Status()))
	for _, k := range keys {
		fmt.Fprintf(&out, "%s: %s\r\n", k, h[k][0])
	}
	out.WriteString("\r\n")
	out.Write(body)
	return out.Bytes()
}
