package serve

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// looks are the plugin's: a host that does not answer at once has something else to do.
var looks = wire.Looks{For: 50 * time.Microsecond, Rare: 6}

// listenFrames listens for runs that the host wants carried in frames; nil: it wants none, or in a version
// that is not known here.
func listenFrames() (net.Listener, error) {
	if !slices.Contains(strings.Split(os.Getenv(wire.FramesVariable), ","), wire.FramesVersion) {
		return nil, nil
	}
	return net.Listen("unix", filepath.Join(os.Getenv(plugin.EnvUnixSocketDir), wire.FramesSocket))
}

// serveFrames takes each connection for a call of Run.
func (s *server) serveFrames(l net.Listener) {
	s.process.awaitServing()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if conn, err = wire.Unpolled(conn); err == nil {
			go s.runFramed(conn)
		}
	}
}

// runFramed is Run over a connection of its own.
func (s *server) runFramed(conn net.Conn) {
	st := &framedStream{link: wire.NewFrames(conn, looks, 0)}
	st.ctx, st.cancel = context.WithCancel(context.Background())
	err := s.answer(st)
	_ = st.link.SendEnd(err) // a host that is gone needs none
	st.cancel()
	st.link.Close()
}

// framedStream is the stream of a run over a connection.
type framedStream struct {
	link   *wire.Frames
	ctx    context.Context
	cancel context.CancelFunc
}

// Context ends with the run, or once the host is seen to be gone.
func (s *framedStream) Context() context.Context { return s.ctx }

// Send sends a message, and waits for a host that does not read.
func (s *framedStream) Send(m *strategypb.PluginMessage) error {
	return s.link.Send(wire.FramePlugin, m)
}

// Recv waits for a message of the host. One that closes the connection has given up the run.
func (s *framedStream) Recv() (*strategypb.HostMessage, error) {
	m := &strategypb.HostMessage{}
	if s.link.Look(wire.FrameHost, m) {
		return m, nil
	}
	err := s.link.Receive(wire.FrameHost, m)
	if err == nil {
		return m, nil
	}
	s.cancel()
	if _, told := status.FromError(err); !told {
		err = status.Errorf(codes.Canceled, "the host is gone: %v", err)
	}
	return nil, err
}
