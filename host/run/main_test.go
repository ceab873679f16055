package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// TestMain makes the test binary the sandbox's shim and every kind of plugin,
// chosen by the name it runs under.
func TestMain(m *testing.M) {
	if play, ok := roles()[filepath.Base(os.Args[0])]; ok {
		play()
		exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// lab is a host for tests: catalogue, candles and a launcher.
type lab struct {
	t        testing.TB
	launcher *Launcher
	catalog  *catalog.Catalog
	store    *candle.Store
	runs     int
}

const (
	venue = "synth"
	one   = "SYNTH42/USD"
	two   = "OTHER/USD"
)

// newLab opens a host over the named plugins, with two synthetic series.
func newLab(t testing.TB, candles int, names ...string) *lab {
	t.Helper()
	plugins, state := t.TempDir(), t.TempDir()
	playtest.Install(t, plugins, names...)
	log := hclog.New(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Info})
	c, err := catalog.Open(context.Background(), catalog.Options{Dir: plugins, StateDir: state, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	store, err := candle.Open(context.Background(), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	start := market.FromTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	for i, symbol := range []market.Symbol{one, two} {
		s := sdktest.Synth(uint64(42+i), candles, start.Time(), time.Hour)
		s.Symbol, s.Timeframe = symbol, market.MustTimeframe("1h")
		if _, err := store.Put(context.Background(),
			candle.PutRequest{Exchange: venue, Series: s}); err != nil {
			t.Fatal(err)
		}
	}
	return &lab{t: t, catalog: c, store: store, launcher: NewLauncher(Options{
		Catalog: c, Store: store, Logger: log, SpoolDir: state, StepLimit: 2 * time.Second,
		Engine: artifact.Engine{Name: "test"},
	})}
}

func request(strategy string, params any, symbols ...string) runner.StartRequest {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	if len(symbols) == 0 {
		symbols = []string{one}
	}
	return runner.StartRequest{
		Mode: "backtest", StrategyName: strategy, StrategyParams: raw, Symbols: symbols, Timeframe: "1h",
		InitialCash: "10000", Exchange: venue, Execution: json.RawMessage(`{}`),
	}
}

// launch launches a request.
func (l *lab) launch(req runner.StartRequest) *Execution {
	l.t.Helper()
	l.runs++
	e, err := l.launcher.Launch(context.Background(), fmt.Sprintf("svc_test%d", l.runs), req)
	if err != nil {
		l.t.Fatalf("launch %s: %v", req.StrategyName, err)
	}
	x := e.(*Execution)
	l.t.Cleanup(func() { x.Close() })
	return x
}

// run launches a request and drives it to its end.
func (l *lab) run(ctx context.Context, req runner.StartRequest) (*Execution, runner.Outcome) {
	l.t.Helper()
	x := l.launch(req)
	return x, x.Run(ctx)
}

// complete runs a request that must end at the end of the data.
func (l *lab) complete(req runner.StartRequest) *artifact.Results {
	l.t.Helper()
	x, o := l.run(context.Background(), req)
	if o.Failure != nil || o.Stopped {
		l.t.Fatalf("%s: %+v %+v", req.StrategyName, o, o.Failure)
	}
	return x.Results()
}

// attached drives like l, but one process of the strategy plays all runs: by far the most of a
// short run is the start of its process.
func (l *lab) attached(name string) *lab {
	l.t.Helper()
	c, err := catalog.Open(context.Background(), catalog.Options{
		Dir: l.t.TempDir(), StateDir: l.t.TempDir(), Logger: l.launcher.Logger,
		Reattach: playtest.Debugged(l.t, name),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	opts := l.launcher.Options
	opts.Catalog = c
	return &lab{t: l.t, catalog: c, store: l.store, launcher: NewLauncher(opts)}
}

// of is l for a subtest: what its runs keep is gone with it. A run limits the memory of the process
// to what it keeps itself, so beside hundreds of others that keep something it would only collect garbage.
func (l *lab) of(t testing.TB) *lab {
	return &lab{t: t, catalog: l.catalog, store: l.store, launcher: l.launcher}
}

// in drives like l, but in the given mode.
func (l *lab) in(mode Mode) *lab {
	opts := l.launcher.Options
	opts.Mode = mode
	return &lab{t: l.t, catalog: l.catalog, store: l.store, launcher: NewLauncher(opts)}
}

// patient drives like l, but waits so long for a step that a busy machine is not at fault.
func (l *lab) patient() *lab {
	opts := l.launcher.Options
	opts.StepLimit = 15 * time.Second
	return &lab{t: l.t, catalog: l.catalog, store: l.store, launcher: NewLauncher(opts)}
}
