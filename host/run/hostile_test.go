package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"

	"github.com/assay-run/assay/host/runner"
)

func TestHostilePlugins(t *testing.T) {
	ring.Slow(t, "each plugin is a process that the host waits for")
	cases := []struct {
		plugin, code string
		says         string // part of message or log
	}{
		{"exits", "PLUGIN_CRASHED", "last words"},
		{"segfaults", "PLUGIN_CRASHED", ""},
		{"stops", "PLUGIN_TIMEOUT", ""},
		{"hangs", "PLUGIN_TIMEOUT", ""},
		{"panics", "STRATEGY_ERROR", "no idea"},
		{"errs", "STRATEGY_ERROR", "the feed of my dreams"},
		{"answers", "STRATEGY_ERROR",
			"OnFill and OnReject returned 101 intents at one step, at most 100 are allowed"},
		{"nan", "PLUGIN_PROTOCOL_ERROR", ""},
		{"inf", "PLUGIN_PROTOCOL_ERROR", ""},
		{"unknown", "PLUGIN_PROTOCOL_ERROR", ""},
		{"lateexit", "PLUGIN_CRASHED", ""},
		{"liesdigest", "PLUGIN_DIVERGED", ""},
		{"liesback", "PLUGIN_PROTOCOL_ERROR", ""},
		{"liesorder", "PLUGIN_PROTOCOL_ERROR", ""},
		{"liesfuture", "PLUGIN_PROTOCOL_ERROR", ""},
		{"giant", "PLUGIN_PROTOCOL_ERROR", ""},
		{"leaves", "PLUGIN_PROTOCOL_ERROR", ""},
		{"floods", "PLUGIN_PROTOCOL_ERROR", "lines: more than"},
	}
	names := []string{"good"}
	for _, c := range cases {
		names = append(names, c.plugin)
	}
	l := newLab(t, 2000, names...)
	t.Run("all", func(t *testing.T) {
		for _, c := range cases {
			for _, mode := range []Mode{ModeCoSimulation, ModeLockstep} {
				if ring.At() < ring.Prove && mode == ModeLockstep && c.code == "PLUGIN_PROTOCOL_ERROR" {
					continue // co-simulation shows the same
				}
				if mode == ModeLockstep && (strings.HasPrefix(c.plugin, "lies") || c.plugin == "floods") {
					continue // these lie in the words of co-simulation
				}
				t.Run(c.plugin+map[Mode]string{ModeCoSimulation: " in co-simulation",
					ModeLockstep: " in lockstep"}[mode], func(t *testing.T) {
					drive := l.of(t).in(mode)
					if c.code == "PLUGIN_TIMEOUT" {
						t.Parallel() // they only wait
					} else {
						drive = drive.patient()
					}
					checkFailure(t, drive, c.plugin, c.code, c.says)
				})
			}
		}
	})
	if r := l.complete(request("good", nil)); len(r.Trades) == 0 {
		t.Error("no trades after all that")
	}
}

func checkFailure(t *testing.T, l *lab, plugin, code, says string, params ...map[string]any) {
	t.Helper()
	begin := time.Now()
	var given map[string]any
	if len(params) > 0 {
		given = params[0]
	}
	x, o := l.run(context.Background(), request(plugin, given))
	f := o.Failure
	if f == nil {
		t.Fatalf("it did not fail: %+v", o)
	}
	if f.Code != code {
		t.Errorf("code %s (%s), want %s; log %q", f.Code, f.Message, code, f.LogTail)
	}
	if all := f.Message + strings.Join(f.LogTail, "\n"); !strings.Contains(all, says) {
		t.Errorf("%q is not in %q", says, all)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if f.Code == "PLUGIN_CRASHED" && (f.PluginExitCode == nil || *f.PluginExitCode == 0) {
		t.Errorf("exit code %v", f.PluginExitCode)
	}
	select {
	case <-x.plugin.Proc.Done():
	case <-time.After(3 * time.Second):
		t.Error("the process is still there")
	}
	r := x.Results()
	// What came before the fault is kept where the strategy or its intents are at fault.
	switch points := len(r.Equity.Time); plugin {
	case "nan", "inf", "unknown", "panics", "errs", "answers":
		if at, ok := f.Data["step"].(int64); !ok || at != playtest.MisdeedStep ||
			points < playtest.MisdeedStep {
			t.Errorf("data %v, %d points", f.Data, points)
		}
	}
	if r.Metrics == nil {
		t.Error("no metrics")
	}
	if len(r.Equity.Time) > 2000 || r.InitialCash != "10000" {
		t.Errorf("results: %d points, cash %s", len(r.Equity.Time), r.InitialCash)
	}
}

func TestFloodsThatAreOnlyNoise(t *testing.T) {
	ring.Proof(t, "each run writes as much as a plugin may")
	l := newLab(t, 2000, "chatty", "prints")
	for _, plugin := range []string{"chatty", "prints"} {
		for _, mode := range []Mode{ModeCoSimulation, ModeLockstep} {
			x, o := l.in(mode).run(context.Background(), request(plugin, nil))
			if o.Failure != nil {
				t.Errorf("%s: %s %s", plugin, o.Failure.Code, o.Failure.Message)
			}
			if r := x.Results(); len(r.Log) > MaxLogLines || len(r.Annotations) > SeriesLimits().Series {
				t.Errorf("%s: %d lines, %d series kept", plugin, len(r.Log), len(r.Annotations))
			}
		}
	}
}

func TestStop(t *testing.T) {
	l := newLab(t, 2000, "hangs", "stops", "good")
	l.launcher.StepLimit = time.Minute
	for _, plugin := range []string{"hangs", "stops"} {
		for _, mode := range []Mode{ModeCoSimulation, ModeLockstep} {
			ctx, cancel := context.WithCancelCause(context.Background())
			x := l.in(mode).launch(request(plugin, nil))
			asked := make(chan time.Time, 1)
			go func() {
				// Neither a run whose plugin still starts nor one whose candles still move hangs.
				for last, still := int64(-1), 0; still < 200; time.Sleep(5 * time.Millisecond) {
					p := x.Progress()
					if still++; p.Phase == PhaseStarting || p.CandlesDone != last {
						last, still = p.CandlesDone, 0
					}
				}
				asked <- time.Now()
				cancel(runner.ErrStopRequested)
			}()
			o := x.Run(ctx)
			if !o.Stopped || o.Failure != nil || !strings.Contains(o.Message, "killed") {
				t.Errorf("%s: %+v", plugin, o)
			}
			if took := time.Since(<-asked); took > 6*time.Second {
				t.Errorf("%s: it took %s", plugin, took)
			}
			if p := x.Progress(); p.Phase != "stopping" {
				t.Errorf("phase %q", p.Phase)
			}
		}
	}
}

func TestStartRefusals(t *testing.T) {
	l := newLab(t, 100, "good", "picky", "randomly")
	with := func(change func(*runner.StartRequest)) runner.StartRequest {
		r := request("good", nil)
		change(&r)
		return r
	}
	text := func(s string) *string { return &s }
	cases := []struct {
		name    string
		req     runner.StartRequest
		code    string
		pointer string
	}{
		{"unknown strategy", request("absent", nil), "STRATEGY_NOT_FOUND", ""},
		{"parameter out of range", request("good", map[string]any{"every": 1}), "INVALID_STRATEGY_PARAMS",
			"/strategy_params/every"},
		{"unknown parameter", request("good", map[string]any{"evry": 5}), "INVALID_STRATEGY_PARAMS",
			"/strategy_params/evry"},
		{"the strategy's own rule", request("picky", nil), "INVALID_STRATEGY_PARAMS",
			"/strategy_params/every"},
		{"parameters before the exchange",
			with(func(r *runner.StartRequest) {
				r.StrategyName, r.Exchange = "picky", "mtgox"
			}), "INVALID_STRATEGY_PARAMS", "/strategy_params/every"},
		{"unknown exchange", with(func(r *runner.StartRequest) { r.Exchange = "mtgox" }),
			"EXCHANGE_NOT_FOUND", ""},
		{"unknown symbol", request("good", nil, "XRP/USD"), "UNSUPPORTED_SYMBOL", ""},
		{"too many symbols", request("good", nil, one, two), "UNSUPPORTED_SYMBOL", ""},
		{"two quotes", request("randomly", nil, one, "BTC/EUR"), "UNSUPPORTED_SYMBOL", ""},
		{"timeframe below", with(func(r *runner.StartRequest) { r.Timeframe = "5m" }),
			"UNSUPPORTED_TIMEFRAME", ""},
		{"dates turned",
			with(func(r *runner.StartRequest) {
				r.StartDate, r.EndDate = text("2020-01-02"), text("2020-01-01")
			}), "INVALID_DATE_RANGE", ""},
		{"no candle", with(func(r *runner.StartRequest) { r.StartDate = text("2031-01-01") }),
			"DATA_UNAVAILABLE", ""},
		{"execution", with(func(r *runner.StartRequest) { r.Execution = []byte(`{"slippage_bps":-1}`) }),
			"VALIDATION_FAILED", "/execution/slippage_bps"},
		{"stress fields", with(func(r *runner.StartRequest) { r.Execution = []byte(`{"delay_candles":1}`) }),
			"VALIDATION_FAILED", "/execution/delay_candles"},
		{"dust", with(func(r *runner.StartRequest) { r.InitialCash = "1e-12" }), "VALIDATION_FAILED",
			"/initial_cash"},
		{"live", with(func(r *runner.StartRequest) { r.Mode = "swap" }), "MODE_NOT_SUPPORTED", ""},
	}
	for _, c := range cases {
		_, err := l.launcher.Launch(context.Background(), "svc_x", c.req)
		var refusal *RequestError
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if refusal.Code != c.code || refusal.Message == "" {
			t.Errorf("%s: %s %q, want %s", c.name, refusal.Code, refusal.Message, c.code)
		}
		if c.pointer != "" && (len(refusal.Fields) == 0 || refusal.Fields[0].Pointer != c.pointer) {
			t.Errorf("%s: %+v, want %s", c.name, refusal.Fields, c.pointer)
		}
	}
}
