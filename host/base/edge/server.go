package edge

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

type connKey struct{}

// maxHeader is the largest header, request line and blank line included. net/http
// adds a slop of its own to what it is given.
const (
	maxHeader  = 64 << 10
	headerSlop = 4096
)

// Server is an HTTP server with the limits of this package.
type Server struct {
	http *http.Server
	base context.CancelCauseFunc

	mu     sync.Mutex
	silent map[net.Conn]struct{} // connections that have not sent a request yet
}

// silentTime is what a connection gets at the end to send the request that it was
// opened for. Browsers open some in advance.
const silentTime = 250 * time.Millisecond

// NewServer makes a server around a handler.
// Requests that are waiting for news end when stop is called.
func NewServer(handler http.Handler, logger hclog.Logger) *Server {
	ctx, cancel := context.WithCancelCause(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s := &Server{base: cancel, silent: map[net.Conn]struct{}{}}
	s.http = &http.Server{
		ConnState:                    s.note,
		Handler:                      handler,
		ReadHeaderTimeout:            5 * time.Second,
		IdleTimeout:                  120 * time.Second,
		MaxHeaderBytes:               maxHeader - headerSlop,
		DisableGeneralOptionsHandler: true,
		Protocols:                    protocols,
		ErrorLog: logger.StandardLogger(
			&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	return s
}

// note keeps the list of silent connections.
func (s *Server) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.silent[c] = struct{}{}
	} else {
		delete(s.silent, c)
	}
}

// closeSilent ends them: net/http would wait five seconds for each.
func (s *Server) closeSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.silent {
		_ = c.Close()
	}
}

// Serve answers requests until Shutdown. It returns nil after a shutdown.
func (s *Server) Serve(ln net.Listener) error {
	err := s.http.Serve(ln)
	if err == http.ErrServerClosed {
		return nil
	}
	return err
}

// Shutdown stops accepting, ends requests that wait, lets the others finish within
// ctx and then closes what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.base(http.ErrServerClosed)
	defer time.AfterFunc(silentTime, s.closeSilent).Stop()
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // the connections that did not finish in time
	}
	return err
}

// parserHeaders is what net/http writes right behind the status line when it
// refuses a request before any handler. No handler of ours can produce it.
const parserHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Refuse makes the answer to a request that net/http refused with a status: 400, 417, 431, 501
// or 505.
type Refuse func(status int, now time.Time) (int, http.Header, []byte)

// RefuseWith makes a Refuse of an edge's Deny and Vary.
func RefuseWith(vary string, deny func(Denial) Problem) Refuse {
	return func(status int, now time.Time) (int, http.Header, []byte) {
		d := Denial{Unread: true}
		switch status {
		case http.StatusExpectationFailed:
			d.Reason = ExpectationFailed
		case http.StatusRequestHeaderFieldsTooLarge:
			d.Reason = HeadersTooLarge
		case http.StatusNotImplemented:
			d.Reason = TransferEncoding
		case http.StatusHTTPVersionNotSupported:
			d.Reason = HTTPVersion
		}
		p, id := deny(d), NewRequestID()
		h := http.Header{}
		SetHeaders(h, id, vary)
		h.Set("Content-Type", "application/json")
		h.Set("Date", now.UTC().Format(http.TimeFormat))
		return p.Status(), h, p.Body(id, "")
	}
}

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
	case http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented,
		http.StatusHTTPVersionNotSupported:
		return status, true
	}
	return http.StatusBadRequest, true
}

// wholeAnswer returns the text of a whole answer that ends its connection.
func wholeAnswer(status int, h http.Header, body []byte) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, k := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&out, "%s: %s\r\n", k, h[k][0])
	}
	fmt.Fprintf(&out, "Connection: close\r\nContent-Length: %d\r\n\r\n", len(body))
	out.Write(body)
	return out.Bytes()
}
