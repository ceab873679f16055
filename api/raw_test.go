package api_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

func TestRawSocket(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	const host = "Host: localhost\r\n"
	get := "GET " + status + " HTTP/1.1\r\n" + host
	cases := []struct {
		name, text string
		status     int
		code       string
	}{
		{"garbage", "garbage\r\n\r\n", 400, ""},
		{"binary", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, ""},
		{"no host", "GET " + status + " HTTP/1.1\r\n\r\n", 400, ""},
		{"two hosts", get + host + "\r\n", 400, ""},
		{"empty host", "GET " + status + " HTTP/1.1\r\nHost:\r\n\r\n", 403, "HOST_FORBIDDEN"},
		{"bad header", get + "a b: c\r\n\r\n", 400, ""},
		{"2 MiB header", get + "X: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", 431, ""},
		{"transfer encoding", "POST " + stopPath + " HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n",
			501, ""},
		{"bad length", "POST " + stopPath + " HTTP/1.1\r\n" + host + "Content-Length: x\r\n\r\n", 400, ""},
		{"length with chunked",
			"POST " + stopPath + " HTTP/1.1\r\n" + host +
				"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "MALFORMED_REQUEST"},
		{"chunked with length",
			"GET /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + host + "content-LENGTH: 5\r\n\r\n0\r\n\r\n",
			400, ""},
		{"chunked, bare line ends",
			"POST " + stopPath +
				" HTTP/1.1\nHost: localhost\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n", 400,
			"MALFORMED_REQUEST"},
		{"chunked", "POST " + stopPath + " HTTP/1.1\r\n" + host +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nContent-Length: 5\r\n\r\n", 409, "RUN_NOT_ACTIVE"},
		{"header of 64 KiB",
			get + "X: " + strings.Repeat("x", 64<<10-len(get)-len("X: \r\n\r\n")) + "\r\n\r\n", 200, ""},
		{"header of 64 KiB and a byte",
			get + "X: " + strings.Repeat("x", 64<<10-len(get)-len("X: \r\n\r\n")+1) + "\r\n\r\n", 431, ""},
		{"bad chunk",
			"POST " + stopPath + " HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400,
			"MALFORMED_REQUEST"},
		{"expectation", get + "Expect: nonsense\r\n\r\n", 417, ""},
		{"expectation 1.0", "GET " + status + " HTTP/1.0\r\n" + host + "Expect: nonsense\r\n\r\n", 417, ""},
		{"options star", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 405, ""},
		{"connect", "CONNECT localhost:80 HTTP/1.1\r\n" + host + "\r\n", 405, ""},
		{"double slash", "GET //api/v1/health HTTP/1.1\r\n" + host + "\r\n", 404, ""},
		{"HTTP/3.0", "GET / HTTP/3.0\r\n" + host + "\r\n", 505, ""},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, ""},
		{"HTTP/1.0", "GET " + status + " HTTP/1.0\r\n" + host + "\r\n", 200, ""},
		{"HTTP/1.0 without host", "GET " + status + " HTTP/1.0\r\n\r\n", 403, "HOST_FORBIDDEN"},
		{"absolute form", "GET http://localhost" + status + " HTTP/1.1\r\n" + host + "\r\n", 200, ""},
		{"foreign authority", "GET http://evil.example" + status + " HTTP/1.1\r\n" + host + "\r\n", 403, "HOST_FORBIDDEN"},
		{"lower-case method", "get " + status + " HTTP/1.1\r\n" + host + "\r\n", 405, "METHOD_NOT_ALLOWED"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			answers := raw(t, s, c.text, 1)
			if len(answers) != 1 {
				t.Fatal("no answer")
			}
			a := answers[0]
			if a.StatusCode != c.status || a.Code() != c.code {
				t.Fatalf("got %d %s, want %d %s", a.StatusCode, a.Body, c.status, c.code)
			}
		})
	}
}

// TestVersionHeaderSpelling looks at the bytes: some clients do too.
func TestVersionHeaderSpelling(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for _, text := range []string{"GET " + status + " HTTP/1.0\r\nHost: localhost\r\n\r\n", "x\r\n\r\n"} {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		all, _ := io.ReadAll(c)
		_ = c.Close()
		if !strings.Contains(string(all), "\r\nX-Service-API-Version: v1\r\n") {
			t.Errorf("%q", all)
		}
	}
}

func TestPipelining(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	one := "GET " + status + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	if got := raw(t, s, one+one+one, 3); len(got) != 3 {
		t.Errorf("%d answers to 3 requests", len(got))
	}
}

// TestFramedTwice: a request with two lengths is refused, also as the second of its
// connection, and nothing behind a chunked body is taken for a request.
func TestFramedTwice(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	const host = " HTTP/1.1\r\nHost: localhost\r\n"
	get, chunked := "GET "+status+host+"\r\n", "POST "+stopPath+host+"Transfer-Encoding: chunked\r\n"
	for name, c := range map[string]struct {
		text string
		code string
	}{
		"chunked": {chunked + "\r\n0\r\n\r\n" + get, "RUN_NOT_ACTIVE"},
		"both":    {chunked + "Content-Length: 5\r\n\r\n0\r\n\r\n" + get, "MALFORMED_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			for _, length := range []string{"", "Content-Length: 2\r\n\r\n{}"} { // requests before
				first := strings.Replace(get, "GET "+status, "POST "+stopPath, 1)
				if length != "" {
					first = strings.TrimSuffix(first, "\r\n") + "Content-Type: application/json\r\n" + length
				}
				_, _ = io.WriteString(conn, first)
				if got := readAnswers(t, s, conn, 1); len(got) != 1 || got[0].Code() != "RUN_NOT_ACTIVE" {
					t.Fatalf("before: %v", got)
				}
			}
			_, _ = io.WriteString(conn, c.text)
			got := readAnswers(t, s, conn, 2)
			if len(got) != 1 || got[0].Code() != c.code || !got[0].Close {
				t.Errorf("%d answers, the first %d %s", len(got), got[0].StatusCode, got[0].Body)
			}
		})
	}
}

func TestNothingIsSmuggled(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	inner := "DELETE " + resetPath + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	body := strings.Repeat(inner, (2<<20)/len(inner))
	for name, head := range map[string]string{
		"413": "POST " + startPath +
			" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		"415": "POST " + startPath +
			" HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n",
		"404": "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n",
		"413 chunked": "POST " + startPath +
			" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n%x\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			answers := raw(t, s, fmt.Sprintf(head, len(body))+body, 2)
			if len(answers) != 1 || !strings.HasPrefix(name, fmt.Sprint(answers[0].StatusCode)) {
				t.Fatalf("%d answers", len(answers))
			}
		})
	}
}

func TestSlowHeadersAreClosed(t *testing.T) {
	ring.Slow(t, "it waits five seconds for the header limit")
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	began := time.Now()
	if got := raw(t, s, "GET / HTTP/1.1\r\nHost: loc", 1); len(got) != 0 {
		t.Errorf("got %d", got[0].StatusCode)
	}
	if took := time.Since(began); took < 4*time.Second || took > 8*time.Second {
		t.Errorf("closed after %s", took)
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	ring.Slow(t, "it waits fifteen seconds for the body limit")
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	got := raw(t, s,
		"POST "+startPath+
			" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
		2)
	if len(got) != 1 || got[0].Code() != "REQUEST_TIMEOUT" {
		t.Fatalf("got %v", got)
	}
}
