package sdktest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

var start = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

// once buys at one candle and sells at another.
type once struct {
	Buy    int64 `param:"buy" default:"3" min:"0" max:"1000"`
	Sell   int64 `param:"sell" default:"6" min:"0" max:"1000"`
	Wanted int   `param:"wanted" default:"0" min:"0" max:"100"`
	fills  int
}

func newOnce(p once) (sdk.Strategy, error) {
	if p.Sell <= p.Buy {
		return nil, sdk.InvalidParam("sell", "must be after buy")
	}
	return &p, nil
}

func (o *once) Warmup() int { return o.Wanted }

func (o *once) OnFill(v sdk.View, f sdk.Fill) sdk.Intents {
	o.fills++
	v.Log("fill", "side", f.Side)
	return nil
}

func (o *once) OnCandle(v sdk.View) (sdk.Intents, error) {
	v.Publish("close", v.Candle().Close)
	switch v.Index() {
	case o.Buy:
		return sdk.Buy(sdk.AllCash()).Tag("in"), nil
	case o.Sell:
		return sdk.ClosePosition().And(sdk.Cancel("nothing")), nil
	}
	return nil, nil
}

func TestBacktest(t *testing.T) {
	candles := sdktest.Synth(1, 100, start, time.Hour)
	r := sdktest.Backtest(t, sdktest.New(t, newOnce), candles)
	if len(r.Orders) != 2 || len(r.Fills) != 2 || len(r.Trades) != 1 || len(r.Equity) != 100 ||
		r.Steps != 100 {
		t.Fatalf("%d orders, %d fills, %d trades, %d points, %d steps", len(r.Orders), len(r.Fills),
			len(r.Trades), len(r.Equity), r.Steps)
	}
	trade := r.Trades[0]
	if trade.EntryTime != candles.Time[4] || trade.ExitTime != candles.Time[7] || trade.EntryTag != "in" ||
		trade.ExitReason != "signal" {
		t.Errorf("trade %+v", trade)
	}
	if r.Orders[1].Status != market.StatusFilled || len(r.Refused) != 1 || len(r.Positions) != 0 ||
		r.Bankrupt {
		t.Errorf("order %+v, refused %v", r.Orders[1], r.Refused)
	}
	if len(r.Log) != 2 || r.Log[0].Fields.Get("side") != "buy" || len(r.Annotations) != 1 ||
		len(r.Annotations[0].Values) != 100 {
		t.Errorf("log %v, %d series", r.Log, len(r.Annotations))
	}
	last := r.Equity[99]
	if final, _ := r.FinalValue.Float64(); last.Equity != final || last.Time != candles.CloseTime(99) ||
		last.Exposure != 0 {
		t.Errorf("%+v, final value %s", last, r.FinalValue)
	}
}

func TestOptions(t *testing.T) {
	candles := sdktest.Synth(1, 100, start, time.Hour)
	run := func(params once, options ...sdktest.Option) *sdktest.Result {
		return sdktest.Backtest(t, sdktest.New(t, newOnce, func(p *once) { *p = params }), candles,
			options...)
	}
	if r := run(once{Buy: 3, Sell: 6}, sdktest.Cash(500)); r.InitialCash.String() != "500.000000000000" &&
		r.InitialCash.Trim(0).String() != "500" {
		t.Errorf("initial cash %s", r.InitialCash)
	}
	free := run(once{Buy: 3, Sell: 6}, sdktest.Execution(`{"slippage_bps":0,"fee_taker":0}`))
	if !free.Stats.Fees.IsZero() || !free.Stats.Slippage.IsZero() {
		t.Errorf("fees %s, slippage %s", free.Stats.Fees, free.Stats.Slippage)
	}
	if r := run(once{Buy: 3, Sell: 6}, sdktest.Profile(sim.ProfileBacktrader)); !r.Stats.Slippage.IsZero() {
		t.Errorf("slippage %s", r.Stats.Slippage)
	}
	// The warm-up takes place in the window unless there are candles before it.
	if r := run(once{Buy: 3, Sell: 6, Wanted: 5}); len(r.Fills) != 0 || r.Orders[0].Reason != "warmup" ||
		len(r.Equity) != 100 {
		t.Errorf("%d fills, first order %+v, %d points", len(r.Fills), r.Orders[0], len(r.Equity))
	}
	if r := run(once{Buy: 5, Sell: 8}, sdktest.History(4)); len(r.Fills) != 2 || len(r.Equity) != 96 ||
		r.Equity[0].Time != candles.CloseTime(4) {
		t.Errorf("%d fills, %d points", len(r.Fills), len(r.Equity))
	}
}

func TestRunErrors(t *testing.T) {
	candles := sdktest.Synth(1, 100, start, time.Hour)
	strategy := sdktest.New(t, newOnce)
	other := sdktest.Synth(1, 100, start, time.Minute)
	nameless := sdktest.Synth(1, 100, start, time.Hour)
	nameless.Symbol = ""
	for name, err := range map[string]error{
		"no strategy":     runError(candles, nil),
		"bad options":     runError(candles, strategy, sdktest.Execution(`{"no":1}`)),
		"no cash":         runError(candles, strategy, sdktest.Cash(-1)),
		"two timeframes":  runError(candles, strategy, sdktest.More(other)),
		"no symbol":       runError(nameless, strategy),
		"bad warm-up":     runError(candles, &once{Wanted: -1}),
		"strategy error":  runError(candles, faulty{errors.New("x")}),
		"two currencies":  runError(candles, strategy, sdktest.More(inEuro())),
		"strategy panics": runError(candles, faulty{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var f *wire.Failure
	if err := runError(candles, faulty{}); !errors.As(err, &f) || f.Stack == "" {
		t.Errorf("got %v", err)
	}
}

func inEuro() *market.Series {
	s := sdktest.Synth(1, 100, start, time.Hour)
	s.Symbol = "BTC/EUR"
	return s
}

func runError(candles *market.Series, s sdk.Strategy, options ...sdktest.Option) error {
	_, err := sdktest.Run(candles, s, options...)
	return err
}

type faulty struct{ err error }

func (f faulty) OnCandle(sdk.View) (sdk.Intents, error) {
	if f.err == nil {
		panic("on purpose")
	}
	return nil, f.err
}

func TestConformanceOfGoodStrategies(t *testing.T) {
	sdktest.Conformance(t, sdk.Spec{Name: "once"}, newOnce)
}

func TestConformanceOfAWildStrategy(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	sdktest.Conformance(t,
		sdk.Spec{Name: "wild", MinSymbols: 3, MaxSymbols: 3, Timeframes: sdk.Timeframes("1d")}, newWild)
}

// The bad strategies run in a process of their own, where their tests may fail.
func TestConformanceFindsBadStrategies(t *testing.T) {
	for name, want := range map[string]string{
		"clock":   "differs",
		"global":  "differs",
		"panics":  "panic: on purpose",
		"replay":  "replay: go test -run '^TestBadStrategy$'; candles.Slice(0, 1001) suffices",
		"nan":     "a number is not finite",
		"leaks":   "found unexpected goroutines",
		"default": "are refused",
	} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestBadStrategy$", "-test.count=1")
		cmd.Env = append(os.Environ(), badVariable+"="+name)
		out, err := cmd.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s: %v, %q is not in the output:\n%s", name, err, want, tail(out))
		}
	}
}

func tail(out []byte) string {
	lines := strings.Split(string(out), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

func Example() {
	candles := sdktest.Synth(42, 500, start, time.Hour)
	r, err := sdktest.Run(candles, &once{Buy: 3, Sell: 6}, sdktest.Cash(1000))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(r.Trades), "trade,", r.Trades[0].CandlesHeld, "candles")
	// Output: 1 trade, 3 candles
}
