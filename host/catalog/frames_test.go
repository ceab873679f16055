package catalog

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// framesPair returns the host's end of a conversation in frames and the plugin's.
func framesPair(t *testing.T) (*frameStream, net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	host, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close(); plugin.Close() })
	f := FramesOver(host).(*frames)
	if f.fd == nil { // a machine of one processor
		f.fd, _ = host.(syscall.Conn).SyscallConn()
	}
	s, err := f.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.(*frameStream), plugin
}

// framed returns a frame of a step's answer.
func framed(t *testing.T, kind byte, step int64, text string) []byte {
	t.Helper()
	b, err := proto.Marshal(&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{
		Failed: &strategypb.Failed{Step: step, Message: text}}})
	if err != nil {
		t.Fatal(err)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
	return append(append(head, kind), b...)
}

// TestGlance: what is there is seen at once, in order; what is not there, not whole or not a message is
// left for who waits for it.
func TestGlance(t *testing.T) {
	s, plugin := framesPair(t)
	write := func(b []byte) {
		if _, err := plugin.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	// want looks until it sees the step; a look that comes too early is one of those that find nothing.
	want := func(step int64) {
		t.Helper()
		for range 1000 {
			if m, ok := s.Glance(); ok {
				if got := m.GetFailed().GetStep(); got != step {
					t.Fatalf("sees step %d, want %d", got, step)
				}
				return
			}
		}
		t.Fatalf("does not see step %d", step)
	}
	nothing := func(what string) {
		t.Helper()
		for range 40 {
			if m, ok := s.Glance(); ok {
				t.Fatalf("sees %v, though there is %s", m, what)
			}
		}
	}
	received := func(step int64) {
		t.Helper()
		if m, err := s.Recv(); err != nil || m.GetFailed().GetStep() != step {
			t.Fatalf("receives %v, %v, want step %d", m, err, step)
		}
	}
	nothing("nothing")
	write(append(framed(t, framePlugin, 1, ""), framed(t, framePlugin, 2, "")...))
	want(1)
	want(2)
	half := framed(t, framePlugin, 3, "three")
	write(half[:3])
	nothing("half a head")
	write(half[3:9])
	nothing("half a frame")
	write(half[9:])
	want(3)
	write(framed(t, framePlugin, 4, strings.Repeat("x", 100<<10)))
	nothing("a frame larger than the buffer")
	received(4)
	write(framed(t, framePlugin, 5, ""))
	want(5)
	write(framed(t, frameSpec, 6, ""))
	nothing("a frame of another kind")
	if _, err := s.Recv(); err == nil || !strings.Contains(err.Error(), "a frame of kind 1 came") {
		t.Errorf("receives %v", err)
	}
}

// TestGlanceAtTheEnd: a plugin that is gone is told by the receiver.
func TestGlanceAtTheEnd(t *testing.T) {
	s, plugin := framesPair(t)
	if _, err := plugin.Write(framed(t, framePlugin, 1, "")); err != nil {
		t.Fatal(err)
	}
	plugin.Close()
	if m, err := s.Recv(); err != nil || m.GetFailed().GetStep() != 1 {
		t.Fatalf("receives %v, %v", m, err)
	}
	if m, ok := s.Glance(); ok {
		t.Errorf("sees %v", m)
	}
	if m, err := s.Recv(); err == nil {
		t.Errorf("receives %v", m)
	}
}

// TestNothingIsRead: a plugin that reads nothing holds up no send for longer than the limit, and the
// conversation ends.
func TestNothingIsRead(t *testing.T) {
	s, _ := framesPair(t)
	s.limit = 50 * time.Millisecond
	m := &strategypb.HostMessage{Message: &strategypb.HostMessage_Stop{
		Stop: &strategypb.Stop{Reason: strings.Repeat("x", 64<<10)}}}
	for range 1000 {
		if err := s.Send(m); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("Send returns %v", err)
			}
			if m, err := s.Recv(); err == nil {
				t.Errorf("receives %v", m)
			}
			return
		}
	}
	t.Error("64 MB fit a connection that nobody reads")
}
