package serve_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// script is the strategy of these tests: parameters say what it does wrong.
type script struct{ scriptParams }

type scriptParams struct {
	Every  int64  `param:"every" default:"0" min:"0" doc:"Trade every so many candles"`
	At     int64  `param:"at" default:"-1" doc:"Candle of the misdeed"`
	Do     string `param:"do" default:"" doc:"The misdeed"`
	Warmup int    `param:"warmup" default:"0" min:"0"`
}

func newScript(p scriptParams) (sdk.Strategy, error) {
	if p.Do == "refuse" {
		return nil, errors.Join(sdk.InvalidParam("do", "is refused"),
			sdk.InvalidParam("at", "is refused too"))
	}
	return &warmScript{script{p}}, nil
}

type warmScript struct{ script }

func (s *warmScript) Warmup() int { return s.scriptParams.Warmup }

func (s *script) OnCandle(v sdk.View) (sdk.Intents, error) {
	i := v.Index()
	if i == s.At || (s.At < 0 && s.Do == "log") {
		switch s.Do {
		case "panic":
			panic("on purpose")
		case "error":
			return nil, errors.New("on purpose")
		case "nan":
			return sdk.Buy(sdk.Quantity(math.NaN())), nil
		case "log":
			for range 3 {
				v.Log("line", "i", i)
				v.Publish("series", float64(i))
			}
		case "slow":
			time.Sleep(2 * serve.FlushEvery)
		}
	}
	if s.Do == "crawl" {
		time.Sleep(time.Millisecond)
	}
	if s.Every > 0 && i%s.Every == 0 {
		if v.Flat() {
			return sdk.Buy(sdk.AllCash()), nil
		}
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

func (s *script) OnStop(v sdk.View) { v.Log("stopped", "at", v.Index()) }

func testServer(t testing.TB) strategypb.StrategyServer {
	t.Helper()
	s, err := serve.NewServer(sdk.Spec{Name: "script", Description: "for tests"}, newScript)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dial serves s in memory and returns a client with a host's limits.
func dial(t testing.TB, s strategypb.StrategyServer) strategypb.StrategyClient {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	g := grpc.NewServer(wire.ServerOptions()...)
	strategypb.RegisterStrategyServer(g, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(listener) }()
	opts := append(wire.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return listener.Dial() }))
	conn, err := grpc.NewClient("passthrough:///memory", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); g.Stop(); <-done })
	return strategypb.NewStrategyClient(conn)
}

// host is a host that can be told to misbehave.
type host struct {
	t      testing.TB
	stream grpc.BidiStreamingClient[strategypb.HostMessage, strategypb.PluginMessage]
	series *market.Series
	cfg    sim.Config
}

func newHost(t testing.TB, client strategypb.StrategyClient, series *market.Series) *host {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	st, err := client.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	options, err := sim.ResolveOptions(nil, sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	return &host{t, st, series, sim.Config{
		Symbols: []market.Symbol{series.Symbol}, Timeframe: series.Timeframe,
		InitialCash: decimal.MustNew(10000, 0), Options: options,
	}}
}

func (h *host) start(mode strategypb.DriveMode, params string) *strategypb.HostMessage {
	execution, err := h.cfg.Options.MarshalJSON()
	if err != nil {
		h.t.Fatal(err)
	}
	return &strategypb.HostMessage{
		Message: &strategypb.HostMessage_Start{Start: wire.StartToProto(&wire.Start{
			RunID: "test", Mode: mode, Purpose: strategypb.Purpose_PURPOSE_BACKTEST, Params: []byte(params),
			Symbols: h.cfg.Symbols, Timeframe: h.cfg.Timeframe, InitialCash: h.cfg.InitialCash,
			Execution: execution, RootSeed: 1,
		})}}
}

func (h *host) begin(total int64) *strategypb.HostMessage {
	return &strategypb.HostMessage{
		Message: &strategypb.HostMessage_Begin{Begin: &strategypb.Begin{TotalSteps: total}}}
}

func (h *host) dataset() *strategypb.HostMessage {
	path := filepath.Join(h.t.TempDir(), "x.candles")
	if err := candlefile.Create(path, h.series); err != nil {
		h.t.Fatal(err)
	}
	return datasetMessage(path, int64(h.series.Len()))
}

func datasetMessage(path string, rows int64) *strategypb.HostMessage {
	files := []*strategypb.DatasetFile{{Path: path, Rows: rows}}
	return &strategypb.HostMessage{
		Message: &strategypb.HostMessage_Dataset{Dataset: &strategypb.Dataset{Files: files}}}
}

func (h *host) chunk(w *wire.CandlesWriter, from, to int, last bool) *strategypb.HostMessage {
	for i := from; i < to; i++ {
		c := h.series.At(i)
		w.Add(c.CloseTime, []market.Candle{c}, []bool{true})
	}
	return &strategypb.HostMessage{Message: &strategypb.HostMessage_Candles{Candles: w.Message(last)}}
}

func finish() *strategypb.HostMessage {
	return &strategypb.HostMessage{Message: &strategypb.HostMessage_Finish{Finish: &strategypb.Finish{}}}
}

func stop() *strategypb.HostMessage {
	return &strategypb.HostMessage{
		Message: &strategypb.HostMessage_Stop{Stop: &strategypb.Stop{Reason: "test"}}}
}

// say sends; what became of it shows in what is heard.
func (h *host) say(messages ...*strategypb.HostMessage) {
	for _, m := range messages {
		_ = h.stream.Send(m)
	}
}

// heard is everything that a plugin has said.
type heard struct {
	ready     *strategypb.Ready
	decisions []*strategypb.Decisions
	answers   []*strategypb.Decision
	lines     []*strategypb.LogLine
	points    int
	dropped   int64
	failed    *strategypb.Failed
	err       error // nil at a regular end of the stream
}

// hear collects until the stream ends.
func (h *host) hear() *heard {
	out := &heard{}
	for {
		m, err := h.stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				out.err = err
			}
			return out
		}
		out.take(m)
	}
}

func (out *heard) take(m *strategypb.PluginMessage) {
	switch p := m.GetMessage().(type) {
	case *strategypb.PluginMessage_Ready:
		out.ready = p.Ready
	case *strategypb.PluginMessage_Decisions:
		out.decisions = append(out.decisions, p.Decisions)
	case *strategypb.PluginMessage_Decision:
		out.answers = append(out.answers, p.Decision)
	case *strategypb.PluginMessage_LogLines:
		out.lines = append(out.lines, p.LogLines.Lines...)
		out.dropped += p.LogLines.Dropped
	case *strategypb.PluginMessage_Annotations:
		for _, s := range p.Annotations.Series {
			out.points += len(s.Values)
		}
		out.dropped += p.Annotations.Dropped
	case *strategypb.PluginMessage_Failed:
		out.failed = p.Failed
	}
}

// last is the newest batch of decisions, an empty one without any.
func (h *heard) last() *strategypb.Decisions {
	if len(h.decisions) == 0 {
		return &strategypb.Decisions{Watermark: -1}
	}
	return h.decisions[len(h.decisions)-1]
}

// replay runs the host's ledger on the decisions that were heard, and compares.
func (h *host) replay(out *heard) *sim.Engine {
	h.t.Helper()
	e, err := sim.NewEngine(h.cfg, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	r := &replayer{h: h, left: out.decisions, watermark: -1}
	if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{h.series}), r); err != nil &&
		!errors.Is(err, sim.ErrStop) {
		h.t.Fatal(err)
	}
	return e
}

type replayer struct {
	h         *host
	left      []*strategypb.Decisions
	batch     wire.Decisions
	watermark int64
}

func (r *replayer) Decide(e *sim.Engine) ([]market.Intent, error) {
	for r.watermark < e.Step() {
		if len(r.left) == 0 {
			return nil, sim.ErrStop
		}
		var err error
		if r.batch, err = wire.DecisionsFromProto(r.left[0], r.h.cfg.Symbols, r.watermark,
			int64(r.h.series.Len())); err != nil {
			return nil, err
		}
		r.left, r.watermark = r.left[1:], r.batch.Watermark
	}
	for _, point := range r.batch.Trace {
		if d := e.Digest(); point.Step == e.Step() && [wire.TraceBytes]byte(d[:]) != point.Digest {
			r.h.t.Errorf("the trace differs at step %d", point.Step)
		}
	}
	if e.Step() == r.watermark && e.Digest() != r.batch.Digest {
		r.h.t.Errorf("the digest differs at step %d", r.watermark)
	}
	for _, d := range r.batch.Decisions {
		if d.Step == e.Step() {
			return d.Intents, nil
		}
	}
	return nil, nil
}
