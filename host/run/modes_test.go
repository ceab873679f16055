package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// fingerprint is everything about a run that must not depend on how it was driven.
func fingerprint(t *testing.T, l *lab, params map[string]any, execution string, symbols ...string) (string, [32]byte, int) {
	t.Helper()
	req := request("randomly", params, symbols...)
	req.Execution = json.RawMessage(execution)
	x, o := l.run(context.Background(), req)
	if o.Failure != nil {
		t.Fatalf("%v: %s %s", params, o.Failure.Code, o.Failure.Message)
	}
	r := x.Results()
	var lines bytes.Buffer
	if err := x.WriteDecisions(&lines); err != nil {
		t.Fatal(err)
	}
	metrics, err := json.Marshal(r.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	if x.chunked {
		t.Fatalf("%v: the candles were not in files", params)
	}
	digest := x.engine.Digest()
	return fmt.Sprintf("%x %s %s %d %s", digest, r.DecisionHash, r.FinalValue, lines.Len(), metrics), digest, len(r.Fills)
}

// TestModesAgree drives random strategies in lockstep, in co-simulation and inside
// this process: one set of books.
func TestModesAgree(t *testing.T) {
	const fresh = 6 // seeds with a process for each run: each execution once
	seeds := ring.Size(12, 200, 200)
	l := newLab(t, 600, "randomly")
	executions := []string{
		`{}`, `{"allow_short":true}`, `{"intrabar":"ohlc_color","allow_short":true,"close_at_end":true}`,
		`{"profile":"compat:backtesting.py"}`, `{"profile":"compat:backtrader","quantity_step":1}`,
		`{"intrabar":"target_first","protect_from":"next_candle","limit_touch":"through_tick","resting_gap":"open"}`,
	}
	fills := 0
	for seed := 1; seed <= seeds; seed++ {
		if seed == fresh+1 {
			l = l.attached("randomly")
		}
		params := map[string]any{"seed": seed}
		execution := executions[seed%len(executions)]
		symbols := []string{one}
		if seed%3 == 0 {
			symbols = []string{one, two}
		}
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := l.of(t)
			co, digest, n := fingerprint(t, l.in(ModeCoSimulation), params, execution, symbols...)
			step, _, _ := fingerprint(t, l.in(ModeLockstep), params, execution, symbols...)
			if co != step {
				t.Fatalf("%s: co-simulation\n%s\nlockstep\n%s", execution, co, step)
			}
			if got := inProcess(t, l, seed, execution, symbols); got != digest {
				t.Fatalf("%s: in this process %x, as a plugin %x", execution, got, digest)
			}
			fills += n
		})
		if !ok {
			return
		}
	}
	if fills < seeds*10 {
		t.Errorf("only %d fills in %d runs: the strategies do too little to prove anything", fills, seeds)
	}
}

func inProcess(t *testing.T, l *lab, seed int, execution string, symbols []string) [32]byte {
	t.Helper()
	var series []*market.Series
	var options []sdktest.Option
	for _, symbol := range symbols {
		d, err := l.store.Lookup(context.Background(), venue, market.Symbol(symbol), market.MustTimeframe("1h"))
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
	options = append(options, sdktest.Execution(execution), sdktest.More(series[1:]...))
	strategy := sdktest.New(t, playtest.NewRandom, func(p *playtest.RandomParams) { p.Seed = seed })
	return sdktest.Backtest(t, strategy, series[0], options...).Digest
}

func TestProcessorsMakeNoDifference(t *testing.T) {
	l := newLab(t, 600, "randomly")
	params := map[string]any{"seed": 99}
	before, _, _ := fingerprint(t, l, params, `{}`)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if after, _, _ := fingerprint(t, l, params, `{}`); after != before {
		t.Errorf("one processor\n%s\nmany\n%s", after, before)
	}
}

func TestWarmupComesFromBeforeTheWindow(t *testing.T) {
	l := newLab(t, 600, "randomly")
	req := request("randomly", nil)
	start := "2020-01-05"
	req.StartDate = &start
	x, o := l.run(context.Background(), req)
	if o.Failure != nil {
		t.Fatal(o.Failure.Message)
	}
	if x.data.layout.window != 5 || x.data.layout.warmup != 5 {
		t.Errorf("layout %+v", x.data.layout)
	}
	r := x.Results()
	if int64(len(r.Equity.Time)) != r.Window.Candles || r.Window.Start.String() < "2020-01-05" {
		t.Errorf("%d points, window %+v", len(r.Equity.Time), r.Window)
	}
	for _, n := range r.Assumptions {
		if n.Code == "WARMUP_SHORT" {
			t.Error("the warm-up was there, yet it is said to be short")
		}
	}
	all := l.complete(request("randomly", nil))
	if all.Assumptions[len(all.Assumptions)-1].Code != "WARMUP_SHORT" {
		t.Errorf("assumptions %+v", all.Assumptions)
	}
}

func TestForeignSimulatorRunsInLockstep(t *testing.T) {
	l := newLab(t, 200, "foreign", "untold")
	l.driven(request("untold", nil), Split{Drive: Drive{Lockstep: true}})
	x, o := l.run(context.Background(), request("foreign", nil))
	if o.Failure != nil || x.mode != ModeLockstep {
		t.Fatalf("mode %d, %+v", x.mode, o.Failure)
	}
	last := x.Results().Assumptions
	if last[len(last)-1].Code != "LOCKSTEP" {
		t.Errorf("assumptions %+v", last)
	}
}

var _ sdk.Warmer = (*playtest.Random)(nil)

func TestCloseReleasesTheDataAndKeepsTheRest(t *testing.T) {
	l := newLab(t, 300, "good")
	x, o := l.run(context.Background(), request("good", nil))
	if o.Failure != nil {
		t.Fatal(o.Failure.Message)
	}
	trades := len(x.Results().Trades)
	if !x.Candles(one, func(s *market.Series) { _ = s.Close[0] }) {
		t.Error("the candles are gone before Close")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x.Candles(one, func(*market.Series) {}) {
		t.Error("candles after Close")
	}
	if r := x.Results(); len(r.Trades) != trades || r.DecisionHash == "" {
		t.Errorf("%d trades after Close, %d before", len(r.Trades), trades)
	}
	if err := x.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestARunThatEndsBeforeItsWindowHasMetrics(t *testing.T) {
	l := newLab(t, 800, "errs")
	req := request("errs", nil)
	x, o := l.run(context.Background(), req)
	if o.Failure == nil || x.Results().Metrics == nil {
		t.Errorf("%+v", o)
	}
}

// TestBankruptcyIsTheSameOnBothSides shorts everything into a rise of prices.
func TestBankruptcyIsTheSameOnBothSides(t *testing.T) {
	l := newLab(t, 100, "bear")
	s := &market.Series{Symbol: "UP/USD", Timeframe: market.MustTimeframe("1h")}
	for i := range 200 {
		price := 100 * float64(1+i)
		s.Append(market.Candle{OpenTime: market.Time(i+1) * 3_600_000, Open: price, High: price, Low: price, Close: price})
	}
	if _, err := l.store.Put(context.Background(), candle.PutRequest{Exchange: venue, Series: s}); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, mode := range []Mode{ModeCoSimulation, ModeLockstep} {
		req := request("bear", nil, "UP/USD")
		req.Execution = json.RawMessage(`{"allow_short":true}`)
		x, o := l.in(mode).run(context.Background(), req)
		if o.Failure != nil || !x.engine.Bankrupt() {
			t.Fatalf("mode %d: %+v %+v", mode, o, o.Failure)
		}
		if n := x.Results().Warnings; len(n) != 1 || n[0].Code != "BANKRUPT" {
			t.Errorf("warnings %v", n)
		}
		digests[x.Digest()] = true
	}
	if len(digests) != 1 {
		t.Errorf("the books differ: %v", digests)
	}
}
