// Package wiretest puts a connection behind the wire without a process, so that the tests
// of a connector can look at it as the host does.
package wiretest

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
)

// Over is the connection as a host sees it: served with its guard over gRPC in memory.
// When the test is over the host is gone, and Over waits for the server.
func Over(t testing.TB, conn exchange.Connection) exchange.Connection {
	t.Helper()
	client, stop := Dial(t, func(s *grpc.Server) { wire.Register(s, conn, nil) }, wire.ClientOptions{})
	t.Cleanup(stop)
	return client.Connection()
}

// Dial is a client of what register registers. It ends with stop.
func Dial(t testing.TB, register func(*grpc.Server), o wire.ClientOptions) (*wire.Client, func()) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxMessageBytes), grpc.WaitForHandlers(true))
	register(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener)
	}()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(conn, o)
	return client, func() {
		client.Release()
		_ = conn.Close()
		s.Stop()
		<-done
	}
}
