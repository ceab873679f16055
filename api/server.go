package api

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
)

type connKey struct{}

// Server is the HTTP server with the limits of the edge.
type Server struct {
	http *http.Server
	base context.CancelCauseFunc
}

// NewServer makes a server around a handler, which is an Edge in production.
// Requests that are waiting for news end when stop is called.
func NewServer(handler http.Handler, logger hclog.Logger) *Server {
	ctx, cancel := context.WithCancelCause(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Server{base: cancel, http: &http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            5 * time.Second,
		IdleTimeout:                  120 * time.Second,
		MaxHeaderBytes:               64 << 10,
		DisableGeneralOptionsHandler: true,
		Protocols:                    protocols,
		ErrorLog:                     logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}}
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
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // the connections that did not finish in time
	}
	return err
}
