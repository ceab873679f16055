package trade

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
)

// onSim returns a run on the simulated market, at full pace.
func onSim(mode, strategy string, params any, more string) runner.StartRequest {
	req := request(strategy, params, `{"candles_per_second":200,"seed":"7"`+more+`}`, "BTC/USDT")
	req.Mode, req.Exchange, req.Timeframe = mode, "sim", "1h"
	return req
}

// until runs an execution until it has seen so many candles, then stops it.
func until(x *Execution, candles int64, cause error) runner.Outcome {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		for x.Progress().CandlesDone < candles && ctx.Err() == nil {
			time.Sleep(2 * time.Millisecond)
		}
		cancel(cause)
	}()
	return x.Run(ctx)
}

// deals returns what two runs on the same candles must have in common: what was bought and sold, at which
// prices. A paper fill is stamped with the open of its candle, a live one with its close.
func deals(r *artifact.Results, n int) string {
	var b strings.Builder
	for i, f := range r.Fills[:n] {
		fmt.Fprintf(&b, "%d %s %s %s %s\n", i, f.Side, f.Price.Trim(0), f.Role, f.Liquidity)
	}
	return b.String()
}

// TestLiveEqualsPaper trades the simulated market live and on paper: the same orders fill at the
// same prices.
func TestLiveEqualsPaper(t *testing.T) {
	liveEqualsPaper(t, "good", map[string]any{"every": 5})
}

// TestLiveEqualsPaperInFrames is the same of a strategy that reads larger timeframes.
func TestLiveEqualsPaperInFrames(t *testing.T) {
	ring.Proof(t, "it waits for the candles of two runs")
	liveEqualsPaper(t, "framed", nil)
}

func liveEqualsPaper(t *testing.T, strategy string, params any) {
	t.Helper()
	d := newTestHost(t, 10, strategy)
	var results [2]*artifact.Results
	for i, mode := range []string{runner.ModeLive, runner.ModePaper} {
		x := d.launch(onSim(mode, strategy, params, ""))
		o := until(x, 120, runner.ErrStopRequested)
		if o.Failure != nil || !o.Stopped {
			t.Fatalf("%s: %+v %+v", mode, o, o.Failure)
		}
		results[i] = x.Results()
		if results[i].Risk["mode"] == nil || x.Link().Exchange != "sim" || !x.Link().Up {
			t.Errorf("%s: %v %+v", mode, results[i].Risk, x.Link())
		}
	}
	n := min(len(results[0].Fills), len(results[1].Fills))
	if n < 8 || n < 20 && strategy == "good" {
		t.Fatalf("only %d fills", n)
	}
	if live, paper := deals(results[0], n), deals(results[1], n); live != paper {
		t.Errorf("live\n%s\npaper\n%s", live, paper)
	}
	for i := range min(len(results[0].Trades), len(results[1].Trades)) {
		a, b := results[0].Trades[i], results[1].Trades[i]
		if a.EntryPrice.Cmp(b.EntryPrice) != 0 || a.ExitPrice.Cmp(b.ExitPrice) != 0 ||
			a.ExitReason != b.ExitReason || a.EntryTag != b.EntryTag {
			t.Errorf("trade %d: %+v, %+v", i, a, b)
		}
	}
}

// TestLiveStops: a stop says what it keeps, and the credentials are gone.
func TestLiveStops(t *testing.T) {
	d := newTestHost(t, 10, "good")
	req := onSim(runner.ModeLive, "good", map[string]any{"every": 50},
		`,"apiKey":"CANARY-KEY-1","secret":"CANARY-SECRET-1"`)
	x := d.launch(req)
	o := until(x, 11, runner.ErrShutdown)
	if o.Failure != nil || !o.Stopped || !strings.Contains(o.Message, "Kept: ") ||
		!strings.Contains(o.Message, "of BTC/USDT.") {
		t.Errorf("%+v %+v", o, o.Failure)
	}
	if p := x.Progress(); p.Phase != engine.Stopping || p.Fills == 0 || p.Cash <= 0 {
		t.Errorf("%+v", p)
	}
	if !x.setup.config.APIKey.Empty() || !x.setup.config.Secret.Empty() {
		t.Error("the credentials are still there")
	}
	text, err := json.Marshal(x.Results())
	if err != nil || strings.Contains(string(text), "CANARY") {
		t.Error("a credential is shown", err)
	}
	info, err := d.journal.Run(t.Context(), x.runID)
	if err != nil || !strings.HasSuffix(info.AccountID, x.runID) || !info.StartCash.Valid ||
		info.Status != "completed" || strings.Contains(string(info.Request), "CANARY") {
		t.Errorf("%+v %v", info, err)
	}
}

// TestLiveStrategyFaults: a strategy that ends badly ends its run, with its orders taken back.
func TestLiveStrategyFaults(t *testing.T) {
	names := map[string]string{"exits": "PLUGIN_CRASHED", "panics": "STRATEGY_ERROR",
		"errs": "STRATEGY_ERROR", "answers": "STRATEGY_ERROR", "nan": "PLUGIN_PROTOCOL_ERROR",
		"unknown": "PLUGIN_PROTOCOL_ERROR", "hangs": "PLUGIN_TIMEOUT"}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	d := newTestHost(t, 10, list...)
	d.launcher.opts.Venues = unpaced{d.launcher.opts.Venues}
	for name, code := range names {
		x := d.launch(onSim(runner.ModeLive, name, nil, ""))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := x.Run(context.Background())
			if o.Failure == nil || o.Failure.Code != code || o.Failure.CandleTime == 0 {
				t.Fatalf("%+v %+v", o, o.Failure)
			}
			if n := x.Progress().CandlesDone; n != playtest.MisdeedStep+1 {
				t.Errorf("%+v after %d candles", o.Failure, n)
			}
		})
	}
}

var zeros = regexp.MustCompile(`(\.[0-9]*?)0+"`)

// plainly returns a value as JSON, decimals without the zeros at their end.
func plainly(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return strings.ReplaceAll(zeros.ReplaceAllString(string(text), `$1"`), `."`, `"`)
}

// TestLiveReadBack cuts a live run and reads from the journal what it had.
func TestLiveReadBack(t *testing.T) {
	d := newTestHost(t, 10, "good")
	x := d.launch(onSim(runner.ModeLive, "good", map[string]any{"every": 4}, ""))
	if err := x.beginJournal(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		for x.Progress().Fills < 11 {
			time.Sleep(2 * time.Millisecond)
		}
		cancel(errPulled)
	}()
	stop := x.plugin.Watch(ctx)
	defer stop()
	_ = x.tradeLive(ctx) // and nobody writes the end
	x.plugin.Close("test")
	want := x.Results()
	rep, cleared, err := d.launcher.Interrupted(t.Context())
	if err != nil || rep == nil {
		t.Fatal(rep, err)
	}
	s := rep.Snapshot
	if s.RunID != x.runID || s.Mode != runner.ModeLive || s.Failure.Code != runner.CodeRunInterrupted ||
		s.Failure.Phase != engine.Stopping {
		t.Errorf("%+v %+v", s, s.Failure)
	}
	for _, part := range []struct {
		name      string
		got, want any
	}{
		{"fills", rep.Results.Fills, want.Fills}, {"trades", rep.Results.Trades, want.Trades},
		{"orders", rep.Results.Orders, want.Orders},
		{"equity", rep.Results.Equity, want.Equity}, {"final value", rep.Results.FinalValue, want.FinalValue},
		{"positions", len(rep.Results.Positions), len(want.Positions)},
	} {
		if got, want := plainly(t, part.got), plainly(t, part.want); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", part.name, got, want)
		}
	}
	if rep.Results.Risk["mode"] != "enforce" || rep.Results.Risk["max_drawdown"] == nil {
		t.Errorf("risk %v", rep.Results.Risk)
	}
	if err := cleared(); err != nil {
		t.Error(err)
	}
}

// TestDeploymentEnds: the watch of a deployment stops a run in good order.
func TestDeploymentEnds(t *testing.T) {
	d := newTestHost(t, 10, "good")
	x := d.launch(onSim(runner.ModeLive, "good", map[string]any{"every": 4}, ""))
	go func() {
		for x.Progress().Fills < 3 {
			time.Sleep(2 * time.Millisecond)
		}
		x.gate.Lock()
		e := x.trading
		x.gate.Unlock()
		e.Restrict("DEPLOYMENT_SUSPENDED", "suspended", true)
		for x.Progress().Phase != engine.Reducing {
			time.Sleep(time.Millisecond)
		}
		e.Restrict("DEPLOYMENT_SUSPENDED", "", false)
		for x.Progress().Phase != engine.Trading {
			time.Sleep(time.Millisecond)
		}
		e.Stop(errRevoked)
	}()
	o := x.Run(context.Background())
	if o.Failure != nil || !o.Stopped || !o.Withdrawn || !strings.Contains(o.Message, "deployment") {
		t.Errorf("%+v %+v", o, o.Failure)
	}
}
