package serve_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// framesClient is a host's end of runs in frames.
type framesClient struct {
	strategypb.StrategyClient
	t       testing.TB
	address string
}

func (c framesClient) Run(ctx context.Context, _ ...grpc.CallOption) (strategypb.Strategy_RunClient, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.address)
	if err != nil {
		return nil, err
	}
	link := wire.NewFrames(conn, wire.Looks{}, 0)
	c.t.Cleanup(link.Close)
	return &framesStream{link: link}, nil
}

type framesStream struct {
	grpc.ClientStream
	link *wire.Frames
}

func (s *framesStream) Send(m *strategypb.HostMessage) error { return s.link.Send(wire.FrameHost, m) }

func (s *framesStream) Recv() (*strategypb.PluginMessage, error) {
	m := &strategypb.PluginMessage{}
	err := s.link.Receive(wire.FramePlugin, m)
	var end *wire.EndError
	switch {
	case err == nil:
		return m, nil
	case !errors.As(err, &end):
		return nil, err
	case end.Status.Code() != codes.OK:
		return nil, end.Status.Err()
	}
	return nil, io.EOF
}

// framesOf starts a plugin as a host does that knows these versions of frames, and returns where it listens
// for runs once it has answered the handshake; "": nowhere.
func framesOf(t testing.TB, versions ...string) string {
	t.Helper()
	// A socket's path has 108 bytes at most.
	folder, err := os.MkdirTemp("", "f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	cookie := wire.Handshake()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), pluginVariable+"=cross", cookie.MagicCookieKey+"="+cookie.MagicCookieValue,
		"PLUGIN_PROTOCOL_VERSIONS=1", "PLUGIN_UNIX_SOCKET_DIR="+folder)
	for _, v := range versions {
		cmd.Env = append(cmd.Env, wire.FramesVariable+"="+v)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	handshake := strings.Split(line, "|") // core, protocol, network, address, ...
	conn, err := grpc.NewClient("unix:"+handshake[3],
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		"/plugin.GRPCBroker/StartStream")
	if err != nil {
		t.Fatal(err)
	}
	address := filepath.Join(folder, wire.FramesSocket)
	if _, err := os.Stat(address); err != nil {
		return ""
	}
	return address
}

// TestVersionsOfFrames: frames are spoken in a version that both sides know, and not at all by a host that
// knows none.
func TestVersionsOfFrames(t *testing.T) {
	for versions, want := range map[string]bool{"": false, "0": false, "1": true, "2": false, "3,1": true,
		"11": false} {
		if got := framesOf(t, versions) != ""; got != want {
			t.Errorf("a host of %q: the plugin listens %v", versions, got)
		}
	}
	if framesOf(t) != "" {
		t.Error("the plugin listens for a host that says nothing")
	}
}

// TestRunsInFrames: a process says in frames what it says over gRPC, run after run, however it is driven.
func TestRunsInFrames(t *testing.T) {
	const n = 5000
	_, rpc, _ := launch(t, "cross")
	framed := framesClient{t: t, address: framesOf(t, "1")}
	series := synth(n)
	coSimulation := func(c strategypb.StrategyClient) *heard {
		h := newHost(t, c, series)
		h.say(h.start(cosim, `{}`), h.begin(n), h.dataset())
		return h.hear()
	}
	want, got := coSimulation(rpc), coSimulation(framed)
	if got.err != nil || want.err != nil || !proto.Equal(want.last(), got.last()) {
		t.Errorf("co-simulation: %v, %v", want.err, got.err)
	}
	steps := func(c strategypb.StrategyClient) *heard {
		h, out := newHost(t, c, series), &heard{}
		h.say(h.start(lockstep, `{}`), h.begin(n))
		for i := range int64(n) {
			candle := series.At(int(i))
			h.say(&strategypb.HostMessage{Message: &strategypb.HostMessage_Step{Step: &strategypb.Step{
				Index: i, CloseTime: int64(candle.CloseTime),
				Candles: []*strategypb.Candle{{OpenTime: int64(candle.OpenTime), Open: candle.Open,
					High: candle.High, Low: candle.Low, Close: candle.Close, Volume: candle.Volume}}}}})
			for before := len(out.answers); len(out.answers) == before; {
				m, err := h.stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				out.take(m)
			}
		}
		h.say(finish())
		last := h.hear()
		out.err = last.err
		return out
	}
	want, got = steps(rpc), steps(framed)
	if want.err != nil || got.err != nil || len(got.answers) != n {
		t.Fatalf("lockstep: %v, %v, %d answers", want.err, got.err, len(got.answers))
	}
	for i := range want.answers {
		if !proto.Equal(want.answers[i], got.answers[i]) {
			t.Fatalf("step %d: %v, in frames %v", i, want.answers[i], got.answers[i])
		}
	}
}

// TestFaultsInFrames: what a host does wrong is answered as over gRPC, and one that goes away in the middle
// of a run ends it.
func TestFaultsInFrames(t *testing.T) {
	framed := framesClient{t: t, address: framesOf(t, "1")}
	h := newHost(t, framed, synth(10))
	h.say(h.begin(10))
	if out := h.hear(); status.Code(out.err) != codes.FailedPrecondition {
		t.Errorf("Begin before Start: %v", out.err)
	}
	gone := newHost(t, framed, synth(10))
	gone.say(gone.start(lockstep, `{}`), gone.begin(10))
	if m, err := gone.stream.Recv(); err != nil || m.GetReady() == nil {
		t.Fatalf("%v, %v", m, err)
	}
	second := newHost(t, framed, synth(10))
	second.say(second.start(lockstep, `{}`))
	if out := second.hear(); status.Code(out.err) != codes.FailedPrecondition {
		t.Errorf("a second run beside the first: %v", out.err)
	}
	gone.stream.(*framesStream).link.Close()
	for range 500 {
		h := newHost(t, framed, synth(10))
		h.say(h.start(lockstep, `{}`), h.begin(10), stop())
		if out := h.hear(); out.err == nil && out.ready != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("no run begins after one whose host is gone")
}
