package serve_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

const (
	lockstep = strategypb.DriveMode_DRIVE_MODE_LOCKSTEP
	cosim    = strategypb.DriveMode_DRIVE_MODE_CO_SIMULATION
)

func synth(n int) *market.Series {
	return sdktest.Synth(3, n, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
}

func TestDescribe(t *testing.T) {
	p, err := dial(t, testServer(t)).Describe(t.Context(), &strategypb.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := wire.SpecFromProto(p)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "script" || d.DisplayName != "script" || d.Version != "0.0.0" || d.Language != "go" ||
		d.SDKVersion != sdk.Version ||
		d.ProtocolVersion != wire.ProtocolVersion || d.SimID != sim.ID() || len(d.Modes) != 3 ||
		d.MinSymbols != 1 || d.MaxSymbols != 1 ||
		!strings.Contains(string(d.ParamsSchema), `"every"`) ||
		string(d.DefaultParams) != `{"every":0,"at":-1,"do":"","warmup":0}` {
		t.Errorf("got %+v", d)
	}
}

func TestBadSpecs(t *testing.T) {
	cases := map[string]sdk.Spec{
		"Spec.Name":       {Name: "Bad Name"},
		"Spec.Modes":      {Name: "x", Modes: []sdk.Mode{"dream"}},
		"Spec.Timeframes": {Name: "x", Timeframes: []sdk.Timeframe{{Count: 1, Unit: 120}}},
		"Spec.MinSymbols": {Name: "x", MinSymbols: 3, MaxSymbols: 2},
		`the Spec has plots[0].levels[0].param: "period" is no`: {Name: "x",
			Plots: []sdk.Plot{{Series: "rsi", Levels: []sdk.PlotLevel{{Param: "period"}}}}},
	}
	for want, spec := range cases {
		if _, err := serve.NewServer(spec, newScript); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	type untagged struct{ A int }
	if _, err := serve.NewServer(sdk.Spec{Name: "x"}, func(untagged) (sdk.Strategy, error) {
		return nil, nil
	}); err == nil {
		t.Error("bad tags were not noticed")
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, good := range map[string]bool{
		"a": true, "a-b_c9": true, long: true, "": false, "9a": false, "_a": false, "-a": false, "aB": false,
		"a b": false, "a\n": false, "\u00e4": false, "a\u00e4": false, long + "a": false,
	} {
		if _, err := serve.NewServer(sdk.Spec{Name: name}, newScript); good != (err == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestBadParametersAreRefused(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(10))
	h.say(h.start(cosim, `{"do":"refuse"}`))
	out := h.hear()
	if out.err != nil || out.ready != nil || out.failed.GetCode() != wire.InvalidStrategyParams ||
		len(out.failed.Errors) != 2 ||
		out.failed.Errors[0].Pointer != "/do" || out.failed.Errors[1].Pointer != "/at" ||
		out.failed.Step != -1 {
		t.Errorf("got %+v", out)
	}
}

// Whatever comes out of order is answered with a status, not with a panic.
func TestMessagesOutOfOrder(t *testing.T) {
	client, series := dial(t, testServer(t)), synth(100)
	var w wire.CandlesWriter
	h := newHost(t, client, series)
	start := func(mode strategypb.DriveMode) *strategypb.HostMessage { return h.start(mode, `{}`) }
	step := func(i int64) *strategypb.HostMessage {
		return &strategypb.HostMessage{
			Message: &strategypb.HostMessage_Step{Step: &strategypb.Step{Index: i, CloseTime: i + 1}}}
	}
	bad := start(cosim)
	bad.GetStart().RootSeed = "x"
	options := start(cosim)
	options.GetStart().Account.Execution = `{"slippage_bps":-1}`
	cash := start(cosim)
	cash.GetStart().Account.InitialCash = "0"
	cases := []struct {
		name     string
		messages []*strategypb.HostMessage
		code     codes.Code
	}{
		{"no Start", []*strategypb.HostMessage{finish()}, codes.FailedPrecondition},
		{"an empty message", []*strategypb.HostMessage{{}}, codes.FailedPrecondition},
		{"a bad Start", []*strategypb.HostMessage{bad}, codes.InvalidArgument},
		{"bad options", []*strategypb.HostMessage{options}, codes.InvalidArgument},
		{"no cash", []*strategypb.HostMessage{cash, h.begin(100), h.chunk(&w, 0, 100, true)},
			codes.InvalidArgument},
		{"two Starts", []*strategypb.HostMessage{start(cosim), start(cosim)}, codes.FailedPrecondition},
		{"Step in co-simulation", []*strategypb.HostMessage{start(cosim), h.begin(100), step(0)},
			codes.FailedPrecondition},
		{"no total", []*strategypb.HostMessage{start(cosim), h.begin(0)}, codes.InvalidArgument},
		{"no such file",
			[]*strategypb.HostMessage{start(cosim), h.begin(100), datasetMessage("/no/such/file", 100)},
			codes.DataLoss},
		{"a relative path", []*strategypb.HostMessage{start(cosim), h.begin(100), datasetMessage("x", 100)},
			codes.InvalidArgument},
		{"no files",
			[]*strategypb.HostMessage{start(cosim), h.begin(100),
				{Message: &strategypb.HostMessage_Dataset{Dataset: &strategypb.Dataset{}}}},
			codes.InvalidArgument},
		{"Step among chunks",
			[]*strategypb.HostMessage{start(cosim), h.begin(100),
				h.chunk(new(wire.CandlesWriter), 0, 50, false), step(0)}, codes.FailedPrecondition},
		{"a chunk twice",
			[]*strategypb.HostMessage{start(cosim), h.begin(100),
				h.chunk(new(wire.CandlesWriter), 0, 50, false),
				h.chunk(new(wire.CandlesWriter), 0, 50, true)}, codes.InvalidArgument},
		{"too few steps",
			[]*strategypb.HostMessage{start(cosim), h.begin(100),
				h.chunk(new(wire.CandlesWriter), 0, 99, true)}, codes.InvalidArgument},
		{"too many steps",
			[]*strategypb.HostMessage{start(cosim), h.begin(50),
				h.chunk(new(wire.CandlesWriter), 0, 100, true)}, codes.InvalidArgument},
		{"Dataset in lockstep",
			[]*strategypb.HostMessage{start(lockstep), h.begin(0), datasetMessage("/x", 1)},
			codes.FailedPrecondition},
		{"a step left out", []*strategypb.HostMessage{start(lockstep), h.begin(0), step(1)},
			codes.FailedPrecondition},
	}
	for _, c := range cases {
		one := newHost(t, client, series)
		one.say(c.messages...)
		_ = one.stream.CloseSend()
		if out := one.hear(); status.Code(out.err) != c.code {
			t.Errorf("%s: want %v, got %v", c.name, c.code, out.err)
		}
	}
}

// A host that ends the stream early gets a regular end.
func TestGivenUpEarly(t *testing.T) {
	client, series := dial(t, testServer(t)), synth(10)
	h := newHost(t, client, series)
	for name, messages := range map[string][]*strategypb.HostMessage{
		"before Begin":           {h.start(cosim, `{"warmup":7}`)},
		"Stop instead of Begin":  {h.start(cosim, `{"warmup":7}`), stop()},
		"before the data":        {h.start(cosim, `{"warmup":7}`), h.begin(10)},
		"Stop instead of data":   {h.start(cosim, `{"warmup":7}`), h.begin(10), stop()},
		"before the first step":  {h.start(lockstep, `{"warmup":7}`), h.begin(0)},
		"Finish without a step":  {h.start(lockstep, `{"warmup":7}`), h.begin(0), finish()},
		"Stop without a step":    {h.start(lockstep, `{"warmup":7}`), h.begin(0), stop()},
		"Finish instead of data": {h.start(cosim, `{"warmup":7}`), h.begin(10), finish()},
	} {
		one := newHost(t, client, series)
		one.say(messages...)
		_ = one.stream.CloseSend()
		if out := one.hear(); out.err != nil || out.failed != nil || out.ready.GetWarmupCandles() != 7 ||
			len(out.lines) != 0 {
			t.Errorf("%s: got %+v", name, out)
		}
	}
}

func TestCoSimulation(t *testing.T) {
	n := 2*wire.ChunkSteps + 100
	h := newHost(t, dial(t, testServer(t)), synth(n))
	h.say(h.start(cosim, `{"every":50}`), h.begin(int64(n)), h.dataset(), finish())
	out := h.hear()
	if out.err != nil || out.failed != nil {
		t.Fatalf("got %v, %v", out.err, out.failed)
	}
	last := int64(-1)
	marks := map[int64]bool{}
	for _, d := range out.decisions {
		marks[d.Watermark] = true
		if d.Watermark <= last {
			t.Errorf("watermark %d after %d", d.Watermark, last)
		}
		last = d.Watermark
	}
	if !marks[wire.ChunkSteps-1] || !marks[2*wire.ChunkSteps-1] || last != int64(n-1) {
		t.Errorf("watermarks %v", marks)
	}
	if e := h.replay(out); e.Stats().Fills < 600 {
		t.Errorf("%d fills", e.Stats().Fills)
	}
	if len(out.lines) != 1 || out.lines[0].Message != "stopped" || out.lines[0].Step != last {
		t.Errorf("OnStop said %v", out.lines)
	}
}

// A run of whole chunks ends with one message for the last step, not two.
func TestLastChunkIsWhole(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(wire.ChunkSteps))
	h.say(h.start(cosim, `{}`), h.begin(wire.ChunkSteps), h.dataset())
	if out := h.hear(); out.err != nil || out.last().Watermark != wire.ChunkSteps-1 {
		t.Errorf("%d messages, %v", len(out.decisions), out.err)
	}
}

func TestStopInCoSimulation(t *testing.T) {
	client := dial(t, testServer(t))
	t.Run("of a dataset", func(t *testing.T) {
		h := newHost(t, client, synth(100_000))
		h.say(h.start(cosim, `{"do":"crawl","every":3}`), h.begin(100_000), h.dataset())
		time.Sleep(50 * time.Millisecond)
		began := time.Now()
		h.say(stop())
		out := h.hear()
		if out.err != nil || out.failed != nil || len(out.decisions) == 0 ||
			time.Since(began) > 5*time.Second {
			t.Fatalf("got %+v after %v", out, time.Since(began))
		}
		last := out.decisions[len(out.decisions)-1].Watermark
		if e := h.replay(out); last > 90_000 || e.Step() < last || e.Step() > last+1 {
			t.Errorf("watermark %d, the replay ended at %d", last, e.Step())
		}
	})
	t.Run("between chunks", func(t *testing.T) {
		h := newHost(t, client, synth(100))
		h.say(h.start(cosim, `{"every":3}`), h.begin(100), h.chunk(new(wire.CandlesWriter), 0, 50, false))
		time.Sleep(50 * time.Millisecond)
		h.say(stop())
		out := h.hear()
		if out.err != nil || len(out.decisions) == 0 {
			t.Fatalf("got %+v", out)
		}
		if last := out.decisions[len(out.decisions)-1].Watermark; last != 49 {
			t.Errorf("watermark %d", last)
		}
		h.replay(out)
	})
}

func TestStrategyFaults(t *testing.T) {
	client := dial(t, testServer(t))
	for _, do := range []string{"panic", "error"} {
		h := newHost(t, client, synth(1000))
		h.say(h.start(cosim, `{"every":10,"at":500,"do":"`+do+`"}`), h.begin(1000), h.dataset())
		out := h.hear()
		if out.err != nil || out.failed.GetCode() != wire.StrategyError || out.failed.Step != 500 ||
			(out.failed.Stack != "") != (do == "panic") {
			t.Errorf("%s: got %+v", do, out)
		}
		if n := len(out.decisions); n == 0 || out.decisions[n-1].Watermark != 499 {
			t.Errorf("%s: the decisions before the fault are lost", do)
		}
		h.replay(out)
	}
}

// An intent that is none reaches the host, who is the judge.
func TestImpossibleIntentReachesTheHost(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(1000))
	h.say(h.start(cosim, `{"at":500,"do":"nan"}`), h.begin(1000), h.dataset())
	out := h.hear()
	if out.err != nil || out.last().Watermark != 500 {
		t.Fatalf("got %+v", out)
	}
	last, err := wire.DecisionsFromProto(out.last(), h.cfg.Symbols, 499, 1000)
	if err != nil || last.Broken == nil || last.BrokenStep != 500 ||
		!strings.Contains(last.Broken.Error(), "decisions[0].intents[0].quantity") {
		t.Errorf("got %+v, %v", last, err)
	}
}

func TestBankrupt(t *testing.T) {
	series := synth(100)
	for i := 50; i < 100; i++ { // nothing is left of a price of about 1000
		series.Open[i], series.High[i], series.Low[i], series.Close[i] = 1e6, 1e6, 1e6, 1e6
	}
	server, err := serve.NewServer(sdk.Spec{Name: "shorter"}, func(struct{}) (sdk.Strategy, error) {
		return shorter{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, dial(t, server), series)
	options, err := sim.ResolveOptions([]byte(`{"allow_short":true}`), sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	h.cfg.Options = options
	h.say(h.start(cosim, `{}`), h.begin(100), h.dataset())
	out := h.hear()
	if out.err != nil || out.failed != nil || out.last().Watermark != 50 {
		t.Fatalf("got %+v", out)
	}
	e := h.replay(out)
	if !e.Bankrupt() || e.Step() != 50 || e.Digest() != [32]byte(out.last().Digest) {
		t.Errorf("the host is at step %d, bankrupt %v", e.Step(), e.Bankrupt())
	}
}

type shorter struct{}

func (shorter) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == 0 {
		return sdk.Sell(sdk.CashFraction(0.9)), nil
	}
	return nil, nil
}

func TestNotesAreBounded(t *testing.T) {
	client := dial(t, testServer(t))
	h := newHost(t, client, synth(2000))
	h.say(h.start(cosim, `{"do":"log"}`), h.begin(2000), h.dataset())
	out := h.hear()
	// All 6001 lines with the one of OnStop fit into a chunk; of 6000 points 5000 are kept.
	if out.err != nil || len(out.lines) != 6001 || out.points != 5000 || out.dropped != 1000 {
		t.Errorf("%d lines, %d points, %d dropped, %v", len(out.lines), out.points, out.dropped, out.err)
	}
}

// A host that asks for all points gets them, in messages that it can take.
func TestAllPoints(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(40_000))
	start := h.start(cosim, `{"do":"log"}`)
	start.GetStart().AllPoints = true
	h.say(start, h.begin(40_000), h.dataset())
	out := h.hear()
	if out.err != nil || out.points != 3*40_000 {
		t.Errorf("%d points, %v", out.points, out.err)
	}
}

// A host that waits for the watermark before it sends more gets it at the end of each
// chunk, however small.
func TestEachChunkIsAnswered(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(1000))
	h.say(h.start(cosim, `{"every":7}`), h.begin(1000))
	var w wire.CandlesWriter
	out := &heard{}
	for from := 0; from < 1000; from += 100 {
		h.say(h.chunk(&w, from, from+100, from == 900))
		for out.last().Watermark < int64(from+99) {
			m, err := h.stream.Recv()
			if err != nil {
				t.Fatalf("chunk from %d: %v", from, err)
			}
			out.take(m)
		}
	}
	if rest := h.hear(); rest.err != nil || rest.failed != nil {
		t.Errorf("%v %v", rest.err, rest.failed)
	}
	h.replay(out)
}

// A strategy that takes long for a chunk shows that it is alive.
func TestSlowStrategySendsEarly(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(1000))
	h.say(h.start(cosim, `{"at":500,"do":"slow"}`), h.begin(1000), h.dataset())
	out := h.hear()
	if out.err != nil || len(out.decisions) < 2 {
		t.Errorf("%d messages, %v", len(out.decisions), out.err)
	}
	h.replay(out)
}

func TestHostDisappears(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(100_000))
	h.say(h.start(cosim, `{"do":"crawl"}`), h.begin(100_000), h.dataset())
	if _, err := h.stream.Recv(); err != nil {
		t.Fatal(err)
	}
	// The cleanup cancels the stream; goleak sees whether the run ends.
}

func TestOversizedMessagesAreRefused(t *testing.T) {
	h := newHost(t, dial(t, testServer(t)), synth(10))
	m := h.start(cosim, `{}`)
	m.GetStart().RunId = strings.Repeat("x", wire.MaxMessageBytes)
	h.say(m)
	if out := h.hear(); status.Code(out.err) != codes.ResourceExhausted {
		t.Errorf("got %v", out.err)
	}
}

func TestMain(m *testing.M) {
	if pluginMain() {
		return
	}
	goleak.VerifyTestMain(m)
}
