package drive_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

func engine(t testing.TB, s *market.Series) *sim.Engine {
	t.Helper()
	options, err := sim.ResolveOptions(nil, sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	e, err := sim.NewEngine(sim.Config{
		Symbols: []market.Symbol{s.Symbol}, Timeframe: s.Timeframe, InitialCash: decimal.MustNew(10000, 0),
		Options: options,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func candles(n int) *market.Series {
	return sdktest.Synth(1, n, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
}

func simulate(t testing.TB, s sdk.Strategy, n int, sink step.Sink) (*sim.Engine, *drive.Author, error) {
	t.Helper()
	series := candles(n)
	e := engine(t, series)
	a := drive.New(s,
		drive.Setup{Symbols: []market.Symbol{series.Symbol}, QuantityStep: 1e-8, RootSeed: 1, Sink: sink})
	return e, a, sim.Run(e, sim.NewSeriesFeed([]*market.Series{series}), a)
}

// callLog writes down every call.
type callLog struct {
	calls []string
}

func (d *callLog) OnStart(v sdk.View) { d.note("start", v) }
func (d *callLog) OnStop(v sdk.View)  { d.note("stop", v) }

func (d *callLog) OnFill(v sdk.View, f sdk.Fill) sdk.Intents {
	d.note("fill "+f.Role.String(), v)
	return nil
}

func (d *callLog) note(what string, v sdk.View) {
	d.calls = append(d.calls,
		fmt.Sprintf("%d %s, %v, %d open", v.Index(), what, v.Long(), len(v.OpenOrders())))
}

func (d *callLog) OnCandle(v sdk.View) (sdk.Intents, error) {
	d.note("candle", v)
	switch v.Index() {
	case 0:
		return sdk.Buy(sdk.AllCash()).And(sdk.Buy(sdk.AllCash()).Limit(1).Ref("low")), nil
	case 2:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

func TestOrderOfCalls(t *testing.T) {
	d := &callLog{}
	_, a, err := simulate(t, d, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0 start, false, 0 open", "0 candle, false, 0 open", "1 fill entry, true, 1 open",
		"1 candle, true, 1 open",
		"2 candle, true, 1 open", "3 fill exit, false, 1 open", "3 candle, false, 1 open",
		"3 stop, false, 0 open",
	}
	if !reflect.DeepEqual(d.calls, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(d.calls, "\n"), strings.Join(want, "\n"))
	}
}

// fault does something wrong at one step, or at the end.
type fault struct {
	at   int64
	what func() (sdk.Intents, error)
}

func (f *fault) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == f.at {
		return f.what()
	}
	return nil, nil
}

func (f *fault) OnStop(sdk.View) {
	if f.at < 0 {
		_, _ = f.what()
	}
}

func TestFaults(t *testing.T) {
	var nothing map[string]int
	cases := []struct {
		name, message, kind string
		stack               bool
		what                func() (sdk.Intents, error)
	}{
		{"error", "no data", "*errors.errorString", false, func() (sdk.Intents, error) {
			return nil, errors.New("no data")
		}},
		{"panic", "panic: boom, candle closed at 2020-01-01T04:00:00.000Z", "string", true,
			func() (sdk.Intents, error) {
				panic("boom")
			}},
		{"nil map", "panic: assignment to entry in nil map, candle closed at 2020-01-01T04:00:00.000Z",
			"runtime.plainError", true, func() (sdk.Intents, error) {
				nothing["a"] = 1
				return nil, nil
			}},
		{"flood", "10001 intents at one step, at most 10000 are allowed", wire.FailureLimit, false,
			func() (sdk.Intents, error) {
				return make(sdk.Intents, 10001), nil
			}},
	}
	for what, in := range map[string]sdk.Intents{
		"intent 0, to buy, has no size: give sdk.Quantity, sdk.QuoteAmount, sdk.CashFraction or, for all " +
			"that is held, " +
			"sdk.WholePosition()": sdk.Buy(sdk.Size{}),
		"intent 1, to sell, has no size: give sdk.Quantity, sdk.QuoteAmount, sdk.CashFraction or, for all " +
			"that is held, " +
			"sdk.WholePosition()": sdk.CancelAll().And(sdk.Sell(sdk.Size{}).ReduceOnly()),
		"intent 0 is sdk.Cancel without a reference: sdk.CancelAll takes back every order of a symbol": sdk.Cancel(""),
		"intent 0 is sdk.Replace without a reference to an order":                                      sdk.Replace("").Limit(5),
		"intent 0 moves no leg: use sdk.MoveStop or sdk.MoveTarget":                                    {{Action: market.SetLeg}},
		"intent 0 is sdk.Replace with the whole position as its size: give a quantity, or cancel the " +
			"order and submit a " +
			"new one": sdk.Replace("a").WithSize(sdk.WholePosition()),
	} {
		cases = append(cases, struct {
			name, message, kind string
			stack               bool
			what                func() (sdk.Intents, error)
		}{"forgotten", what, wire.FailureIntent, false, func() (sdk.Intents, error) { return in, nil }})
	}
	for _, c := range cases {
		_, _, err := simulate(t, &fault{3, c.what}, 10, nil)
		var f *wire.Failure
		if !errors.As(err, &f) || f.Code != wire.StrategyError || f.Step != 3 || f.Message != c.message ||
			f.Type != c.kind {
			t.Errorf("%s: got %+v", c.name, err)
			continue
		}
		if c.stack != strings.Contains(f.Stack, "drive_test.go") {
			t.Errorf("%s: stack %q", c.name, f.Stack)
		}
	}
	_, a, err := simulate(t, &fault{-1, func() (sdk.Intents, error) { panic("late") }}, 5, nil)
	var f *wire.Failure
	if stop := a.Stop(); err != nil || !errors.As(stop, &f) || f.Step != 4 {
		t.Errorf("got %v, %v", err, stop)
	}
}

type tuned struct{ warmup int }

func (tuned) OnCandle(sdk.View) (sdk.Intents, error) { return nil, nil }
func (t tuned) Warmup() int                          { return t.warmup }

type tuning struct {
	N int `param:"n" default:"5" min:"-5"`
}

func TestBuild(t *testing.T) {
	ok := func(p tuning) (sdk.Strategy, error) { return tuned{p.N}, nil }
	if _, kept, err := drive.Build(ok, []byte(`{"n":7}`)); err != nil || kept.Candles != 7 {
		t.Errorf("got %+v, %v", kept, err)
	}
	cases := []struct {
		name, raw, message string
		construct          func(tuning) (sdk.Strategy, error)
	}{
		{"bad value", `{"n":-6,"m":1}`,
			"invalid parameters: /n: must be at least -5; /m: is not a parameter of this strategy, which " +
				"has n", ok},
		{"bad warm-up", `{"n":-1}`, "invalid parameters: Warmup is -1, must be 0 to 100000000", ok},
		{"refusal", `{}`, "invalid parameters: /n: is unlucky", func(tuning) (sdk.Strategy, error) {
			return nil, sdk.InvalidParam("n", "is unlucky")
		}},
		{"nil", `{}`, "invalid parameters: the strategy's constructor returned nil",
			func(tuning) (sdk.Strategy, error) {
				return nil, nil
			}},
		{"panic", `{}`, "invalid parameters: panic while the strategy was made: boom",
			func(tuning) (sdk.Strategy, error) {
				panic("boom")
			}},
	}
	for _, c := range cases {
		s, _, err := drive.Build(c.construct, []byte(c.raw))
		var f *wire.Failure
		if s != nil || !errors.As(err, &f) || f.Code != wire.InvalidStrategyParams ||
			f.Message != c.message || f.Step != -1 || len(f.Errors) == 0 {
			t.Errorf("%s: got %+v", c.name, err)
		}
		if panicked := c.name == "panic"; panicked != (f.Type == "string") || panicked != (f.Stack != "") {
			t.Errorf("%s: type %q, stack %q", c.name, f.Type, f.Stack)
		}
	}
	bad := func(struct{ A int }) (sdk.Strategy, error) { return tuned{}, nil }
	if _, _, err := drive.Build(bad, nil); err == nil {
		t.Error("bad tags were not noticed")
	}
}

// The stream of random numbers is part of a run's identity: it must never change.
func TestSource(t *testing.T) {
	a, b := rand.New(drive.Source(1, "strategy", 0)), rand.New(drive.Source(1, "strategy", 0))
	first := a.Uint64()
	if first != b.Uint64() || first != 0x117d7e468884325c {
		t.Errorf("the first number is %#x", first)
	}
	for _, other := range []*rand.PCG{drive.Source(2, "strategy", 0), drive.Source(1, "noise", 0),
		drive.Source(1, "strategy", 1)} {
		if rand.New(other).Uint64() == first {
			t.Error("two streams are equal")
		}
	}
}

func TestOpenOrdersFromUpdates(t *testing.T) {
	a := drive.New(tuned{}, drive.Setup{Symbols: []market.Symbol{"A/X"}})
	order := func(id market.OrderID, s market.OrderStatus) market.Order {
		return market.Order{ID: id, Status: s}
	}
	var seen sdk.View
	watch := drive.New(watcher{func(v sdk.View) { seen = v }}, drive.Setup{Symbols: []market.Symbol{"A/X"}})
	steps := []struct {
		updates []market.Order
		want    []market.OrderID
	}{
		{[]market.Order{order(2, market.StatusOpen), order(1, market.StatusOpen)}, []market.OrderID{1, 2}},
		{[]market.Order{order(1, market.StatusPartiallyFilled), order(4, market.StatusRejected)},
			[]market.OrderID{1, 2}},
		{[]market.Order{order(3, market.StatusNew), order(1, market.StatusFilled),
			order(2, market.StatusOpen)}, []market.OrderID{2, 3}},
		{[]market.Order{order(5, market.StatusOpen), order(5, market.StatusExpired),
			order(2, market.StatusCanceled)}, []market.OrderID{3}},
	}
	for i, s := range steps {
		if _, err := watch.DecideStep(&wire.Step{Index: int64(i), Orders: s.updates}); err != nil {
			t.Fatal(err)
		}
		var got []market.OrderID
		for _, o := range seen.OpenOrders() {
			got = append(got, o.ID)
		}
		if !reflect.DeepEqual(got, s.want) {
			t.Errorf("step %d: got %v, want %v", i, got, s.want)
		}
	}
	if err := a.Stop(); err != nil {
		t.Errorf("a strategy that was never asked has nothing to say at the end: %v", err)
	}
}

type watcher struct{ on func(sdk.View) }

func (w watcher) OnCandle(v sdk.View) (sdk.Intents, error) { w.on(v); return nil, nil }

func TestCollector(t *testing.T) {
	c := drive.NewCollector(drive.Limits{Lines: 2, Points: 3, Series: 2}, "info")
	c.Log(1, 0, "debug", "hidden", nil)
	c.Log(1, 0, "info", "one", []any{"a", 1, "b", 0.5, "a", 2, "alone"})
	c.Log(2, 0, "warn", strings.Repeat("x", 2*wire.MaxMessageText), nil)
	c.Log(3, 0, "error", "too many", nil)
	lines, dropped := c.TakeLines()
	if len(lines) != 2 || dropped != 1 || len(lines[1].Message) != wire.MaxMessageText {
		t.Fatalf("%d lines, %d dropped", len(lines), dropped)
	}
	if want := (market.Fields{{Key: "a", Value: "2"}, {Key: "b", Value: "0.5"},
		{Key: "extra", Value: "alone"}}); !reflect.DeepEqual(lines[0].Fields, want) {
		t.Errorf("fields %v", lines[0].Fields)
	}
	c.Log(4, 0, "info", "taking does not renew the limit", nil)
	if lines, dropped := c.TakeLines(); len(lines) != 0 || dropped != 1 {
		t.Errorf("%d lines, %d dropped", len(lines), dropped)
	}
	c.Refill()
	c.Log(5, 0, "info", "again", nil)
	if lines, dropped := c.TakeLines(); len(lines) != 1 || dropped != 0 {
		t.Errorf("%d lines, %d dropped", len(lines), dropped)
	}

	for i, x := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1), 2} {
		c.Publish(int64(i), market.Time(i), "", "a", x)
	}
	c.Publish(5, 5, "", "", 1)
	c.Publish(5, 5, "A/X", "a", 3)
	c.Publish(5, 5, "", "c", 4) // a third series
	c.Publish(6, 6, "", "a", 5) // a fourth point
	series, left := c.TakeSeries()
	want := []wire.Series{{Name: "a", Times: []market.Time{0, 4}, Values: []float64{1, 2}},
		{Name: "a", Symbol: "A/X", Times: []market.Time{5}, Values: []float64{3}}}
	if left != 2 || !reflect.DeepEqual(series, want) {
		t.Errorf("%v, %d left out", series, left)
	}
	c.Refill()
	c.Publish(7, 7, "A/X", "a", 6)
	if series, left := c.TakeSeries(); left != 0 || len(series) != 1 || series[0].Symbol != "A/X" ||
		len(series[0].Values) != 1 {
		t.Errorf("%v, %d left out", series, left)
	}
	if lines, _ := drive.NewCollector(drive.DefaultLimits(), "nonsense").TakeLines(); len(lines) != 0 {
		t.Error("lines from nowhere")
	}
}

// TestTakePoints: what is taken in pieces is what was published, each point once.
func TestTakePoints(t *testing.T) {
	c := drive.NewCollector(drive.AllPoints(), "info")
	got := map[string][]float64{}
	for i := range 3*wire.ChunkSteps + 1000 {
		if i%wire.ChunkSteps == 0 {
			c.Refill()
		}
		c.Publish(int64(i), market.Time(i), "", "a", float64(i))
		c.Publish(int64(i), market.Time(i), "", "b", float64(-i))
		for c.Pending() >= 1000 {
			series, left := c.TakePoints(300)
			n := 0
			for _, s := range series {
				n += len(s.Times)
				got[s.Name] = append(got[s.Name], s.Values...)
			}
			if n != 300 || left != 0 {
				t.Fatalf("%d points taken, %d left out", n, left)
			}
		}
	}
	series, _ := c.TakeSeries()
	for _, s := range series {
		got[s.Name] = append(got[s.Name], s.Values...)
	}
	for i := range 3*wire.ChunkSteps + 1000 {
		if got["a"][i] != float64(i) || got["b"][i] != float64(-i) {
			t.Fatalf("point %d is %v and %v", i, got["a"][i], got["b"][i])
		}
	}
	if c.Pending() != 0 || len(got["a"]) != len(got["b"]) || len(got["a"]) != 3*wire.ChunkSteps+1000 {
		t.Errorf("%d and %d points, %d pending", len(got["a"]), len(got["b"]), c.Pending())
	}
}

// average is a strategy without orders, to measure what a step costs.
type average struct{ fast, slow indicator.SMA }

func (s *average) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.fast.Add(c.Close)
	s.slow.Add(c.Close)
	if v.Long() && s.fast.CrossedBelow(&s.slow) {
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

func newAverage() *average { return &average{indicator.NewSMA(10), indicator.NewSMA(30)} }

func TestNoAllocationPerStep(t *testing.T) {
	series := candles(2000)
	e := engine(t, series)
	a := drive.New(newAverage(),
		drive.Setup{Symbols: []market.Symbol{series.Symbol},
			Sink: drive.NewCollector(drive.DefaultLimits(), "info")})
	feed := sim.NewSeriesFeed([]*market.Series{series})
	b := sim.Batch{Candles: make([]market.Candle, 1), Closed: make([]bool, 1)}
	step := func() {
		if more, err := feed.Next(&b); err != nil || !more {
			t.Fatal(more, err)
		}
		if err := e.Match(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Decide(e); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}

func BenchmarkStep(b *testing.B) {
	series := candles(1 << 16)
	for b.Loop() {
		e := engine(b, series)
		a := drive.New(newAverage(), drive.Setup{Symbols: []market.Symbol{series.Symbol}})
		if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{series}), a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(series.Len())/b.Elapsed().Seconds()/1e6, "Mcandles/s")
}

func TestLinesAreBoundedByTheirText(t *testing.T) {
	c := drive.NewCollector(drive.Limits{Lines: 100, Bytes: 50, Points: 1, Series: 1}, "info")
	for range 10 {
		c.Log(1, 0, "info", strings.Repeat("x", 10), []any{"key", "value78"})
	}
	if lines, dropped := c.TakeLines(); len(lines) != 3 || dropped != 7 {
		t.Errorf("%d lines, %d dropped", len(lines), dropped)
	}
	c.Refill()
	c.Log(2, 0, "info", "again", nil)
	if lines, dropped := c.TakeLines(); len(lines) != 1 || dropped != 0 {
		t.Errorf("after a refill %d lines, %d dropped", len(lines), dropped)
	}
}

// replier answers its fills and rejections, from memory that it uses again.
type replier struct {
	told  []string
	flood int
	stop  sdk.Level
	out   sdk.Intents
}

func (r *replier) reply(what string) sdk.Intents {
	r.told = append(r.told, what)
	r.out = r.out[:0]
	for range r.flood {
		r.out = append(r.out, sdk.CancelAll()...)
	}
	if r.flood == 0 {
		r.stop.Percent += 0.01
		r.out = append(r.out, sdk.Buy(sdk.Quantity(0.001)).Limit(1).Ref(what)...)
		r.out[0].StopLoss = &r.stop
	}
	return r.out
}

func (r *replier) OnFill(v sdk.View, f sdk.Fill) sdk.Intents {
	return r.reply(fmt.Sprintf("%d fill of %s", v.Index(), f.OrderID))
}

func (r *replier) OnReject(v sdk.View, x sdk.Rejection) sdk.Intents {
	return r.reply(fmt.Sprintf("%d rejection of %s %s", v.Index(), x.Order.ID, x.Reason))
}

func (r *replier) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch v.Index() {
	case 0: // refused at once; filled; refused at its fill; filled
		return sdk.Buy(sdk.Quantity(-1)).And(sdk.Buy(sdk.Quantity(0.001))).And(
			sdk.Sell(sdk.Quantity(5))).And(sdk.Buy(sdk.Quantity(0.002))), nil
	case 1:
		return sdk.Buy(sdk.Quantity(0.001)).Limit(1).Ref("1 candle"), nil
	}
	return nil, nil
}

// twice asks a strategy directly, and another one of its kind by messages.
type twice struct {
	t                *testing.T
	direct, messages *drive.Author
	said             []string
}

func (d *twice) Decide(e *sim.Engine) ([]market.Intent, error) {
	step := &wire.Step{Index: e.Step(), CloseTime: e.Time(), Candles: []market.Candle{*e.Candle(0)},
		Closed: []bool{true}, Fills: e.Fills(), Orders: e.Updates(), Positions: make([]sdk.Position, 1)}
	intents, err := d.direct.Decide(e)
	if err != nil {
		return nil, err
	}
	again, err := d.messages.DecideStep(step)
	if err != nil || !reflect.DeepEqual(intents, again) {
		d.t.Errorf("step %d: %v directly, %v by messages, %v", e.Step(), intents, again, err)
	}
	for _, in := range intents {
		if in.ClientRef != "" && in.StopLoss != nil {
			d.said = append(d.said, fmt.Sprintf("%s, stop %.2f", in.ClientRef, in.StopLoss.Percent))
		} else if in.ClientRef != "" {
			d.said = append(d.said, in.ClientRef)
		}
	}
	return intents, nil
}

// TestFillsAndRejectionsAreAnswered: they are told in the order of events, a rejection of a close at the
// next one, and the answers become orders at that close, before those of OnCandle.
func TestFillsAndRejectionsAreAnswered(t *testing.T) {
	series := candles(3)
	setup := drive.Setup{Symbols: []market.Symbol{series.Symbol}, QuantityStep: 1e-8, RootSeed: 1}
	first, second := &replier{}, &replier{}
	d := &twice{t: t, direct: drive.New(first, setup), messages: drive.New(second, setup)}
	e := engine(t, series)
	if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{series}), d); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 rejection of o-000001 invalid_quantity", "1 fill of o-000002",
		"1 rejection of o-000003 short_not_allowed", "1 fill of o-000004"}
	if !reflect.DeepEqual(first.told, want) || !reflect.DeepEqual(second.told, want) {
		t.Errorf("told\n%s\nand\n%s\nwant\n%s", strings.Join(first.told, "\n"),
			strings.Join(second.told, "\n"), strings.Join(want, "\n"))
	}
	said := []string{want[0] + ", stop 0.01", want[1] + ", stop 0.02", want[2] + ", stop 0.03",
		want[3] + ", stop 0.04", "1 candle"}
	if !reflect.DeepEqual(d.said, said) || e.Stats().Orders != 9 || e.Stats().Fills != 2 {
		t.Errorf("said\n%s\nwant\n%s\n%+v", strings.Join(d.said, "\n"), strings.Join(said, "\n"), e.Stats())
	}
}

func TestPartialFillsAndRejectionsInOrder(t *testing.T) {
	symbol := market.Symbol("A/B")
	r := &replier{}
	a := drive.New(r, drive.Setup{Symbols: []market.Symbol{symbol}, QuantityStep: 1e-8})
	order := func(id market.OrderID, s market.OrderStatus) market.Order {
		return market.Order{ID: id, Symbol: symbol, Status: s, Reason: "venue"}
	}
	fill := func(id market.OrderID) market.Fill { return market.Fill{OrderID: id, Symbol: symbol} }
	_, err := a.DecideStep(&wire.Step{
		Index: 7, Candles: make([]market.Candle, 1), Closed: make([]bool, 1),
		Positions: make([]sdk.Position, 1),
		Orders: []market.Order{order(1, market.StatusOpen), order(2, market.StatusRejected),
			order(1, market.StatusPartiallyFilled), order(3, market.StatusRejected),
			order(1, market.StatusFilled), order(4, market.StatusExpired)},
		Fills: []market.Fill{fill(1), fill(1), fill(9)}, // what led to the last one is told later
	})
	want := []string{"7 rejection of o-000002 venue", "7 fill of o-000001", "7 rejection of o-000003 venue",
		"7 fill of o-000001", "7 fill of o-000009"}
	if err != nil || !reflect.DeepEqual(r.told, want) {
		t.Errorf("%v: got\n%s\nwant\n%s", err, strings.Join(r.told, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnswersToFillsAreBounded(t *testing.T) {
	if _, _, err := simulate(t, &replier{flood: 25}, 4, nil); err != nil {
		t.Errorf("four times 25 intents: %v", err)
	}
	_, _, err := simulate(t, &replier{flood: 26}, 4, nil)
	var f *wire.Failure
	if !errors.As(err, &f) || f.Code != wire.StrategyError || f.Type != wire.FailureLimit || f.Step != 1 ||
		f.Message != "OnFill and OnReject returned 104 intents at one step, at most 100 are allowed" {
		t.Errorf("got %+v", err)
	}
}

// sizeless answers a fill by an order without a size.
type sizeless struct{ callLog }

func (*sizeless) OnFill(sdk.View, sdk.Fill) sdk.Intents { return sdk.Buy(sdk.Size{}) }

// deaf and mute have methods that the SDK does not call: they return nothing.
type (
	deaf struct{ callLog }
	mute struct{ callLog }
)

func (*deaf) OnFill(sdk.View, sdk.Fill)        {}
func (*mute) OnReject(sdk.View, sdk.Rejection) {}

func TestMistakesInOnFillAndOnReject(t *testing.T) {
	_, _, err := simulate(t, &sizeless{}, 4, nil)
	var f *wire.Failure
	if !errors.As(err, &f) || f.Type != wire.FailureIntent ||
		!strings.HasPrefix(f.Message, "OnFill: intent 0, to buy, has no size") {
		t.Errorf("got %+v", err)
	}
	for name, s := range map[string]sdk.Strategy{"OnFill": &deaf{}, "OnReject": &mute{}} {
		_, _, err := drive.Build(func(struct{}) (sdk.Strategy, error) { return s, nil }, nil)
		if !errors.As(err, &f) || f.Code != wire.InvalidStrategyParams ||
			!strings.Contains(f.Message, name+" returns nothing") {
			t.Errorf("got %+v", err)
		}
	}
}
