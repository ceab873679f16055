package trade

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// TestMain makes the test binary the sandbox's shim and every kind of plugin,
// chosen by the name it runs under.
func TestMain(m *testing.M) {
	if play, ok := playtest.Roles(exit)[filepath.Base(os.Args[0])]; ok {
		play()
		exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

const (
	stored = "synth"
	one    = "SYNTH42/USD"
	two    = "OTHER/USD"
	// first is the open time of the first candle of both.
	first = "2020-01-01T00:00:00Z"
)

// testHost is a host for tests: the same catalogue and candles for backtests and paper.
type testHost struct {
	t         testing.TB
	launcher  *Launcher
	backtests *run.Launcher
	store     *candle.Store
	state     string // its folder
	journal   *journal.Journal
	venues    *testVenues
	runs      atomic.Int64
}

// testHostOptions are what a host for tests is made of.
type testHostOptions struct {
	candles  int      // of each of two synthetic series
	names    []string // of plugins that the test binary plays
	plugins  string   // a folder that has others; empty: one for names is made
	reattach string   // what catalog.Options has
	disk     bool     // the state is where temporary files are, not in memory
}

// newTestHost opens a host over the named plugins, with two synthetic series.
func newTestHost(t testing.TB, candles int, names ...string) *testHost {
	return openTestHost(t, testHostOptions{candles: candles, names: names, disk: true})
}

func openTestHost(t testing.TB, o testHostOptions) *testHost {
	t.Helper()
	plugins, state, candles := o.plugins, t.TempDir(), o.candles
	if plugins == "" {
		plugins = t.TempDir()
	}
	limit := 2 * time.Second
	if !o.disk { // long runs, many at once: how fast this machine is proves nothing
		state, limit = hosttest.RAMDir(t), 30*time.Second
	}
	playtest.Install(t, plugins, o.names...)
	log := hclog.New(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Info})
	c, err := catalog.Open(t.Context(),
		catalog.Options{Dir: plugins, StateDir: state, Logger: log, Reattach: o.reattach})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	store, err := candle.Open(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	start, err := market.ParseTime(first)
	if err != nil {
		t.Fatal(err)
	}
	for i, symbol := range []market.Symbol{one, two} {
		s := sdktest.Synth(uint64(42+i), candles, start.Time(), time.Hour)
		s.Symbol, s.Timeframe = symbol, market.MustTimeframe("1h")
		if _, err := store.Put(t.Context(), candle.PutRequest{Exchange: stored, Series: s}); err != nil {
			t.Fatal(err)
		}
	}
	book, err := journal.Open(t.Context(), filepath.Join(state, "live"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	})
	engine := artifact.Engine{Name: "test"}
	venues := &testVenues{Venues: &Exchanges{Store: store}, faults: map[string]int{}}
	d := &testHost{t: t, store: store, state: state, journal: book.Journal, venues: venues,
		launcher: NewLauncher(Options{
			Catalog: c, Venues: venues, Journal: book.Journal, Logger: log, SpoolDir: state, Engine: engine,
			StepLimit: limit, Inputs: store.Inputs(),
		}),
		backtests: run.NewLauncher(run.Options{
			Catalog: c, Store: store, Logger: log, SpoolDir: state, Engine: engine,
		}),
	}
	venues.host = d
	return d
}

// request returns a paper run on the stored exchange at full pace.
func request(strategy string, params any, config string, symbols ...string) runner.StartRequest {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	if len(symbols) == 0 {
		symbols = []string{one}
	}
	return runner.StartRequest{
		Mode: runner.ModePaper, StrategyName: strategy, StrategyParams: raw, Symbols: symbols,
		Timeframe:   "1h",
		InitialCash: "10000", Exchange: stored, Execution: json.RawMessage(`{}`),
		ExchangeConfig: exchange.NewSecret(config),
	}
}

func (d *testHost) start(req runner.StartRequest) (*Execution, error) {
	e, err := d.launcher.Launch(context.Background(), fmt.Sprintf("svc_test%d", d.runs.Add(1)), req)
	if err != nil {
		return nil, err
	}
	return e.(*Execution), nil
}

func (d *testHost) launch(req runner.StartRequest) *Execution {
	d.t.Helper()
	x, err := d.start(req)
	if err != nil {
		d.t.Fatalf("launch %s: %v", req.StrategyName, err)
	}
	d.t.Cleanup(func() { x.Close() })
	return x
}
