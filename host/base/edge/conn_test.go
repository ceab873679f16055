package edge

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func plain(status int, _ time.Time) (int, http.Header, []byte) {
	return status, http.Header{"Content-Type": {"text/plain"}}, []byte("no")
}

func TestParserRefusal(t *testing.T) {
	for text, want := range map[string]int{
		"HTTP/1.1 400 Bad Request" + parserHeaders +
			"400 Bad Request": 400,
		"HTTP/1.1 400 Bad Request: malformed Host header" + parserHeaders +
			"x": 400,
		"HTTP/1.1 431 Request Header Fields Too Large" +
			parserHeaders: 431,
		"HTTP/1.1 501 Not Implemented" + parserHeaders +
			"Unsupported transfer encoding": 501,
		"HTTP/1.1 505 HTTP Version Not Supported: unsupported protocol version" +
			parserHeaders: 505,
		"HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\n\r\n":  417,
		"HTTP/1.0 417 Expectation Failed\r\n\r\n":                       417,
		"HTTP/1.1 400 Bad Request\r\nX-Service-API-Version: v1\r\n\r\n": 0,
		"HTTP/1.1 200 OK" +
			parserHeaders: 0,
		"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nX: y\r\nConnection: " +
			"close\r\n\r\n": 0,
		"HTTP/1.1 4": 0, "": 0, "{\"a\":\"HTTP/1.1 400 Bad Request\"}": 0,
	} {
		if got, ok := parserRefusal([]byte(text)); got != want || ok != (want != 0) {
			t.Errorf("%.60q: %d", text, got)
		}
	}
	if _, ok := parserRefusal(wholeAnswer(plain(400, time.Now()))); ok {
		t.Error("our own refusal looks like net/http's")
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Limit(inner, 1, plain)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ok")
		})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		return c
	}
	answered := func(c net.Conn, d time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(d))
		_, err := c.Read(make([]byte, 1))
		return err == nil
	}
	first := dial()
	if !answered(first, 5*time.Second) {
		t.Fatal("the first connection is not served")
	}
	second := dial()
	defer second.Close()
	if answered(second, 100*time.Millisecond) {
		t.Error("the second connection does not wait")
	}
	_ = first.Close()
	if !answered(second, 5*time.Second) {
		t.Error("the second connection is not served after the first")
	}
	third := dial()
	defer third.Close()
	_ = server.Close()
	if err := <-served; err != http.ErrServerClosed {
		t.Errorf("serve: %v", err)
	}
}

func TestWritesKeepTheirOwnDeadline(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	c := &Conn{Conn: a, stall: writeStall, release: func() {}}
	defer c.Close()
	_ = c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := c.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("nobody reads, but: %v", err)
	}
	_ = c.SetWriteDeadline(time.Time{})
	go func() { _, _ = io.Copy(io.Discard, b) }()
	if n, err := c.Write(make([]byte, 3*writeChunk+1)); err != nil || n != 3*writeChunk+1 {
		t.Errorf("%d %v", n, err)
	}
}

// TestStalledReaderIsCut: a client that takes nothing in loses its connection, one
// that is merely slow does not.
func TestStalledReaderIsCut(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Limit(inner, 8, plain)
	ln.(*listener).stall = time.Second
	const size = 32 << 20
	ended := make(chan error, 2)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, size))
		ended <- err
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	defer func() { _ = server.Close(); <-served }()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		return c
	}
	stalled := dial()
	defer stalled.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("everything was written to a client that reads nothing")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the stalled connection is kept")
	}
	slow := dial()
	defer slow.Close()
	got, buf := 0, make([]byte, 1<<20)
	for began := time.Now(); ; {
		n, err := slow.Read(buf)
		got += n
		if err != nil {
			break
		}
		if time.Since(began) < 3*time.Second { // three times the limit, with progress
			time.Sleep(5 * time.Millisecond)
		}
	}
	if err := <-ended; err != nil || got < size {
		t.Errorf("slow reader: %v after %d bytes", err, got)
	}
}

// TestSilentConnectionsDoNotDelayTheEnd: browsers open connections in advance.
func TestSilentConnectionsDoNotDelayTheEnd(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = io.WriteString(w, "ok")
	}), hclog.NewNullLogger())
	served := make(chan error, 1)
	go func() { served <- server.Serve(Limit(inner, 8, plain)) }()
	silent, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	answers := make(chan error, 1)
	go func() {
		resp, err := http.Get("http://" + inner.Addr().String())
		if err == nil {
			err = resp.Body.Close()
		}
		answers <- err
	}()
	time.Sleep(100 * time.Millisecond)
	time.AfterFunc(700*time.Millisecond, func() { close(release) }) // longer than a silent connection gets
	began := time.Now()
	if err := server.Shutdown(t.Context()); err != nil || time.Since(began) > 4*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if err := <-answers; err != nil {
		t.Errorf("the answer under way: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestEmptyLineBeforeARequest: one is left out, at the begin of a connection and between
// requests; more are refused.
func TestEmptyLineBeforeARequest(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Of(r.Context()).Answered()
		w.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(w, "ok")
	}), hclog.NewNullLogger())
	served := make(chan error, 1)
	go func() { served <- server.Serve(Limit(inner, 10, plain)) }()
	defer func() {
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		<-served
	}()
	const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, test := range []struct {
		sent []string // each after the answer to the one before, the parts of one apart
		want []int
	}{
		{[]string{"\r\n" + get, get, "\r\n" + get}, []int{200, 200, 200}},
		{[]string{"\r\n|" + get, "\r\n|" + get}, []int{200, 200}},
		{[]string{"\r\n\r\n" + get}, []int{400}},
		{[]string{"\r\n|\r\n" + get}, []int{400}},
		{[]string{"\n" + get}, []int{400}},
		{[]string{"\r" + get}, []int{400}},
	} {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		for i, text := range test.sent {
			for part := range strings.SplitSeq(text, "|") {
				_, _ = io.WriteString(c, part)
				if part == emptyLine {
					time.Sleep(20 * time.Millisecond) // so that it is read alone
				}
			}
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != test.want[i] {
				t.Errorf("%q, request %d: %+v %v, want %d", test.sent, i, resp, err, test.want[i])
				break
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		_ = c.Close()
	}
}

// TestEmptyLineInTwoReads: net/http reads single bytes between an answer and the next request.
func TestEmptyLineInTwoReads(t *testing.T) {
	for _, test := range []struct{ sent, want string }{
		{"\r\nGET", "GET"},
		{"\rGET", "\rGET"},
		{"\r\n\r\nGET", "\r\nGET"},
	} {
		client, server := net.Pipe()
		c := &Conn{Conn: server, stall: writeStall, release: func() {}}
		go func() {
			_, _ = io.WriteString(client, test.sent[:1])
			time.Sleep(20 * time.Millisecond) // net/http ends the wait in between
			_, _ = io.WriteString(client, test.sent[1:])
			_ = client.Close()
		}()
		var got []byte
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		for {
			one := make([]byte, 1)
			n, err := c.Read(one)
			got = append(got, one[:n]...)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				_ = c.SetReadDeadline(time.Time{})
			} else if err != nil {
				break
			}
		}
		if string(got) != test.want {
			t.Errorf("%q is read as %q, want %q", test.sent, got, test.want)
		}
	}
}
