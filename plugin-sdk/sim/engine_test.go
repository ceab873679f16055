package sim_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

func config(t testing.TB, symbols ...market.Symbol) sim.Config {
	t.Helper()
	return sim.Config{
		Symbols: symbols, Timeframe: market.MustTimeframe("1h"), InitialCash: decimal.MustNew(10000, 0),
		Options: options(t, `{"slippage_bps":0,"fee_maker":0,"fee_taker":0}`),
	}
}

func engine(t testing.TB, cfg sim.Config, rec sim.Recorder) *sim.Engine {
	t.Helper()
	e, err := sim.NewEngine(cfg, rec)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// flatStep closes one candle at a price for every symbol.
func flatStep(t testing.TB, e *sim.Engine, price float64) {
	t.Helper()
	n := len(e.Symbols())
	b := sim.Batch{CloseTime: e.Time() + 3600_000, Candles: make([]market.Candle, n), Closed: make([]bool, n)}
	for i := range b.Candles {
		b.Closed[i] = true
		b.Candles[i] = market.Candle{OpenTime: e.Time(), CloseTime: b.CloseTime, Open: price, High: price,
			Low: price, Close: price}
	}
	if err := e.Match(&b); err != nil {
		t.Fatal(err)
	}
}

func buy(quantity float64) market.Intent {
	return market.Intent{Size: market.Size{Kind: market.SizeQuantity, Value: quantity}}
}

func TestConfigIsChecked(t *testing.T) {
	for what, change := range map[string]func(*sim.Config){
		"no symbols":       func(c *sim.Config) { c.Symbols = nil },
		"quote currencies": func(c *sim.Config) { c.Symbols = []market.Symbol{"BTC/USD", "ETH/EUR"} },
		"not resolved":     func(c *sim.Config) { c.Options = sim.Options{} },
		"initial_cash":     func(c *sim.Config) { c.InitialCash = decimal.Decimal{} },
	} {
		cfg := config(t, "BTC/USD")
		change(&cfg)
		if _, err := sim.NewEngine(cfg, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTooManyOpenOrders(t *testing.T) {
	var j journal
	e := engine(t, config(t, "BTC/USD"), &j)
	flatStep(t, e, 100)
	list := make([]market.Intent, 1001)
	for i := range list {
		list[i] = buy(0.01)
		list[i].Type, list[i].LimitPrice, list[i].ClientRef = market.Limit, 50, fmt.Sprint(i)
	}
	if err := e.Accept(list); err != nil {
		t.Fatal(err)
	}
	last := j.orders[len(j.orders)-1]
	if len(e.OpenOrders()) != 1000 || last.Status != market.StatusRejected ||
		last.Reason != "too_many_open_orders" {
		t.Fatalf("%d open, %+v", len(e.OpenOrders()), last)
	}
	// A canceled one makes room; a replaced one takes none.
	again := buy(0.01)
	again.Type, again.LimitPrice = market.Limit, 50
	if err := e.Accept([]market.Intent{{Action: market.Replace, Ref: "5", LimitPrice: 60},
		{Action: market.Cancel, Ref: "7"}, again, again}); err != nil {
		t.Fatal(err)
	}
	if s := e.Stats(); len(e.OpenOrders()) != 1000 || s.RejectedOrders != 2 {
		t.Fatalf("%d open, %+v", len(e.OpenOrders()), s)
	}
}

func TestIntentErrors(t *testing.T) {
	for reason, change := range map[string]func(*market.Intent){
		"not finite":     func(in *market.Intent) { in.TakeProfit = &market.Child{Price: math.NaN()} },
		"unknown symbol": func(in *market.Intent) { in.Symbol = "X/USD" },
		"unknown action": func(in *market.Intent) { in.TimeInForce = 3 },
	} {
		e := engine(t, config(t, "BTC/USD"), nil)
		flatStep(t, e, 100)
		bad := buy(1)
		change(&bad)
		err := e.Accept([]market.Intent{buy(1), bad})
		var wrong *sim.IntentError
		if !errors.As(err, &wrong) || wrong.Index != 1 || !strings.Contains(err.Error(), reason) ||
			!strings.Contains(err.Error(), "intent 1 of step 0") {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestUpdates: a strategy sees each change of an order once, in order, whether it
// happened in its own answer or in the candle after it.
func TestUpdates(t *testing.T) {
	e := engine(t, config(t, "BTC/USD"), nil)
	flatStep(t, e, 100)
	in := buy(1)
	in.StopLoss = &market.Child{TrailAmount: 5}
	if err := e.Accept([]market.Intent{in, {Action: market.Cancel, Ref: "x"}}); err != nil {
		t.Fatal(err)
	}
	states := func() string {
		var list []string
		for _, o := range e.Updates() {
			list = append(list, fmt.Sprint(o.ID, " ", o.Status, " ", o.StopPrice.Trim(0)))
		}
		return strings.Join(list, ", ")
	}
	flatStep(t, e, 100)
	if got, want := states(), "o-000001 open 0, o-000001 filled 0, o-000002 open 95"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(e.Fills()) != 1 {
		t.Error("no fill")
	}
	flatStep(t, e, 103)
	if got, want := states(), "o-000002 open 98"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	flatStep(t, e, 103)
	if got := states(); got != "" || len(e.Fills()) != 0 {
		t.Errorf("%s, %d fills", got, len(e.Fills()))
	}
}

func TestViewsOfTheAccount(t *testing.T) {
	e := engine(t, config(t, "BTC/USD", "ETH/USD"), nil)
	if e.Step() != -1 {
		t.Error("step before the first", e.Step())
	}
	flatStep(t, e, 100)
	in := buy(2)
	in.Symbol, in.StopLoss, in.TakeProfit = "ETH/USD", &market.Child{Price: 90}, &market.Child{Price: 120}
	if err := e.Accept([]market.Intent{in}); err != nil {
		t.Fatal(err)
	}
	flatStep(t, e, 100)
	flatStep(t, e, 110)
	q, entry, held := e.Holding(1)
	if q != 2 || entry != 100 || held != 1 {
		t.Error(q, entry, held)
	}
	if q, entry, held := e.Holding(0); q != 0 || entry != 0 || held != 0 {
		t.Error(q, entry, held)
	}
	if e.Cash() != 9800 || e.Equity() != 10020 ||
		e.Mark() != (sim.Mark{Time: e.Time(), Equity: 10020, Cash: 9800, PositionValue: 220, Notional: 220}) {
		t.Errorf("%+v", e.Mark())
	}
	if !e.Closed(1) || e.Candle(1).Close != 110 || e.Step() != 2 || e.Bankrupt() {
		t.Error("candle")
	}
	all, err := e.Positions()
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	p := all[0]
	if p.Symbol != "ETH/USD" || floatOf(p.MarketValue) != 220 || floatOf(p.UnrealizedPnL) != 20 ||
		floatOf(p.StopLoss) != 90 || floatOf(p.TakeProfit) != 120 {
		t.Errorf("%+v", p)
	}
}

// TestSharedMemory: a strategy may reuse its intents and children at once.
func TestSharedMemory(t *testing.T) {
	e := engine(t, config(t, "BTC/USD"), nil)
	flatStep(t, e, 100)
	list := []market.Intent{buy(1)}
	list[0].StopLoss = &market.Child{Price: 90}
	if err := e.Accept(list); err != nil {
		t.Fatal(err)
	}
	list[0].StopLoss.Price = 99
	list[0] = market.Intent{}
	flatStep(t, e, 100)
	if o := e.OpenOrders(); len(o) != 1 || floatOf(o[0].StopPrice) != 90 {
		t.Errorf("%+v", o)
	}
}

type stopAfter struct {
	steps int
	err   error
}

func (s *stopAfter) Decide(e *sim.Engine) ([]market.Intent, error) {
	if s.steps--; s.steps == 0 {
		return nil, s.err
	}
	in := buy(0.1)
	in.Type, in.LimitPrice = market.Limit, 0.01
	return []market.Intent{in}, nil
}

func TestRunStops(t *testing.T) {
	s := sdktest.Synth(7, 100, synthStart, time.Hour)
	cfg := config(t, s.Symbol)
	boom := errors.New("boom")
	for _, want := range []error{fmt.Errorf("asked: %w", sim.ErrStop), boom} {
		e := engine(t, cfg, nil)
		err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{s}), &stopAfter{10, want})
		stopped := errors.Is(want, sim.ErrStop)
		if stopped && !errors.Is(err, sim.ErrStop) || !stopped && !errors.Is(err, boom) || e.Step() != 9 {
			t.Errorf("%v at step %d", err, e.Step())
		}
		if open := len(e.OpenOrders()); (open == 0) != stopped {
			t.Errorf("%d open orders after %v", open, want)
		}
	}
}

type brokenFeed struct{}

func (brokenFeed) Next(*sim.Batch) (bool, error) { return false, errors.New("disk") }

func TestRunReportsTheFeed(t *testing.T) {
	if err := sim.Run(engine(t, config(t, "BTC/USD"), nil), brokenFeed{}, idle{}); err == nil ||
		err.Error() != "disk" {
		t.Error(err)
	}
}
