package control_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/control/planetest"
)

// talk sends text over one connection, and is all that comes back until it is closed.
func talk(t *testing.T, addr, text string) []planetest.Answer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	defer func() { <-sent }()
	var list []planetest.Answer
	r := bufio.NewReader(c)
	for {
		var req *http.Request
		if len(list) == 0 && strings.HasPrefix(text, "HEAD ") {
			req = &http.Request{Method: http.MethodHead}
		}
		resp, err := http.ReadResponse(r, req)
		if err != nil {
			return list
		}
		body, _ := io.ReadAll(resp.Body)
		list = append(list, planetest.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body})
	}
}

// TestHostsAndOrigins: who may ask, by what names, and from where.
func TestHostsAndOrigins(t *testing.T) {
	p := plane(t, planetest.Options{})
	_, port, err := net.SplitHostPort(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	for head, want := range map[string]string{
		"GET /health HTTP/1.1\r\nHost: localhost":                       "200 ",
		"GET /health HTTP/1.1\r\nHost: LOCALHOST.:" + port:              "200 ",
		"GET /health HTTP/1.1\r\nHost: plane.localhost":                 "200 ",
		"GET /health HTTP/1.1\r\nHost: [::1]:" + port:                   "200 ",
		"GET /health HTTP/1.1\r\nHost: 127.0.0.1:1":                     "200 ",
		"GET http://localhost/health HTTP/1.1\r\nHost: localhost":       "200 ",
		"HEAD /health HTTP/1.1\r\nHost: localhost":                      "200 ",
		"GET http://evil.example/health HTTP/1.1\r\nHost: localhost":    "403 HOST_FORBIDDEN",
		"GET /health HTTP/1.1\r\nHost: evil.example":                    "403 HOST_FORBIDDEN",
		"GET /health HTTP/1.1\r\nHost: localhost.evil.example":          "403 HOST_FORBIDDEN",
		"GET /health HTTP/1.1\r\nHost: ":                                "403 HOST_FORBIDDEN",
		"GET /health HTTP/1.0":                                          "403 HOST_FORBIDDEN",
		"GET /health HTTP/1.0\r\nHost: localhost":                       "200 ",
		"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example": "400 MALFORMED_REQUEST",
		"GET /none HTTP/1.1\r\nHost: evil.example":                      "403 HOST_FORBIDDEN",
		"OPTIONS /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST": "405 METHOD_NOT_ALLOWED",
		"TRACE /health HTTP/1.1\r\nHost: localhost":           "405 METHOD_NOT_ALLOWED",
		"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80": "405 METHOD_NOT_ALLOWED",
		"PRI * HTTP/2.0": "505 HTTP_VERSION_NOT_SUPPORTED",
		"GET /../health HTTP/1.1\r\nHost: localhost": "404 NOT_FOUND",
		"GET /health/ HTTP/1.1\r\nHost: localhost":   "404 NOT_FOUND",
		"GET /./health HTTP/1.1\r\nHost: localhost":  "404 NOT_FOUND",
		"GET /%68ealth HTTP/1.1\r\nHost: localhost":  "404 NOT_FOUND",
		"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Type: application/json\r\nContent-Length: 0": "403 ORIGIN_FORBIDDEN",
		"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\nContent-Type: " +
			"application/json\r\nContent-Length: 0": "403 ORIGIN_FORBIDDEN",
		"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\nContent-Length: 0": "400 MALFORMED_JSON",
	} {
		got := talk(t, p.Addr, head+"\r\n\r\n")
		if len(got) == 0 {
			t.Errorf("%q: no answer", head)
			continue
		}
		if text := fmt.Sprint(got[0].Status, " ", got[0].Code()); text != want {
			t.Errorf("%q: %s, want %s", head, text, want)
		}
		everyAnswer(t, got[0])
		if got[0].Status == http.StatusMethodNotAllowed && got[0].Header.Get("Allow") == "" {
			t.Errorf("%q: no Allow", head)
		}
		for name := range got[0].Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%q: %s", head, name)
			}
		}
	}
}

// TestNothingBehindARefusal: what follows a body that was not read is no request.
func TestNothingBehindARefusal(t *testing.T) {
	p := plane(t, planetest.Options{})
	const next = "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: smuggled\r\n\r\n"
	pad := strings.Repeat(next, 60_000/len(next))
	for name, c := range map[string]struct {
		text string
		want []int
	}{
		"two in one packet": {next + next, []int{200, 200}},
		"behind a good post": {
			"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
				"application/json\r\nContent-Length: 2\r\n\r\n[]" + next, []int{400, 200}},
		"in a body too large": {
			fmt.Sprintf(
				"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
					"application/json\r\nContent-Length: %d\r\n\r\n%s",
				5<<20, pad), []int{413}},
		"in a body of another type": {
			fmt.Sprintf(
				"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
					"text/plain\r\nContent-Length: %d\r\n\r\n%s",
				len(next), next), []int{415}},
		"in the body of a read": {
			fmt.Sprintf("GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(next),
				next), []int{400}},
		"in chunks with a length": {
			fmt.Sprintf(
				"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
					"application/json\r\n"+
					"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(next)+5, next),
			[]int{400}},
		"a body that ends too early": {
			"POST /candidate-bundles/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
				"application/json\r\nContent-Length: 99\r\n\r\n{}", []int{400}},
	} {
		var got []int
		for _, a := range talk(t, p.Addr, c.text) {
			got = append(got, a.Status)
			everyAnswer(t, a)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestRequestIDs: a client's own is echoed if it is harmless.
func TestRequestIDs(t *testing.T) {
	p := plane(t, planetest.Options{})
	for id, echoed := range map[string]bool{"a.b_C-1": true, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "a b": false, "é": false, "": false} {
		a := must[planetest.Answer](t)(p.Do("GET", "/none", nil, http.Header{"X-Request-Id": {id}}))
		if got := a.Header.Get("X-Request-Id"); (got == id) != echoed || got == "" ||
			!strings.Contains(string(a.Body), got) {
			t.Errorf("%q: %q in %s", id, got, a.Body)
		}
	}
}
