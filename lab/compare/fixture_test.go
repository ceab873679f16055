package compare

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	hour  = market.Time(time.Hour / time.Millisecond)
	start = market.Time(1704067200000) // 2024-01-01
	// The fixture has 4-hour candles in two windows of so many days.
	windowDays = 80
	windows    = 2
)

// world is a state directory with a registry.
type world struct {
	t     *testing.T
	store *artifact.Store
	reg   *registry.Registry
	clock time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store := artifact.NewStore(t.TempDir())
	reg, err := registry.Open(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, store: store, reg: reg, clock: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
}

// spec is what a written run is like.
type spec struct {
	id     string
	slug   string // sma_cross if empty
	params string
	// drift is the mean return per day, noise the seed of what is added: runs of one seed
	// move together.
	drift float64
	noise uint64
	// trades is how many closed trades each split has; 40 if 0.
	trades int
	change func(*artifact.Run)
}

// results are a split from a day on, with its metrics.
func (s spec) results(t *testing.T, firstDay, days int) (*artifact.Results, metric.Input) {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.noise, uint64(firstDay)))
	in := metric.Input{Timeframe: market.MustTimeframe("4h"), Calendar: metric.Calendar24x7}
	var c metric.Curve
	equity, at := 10000.0, start+market.Time(firstDay)*24*hour
	for d := range days {
		if d > 0 {
			equity *= 1 + s.drift + 0.02*(rng.Float64()-0.5)
		}
		for range 6 {
			c.OpenTime, c.CloseTime = append(c.OpenTime, at), append(c.CloseTime, at+4*hour)
			c.Equity, c.Exposure = append(c.Equity, equity), append(c.Exposure, 0.5)
			at += 4 * hour
		}
	}
	in.Curves = []metric.Curve{c}
	n := s.trades
	if n == 0 {
		n = 40
	}
	for i := range n {
		pnl := decimal.MustNew(int64(20-30*(i%2)), 0) // 20 and -10 in turn
		in.Trades = append(in.Trades,
			market.Trade{ID: market.TradeID(i + 1), Symbol: "BTC/USDT", EntryTime: c.CloseTime[i],
				ExitTime: c.CloseTime[i+1], PnL: pnl, CandlesHeld: 1})
	}
	in.Totals.FeesPaid.Add(decimal.MustNew(50, 0))
	in.Totals.FillNotional.Add(decimal.MustNew(40000, 0))
	rep, err := metric.Compute(in)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]float64, len(c.Equity))
	return &artifact.Results{
		InitialCash: "10000", Metrics: &rep, Trades: in.Trades,
		Equity: artifact.EquityCurve{Time: c.CloseTime, Equity: c.Equity, Cash: zeros, PositionValue: zeros,
			Drawdown: zeros, Exposure: c.Exposure},
	}, in
}

// run is the run of a spec: train, a locked test, and the windows of a walk-forward.
func (w *world) run(s spec) *artifact.Run {
	w.t.Helper()
	m := artifact.Manifest{
		Request: artifact.Request{
			Kind: artifact.KindRun, StrategyParams: json.RawMessage(s.params), Symbols: []string{"BTC/USDT"},
			Timeframe: "4h", Exchange: "sample",
			InitialCash: json.RawMessage("10000"),
			Execution:   json.RawMessage(`{"profile":"bar-v1","fee_taker":0.001}`),
			Stress:      []string{"cost_x2"},
		},
		Strategy: artifact.Strategy{Name: "sma_cross", Version: "1.0.0", Slug: s.slug},
		Plugin: artifact.Plugin{SHA256: hash('a'), SourceSHA256: hash('b'), OS: "linux", Arch: "amd64",
			ProtocolVersion: 1},
		Engine: artifact.Engine{Name: "lab", Version: "1.0", Commit: "c0ffee", SHA256: hash('c')},
		Data: []artifact.Dataset{{Symbol: "BTC/USDT", Timeframe: "4h", SHA256: hash('d'), Rows: 1000,
			Start: start, End: start + 1000*4*hour}},
		Sandbox: "off",
	}
	run := &artifact.Run{
		ID: s.id, Status: artifact.StatusCompleted, StartedAt: w.clock, CompletedAt: w.clock.Add(time.Second),
		Origin: artifact.OriginLab,
		Environment: artifact.Environment{GOOS: "linux", GOARCH: "amd64", GOAMD64: "v1", Go: "go1.26",
			GOMAXPROCS: 2},
		Evaluation: &artifact.Evaluation{
			Stress: []artifact.Stress{{ID: "cost_x2", SplitID: "search", Verdict: "pass"}}},
	}
	w.clock = w.clock.Add(time.Minute)
	m.Splits = artifact.Splits{Schema: "splits/v1", Scheme: "walk_forward",
		Params: map[string]any{"purge": 1}, Candles: 1000}
	split := func(id, role string, firstDay, days int) metric.Input {
		res, in := s.results(w.t, firstDay, days)
		m.Splits.Splits = append(m.Splits.Splits,
			artifact.SplitRange{ID: id, Role: role, From: firstDay * 6, To: (firstDay + days) * 6})
		run.Splits = append(run.Splits, artifact.Split{ID: id, Results: res, Locked: id == "test"})
		return in
	}
	split("train", "train", 0, 60)
	split("test", "test", 300, 60)
	var stitched metric.Input
	for i := range windows {
		in := split(fmt.Sprintf("wf-%02d", i), "walk_forward", 60+i*windowDays, windowDays)
		stitched.Timeframe, stitched.Calendar = in.Timeframe, in.Calendar
		stitched.Totals.Merge(&in.Totals)
		stitched.Curves, stitched.Trades = append(stitched.Curves, in.Curves...),
			append(stitched.Trades, in.Trades...)
	}
	rep, err := metric.Compute(stitched)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(stitched.Trades) < 30 {
		rep = rep.Insufficient()
	}
	run.Evaluation.WalkForward = &artifact.WalkForward{Windows: windows, Days: rep.Meta.NReturns,
		Metrics: rep.Metrics, Meta: rep.Meta}
	run.Manifest = m
	if s.change != nil {
		s.change(run)
	}
	if run.Manifest, err = run.Manifest.Complete(); err != nil {
		w.t.Fatal(err)
	}
	return run
}

// add stores the run of a spec.
func (w *world) add(specs ...spec) {
	w.t.Helper()
	for _, s := range specs {
		run := w.run(s)
		begun, err := artifact.Begun(run)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.reg.Begin(w.t.Context(), begun); err != nil {
			w.t.Fatal(err)
		}
		written, err := w.store.Write(run)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.reg.Complete(w.t.Context(), written.Metadata, written.Payload); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) compare(o Options) *Comparison {
	w.t.Helper()
	c, err := w.try(o)
	if err != nil {
		w.t.Fatalf("%+v: %v", o, err)
	}
	return c
}

func (w *world) try(o Options) (*Comparison, error) {
	if o.Slug == "" {
		o.Slug = "sma_cross"
	}
	return Compare(w.t.Context(), w.store, w.reg, o)
}

// three is a world of three runs: a slow one, one that is better by a little every day
// and one that moves by itself and loses.
func three(t *testing.T) *world {
	w := newWorld(t)
	w.add(
		spec{id: "run_base", params: `{"fast":10,"slow":50}`, drift: 0.001, noise: 1},
		spec{id: "run_better", params: `{"fast":5,"slow":50}`, drift: 0.003, noise: 2},
		spec{id: "run_loser", params: `{"fast":5,"slow":80}`, drift: -0.004, noise: 3},
	)
	return w
}

func hash(c byte) string { return string(slices.Repeat([]byte{c}, 64)) }

func ids(c *Comparison) []string {
	var list []string
	for _, r := range c.Runs {
		list = append(list, r.RunID)
	}
	return list
}

func (c *Comparison) must(t *testing.T, id string) *Run {
	t.Helper()
	for i := range c.Runs {
		if c.Runs[i].RunID == id {
			return &c.Runs[i]
		}
	}
	t.Fatalf("%s is not among %v", id, ids(c))
	return nil
}
