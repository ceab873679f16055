package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The kinds of frames. A frame is the length of its payload (four bytes, little endian), a
// byte for its kind, and the payload.
const (
	FrameDescribe byte = iota // host to plugin, empty
	FrameSpec                 // the answer
	FrameHost                 // a HostMessage
	FramePlugin               // a PluginMessage
	FrameEnd                  // of a run, a google.rpc.Status; a bundle closes the connection instead
)

// A program in Go speaks gRPC, and a run of it may be carried in frames: the host puts the versions of
// frames that it knows into FramesVariable, separated by commas. A plugin that knows one of them listens on
// FramesSocket in the folder of its sockets before it answers the handshake, and each connection is one call
// of Run. Its name has the version.
const (
	FramesVariable = "ASSAY_FRAMES"
	FramesVersion  = "1"
	FramesSocket   = "frames." + FramesVersion + ".sock"
)

const frameHead = 5

// Frames carries messages over one connection: those of gRPC without its streams, which hand each message
// to another goroutine and cost an interpreter ten times as much. One goroutine at a time receives.
type Frames struct {
	conn  net.Conn
	in    *bufio.Reader
	looks Looks
	fd    syscall.RawConn // nil: it cannot be looked at

	looking   bool      // a read looks for bytes, else it waits for them
	spin, nap time.Time // until when it looks without a pause, and in its sleep

	missed, idle int // looks in a row that found nothing, and how many more are left out

	mu    sync.Mutex // of writing
	out   []byte
	limit time.Duration // of a write; 0: none
}

// Looks say how one looks for a frame before one sleeps: to be woken takes longer than most steps.
type Looks struct {
	For  time.Duration // beyond which the processor is better given away
	Rare int           // so many looks in vain, at most, double how many are left out
}

// nap is how long a look that saw nothing sleeps in the kernel, which wakes it: the runtime would have to
// wake one goroutine, and that another. No limit of time is looked at meanwhile.
const nap = 2 * time.Millisecond

// spinning counts who looks for frames, in all runs of this process.
var spinning atomic.Int32

// NewFrames returns the frames over a connection. A write may take until the limit, beyond which the
// connection is closed; without one it waits.
func NewFrames(conn net.Conn, looks Looks, limit time.Duration) *Frames {
	f := &Frames{conn: conn, looks: looks, limit: limit}
	f.in = bufio.NewReaderSize((*incoming)(f), 64<<10)
	if c, ok := conn.(syscall.Conn); ok && canLook {
		f.fd, _ = c.SyscallConn()
	}
	return f
}

// Close closes the connection.
func (f *Frames) Close() { _ = f.conn.Close() }

// incoming reads the bytes of frames.
type incoming Frames

var errNothing = errors.New("nothing came")

// Read implements io.Reader. While it looks it waits no longer than a nap.
func (f *incoming) Read(p []byte) (n int, err error) {
	if !f.looking {
		return f.conn.Read(p)
	}
	failed := f.fd.Read(func(fd uintptr) bool {
		for {
			if n, err = readNow(fd, p); err != syscall.EAGAIN {
				return true
			}
			now := time.Now()
			if now.After(f.spin) {
				if !now.Before(f.nap) {
					return true
				}
				await(fd, f.nap)
			}
		}
	})
	if failed != nil || err != nil || n <= 0 {
		return 0, errNothing
	}
	return n, nil
}

// Look reads the next frame into m if it is there, or comes very soon, and reports whether it has. What is
// not whole, of another kind or no such message is left to Receive, which can say why. Looks that find
// nothing become rare.
func (f *Frames) Look(kind byte, m proto.Message) bool {
	if f.fd == nil {
		return false
	}
	b := f.spot()
	if b == nil || b[frameHead-1] != kind || proto.Unmarshal(b[frameHead:], m) != nil {
		return false
	}
	_, _ = f.in.Discard(len(b))
	return true
}

// spot returns the next frame if it is whole before a look and a nap are over.
func (f *Frames) spot() (b []byte) {
	f.looking = true
	defer func() { f.looking = false }()
	f.spin, f.nap = time.Time{}, time.Time{}
	if f.idle > 0 && f.in.Buffered() == 0 {
		f.idle--
	} else {
		if spinning.Add(1) <= int32(runtime.NumCPU()/2) {
			f.spin = time.Now().Add(f.looks.For)
		}
		b = f.peek()
		spinning.Add(-1)
		if f.missed++; b != nil {
			f.missed = 0
		}
		f.missed = min(f.missed, f.looks.Rare)
		f.idle = max(0, 1<<f.missed-2)
	}
	if b == nil {
		f.spin, f.nap = time.Time{}, time.Now().Add(nap)
		b = f.peek()
	}
	return b
}

// peek returns the next frame if it is whole, at most as large as the buffer.
func (f *Frames) peek() []byte {
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

// Send sends a frame. A message that is too long leaves the connection as it was.
func (f *Frames) Send(kind byte, m proto.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := proto.MarshalOptions{}.MarshalAppend(append(f.out[:0], make([]byte, frameHead)...), m)
	if err != nil {
		return err
	}
	f.out = b
	if len(b)-frameHead > MaxMessageBytes {
		return status.Errorf(codes.ResourceExhausted, "a message of %d bytes is too long", len(b))
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-frameHead))
	b[frameHead-1] = kind
	if f.limit > 0 {
		if err := f.conn.SetWriteDeadline(time.Now().Add(f.limit)); err != nil {
			return err
		}
	}
	if _, err = f.conn.Write(b); err != nil {
		_ = f.conn.Close() // half a frame may be there: the receiver ends, too
	}
	return err
}

// SendEnd tells how a run ended.
func (f *Frames) SendEnd(err error) error { return f.Send(FrameEnd, status.Convert(err).Proto()) }

// Receive waits for a frame and reads it into m. io.EOF is a connection that was closed between two frames;
// where the end of a run comes instead, the error is an *EndError.
func (f *Frames) Receive(kind byte, m proto.Message) error {
	var head [frameHead]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return err
	}
	size, got := binary.LittleEndian.Uint32(head[:]), head[frameHead-1]
	end := status.New(codes.OK, "").Proto()
	switch {
	case size > MaxMessageBytes:
		return status.Errorf(codes.ResourceExhausted, "a message of %d bytes is too long", size)
	case got == FrameEnd && kind == FramePlugin:
		m = end
	case got != kind:
		return status.Errorf(codes.Internal, "a frame of kind %d came where %d was due", got, kind)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(f.in, payload); err != nil {
		return io.ErrUnexpectedEOF
	}
	if err := proto.Unmarshal(payload, m); err != nil {
		return status.Errorf(codes.Internal, "a frame cannot be read: %v", err)
	}
	if got == FrameEnd {
		return &EndError{status.FromProto(end)}
	}
	return nil
}

// EndError reports that the plugin has ended its run, and how.
type EndError struct{ Status *status.Status }

// Error returns what the plugin says.
func (e *EndError) Error() string { return "the run has ended: " + e.Status.String() }
