package run

import (
	"context"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/runner"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

type probeParams struct {
	Path   string `param:"path" default:"" doc:"A file that the plugin must not read"`
	Series int    `param:"series" default:"1" min:"0" max:"100" doc:"Series to publish at every candle"`
}

// probe publishes what it finds out about its process, and its candles.
type probe struct {
	probeParams
	readable float64
}

func newProbe(p probeParams) (sdk.Strategy, error) {
	s := &probe{probeParams: p}
	if f, err := os.Open(p.Path); err == nil {
		s.readable = 1
		_ = f.Close()
	}
	return s, nil
}

func (p *probe) Warmup() int { return 7 }

func (p *probe) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == 0 {
		v.Publish("facts", p.readable)
		v.Publish("facts", float64(runtime.GOMAXPROCS(0)))
	}
	for i := range p.Series {
		v.Publish("close"+string(rune('a'+i)), v.Candle().Close)
	}
	if v.Index()%5 == 0 {
		return sdk.Buy(sdk.CashFraction(0.01)), nil
	}
	return nil, nil
}

// driven runs a request as one split, to the end of the data.
func (l *lab) driven(req runner.StartRequest, split Split) *Execution {
	l.t.Helper()
	x, err := l.launcher.LaunchSplit(context.Background(), "run_test", req, split)
	if err != nil {
		l.t.Fatalf("%s: %v", req.StrategyName, err)
	}
	l.t.Cleanup(func() { x.Close() })
	if o := x.Run(context.Background()); o.Failure != nil || o.Stopped {
		l.t.Fatalf("%s %+v: %+v %+v", req.StrategyName, split.Drive, o, o.Failure)
	}
	return x
}

// facts are what probe found out: whether it can read the file, and its processors.
func facts(t *testing.T, x *Execution) (readable bool, procs int) {
	t.Helper()
	for _, s := range x.Results().Annotations {
		if s.Name == "facts" {
			return s.Values[0] == 1, int(s.Values[1])
		}
	}
	t.Fatal("the probe found out nothing")
	return false, 0
}

// TestDriveReachesTheProcess: what a play asks for is so in the plugin's process.
func TestDriveReachesTheProcess(t *testing.T) {
	l := newLab(t, 300, "probe")
	d, err := l.store.Lookup(context.Background(), venue, one, market.MustTimeframe("1h"))
	if err != nil {
		t.Fatal(err)
	}
	req := request("probe", map[string]any{"path": l.store.Path(d.SHA256)})
	x := l.driven(req, Split{})
	confined := x.plugin.Proc.Level().String() == sandbox.LevelFull
	if readable, procs := facts(t, x); readable == confined || procs != runtime.NumCPU() {
		t.Errorf("driven as runs are: the store is readable: %v, %d processors", readable, procs)
	}
	if !confined {
		ring.Undetected(t, "programs with the race detector have no sandbox")
		t.Skipf("needs the full sandbox; this machine has %q", x.plugin.Proc.Level())
	}
	for _, d := range []Drive{{Chunked: true, Procs: 1}, {Lockstep: true}} {
		if readable, procs := facts(t, l.driven(req, Split{Drive: d})); readable || procs != 1 {
			t.Errorf("driven like %+v: readable %v, %d processors", d, readable, procs)
		}
	}
	l.launcher.Chunked = true
	if readable, _ := facts(t, l.driven(req, Split{})); readable {
		t.Error("a host that shares no files has shared one")
	}
}

func TestDriveIsRefused(t *testing.T) {
	l := newLab(t, 100, "good")
	for _, d := range []Drive{{Procs: -1}, {Warmup: -2}} {
		if _, err := l.launcher.LaunchSplit(context.Background(), "run_test", request("good", nil),
			Split{Drive: d}); err == nil {
			t.Errorf("%+v was driven", d)
		}
	}
}

// TestChunkedHostilePlugins: what a plugin does wrong has the same name and is noticed
// as soon when the candles come in messages.
func TestChunkedHostilePlugins(t *testing.T) {
	ring.Proof(t, "TestHostilePlugins shows the same of files")
	want := map[string]string{
		"exits": "PLUGIN_CRASHED", "hangs": "PLUGIN_TIMEOUT", "stops": "PLUGIN_TIMEOUT",
		"panics": "STRATEGY_ERROR",
		"leaves": "PLUGIN_PROTOCOL_ERROR", "liesfuture": "PLUGIN_PROTOCOL_ERROR",
		"liesdigest": "PLUGIN_DIVERGED",
	}
	l := newLab(t, 2000, slices.Sorted(maps.Keys(want))...)
	l.launcher.Chunked = true
	for plugin, code := range want {
		t.Run(plugin, func(t *testing.T) {
			if code == "PLUGIN_TIMEOUT" {
				t.Parallel() // they only wait
			}
			checkFailure(t, l.of(t).in(ModeCoSimulation), plugin, code, "")
		})
	}
}

// TestChunkedStop stops a run whose plugin takes no more candles.
func TestChunkedStop(t *testing.T) {
	l := newLab(t, 20*wire.ChunkSteps, "hangs", "stops")
	l.launcher.Chunked, l.launcher.StepLimit = true, time.Minute
	for _, plugin := range []string{"hangs", "stops"} {
		ctx, cancel := context.WithCancelCause(context.Background())
		x := l.in(ModeCoSimulation).launch(request(plugin, nil))
		time.AfterFunc(300*time.Millisecond, func() { cancel(runner.ErrStopRequested) })
		begin := time.Now()
		if o := x.Run(ctx); !o.Stopped || o.Failure != nil {
			t.Errorf("%s: %+v", plugin, o)
		}
		if took := time.Since(begin); took > 6*time.Second {
			t.Errorf("%s: it took %s", plugin, took)
		}
	}
}

// TestWarmupMovesNothing: more warm-up changes neither the window nor the first step
// of it whose orders count.
func TestWarmupMovesNothing(t *testing.T) {
	l := newLab(t, 300, "probe")
	for _, test := range []struct {
		start  string
		drive  int
		window int64
		short  int
	}{
		{"2020-01-03", 0, 7, 0}, {"2020-01-03", 1, 7, 0}, {"2020-01-03", 2, 14, 0}, {"2020-01-03", 4, 28, 0},
		{"2020-01-03", 1000, 48, 0}, {"2020-01-03", AllHistory, 48, 0},
		{"2020-01-01T03:00:00Z", 0, 3, 4}, {"2020-01-01T03:00:00Z", 4, 3, 4},
		{"2020-01-01T03:00:00Z", AllHistory, 3, 4},
	} {
		req := request("probe", nil)
		req.StartDate = &test.start
		x := l.driven(req, Split{Drive: Drive{Warmup: test.drive}})
		r := x.Results()
		if x.WindowStep() != test.window || x.WarmupShort() != test.short ||
			x.data.layout.warmup != test.window+int64(test.short) {
			t.Errorf("%s, warm-up %d: %+v", test.start, test.drive, x.data.layout)
		}
		if r.Window.Start.String()[:10] != test.start[:10] || int64(len(r.Equity.Time)) != r.Window.Candles {
			t.Errorf("%s, warm-up %d: window %+v, %d points", test.start, test.drive, r.Window,
				len(r.Equity.Time))
		}
		counts := r.Window.Start + market.Time(test.short)*3_600_000
		if len(r.Fills) == 0 || r.Fills[0].Time <= counts || r.Fills[0].Time > counts+6*3_600_000 {
			t.Errorf("%s, warm-up %d: fills %+v", test.start, test.drive, r.Fills[:min(1, len(r.Fills))])
		}
	}
}

// TestLeadIsBounded: no warm-up is longer than the candles there are, none is shorter
// than what is asked for and there.
func TestLeadIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked, have := rapid.IntRange(0, wire.MaxWarmup).Draw(t, "asked"),
			rapid.IntRange(0, wire.MaxWarmup).Draw(t, "have")
		times := rapid.IntRange(AllHistory, 1<<62).Draw(t, "times")
		got := Drive{Warmup: times}.warmupRows(asked, have)
		if got > have || got < min(asked, have) {
			t.Fatalf("%d candles for %d times %d of %d", got, times, asked, have)
		}
		if times > 0 && times < 1000 && got != min(asked*times, have) || times == AllHistory && got != have {
			t.Fatalf("%d candles for %d times %d of %d", got, times, asked, have)
		}
	})
}

// TestServiceRunsKeepEveryPoint: a chart of the service has what the strategy published, or a warning says
// what it lacks.
func TestServiceRunsKeepEveryPoint(t *testing.T) {
	const candles = 2*wire.ChunkSteps + 50
	l := newLab(t, candles, "probe")
	x, _ := l.run(context.Background(), request("probe", map[string]any{"series": 3}))
	for _, s := range x.Results().Annotations {
		if strings.HasPrefix(s.Name, "close") && len(s.Time) != candles {
			t.Errorf("%s has %d of %d points", s.Name, len(s.Time), candles)
		}
	}
	if w := x.Results().Warnings; slices.ContainsFunc(w, dropped) {
		t.Errorf("nothing was left out, but: %v", w)
	}
	many := request("probe", map[string]any{"series": 70})
	end := "2020-01-03"
	many.EndDate = &end
	if x, _ := l.run(context.Background(), many); !slices.ContainsFunc(x.Results().Warnings, dropped) {
		t.Errorf("70 series are too many, but: %v", x.Results().Warnings)
	}
}

func dropped(n artifact.Note) bool { return n.Code == "POINTS_DROPPED" }

// TestPublishedIsComplete: every point inside the window, and only those, also where
// charts would have fewer.
func TestPublishedIsComplete(t *testing.T) {
	const candles = 2*wire.ChunkSteps + 50
	l := newLab(t, candles, "probe")
	req := request("probe", map[string]any{"series": 3})
	start := "2020-01-02"
	req.StartDate = &start
	for _, d := range []Drive{{}, {Chunked: true}, {Warmup: AllHistory}} {
		x := l.driven(req, Split{Series: true, Drive: d})
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		got := x.Published()
		window := x.Results().Window
		if !got.Complete || len(got.Series) != 3 || window.Candles != candles-24 {
			t.Fatalf("%+v: complete %v, %d series, window %+v", d, got.Complete, len(got.Series), window)
		}
		for name, s := range got.Series {
			if int64(len(s.Time)) != window.Candles || len(s.Values) != len(s.Time) ||
				s.Time[0] <= window.Start || s.Time[len(s.Time)-1] != window.End {
				t.Errorf("%+v: %s has %d points", d, name, len(s.Time))
			}
		}
	}
	if x := l.driven(req, Split{}); x.Published().Complete {
		t.Error("charts are said to be complete")
	}
	many := request("probe", map[string]any{"series": 70})
	end := "2020-01-03"
	many.EndDate = &end
	if got := l.driven(many, Split{Series: true}).Published(); got.Complete ||
		len(got.Series) != SeriesLimits().Series {
		t.Errorf("more series than there is room for: complete %v, %d series", got.Complete, len(got.Series))
	}
}
