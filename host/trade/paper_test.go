package trade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
)

// TestPaperOfDerivedCandles: a stored exchange offers paper the timeframes that it offers
// backtests, those that are put together from smaller candles too.
func TestPaperOfDerivedCandles(t *testing.T) {
	d := newTestHost(t, 480, "randomly")
	start := "2020-01-06T00:00:00Z"
	req := request("randomly", map[string]any{"seed": 3},
		fmt.Sprintf(`{"candles_per_second":200,"start":%q}`, start), one, two)
	req.Timeframe = "4h"
	x := d.launch(req)
	if o := x.Run(context.Background()); o.Failure != nil || o.Stopped {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	sameBacktest(t, d.backtests, x, req, start, "")
	if n := len(x.Results().Fills); n < 5 {
		t.Errorf("only %d fills", n)
	}
	// The other way there is nothing to make candles from.
	for timeframe, symbol := range map[string]string{"30m": one, "90m": one, "4h": "NO/SUCH"} {
		req := request("randomly", nil, `{}`, symbol)
		req.Timeframe = timeframe
		_, err := d.launcher.Launch(context.Background(), "svc_no", req)
		var refusal *run.RequestError
		if want := map[bool]string{true: "UNSUPPORTED_TIMEFRAME",
			false: "UNSUPPORTED_SYMBOL"}[symbol == one]; !errors.As(err, &refusal) || refusal.Code != want {
			t.Errorf("%s %s: %v, want %s", symbol, timeframe, err, want)
		}
	}
	// Nor does the simulated market replay what is not there.
	for _, c := range []struct{ timeframe, symbol, source, code string }{
		{"30m", one, stored, "UNSUPPORTED_TIMEFRAME"}, {"4h", "NO/SUCH", stored, "UNSUPPORTED_SYMBOL"},
		{"4h", one, "nowhere", "VALIDATION_FAILED"}, {"4h", one, stored, ""},
	} {
		req := request("randomly", nil, fmt.Sprintf(`{"market":"replay","source":%q}`, c.source), c.symbol)
		req.Exchange, req.Timeframe = "sim", c.timeframe
		x, err := d.start(req)
		if err == nil {
			x.Close()
		}
		refusal, _ := errors.AsType[*run.RequestError](err)
		if (err == nil) != (c.code == "") || err != nil && (refusal == nil || refusal.Code != c.code) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestPaperStops(t *testing.T) {
	d := newTestHost(t, 300, "good")
	x := d.launch(request("good", nil, `{"candles_per_second":20}`))
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
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	if p := x.Progress(); p.Phase != phaseStopping || p.CandlesDone < 3 {
		t.Errorf("%+v", p)
	}
	_, covered := x.Served()
	time.Sleep(20 * time.Millisecond)
	if stage, later := x.Served(); covered <= 0 || covered > x.times.ended.Sub(x.times.started) ||
		later != covered || stage != "" {
		t.Errorf("%v counts, later %v in stage %q, of %v", covered, later, stage,
			x.times.ended.Sub(x.times.started))
	}
}

// TestPaperRefusals: what a start is refused for, with the code of the API.
func TestPaperRefusals(t *testing.T) {
	d := newTestHost(t, 300, "good")
	for _, c := range []struct {
		name   string
		change func(*runner.StartRequest)
		code   string
	}{
		{"exchange", func(r *runner.StartRequest) { r.Exchange = "nowhere" }, "EXCHANGE_NOT_FOUND"},
		{"mode", func(r *runner.StartRequest) { r.Mode = runner.ModeLive }, "MODE_NOT_SUPPORTED"},
		{"symbol", func(r *runner.StartRequest) { r.Symbols = []string{"NO/SUCH"} }, "UNSUPPORTED_SYMBOL"},
		{"timeframe", func(r *runner.StartRequest) { r.Timeframe = "7m" }, "UNSUPPORTED_TIMEFRAME"},
		{"params", func(r *runner.StartRequest) {
			r.StrategyParams = json.RawMessage(`{"every":0}`)
		}, "INVALID_STRATEGY_PARAMS"},
		{"strategy", func(r *runner.StartRequest) { r.StrategyName = "none" }, "STRATEGY_NOT_FOUND"},
	} {
		req := request("good", nil, `{}`)
		c.change(&req)
		_, err := d.launcher.Launch(context.Background(), "svc_no", req)
		var refusal *run.RequestError
		if !errors.As(err, &refusal) || refusal.Code != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
	}
	req := request("good", nil, `{"apiKeyy":"SECRETKEY1234"}`)
	_, err := d.launcher.Launch(context.Background(), "svc_no", req)
	var refusal *run.RequestError
	if !errors.As(err, &refusal) || refusal.Code != "VALIDATION_FAILED" || len(refusal.Fields) != 1 ||
		refusal.Fields[0].Pointer != "/exchange_config" {
		t.Fatalf("unknown key: %v %+v", err, refusal)
	}
	if text := fmt.Sprintf("%+v %+v", refusal, refusal.Fields); bytes.Contains([]byte(text),
		[]byte("SECRETKEY")) || bytes.Contains([]byte(text), []byte("apiKeyy")) {
		t.Errorf("the refusal repeats what it was given: %s", text)
	}
}

func TestStrategyFaults(t *testing.T) {
	names := []string{"exits", "segfaults", "panics", "errs", "answers", "nan", "hangs"}
	d := newTestHost(t, 1000, names...)
	want := map[string]string{
		"exits": "PLUGIN_CRASHED", "segfaults": "PLUGIN_CRASHED", "panics": "STRATEGY_ERROR",
		"errs": "STRATEGY_ERROR", "answers": "STRATEGY_ERROR",
		"nan": "PLUGIN_PROTOCOL_ERROR", "hangs": "PLUGIN_TIMEOUT",
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// From the second day on, candles as fast as they are answered.
			req := request(name, nil, `{"seed":1,"from":"2020-01-02T00:00:00Z","to":"2021-01-01T00:00:00Z"}`)
			req.Exchange = faultyID
			x := d.launch(req)
			o := x.Run(context.Background())
			if o.Failure == nil || o.Failure.Code != want[name] {
				t.Fatalf("%+v %+v", o, o.Failure)
			}
			if n := x.Progress().CandlesDone; o.Failure.Phase != phaseTrading || o.Failure.CandleTime == 0 ||
				n != playtest.MisdeedStep+1 {
				t.Errorf("%+v after %d candles", o.Failure, n)
			}
			if len(x.Results().Equity.Time) == 0 {
				t.Error("what was traded up to the fault is gone")
			}
		})
	}
}
