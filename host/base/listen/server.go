package listen

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

type connKey struct{}

// maxHeader is the largest header, request line and blank line included. net/http
// adds a slop of its own to what it is told.
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
		ErrorLog:                     logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	return s
}

// note keeps the list of connections that say nothing.
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
