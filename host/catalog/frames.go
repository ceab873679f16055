package catalog

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// The kinds of frames. A frame is the length of its payload (four bytes, little endian), a
// byte for its kind, and the payload.
const (
	frameDescribe = iota // host to plugin, empty
	frameSpec            // the answer
	frameHost            // a HostMessage
	framePlugin          // a PluginMessage
)

const frameHead = 5

// frames speaks the strategy's protocol over one connection: the messages of gRPC without its
// streams, which cost an interpreter ten times as much.
type frames struct {
	conn net.Conn
	in   *bufio.Reader
	fd   syscall.RawConn // nil: it cannot be looked at
	look time.Time       // until when a read looks for bytes; zero: it waits for them

	missed, idle int // glances in a row that found nothing, and how many more are left out

	mu    sync.Mutex // of writing
	out   []byte
	limit time.Duration // of a write
}

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
	f := &frames{conn: conn, limit: writeLimit}
	f.in = bufio.NewReaderSize((*incoming)(f), 64<<10)
	if c, ok := conn.(syscall.Conn); ok && runtime.NumCPU() > 1 {
		f.fd, _ = c.SyscallConn()
	}
	return f
}

// incoming reads the bytes of frames.
type incoming frames

var errNothing = errors.New("nothing came")

// Read implements io.Reader. While it looks it never waits.
func (f *incoming) Read(p []byte) (n int, err error) {
	if f.look.IsZero() {
		return f.conn.Read(p)
	}
	failed := f.fd.Read(func(fd uintptr) bool {
		for {
			if n, err = syscall.Read(int(fd), p); err != syscall.EAGAIN || time.Now().After(f.look) {
				return true
			}
		}
	})
	if failed != nil || err != nil || n <= 0 {
		return 0, errNothing
	}
	return n, nil
}

// glance is how long Glance looks, beyond which its processor is better given away: the plugin needs so long
// for some fifty candles and an order.
const glance = 300 * time.Microsecond

// spinning counts who looks for messages, in all runs of this process.
var spinning atomic.Int32

// Glance returns the next message of the plugin if it is there, or comes very soon. Glances that find
// nothing become rare.
func (f *frames) Glance() (*strategypb.PluginMessage, bool) {
	if f.fd == nil {
		return nil, false
	}
	if f.idle > 0 && f.in.Buffered() == 0 {
		f.idle--
		return nil, false
	}
	if spinning.Add(1) <= int32(runtime.NumCPU()/2) {
		f.look = time.Now().Add(glance)
	} else {
		f.look = time.Unix(1, 0)
	}
	b := f.peek()
	f.look = time.Time{}
	spinning.Add(-1)
	if b == nil {
		f.missed = min(f.missed+1, 4)
		f.idle = 1<<f.missed - 2
		return nil, false
	}
	f.missed = 0
	m := &strategypb.PluginMessage{}
	if b[frameHead-1] != framePlugin || proto.Unmarshal(b[frameHead:], m) != nil {
		return nil, false // it is read again, by who can say why
	}
	_, _ = f.in.Discard(len(b))
	return m, true
}

// peek returns the next frame if it is whole, at most as large as the buffer.
func (f *frames) peek() []byte {
	head, err := f.in.Peek(frameHead)
	if err != nil {
		return nil
	}
	size := int64(frameHead) + int64(binary.LittleEndian.Uint32(head))
	if size > int64(f.in.Size()) {
		return nil
	}
	b, err := f.in.Peek(int(size))
	if err != nil {
		return nil
	}
	return b
}

func (f *frames) send(kind byte, m proto.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := proto.MarshalOptions{}.MarshalAppend(append(f.out[:0], make([]byte, frameHead)...), m)
	if err != nil {
		return err
	}
	f.out = b
	if len(b)-frameHead > wire.MaxMessageBytes {
		return status.Errorf(codes.ResourceExhausted, "a message of %d bytes is too long", len(b))
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-frameHead))
	b[frameHead-1] = kind
	if err := f.conn.SetWriteDeadline(time.Now().Add(f.limit)); err != nil {
		return err
	}
	if _, err = f.conn.Write(b); err != nil {
		_ = f.conn.Close() // half a frame may be there: the receiver ends, too
	}
	return err
}

func (f *frames) receive(kind byte, m proto.Message) error {
	var head [frameHead]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(head[:])
	switch {
	case size > wire.MaxMessageBytes:
		return status.Errorf(codes.ResourceExhausted, "a message of %d bytes is too long", size)
	case head[frameHead-1] != kind:
		return status.Errorf(codes.Internal, "a frame of kind %d came where %d was due", head[frameHead-1],
			kind)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(f.in, payload); err != nil {
		return io.ErrUnexpectedEOF
	}
	if err := proto.Unmarshal(payload, m); err != nil {
		return status.Errorf(codes.Internal, "a frame cannot be read: %v", err)
	}
	return nil
}

// Describe implements strategypb.StrategyClient.
func (f *frames) Describe(ctx context.Context, _ *strategypb.DescribeRequest,
	_ ...grpc.CallOption) (*strategypb.Spec, error) {
	stop := context.AfterFunc(ctx, func() { _ = f.conn.Close() })
	defer stop()
	spec := &strategypb.Spec{}
	if err := f.send(frameDescribe, &strategypb.DescribeRequest{}); err != nil {
		return nil, err
	}
	if err := f.receive(frameSpec, spec); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	return spec, nil
}

// Run implements strategypb.StrategyClient. A context that ends closes the connection.
func (f *frames) Run(ctx context.Context, _ ...grpc.CallOption) (strategypb.Strategy_RunClient, error) {
	s := &frameStream{frames: f, ctx: ctx}
	s.stop = context.AfterFunc(ctx, func() { _ = f.conn.Close() })
	return s, nil
}

// frameStream is the one call of Run.
type frameStream struct {
	*frames
	ctx  context.Context
	stop func() bool
}

// Send implements strategypb.Strategy_RunClient. A connection that is gone is io.EOF, as in
// gRPC: Recv knows why.
func (s *frameStream) Send(m *strategypb.HostMessage) error {
	err := s.send(frameHost, m)
	if _, refused := status.FromError(err); err != nil && !refused {
		return io.EOF
	}
	return err
}

// Recv implements strategypb.Strategy_RunClient.
func (s *frameStream) Recv() (*strategypb.PluginMessage, error) {
	m := &strategypb.PluginMessage{}
	if err := s.receive(framePlugin, m); err != nil {
		s.stop()
		if s.ctx.Err() != nil {
			return nil, status.FromContextError(s.ctx.Err()).Err()
		}
		return nil, err
	}
	return m, nil
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
	return s.receive(framePlugin, m.(*strategypb.PluginMessage))
}
