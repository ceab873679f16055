package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// drives are the ways in which a host drives a strategy. The first one, co-simulation over
// files that both sides map, is what the others have to equal.
var drives = map[string]func(*testing.T, *lab, play) *Execution{
	"files": func(_ *testing.T, l *lab, p play) *Execution { return p.split(l, Drive{}) },
	"messages": func(t *testing.T, l *lab, p play) *Execution {
		x := p.split(l, Drive{Chunked: true})
		if !x.chunked {
			t.Error("the candles were in files")
		}
		return x
	},
	"lockstep": func(_ *testing.T, l *lab, p play) *Execution {
		return p.split(l, Drive{Lockstep: true})
	},
	"one processor": func(_ *testing.T, l *lab, p play) *Execution {
		return p.split(l, Drive{Procs: 1})
	},
	"messages, two processors": func(_ *testing.T, l *lab, p play) *Execution {
		return p.split(l, Drive{Chunked: true, Procs: 2})
	},
	"service": func(t *testing.T, l *lab, p play) *Execution {
		x, o := l.run(context.Background(), p.request())
		if o.Failure != nil || x.chunked {
			t.Fatalf("%+v %+v", o, o.Failure)
		}
		return x
	},
	"service in lockstep, one processor": func(t *testing.T, l *lab, p play) *Execution {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		x, o := l.in(ModeLockstep).run(context.Background(), p.request())
		if o.Failure != nil {
			t.Fatalf("%+v %+v", o, o.Failure)
		}
		return x
	},
}

// play is a strategy and what it is played on.
type play struct {
	strategy  string
	seed      int // of randomly; 0 for other strategies
	execution string
	symbols   []string
	end       string // "" for the end of the candles
	delay     int    // candles
	drives    []string
}

func (p play) request() runner.StartRequest {
	var params any
	if p.seed != 0 {
		params = map[string]any{"seed": p.seed}
	}
	req := request(p.strategy, params, p.symbols...)
	req.Execution = json.RawMessage(p.execution)
	if p.end != "" {
		req.EndDate = &p.end
	}
	return req
}

func (p play) split(l *lab, d Drive) *Execution {
	return l.driven(p.request(), Split{Drive: d, DelayCandles: p.delay})
}

func (p play) String() string {
	return fmt.Sprintf("%s %d %s %v %s delay %d", p.strategy, p.seed, p.execution, p.symbols, p.end, p.delay)
}

// fingerprint is everything about a run that must not depend on how it was driven.
func fingerprint(t *testing.T, x *Execution) string {
	t.Helper()
	r := x.Results()
	var lines bytes.Buffer
	if err := x.WriteDecisions(&lines); err != nil {
		t.Fatal(err)
	}
	metrics, err := json.Marshal(r.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s %x late %d %s", x.Digest(), r.DecisionHash, r.FinalValue,
		sha256.Sum256(lines.Bytes()), r.LateMessages, metrics)
}

// randomPlays are seeded random strategies. Every fourth is delayed; each of the first few has
// a process for each run.
func randomPlays(seeds int) []play {
	executions := []string{
		`{}`, `{"allow_short":true}`, `{"intrabar":"ohlc_color","allow_short":true,"close_at_end":true}`,
		`{"profile":"compat:backtesting.py"}`, `{"profile":"compat:backtrader","quantity_step":1}`,
		`{"intrabar":"target_first","protect_from":"next_candle","limit_touch":"through_tick","resting_gap":"open"}`,
	}
	var list []play
	for seed := 1; seed <= seeds; seed++ {
		p := play{
			strategy: "randomly", seed: seed, execution: executions[seed%len(executions)],
			symbols: []string{one},
			drives:  []string{"messages", "lockstep"},
		}
		if seed%3 == 0 {
			p.symbols = []string{one, two}
		}
		if seed%4 == 0 {
			p.delay = 1 + seed%3
		} else {
			p.drives = append(p.drives, "service", "service in lockstep, one processor")
		}
		list = append(list, p)
	}
	return list
}

// bundledPlays are the strategies of the repository, on more chunks than may be under way, the
// last one neither whole nor empty, and in lockstep on the beginning of them.
func bundledPlays(t *testing.T, l *lab) []play {
	t.Helper()
	folder := t.TempDir()
	names := []string{"breakout", "buy_hold", "limit_entry", "rsi_bracket", "sma_cross"}
	programs := make([]string, len(names))
	for i, name := range names {
		programs[i] = "strategies/" + name
	}
	if err := hosttest.Build(folder, "v1", programs...); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(context.Background(),
		catalog.Options{Dir: folder, StateDir: t.TempDir(), Logger: l.launcher.Logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	l.launcher.Catalog = c
	start := time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	s := sdktest.Synth(7, (wire.ChunksAhead+2)*wire.ChunkSteps+123, start, time.Hour)
	s.Symbol = "LONG/USD"
	if _, err := l.store.Put(context.Background(),
		candle.PutRequest{Exchange: venue, Series: s}); err != nil {
		t.Fatal(err)
	}
	var list []play
	for _, name := range names {
		long := play{
			strategy: name, execution: `{}`, symbols: []string{string(s.Symbol)},
			drives: []string{"messages", "one processor", "messages, two processors"},
		}
		short := long
		short.end, short.drives = "2020-06-01", []string{"lockstep"}
		list = append(list, long, short)
	}
	return list
}

// TestDrivesAgree plays each strategy in every drive of its row: one set of books, one list of
// decisions, and the same messages that came late.
func TestDrivesAgree(t *testing.T) {
	ring.Slow(t, "it runs each strategy in each drive")
	ring.Undetected(t, "it compares books, and plays one drive after the other")
	const fresh = 6
	seeds := ring.Size(12, 200, 200)
	own := newLab(t, 600, "randomly")
	attached := own.attached("randomly")
	fills, late := 0, int64(0)
	agree := func(t *testing.T, l *lab, p play) *Execution {
		first := drives["files"](t, l, p)
		want := fingerprint(t, first)
		for _, name := range p.drives {
			if got := fingerprint(t, drives[name](t, l, p)); got != want {
				t.Fatalf("%s: files\n%s\n%s\n%s", p, want, name, got)
			}
		}
		if n := first.Results().LateMessages; p.delay == 0 && n != 0 {
			t.Fatalf("%s: %d late messages without a delay", p, n)
		}
		return first
	}
	for _, p := range randomPlays(seeds) {
		l := attached
		if p.seed <= fresh {
			l = own
		}
		ok := t.Run(fmt.Sprint(p.seed), func(t *testing.T) {
			l := l.of(t)
			x := agree(t, l, p)
			fills, late = fills+len(x.Results().Fills), late+x.Results().LateMessages
			if got := inProcess(t, l, p); p.delay == 0 && got != x.engine.Digest() {
				t.Fatalf("%s: in this process %x, as a plugin %s", p, got, x.Digest())
			}
		})
		if !ok {
			return
		}
	}
	if fills < seeds*10 || late == 0 {
		t.Errorf("only %d fills in %d runs, %d late messages: the strategies do too little to prove anything",
			fills, seeds, late)
	}
	if ring.At() < ring.Prove {
		return
	}
	bundled := newLab(t, 100)
	for _, p := range bundledPlays(t, bundled) {
		agree(t, bundled, p)
	}
}

// inProcess plays a random strategy inside the test's own process.
func inProcess(t *testing.T, l *lab, p play) [32]byte {
	t.Helper()
	var series []*market.Series
	var options []sdktest.Option
	for _, symbol := range p.symbols {
		d, err := l.store.Lookup(context.Background(), venue, market.Symbol(symbol),
			market.MustTimeframe("1h"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.store.OpenSeries(d)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		s := f.Series()
		s.Symbol = market.Symbol(symbol)
		series = append(series, s)
		options = append(options, sdktest.PriceSteps(d.PriceStep))
	}
	options = append(options, sdktest.Execution(p.execution), sdktest.More(series[1:]...))
	strategy := sdktest.New(t, playtest.NewRandom, func(r *playtest.RandomParams) { r.Seed = p.seed })
	return sdktest.Backtest(t, strategy, series[0], options...).Digest
}
