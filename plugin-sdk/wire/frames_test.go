package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// connected returns the two ends of a unix socket.
func connected(t *testing.T) (host, plugin net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if host, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if plugin, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close(); plugin.Close() })
	return host, plugin
}

// framesPair returns the host's end of a conversation in frames and the plugin's connection.
func framesPair(t *testing.T, limit time.Duration) (*Frames, net.Conn) {
	t.Helper()
	host, plugin := connected(t)
	f := NewFrames(host, Looks{For: 300 * time.Microsecond, Rare: 4}, limit)
	if f.fd == nil && canLook { // a machine of one processor
		f.fd, _ = host.(syscall.Conn).SyscallConn()
	}
	return f, plugin
}

// framed returns a frame of a step's answer.
func framed(t testing.TB, kind byte, step int64, text string) []byte {
	t.Helper()
	b, err := proto.Marshal(&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{
		Failed: &strategypb.Failed{Step: step, Message: text}}})
	if err != nil {
		t.Fatal(err)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
	return append(append(head, kind), b...)
}

// TestLook: what is there is seen at once, in order; what is not there, not whole or not a message is
// left for who waits for it.
func TestLook(t *testing.T) {
	if !canLook {
		t.Skip("this system cannot look")
	}
	f, plugin := framesPair(t, 0)
	write := func(b []byte) {
		if _, err := plugin.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	m := &strategypb.PluginMessage{}
	// want looks until it sees the step; a look that comes too early is one of those that find nothing.
	want := func(step int64) {
		t.Helper()
		for range 1000 {
			if f.Look(FramePlugin, m) {
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
			if f.Look(FramePlugin, m) {
				t.Fatalf("sees %v, though there is %s", m, what)
			}
		}
	}
	nothing("nothing")
	write(append(framed(t, FramePlugin, 1, ""), framed(t, FramePlugin, 2, "")...))
	want(1)
	want(2)
	half := framed(t, FramePlugin, 3, "three")
	write(half[:3])
	nothing("half a head")
	write(half[3:9])
	nothing("half a frame")
	write(half[9:])
	want(3)
	write(framed(t, FramePlugin, 4, strings.Repeat("x", 100<<10)))
	nothing("a frame larger than the buffer")
	if err := f.Receive(FramePlugin, m); err != nil || m.GetFailed().GetStep() != 4 {
		t.Fatalf("receives %v, %v, want step 4", m, err)
	}
	write(framed(t, FramePlugin, 5, ""))
	want(5)
	write(framed(t, FrameSpec, 6, ""))
	nothing("a frame of another kind")
	if err := f.Receive(FramePlugin, m); err == nil || !strings.Contains(err.Error(),
		"a frame of kind 1 came") {
		t.Errorf("receives %v", err)
	}
}

// TestLookAtTheEnd: a plugin that is gone is told by the receiver.
func TestLookAtTheEnd(t *testing.T) {
	f, plugin := framesPair(t, 0)
	if _, err := plugin.Write(framed(t, FramePlugin, 1, "")); err != nil {
		t.Fatal(err)
	}
	plugin.Close()
	m := &strategypb.PluginMessage{}
	if err := f.Receive(FramePlugin, m); err != nil || m.GetFailed().GetStep() != 1 {
		t.Fatalf("receives %v, %v", m, err)
	}
	if f.Look(FramePlugin, m) {
		t.Errorf("sees %v", m)
	}
	if err := f.Receive(FramePlugin, m); !errors.Is(err, io.EOF) {
		t.Errorf("receives %v, %v", m, err)
	}
}

// TestNothingIsRead: a peer that reads nothing holds up no send for longer than the limit, and the
// conversation ends.
func TestNothingIsRead(t *testing.T) {
	f, _ := framesPair(t, 50*time.Millisecond)
	m := &strategypb.HostMessage{Message: &strategypb.HostMessage_Stop{
		Stop: &strategypb.Stop{Reason: strings.Repeat("x", 64<<10)}}}
	for range 1000 {
		if err := f.Send(FrameHost, m); err != nil {
			if err := f.Receive(FramePlugin, &strategypb.PluginMessage{}); err == nil {
				t.Error("receives a message")
			}
			return
		}
	}
	t.Error("64 MB fit a connection that nobody reads")
}

// TestSendEnd: the end of a run arrives with its status behind the last message, and no receiver of
// anything else takes it.
func TestSendEnd(t *testing.T) {
	for _, told := range []error{nil, status.Error(codes.FailedPrecondition, "Step is expected now"),
		errors.New("no status")} {
		host, conn := framesPair(t, 0)
		plugin := NewFrames(conn, Looks{}, 0)
		too := &strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{
			Failed: &strategypb.Failed{Message: strings.Repeat("x", MaxMessageBytes)}}}
		if err := plugin.Send(FramePlugin, too); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a message that is too long: %v", err)
		}
		if err := errors.Join(plugin.Send(FramePlugin, &strategypb.PluginMessage{}),
			plugin.SendEnd(told)); err != nil {
			t.Fatal(err)
		}
		m := &strategypb.PluginMessage{}
		if err := host.Receive(FramePlugin, m); err != nil {
			t.Errorf("before the end: %v", err)
		}
		var end *EndError
		if err := host.Receive(FramePlugin, m); !errors.As(err, &end) {
			t.Fatalf("receives %v", err)
		}
		if want := status.Convert(told); end.Status.Code() != want.Code() ||
			end.Status.Message() != want.Message() {
			t.Errorf("%v ends as %v", told, end)
		}
		if err := plugin.SendEnd(nil); err != nil {
			t.Fatal(err)
		}
		if err := host.Receive(FrameSpec, &strategypb.Spec{}); status.Code(err) != codes.Internal {
			t.Errorf("an end instead of a description: %v", err)
		}
	}
}

// FuzzFrames: looking changes nothing of what is received, and whatever comes ends in an error.
func FuzzFrames(f *testing.F) {
	whole := framed(f, FramePlugin, 1, "x")
	f.Add(whole)
	f.Add(append(bytes.Clone(whole), 2, 0, 0, 0, FrameEnd, 8, 9))
	f.Add(whole[:len(whole)-1])
	f.Add([]byte{0, 0, 0, 1, FramePlugin})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 32<<10 {
			return // it would not fit the socket
		}
		receive := func(look bool) (got []string) {
			frames, plugin := framesPair(t, 0)
			if _, err := plugin.Write(b); err != nil {
				t.Fatal(err)
			}
			plugin.Close()
			for {
				m := &strategypb.PluginMessage{}
				if look && frames.fd != nil && frames.Look(FramePlugin, m) {
					got = append(got, m.String())
				} else if err := frames.Receive(FramePlugin, m); err != nil {
					return append(got, err.Error())
				} else {
					got = append(got, m.String())
				}
			}
		}
		plain, looked := receive(false), receive(true)
		if strings.Join(plain, "\n") != strings.Join(looked, "\n") {
			t.Errorf("received %q, with looks %q", plain, looked)
		}
	})
}
