package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-run/assay/host/play"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/host/runner"
)

// picture is everything about a run that must not depend on where its candles came from.
func picture(t *testing.T, r *result.Results, x runner.Described) string {
	t.Helper()
	var lines bytes.Buffer
	if err := x.WriteDecisions(&lines); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal([]any{r.Metrics, r.Trades, r.Fills, r.Orders, r.Equity, r.FinalValue, r.DecisionHash, r.Window})
	if err != nil {
		t.Error(err)
	}
	return lines.String() + string(text)
}

// TestPaperEqualsBacktest plays the same candles as a backtest and as they come.
func TestPaperEqualsBacktest(t *testing.T) {
	d := newDesk(t, 400, "randomly")
	executions := []string{
		`{}`, `{"allow_short":true}`, `{"intrabar":"ohlc_color","allow_short":true,"close_at_end":true}`,
		`{"profile":"compat:backtesting.py"}`, `{"profile":"compat:backtrader","quantity_step":1}`,
	}
	seeds := 20
	if testing.Short() {
		seeds = 5
	}
	// They mostly wait for their candles, so they run side by side.
	var fills atomic.Int64
	var all sync.WaitGroup
	for seed := 1; seed <= seeds; seed++ {
		start := "2020-01-03T00:00:00Z"
		symbols := []string{one}
		if seed%3 == 0 {
			symbols = []string{one, two}
		}
		req := request("randomly", map[string]any{"seed": seed}, fmt.Sprintf(`{"candles_per_second":200,"start":%q}`, start), symbols...)
		req.Execution = json.RawMessage(executions[seed%len(executions)])
		x := d.launch(req)
		all.Go(func() {
			if o := x.Run(context.Background()); o.Failure != nil || o.Stopped {
				t.Errorf("seed %d: %+v %+v", seed, o, o.Failure)
				return
			}
			req.Mode, req.StartDate = runner.ModeBacktest, &start
			e, err := d.backtests.Launch(context.Background(), fmt.Sprint("svc_back", seed), req)
			if err != nil {
				t.Error(err)
				return
			}
			if o := e.Run(context.Background()); o.Failure != nil {
				t.Errorf("seed %d: %+v", seed, o.Failure)
			}
			r := x.Results()
			if got, want := picture(t, r, x), picture(t, e.Results(), e.(runner.Described)); got != want {
				t.Errorf("seed %d: paper\n%.2000s\nbacktest\n%.2000s", seed, got, want)
			}
			fills.Add(int64(len(r.Fills)))
			if err := e.(io.Closer).Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := fills.Load(); n < int64(seeds)*5 {
		t.Errorf("only %d fills in %d runs: the strategies do too little to prove anything", n, seeds)
	}
}

func TestPaperStops(t *testing.T) {
	d := newDesk(t, 300, "good", "hangs")
	for _, name := range []string{"good"} {
		x := d.launch(request(name, nil, `{"candles_per_second":20}`))
		if _, covered := x.Served(); covered != 0 {
			t.Errorf("before it trades %v count", covered)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			for x.Progress().CandlesDone < 3 {
				time.Sleep(5 * time.Millisecond)
			}
			cancel(runner.ErrStopRequested)
		}()
		o := x.Run(ctx)
		if !o.Stopped || o.Failure != nil {
			t.Fatalf("%s: %+v %+v", name, o, o.Failure)
		}
		if p := x.Progress(); p.Phase != phaseStopping || p.CandlesDone < 3 {
			t.Errorf("%+v", p)
		}
		_, covered := x.Served()
		time.Sleep(20 * time.Millisecond)
		if stage, later := x.Served(); covered <= 0 || covered > x.ended.Sub(x.started) || later != covered || stage != "" {
			t.Errorf("%v counts, later %v in stage %q, of %v", covered, later, stage, x.ended.Sub(x.started))
		}
	}
}

// TestPaperRefusals: what a start is refused for, with the code of the API.
func TestPaperRefusals(t *testing.T) {
	d := newDesk(t, 300, "good")
	for _, c := range []struct {
		name   string
		change func(*runner.StartRequest)
		code   string
	}{
		{"exchange", func(r *runner.StartRequest) { r.Exchange = "nowhere" }, "EXCHANGE_NOT_FOUND"},
		{"mode", func(r *runner.StartRequest) { r.Mode = runner.ModeLive }, "MODE_NOT_SUPPORTED"},
		{"symbol", func(r *runner.StartRequest) { r.Symbols = []string{"NO/SUCH"} }, "UNSUPPORTED_SYMBOL"},
		{"timeframe", func(r *runner.StartRequest) { r.Timeframe = "7m" }, "UNSUPPORTED_TIMEFRAME"},
		{"params", func(r *runner.StartRequest) { r.StrategyParams = json.RawMessage(`{"every":0}`) }, "INVALID_STRATEGY_PARAMS"},
		{"strategy", func(r *runner.StartRequest) { r.StrategyName = "none" }, "STRATEGY_NOT_FOUND"},
	} {
		req := request("good", nil, `{}`)
		c.change(&req)
		_, err := d.launcher.Launch(context.Background(), "svc_no", req)
		var refusal *play.RequestError
		if !errors.As(err, &refusal) || refusal.Code != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
	}
	req := request("good", nil, `{"apiKeyy":"SECRETKEY1234"}`)
	_, err := d.launcher.Launch(context.Background(), "svc_no", req)
	var refusal *play.RequestError
	if !errors.As(err, &refusal) || refusal.Code != "VALIDATION_FAILED" || len(refusal.Fields) != 1 || refusal.Fields[0].Pointer != "/exchange_config" {
		t.Fatalf("unknown key: %v %+v", err, refusal)
	}
	if text := fmt.Sprintf("%+v %+v", refusal, refusal.Fields); bytes.Contains([]byte(text), []byte("SECRETKEY")) || bytes.Contains([]byte(text), []byte("apiKeyy")) {
		t.Errorf("the refusal repeats what it was given: %s", text)
	}
}

func TestStrategyFaults(t *testing.T) {
	names := []string{"exits", "segfaults", "panics", "errs", "nan", "hangs"}
	d := newDesk(t, 1000, names...)
	want := map[string]string{
		"exits": "PLUGIN_CRASHED", "segfaults": "PLUGIN_CRASHED", "panics": "STRATEGY_ERROR", "errs": "STRATEGY_ERROR",
		"nan": "PLUGIN_PROTOCOL_ERROR", "hangs": "PLUGIN_TIMEOUT",
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := d.launch(request(name, nil, `{"candles_per_second":200,"start":"2020-01-02T00:00:00Z"}`))
			o := x.Run(context.Background())
			if o.Failure == nil || o.Failure.Code != want[name] {
				t.Fatalf("%+v %+v", o, o.Failure)
			}
			if o.Failure.Phase != phaseTrading || o.Failure.CandleTime == 0 {
				t.Errorf("%+v", o.Failure)
			}
			if len(x.Results().Equity.Time) == 0 {
				t.Error("what was traded up to the fault is gone")
			}
		})
	}
}
