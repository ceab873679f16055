package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// The host's looks: a bundle needs 300 µs for some fifty candles and an order, a program in Go answers a step
// within some 15.
var (
	looks     = wire.Looks{For: 300 * time.Microsecond, Rare: 4}
	stepLooks = wire.Looks{For: 50 * time.Microsecond, Rare: 4}
)

// writeLimit is how long a plugin may leave what it is sent unread. It reads whenever a message is due, so
// that only one which answers what it has not read fills the connection.
const writeLimit = 30 * time.Second

// newFrames returns the client of a process that speaks in frames.
func newFrames(conn net.Conn) (client any, link net.Conn, err error) {
	if link, err = wire.Unpolled(conn); err != nil {
		return nil, nil, err
	}
	return FramesOver(link), link, nil
}

// FramesOver returns the client of a strategy that speaks in frames at the other end of a connection.
func FramesOver(conn net.Conn) strategypb.StrategyClient {
	return &frames{wire.NewFrames(conn, looks, writeLimit)}
}

// frames speaks the strategy's protocol over one connection.
type frames struct{ *wire.Frames }

// Describe implements strategypb.StrategyClient.
func (f *frames) Describe(ctx context.Context, _ *strategypb.DescribeRequest,
	_ ...grpc.CallOption) (*strategypb.Spec, error) {
	stop := context.AfterFunc(ctx, f.Close)
	defer stop()
	spec := &strategypb.Spec{}
	if err := f.Send(wire.FrameDescribe, &strategypb.DescribeRequest{}); err != nil {
		return nil, err
	}
	if err := f.Receive(wire.FrameSpec, spec); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	return spec, nil
}

// Run implements strategypb.StrategyClient. A context that ends closes the connection.
func (f *frames) Run(ctx context.Context, _ ...grpc.CallOption) (strategypb.Strategy_RunClient, error) {
	return f.run(ctx), nil
}

func (f *frames) run(ctx context.Context) *frameStream {
	return &frameStream{frames: f.Frames, ctx: ctx, stop: context.AfterFunc(ctx, f.Close)}
}

// runFrames is the client of a process that speaks gRPC, but has its runs carried in frames.
type runFrames struct {
	strategypb.StrategyClient
	address string
}

// Run implements strategypb.StrategyClient. Each run has a connection.
func (c *runFrames) Run(ctx context.Context, _ ...grpc.CallOption) (strategypb.Strategy_RunClient, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.address)
	if err == nil {
		conn, err = wire.Unpolled(conn)
	}
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "connect to the plugin: %v", err)
	}
	s := (&frames{wire.NewFrames(conn, stepLooks, writeLimit)}).run(ctx)
	s.toldEnd = true
	return s, nil
}

// frameStream is the one call of Run.
type frameStream struct {
	frames  *wire.Frames
	ctx     context.Context
	stop    func() bool
	toldEnd bool // the plugin tells the end of a run before it closes the connection
}

// Send implements strategypb.Strategy_RunClient. A connection that is gone is io.EOF, as in
// gRPC: Recv knows why.
func (s *frameStream) Send(m *strategypb.HostMessage) error {
	err := s.frames.Send(wire.FrameHost, m)
	if _, refused := status.FromError(err); err != nil && !refused {
		return io.EOF
	}
	return err
}

// Recv implements strategypb.Strategy_RunClient. What is wrong with the connection is a status, as in gRPC.
func (s *frameStream) Recv() (*strategypb.PluginMessage, error) {
	m := &strategypb.PluginMessage{}
	err := s.frames.Receive(wire.FramePlugin, m)
	if err == nil {
		return m, nil
	}
	s.stop()
	s.frames.Close()
	var end *wire.EndError
	_, told := status.FromError(err)
	switch {
	case errors.As(err, &end):
		if err = end.Status.Err(); err == nil {
			err = io.EOF
		}
	case s.ctx.Err() != nil:
		err = status.FromContextError(s.ctx.Err()).Err()
	case !told && (s.toldEnd || !errors.Is(err, io.EOF)):
		err = status.Errorf(codes.Unavailable, "the connection to the plugin has ended: %v", err)
	}
	return nil, err
}

// Glance returns the next message of the plugin if it is there, or comes very soon.
func (s *frameStream) Glance() (*strategypb.PluginMessage, bool) {
	m := &strategypb.PluginMessage{}
	return m, s.frames.Look(wire.FramePlugin, m)
}

// Header implements grpc.ClientStream.
func (s *frameStream) Header() (metadata.MD, error) { return metadata.MD{}, nil }

// Trailer implements grpc.ClientStream.
func (s *frameStream) Trailer() metadata.MD { return metadata.MD{} }

// CloseSend implements grpc.ClientStream.
func (s *frameStream) CloseSend() error { return nil }

// Context implements grpc.ClientStream.
func (s *frameStream) Context() context.Context { return s.ctx }

// SendMsg implements grpc.ClientStream.
func (s *frameStream) SendMsg(m any) error { return s.Send(m.(*strategypb.HostMessage)) }

// RecvMsg implements grpc.ClientStream.
func (s *frameStream) RecvMsg(m any) error {
	return s.frames.Receive(wire.FramePlugin, m.(*strategypb.PluginMessage))
}
