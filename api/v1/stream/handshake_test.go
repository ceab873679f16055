package stream_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/stream"
)

// upgrade are the headers of a good handshake.
var upgrade = []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}

// with replaces or adds headers.
func with(headers ...string) []string {
	out := append([]string{}, upgrade...)
	for _, h := range headers {
		name, _, _ := strings.Cut(h, ": ")
		for i := range out {
			if strings.HasPrefix(out[i], name+": ") {
				out = append(out[:i], out[i+1:]...)
				break
			}
		}
		out = append(out, h)
	}
	return out
}

func TestRefusedHandshakes(t *testing.T) {
	s := start(t, setup{})
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		code    string
		extra   string
	}{
		{"no upgrade", nil, 426, "UPGRADE_REQUIRED", "Upgrade: websocket"},
		{"other protocol", with("Upgrade: h2c"), 426, "UPGRADE_REQUIRED", "Upgrade: websocket"},
		{"bad version", with("Sec-WebSocket-Version: 12"), 400, "BAD_HANDSHAKE", "Sec-Websocket-Version: 13"},
		{"no version", with("Sec-WebSocket-Version: "), 400, "BAD_HANDSHAKE", ""},
		{"no key", with("Sec-WebSocket-Key: "), 400, "BAD_HANDSHAKE", ""},
		{"short key", with("Sec-WebSocket-Key: c2hvcnQ="), 400, "BAD_HANDSHAKE", ""},
		{"no connection token", with("Connection: keep-alive"), 400, "BAD_HANDSHAKE", ""},
		{"foreign origin", with("Origin: http://evil.test"), 403, "ORIGIN_FORBIDDEN", ""},
		{"foreign origin without upgrade", []string{"Origin: http://evil.test"}, 403, "ORIGIN_FORBIDDEN", ""},
		{"opaque origin", with("Origin: null"), 403, "ORIGIN_FORBIDDEN", ""},
		{"other port", with("Origin: http://127.0.0.1:1"), 403, "ORIGIN_FORBIDDEN", ""},
		{"origin of a file", with("Origin: file://" + s.Addr), 403, "ORIGIN_FORBIDDEN", ""},
		{"our name as prefix", with("Origin: http://" + s.Addr + ".evil.test"), 403, "ORIGIN_FORBIDDEN", ""},
		{"user before our name", with("Origin: http://a@" + s.Addr), 403, "ORIGIN_FORBIDDEN", ""},
		{"foreign host", with("Host: evil.test"), 403, "HOST_FORBIDDEN", ""},
	} {
		a := s.Do(t, http.MethodGet, url, "", c.headers...)
		if a.StatusCode != c.status || a.Code() != c.code {
			t.Errorf("%s: %d %s", c.name, a.StatusCode, a.Body)
		}
		if name, value, _ := strings.Cut(c.extra, ": "); a.Header.Get(name) != value {
			t.Errorf("%s: header %s is %q", c.name, name, a.Header.Get(name))
		}
	}
	if a := s.Do(t, http.MethodHead, url, ""); a.StatusCode != 426 {
		t.Errorf("HEAD: %d", a.StatusCode)
	}
	if n, _ := s.hub.Counters(); n != 0 {
		t.Errorf("%d clients after refusals", n)
	}
}

// raw sends a handshake as text and returns the answer's head.
func raw(t *testing.T, addr, version string, headers ...string) (net.Conn, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "GET %s %s\r\nHost: %s\r\n%s\r\n\r\n", url, version, addr,
		strings.Join(headers, "\r\n"))
	head := ""
	for r := bufio.NewReader(conn); !strings.HasSuffix(head, "\r\n\r\n"); {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, head)
		}
		head += line
	}
	return conn, head
}

func TestSwitchingProtocols(t *testing.T) {
	s := start(t, setup{})
	for name, headers := range map[string][]string{
		"no origin":      upgrade,
		"own origin":     with("Origin: http://" + s.Addr),
		"tokens in list": with("Connection: keep-alive, Upgrade", "Upgrade: foo, WebSocket"),
		"unknown":        with("Sec-WebSocket-Protocol: chat, superchat"),
		"rich":           with("Sec-WebSocket-Protocol: chat, " + stream.Subprotocol),
	} {
		_, head := raw(t, s.Addr, "HTTP/1.1", append(headers, "X-Request-Id: abc")...)
		for _, want := range []string{
			"HTTP/1.1 101 ", "\r\nX-Service-API-Version: v1\r\n", "\r\nX-Content-Type-Options: nosniff\r\n",
			"\r\nX-Frame-Options: DENY\r\n",
			"\r\nReferrer-Policy: no-referrer\r\n", "\r\nCross-Origin-Opener-Policy: same-origin\r\n",
			"\r\nX-Request-Id: abc\r\n",
			"\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", "\r\nCache-Control: no-store\r\n",
		} {
			if !strings.Contains(head, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, head)
			}
		}
		if rich := strings.Contains(head,
			"Sec-WebSocket-Protocol: "+stream.Subprotocol); rich != (name == "rich") {
			t.Errorf("%s: subprotocol in\n%s", name, head)
		}
		if strings.Contains(head, "Sec-WebSocket-Extensions") || strings.Contains(head, "Access-Control-") {
			t.Errorf("%s: unwanted headers in\n%s", name, head)
		}
	}
	if _, head := raw(t, s.Addr, "HTTP/1.0", upgrade...); !strings.HasPrefix(head, "HTTP/1.0 426") {
		t.Errorf("HTTP/1.0: %s", head)
	}
	if _, head := raw(t, s.Addr, "HTTP/1.1", with("Content-Length: 3")...); !strings.HasPrefix(head,
		"HTTP/1.1 415") {
		t.Errorf("with a body: %s", head)
	}
	if _, head := raw(t, s.Addr, "HTTP/1.1",
		with("Content-Type: application/json", "Content-Length: 2", "\r\n{}")...); !strings.HasPrefix(head,
		"HTTP/1.1 400") {
		t.Errorf("with an empty object: %s", head)
	}
}

func TestTooManyClients(t *testing.T) {
	s := start(t, setup{})
	var clients []*socket
	for range stream.MaxClients {
		c, _ := s.rich(t)
		clients = append(clients, c)
	}
	a := s.Do(t, http.MethodGet, url, "", upgrade...)
	if a.StatusCode != 503 || a.Code() != "TOO_MANY_CLIENTS" || a.Header.Get("Retry-After") != "1" {
		t.Fatalf("client 65: %d %s %s", a.StatusCode, a.Header, a.Body)
	}
	if n, _ := s.hub.Counters(); n != stream.MaxClients {
		t.Errorf("%d clients", n)
	}
	_ = clients[0].conn.Close()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, resp, err := websocket.DefaultDialer.Dial("ws://"+s.Addr+url, nil)
		if err == nil {
			_ = conn.Close()
			break
		}
		if resp == nil || resp.StatusCode != 503 || time.Now().After(end) {
			t.Fatalf("no slot after a client has left: %v", err)
		}
	}
}

func TestShutdown(t *testing.T) {
	s := start(t, setup{})
	plain := s.plain(t)
	expect(t, plain.next(), "idle", "")
	rich, snapshot := s.rich(t)
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ended <- s.hub.Shutdown(ctx)
	}()
	f := rich.next()
	if string(f.Payload) != `{"reconnect_after_ms":1000}` || f.Type != "server_shutdown" ||
		f.Seq != snapshot.Seq+1 {
		t.Errorf("got %s", f.text)
	}
	if code := rich.closed(); code != websocket.CloseGoingAway {
		t.Errorf("rich client closed with %d", code)
	}
	if code := plain.closed(); code != websocket.CloseGoingAway {
		t.Errorf("plain client closed with %d", code)
	}
	_ = rich.conn.Close()
	_ = plain.conn.Close()
	if err := <-ended; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	a := s.Do(t, http.MethodGet, url, "", upgrade...)
	if a.StatusCode != 503 || a.Code() != "SHUTTING_DOWN" {
		t.Errorf("afterwards: %d %s", a.StatusCode, a.Body)
	}
	if err := s.hub.Run(context.Background()); err == nil {
		t.Error("a second Run was allowed")
	}
}

// A client that takes nothing does not hold up the end.
func TestShutdownCutsTheDeaf(t *testing.T) {
	s := start(t,
		setup{prepare: func(h *stream.Hub) {
			h.Patience(time.Minute, time.Minute, time.Minute, time.Minute)
		}})
	deaf, _ := s.rich(t)
	big := strings.Repeat("x", 1<<20)
	for range 30 {
		s.hub.Publish("log", big)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := s.hub.Shutdown(ctx); err == nil {
		t.Error("no error although a client was cut")
	}
	_, _ = io.Copy(io.Discard, deaf.conn.NetConn())
}

func TestNotRunning(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	h := stream.New(stream.Options{Runner: s.Runner})
	if err := h.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// How the run ended is told before the goodbye.
func TestShutdownTellsTheEnd(t *testing.T) {
	s := start(t, setup{})
	c := s.plain(t)
	expect(t, c.next(), "idle", "")
	run := s.Begin(t)
	expect(t, c.next(), "running", run.ID)
	if err := s.Runner.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.hub.Shutdown(context.WithoutCancel(t.Context())) }()
	expect(t, c.next(), "completed", run.ID)
	if code := c.closed(); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d", code)
	}
	_ = c.conn.Close()
}
