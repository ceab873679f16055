package listen

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// parserHeaders is what net/http writes right behind the status line when it
// refuses a request before any handler. No handler of ours can produce it.
const parserHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Refuse says what to answer to a request that net/http refused with a status: 400, 417,
// 431, 501 or 505.
type Refuse func(status int, now time.Time) (int, http.Header, []byte)

// parserRefusal recognises a refusal that net/http writes by itself; what is none of the
// statuses that clients know counts as a bad request.
func parserRefusal(p []byte) (status int, ok bool) {
	const statusLine = len("HTTP/1.1 400 ")
	if len(p) < statusLine || !bytes.HasPrefix(p, []byte("HTTP/1.")) || p[8] != ' ' || p[12] != ' ' {
		return 0, false
	}
	status, err := strconv.Atoi(string(p[9:12]))
	if err != nil || status < 400 {
		return 0, false
	}
	if status == http.StatusExpectationFailed {
		return status, true
	}
	end := bytes.Index(p, []byte("\r\n"))
	if end < 0 || !bytes.HasPrefix(p[end:], []byte(parserHeaders)) {
		return 0, false
	}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return status, true
	}
	return http.StatusBadRequest, true
}

// Answer is the text of a whole answer that ends its connection.
func Answer(status int, h http.Header, body []byte) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, k := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&out, "%s: %s\r\n", k, h[k][0])
	}
	fmt.Fprintf(&out, "Connection: close\r\nContent-Length: %d\r\n\r\n", len(body))
	out.Write(body)
	return out.Bytes()
}
