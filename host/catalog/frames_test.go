package catalog

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// framesPair returns the host's end of a run in frames and the plugin's.
func framesPair(ctx context.Context, t *testing.T, bundle bool) (strategypb.Strategy_RunClient, net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var client strategypb.StrategyClient = &runFrames{address: l.Addr().String()}
	if bundle {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		client = FramesOver(conn)
	}
	s, err := client.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plugin.Close() })
	return s, plugin
}

// TestEndsOfFrames: each end of a conversation in frames is told as gRPC tells it. A bundle ends a run by
// closing the connection, a program in Go says so first.
func TestEndsOfFrames(t *testing.T) {
	half := func(c net.Conn) { _, _ = c.Write([]byte{9, 0, 0, 0, wire.FramePlugin, 1}) }
	ends := func(err error) func(net.Conn) {
		return func(c net.Conn) { _ = wire.NewFrames(c, wire.Looks{}, 0).SendEnd(err) }
	}
	for _, test := range []struct {
		name   string
		does   func(net.Conn)
		bundle error // what is received from a bundle
		code   codes.Code
	}{
		{"ends", ends(nil), io.EOF, codes.OK},
		{"complains", ends(status.Error(codes.FailedPrecondition, "no")), nil, codes.FailedPrecondition},
		{"is gone", func(net.Conn) {}, io.EOF, codes.Unavailable},
		{"is gone in a frame", half, nil, codes.Unavailable},
		{"leaves what it was sent", func(c net.Conn) { time.Sleep(20 * time.Millisecond) }, nil,
			codes.Unavailable},
	} {
		for _, bundle := range []bool{true, false} {
			s, plugin := framesPair(t.Context(), t, bundle)
			if test.name == "leaves what it was sent" {
				if err := s.Send(&strategypb.HostMessage{}); err != nil {
					t.Fatal(err)
				}
			}
			test.does(plugin)
			plugin.Close()
			_, err := s.Recv()
			switch {
			case bundle && test.bundle != nil, test.code == codes.OK:
				if !errors.Is(err, io.EOF) {
					t.Errorf("a plugin that %s: %v", test.name, err)
				}
			case status.Code(err) != test.code:
				t.Errorf("a plugin that %s: %v", test.name, err)
			}
			if err := s.Send(&strategypb.HostMessage{}); !errors.Is(err, io.EOF) {
				t.Errorf("a plugin that %s is sent: %v", test.name, err)
			}
		}
	}
}

// TestCancelledFrames: a context that ends closes the connection.
func TestCancelledFrames(t *testing.T) {
	for _, bundle := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		s, plugin := framesPair(ctx, t, bundle)
		cancel()
		if _, err := s.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("receives %v", err)
		}
		if _, err := plugin.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the plugin reads %v", err)
		}
	}
}
