package wire_test

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/govalues/decimal"
	"google.golang.org/protobuf/proto"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

func exampleIntent() market.Intent {
	return market.Intent{
		Action: market.Replace, Symbol: "ETH/USDT", Side: market.Sell, Type: market.StopLimit,
		Size:       market.Size{Kind: market.SizeQuantity, Value: 0.1},
		LimitPrice: 1e-300, StopPrice: math.MaxFloat64, TrailPercent: 0.1 + 0.2, TrailAmount: 5e-324,
		TimeInForce: market.GTD, ExpireAfter: 3, ReduceOnly: true, PostOnly: true,
		StopLoss:   child(1),
		TakeProfit: child(5),
		Targets: []market.TakeProfit{
			{Level: *child(5), Share: 0.3}, {Level: *child(6), Share: 0.7},
		},
		OCO: 4, Guard: &market.Guard{Position: market.StanceLong, EntryWorking: true, MaxEntries: 5, MaxOpen: 6},
		Tag: "Größe", ClientRef: "c", Ref: "o-000001",
	}
}

// child is a level with every field; no strategy can ask for it.
func child(price float64) *market.Child {
	return &market.Child{Price: price, Percent: 0.02, TrailPercent: 0.03, TrailAmount: 4, TightenTo: 0.01,
		TightenAfter: 0.05}
}

func dec(s string) decimal.Decimal { return decimal.MustParse(s) }

func exampleFill() market.Fill {
	return market.Fill{
		ID: 1, OrderID: 2, Symbol: "ETH/USDT", Side: market.Sell, Role: market.RoleStopLoss,
		Quantity: dec("0.10"),
		Price:    dec("99.5"), ReferencePrice: dec("100"), Slippage: dec("0.05"), Fee: dec("-0.1"),
		Liquidity: market.Maker,
		Time:      3600000, PositionAfter: dec("-1"), RealizedPnL: dec("123456789.0123456789"),
		Ambiguous: true, Tag: "t",
	}
}

func exampleOrder() market.Order {
	return market.Order{
		ID: 3, ParentID: 2, Ref: "r", Symbol: "ETH/USDT", Side: market.Sell, Type: market.StopLimit,
		Role: market.RoleTakeProfit, TimeInForce: market.GTD, ReduceOnly: true, Quantity: dec("1"),
		FilledQuantity: dec("0.5"),
		LimitPrice:     dec("100"), StopPrice: dec("101"), AveragePrice: dec("100.5"), Fee: dec("0.1"),
		Status: market.StatusCanceled, Reason: "oco", Clamped: true, Tag: "t", CreatedAt: 1, UpdatedAt: 2,
		FilledAt: 3,
	}
}

func exampleFailure() wire.Failure {
	return wire.Failure{
		Code: wire.StrategyError, Message: "panic: x", Step: 5, Stack: "goroutine 1",
		Type:   "runtime.boundsError",
		Errors: []sdk.ParamError{{Pointer: "/fast", Message: "must be below slow"}},
	}
}

func exampleStart() wire.Start {
	return wire.Start{
		RunID: "svc_1", Mode: strategypb.DriveMode_DRIVE_MODE_LOCKSTEP,
		Purpose: strategypb.Purpose_PURPOSE_PAPER,
		Params:  []byte(`{"fast":10}`), Symbols: symbols(), Timeframe: market.MustTimeframe("4h"),
		InitialCash: dec("10000"), Execution: []byte(`{"slippage_bps":5}`),
		PriceSteps: []decimal.Decimal{dec("0.01"), dec("0.001")}, DelayCandles: 1, WorstPrice: true,
		RootSeed: math.MaxUint64, LogLevel: "debug", AllPoints: true, Inputs: []string{"funding"},
	}
}

func exampleStep() wire.Step {
	candle := market.Candle{OpenTime: 1, CloseTime: 3600000, Open: 1, High: 2, Low: 0.5, Close: 1.5,
		Volume: 10}
	return wire.Step{
		Index: 9, CloseTime: 3600000, Candles: []market.Candle{candle, candle}, Closed: []bool{true, true},
		Fills: []market.Fill{exampleFill()}, Orders: []market.Order{exampleOrder()}, Cash: 0.1, Equity: 0.3,
		Positions: []sdk.Position{{Quantity: -1, EntryPrice: 2, CandlesHeld: 3},
			{Quantity: 1, EntryPrice: 2, CandlesHeld: 4}},
		Warmup: true, Inputs: [][]market.InputRow{{{Time: 1, Known: 2, Value: 3}}},
	}
}

func refused(t *testing.T, field string, err error) {
	t.Helper()
	var p *wire.ProtocolError
	if !errors.As(err, &p) {
		t.Errorf("%s: want a ProtocolError, got %v", field, err)
	} else if p.Field != field {
		t.Errorf("the error is at %q, want %q: %v", p.Field, field, err)
	}
}

// What an author's code may produce must arrive as an error, whoever judges it.
func TestImpossibleIntentsAreRefusedByTheReceiver(t *testing.T) {
	cases := []struct {
		field  string
		change func(*market.Intent)
	}{
		{"quantity", func(i *market.Intent) { i.Size.Value = math.NaN() }},
		{"quote_amount", func(i *market.Intent) {
			i.Size = market.Size{Kind: market.SizeQuoteAmount, Value: math.Inf(1)}
		}},
		{"cash_fraction", func(i *market.Intent) {
			i.Size = market.Size{Kind: market.SizeCashFraction, Value: math.Inf(-1)}
		}},
		{"equity_fraction", func(i *market.Intent) {
			i.Size = market.Size{Kind: market.SizeEquityFraction, Value: math.NaN()}
		}},
		{"risk_fraction", func(i *market.Intent) {
			i.Size = market.Size{Kind: market.SizeRiskFraction, Value: math.Inf(1)}
		}},
		{"target_fraction", func(i *market.Intent) {
			i.Size = market.Size{Kind: market.SizeTargetFraction, Value: math.Inf(-1)}
		}},
		{"quantity", func(i *market.Intent) { i.Size.Kind = 77 }},
		{"limit_price", func(i *market.Intent) { i.LimitPrice = math.NaN() }},
		{"stop_price", func(i *market.Intent) { i.StopPrice = math.Inf(1) }},
		{"trail_percent", func(i *market.Intent) { i.TrailPercent = math.NaN() }},
		{"trail_amount", func(i *market.Intent) { i.TrailAmount = math.NaN() }},
		{"stop_loss.price", func(i *market.Intent) { i.StopLoss.Price = math.NaN() }},
		{"take_profit.percent", func(i *market.Intent) { i.TakeProfit.Percent = math.NaN() }},
		{"symbol", func(i *market.Intent) { i.Symbol = "DOGE/USDT" }},
		{"action", func(i *market.Intent) { i.Action = 9 }},
		{"side", func(i *market.Intent) { i.Side = 2 }},
		{"type", func(i *market.Intent) { i.Type = 5 }},
		{"time_in_force", func(i *market.Intent) { i.TimeInForce = 3 }},
		{"tag", func(i *market.Intent) { i.Tag = strings.Repeat("x", wire.MaxTextBytes+1) }},
		{"client_ref", func(i *market.Intent) { i.ClientRef = strings.Repeat("x", wire.MaxTextBytes+1) }},
		{"ref", func(i *market.Intent) { i.Ref = strings.Repeat("x", wire.MaxTextBytes+1) }},
	}
	for _, c := range cases {
		intent := exampleIntent()
		c.change(&intent)
		_, err := wire.IntentFromProto(wire.IntentToProto(&intent, symbols()), symbols())
		refused(t, c.field, err)
	}
}

func TestNumbersMustBePlain(t *testing.T) {
	for _, s := range []string{"1e5", "0x10", "+1", " 1", "1.", ".5", "1,5", "--1", "1_0", "NaN", "Inf",
		"infinity", strings.Repeat("9", 400), strings.Repeat("0", 900), "１"} {
		_, err := wire.IntentFromProto(&strategypb.Intent{LimitPrice: s}, symbols())
		refused(t, "limit_price", err)
	}
	for _, s := range []string{"0", "-0", "00.10", "-12.5", "123456789012345678901234567890"} {
		if _, err := wire.IntentFromProto(&strategypb.Intent{LimitPrice: s}, symbols()); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	_, err := wire.FillFromProto(&strategypb.Fill{Price: "12345678901234567890"}, symbols())
	refused(t, "price", err)
	_, err = wire.FillFromProto(&strategypb.Fill{Price: "1.00000000000000000001"}, symbols())
	refused(t, "price", err)
}

func TestAnEmptySymbolIsTheFirst(t *testing.T) {
	intent := market.Intent{Action: market.Close}
	got, err := wire.IntentFromProto(wire.IntentToProto(&intent, symbols()), symbols())
	if err != nil || got.Symbol != "BTC/USDT" {
		t.Errorf("got %q, %v", got.Symbol, err)
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	intent := market.Intent{Tag: "a\xffb"}
	p := wire.IntentToProto(&intent, symbols())
	if _, err := proto.Marshal(p); err != nil || p.Tag != "a\uFFFDb" {
		t.Errorf("tag %q: %v", p.Tag, err)
	}
	lines := wire.LogLinesToProto(
		[]wire.LogLine{{Level: "info", Message: strings.Repeat("é", wire.MaxMessageText),
			Fields: market.Fields{{Key: "\xff", Value: "\xfe"}}}}, 0)
	if _, err := proto.Marshal(lines); err != nil {
		t.Error(err)
	}
	if _, _, err := wire.LogLinesFromProto(lines); err != nil {
		t.Error(err)
	}
}

func TestDecisionsOutOfOrder(t *testing.T) {
	good := func() *strategypb.Decisions {
		return &strategypb.Decisions{
			Decisions: []*strategypb.Decision{{Step: 11}, {Step: 12}}, Watermark: 20,
			Digest:     make([]byte, 32),
			TraceSteps: []int64{11, 20}, TraceDigests: make([]byte, 16),
		}
	}
	if _, err := wire.DecisionsFromProto(good(), symbols(), 10, 30); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		field  string
		change func(*strategypb.Decisions)
	}{
		{"watermark", func(d *strategypb.Decisions) { d.Watermark = 10 }},
		{"watermark", func(d *strategypb.Decisions) { d.Watermark = 30 }},
		{"digest", func(d *strategypb.Decisions) { d.Digest = nil }},
		{"decisions[0].step", func(d *strategypb.Decisions) { d.Decisions[0].Step = 10 }},
		{"decisions[1].step", func(d *strategypb.Decisions) { d.Decisions[1].Step = 11 }},
		{"decisions[1].step", func(d *strategypb.Decisions) { d.Decisions[1].Step = 21 }},
		{"trace_digests", func(d *strategypb.Decisions) { d.TraceDigests = d.TraceDigests[1:] }},
		{"trace_steps[1]", func(d *strategypb.Decisions) { d.TraceSteps[1] = 11 }},
		{"trace_steps[1]", func(d *strategypb.Decisions) { d.TraceSteps[1] = 21 }},
	}
	for _, c := range cases {
		d := good()
		c.change(d)
		_, err := wire.DecisionsFromProto(d, symbols(), 10, 30)
		refused(t, c.field, err)
	}
	_, err := wire.DecisionsFromProto(nil, symbols(), -1, 1)
	refused(t, "digest", err)

	// An intent that is none does not take away the steps before it.
	d := good()
	d.Decisions[1].Intents = []*strategypb.Intent{{Side: 7}}
	part, err := wire.DecisionsFromProto(d, symbols(), 10, 30)
	if err != nil || len(part.Decisions) != 1 || part.BrokenStep != d.Decisions[1].Step {
		t.Fatalf("%+v, %v", part, err)
	}
	refused(t, "decisions[1].intents[0].side", part.Broken)
}

func TestAdvancedOutOfScript(t *testing.T) {
	for _, step := range []int64{-1, 9, 21} {
		_, err := wire.AdvancedFromProto(&strategypb.Advanced{Step: step}, symbols(), 10, 20)
		refused(t, "step", err)
	}
	bad := []*strategypb.Intent{{Side: 7}}
	d, err := wire.AdvancedFromProto(&strategypb.Advanced{Step: 12, Intents: bad}, symbols(), 10, 20)
	if d.Step != 12 {
		t.Errorf("step %d", d.Step)
	}
	refused(t, "intents[0].side", err)
}

func TestBadOpenings(t *testing.T) {
	cases := []struct {
		field  string
		change func(*strategypb.Start)
	}{
		{"mode", func(s *strategypb.Start) { s.Mode = 0 }},
		{"purpose", func(s *strategypb.Start) { s.Purpose = 4 }},
		{"timeframe", func(s *strategypb.Start) { s.Timeframe = "1 hour" }},
		{"root_seed", func(s *strategypb.Start) { s.RootSeed = "-1" }},
		{"symbols", func(s *strategypb.Start) { s.Symbols = nil }},
		{"symbols[1]", func(s *strategypb.Start) { s.Symbols[1] = "BTCUSDT" }},
		{"account.initial_cash", func(s *strategypb.Start) { s.Account.InitialCash = "" }},
		{"account.initial_cash", func(s *strategypb.Start) { s.Account = nil }},
		{"account.price_steps", func(s *strategypb.Start) {
			s.Account.PriceSteps = s.Account.PriceSteps[1:]
		}},
		{"account.price_steps[0]", func(s *strategypb.Start) { s.Account.PriceSteps[0] = "x" }},
		{"params", func(s *strategypb.Start) { s.Params = strings.Repeat(" ", wire.MaxDocumentBytes+1) }},
	}
	for _, c := range cases {
		example := exampleStart()
		p := wire.StartToProto(&example)
		c.change(p)
		_, err := wire.StartFromProto(p)
		refused(t, c.field, err)
	}
}

func TestBadStepsSpecsAndNotes(t *testing.T) {
	example := exampleStep()
	var s wire.Step
	p := wire.StepToProto(&example, symbols())
	p.Candles[1].Symbol = 0
	refused(t, "candles[1].symbol", s.FromProto(p, symbols()))
	p.Candles[1].Symbol = 2
	refused(t, "candles[1].symbol", s.FromProto(p, symbols()))
	p = wire.StepToProto(&example, symbols())
	p.Account.Equity = math.NaN()
	refused(t, "account.equity", s.FromProto(p, symbols()))
	p = wire.StepToProto(&example, symbols())
	p.Fills[0].Liquidity = 2
	refused(t, "fills[0].liquidity", s.FromProto(p, symbols()))

	spec := exampleSpec()
	bad := wire.SpecToProto(&spec)
	bad.MaxSymbols = 0
	_, err := wire.SpecFromProto(bad)
	refused(t, "max_symbols", err)
	bad = wire.SpecToProto(&spec)
	bad.ParamsSchema = "{"
	_, err = wire.SpecFromProto(bad)
	refused(t, "params_schema", err)

	_, _, err = wire.LogLinesFromProto(&strategypb.LogLines{Lines: []*strategypb.LogLine{{Level: "loud"}}})
	refused(t, "lines[0].level", err)
	_, _, err = wire.AnnotationsFromProto(
		&strategypb.Annotations{Series: []*strategypb.AnnotationSeries{{Name: "a", Values: []float64{1}}}})
	refused(t, "series[0]", err)
	_, _, err = wire.AnnotationsFromProto(
		&strategypb.Annotations{
			Series: []*strategypb.AnnotationSeries{{Name: "a", Times: []int64{1},
				Values: []float64{math.NaN()}}}})
	refused(t, "series[0].values", err)
	_, err = wire.FailureFromProto(&strategypb.Failed{Code: "OOPS"})
	refused(t, "code", err)
}

// A step without news of a symbol keeps its last candle, and only that.
func TestStepIsUsedAgain(t *testing.T) {
	example := exampleStep()
	var s wire.Step
	if err := s.FromProto(wire.StepToProto(&example, symbols()), symbols()); err != nil {
		t.Fatal(err)
	}
	if err := s.FromProto(&strategypb.Step{Index: 10, CloseTime: 7200000}, symbols()); err != nil {
		t.Fatal(err)
	}
	want := wire.Step{
		Index: 10, CloseTime: 7200000, Candles: example.Candles, Closed: []bool{false, false},
		Fills: []market.Fill{}, Orders: []market.Order{}, Positions: make([]sdk.Position, 2),
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

// What became known after the step's close, to a millisecond, is refused: so a host that sends it is
// found out.
func TestStepRefusesInputsOfTheFuture(t *testing.T) {
	example := exampleStep()
	for _, known := range []market.Time{example.CloseTime, example.CloseTime + 1} {
		example.Inputs[0][0].Known = known
		var s wire.Step
		err := s.FromProto(wire.StepToProto(&example, symbols()), symbols())
		if known > example.CloseTime {
			refused(t, "inputs[0].known[0]", err)
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestInputsTravelInPieces(t *testing.T) {
	rows := [][]market.InputRow{nil, make([]market.InputRow, 70_000), {{Time: 5, Known: 7, Value: -1}}}
	for i := range rows[1] {
		rows[1][i] = market.InputRow{Time: market.Time(i), Known: market.Time(i + 3), Value: float64(i)}
	}
	r := wire.NewInputsReader(len(rows))
	messages := wire.InputDatasets(rows)
	for _, m := range messages {
		if size := proto.Size(m); size > wire.MaxMessageBytes/4 {
			t.Errorf("a message has %d bytes", size)
		}
		if err := r.Load(m); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(r.Rows, rows) {
		t.Error("the rows came back different")
	}
	refused(t, "dataset.inputs[0].known[0]", r.Load(messages[0])) // once more
	part := func() *strategypb.InputRows { return wire.InputDatasets(rows)[2].Inputs[0] }
	for _, bad := range []struct {
		field string
		spoil func(*strategypb.InputRows)
	}{
		{"dataset.inputs[0].input", func(p *strategypb.InputRows) { p.Input = 3 }},
		{"dataset.inputs[0].input", func(p *strategypb.InputRows) { p.Input = -1 }},
		{"dataset.inputs[0].time", func(p *strategypb.InputRows) { p.Known = nil }},
		{"dataset.inputs[0].time", func(p *strategypb.InputRows) { p.Time = p.Time[:7] }},
		{"dataset.inputs[0].value", func(p *strategypb.InputRows) {
			binary.LittleEndian.PutUint64(p.Value, math.Float64bits(math.NaN()))
		}},
	} {
		p := part()
		bad.spoil(p)
		refused(t, bad.field, wire.NewInputsReader(3).Load(&strategypb.Dataset{
			Inputs: []*strategypb.InputRows{p}}))
	}
}

// Whatever rows of inputs come, a step and a reader take them or name the field.
func FuzzInputs(f *testing.F) {
	example := exampleStep()
	seed, err := proto.Marshal(wire.StepToProto(&example, symbols()).Inputs[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &strategypb.InputRows{}
		if proto.Unmarshal(text, p) != nil {
			return
		}
		var s wire.Step
		errs := []error{
			s.FromProto(&strategypb.Step{CloseTime: 5, Inputs: []*strategypb.InputRows{p}}, symbols()),
			wire.NewInputsReader(2).Load(&strategypb.Dataset{Inputs: []*strategypb.InputRows{p}}),
		}
		for _, err := range errs {
			var wrong *wire.ProtocolError
			if err != nil && !errors.As(err, &wrong) {
				t.Fatalf("%T: %v", err, err)
			}
		}
		if errs[0] == nil && len(s.Inputs) > 0 {
			for _, r := range s.Inputs[len(s.Inputs)-1] {
				if r.Known > 5 || math.IsNaN(r.Value) {
					t.Fatalf("%+v was let through", r)
				}
			}
		}
	})
}

func FuzzIntent(f *testing.F) {
	intent := exampleIntent()
	seed, err := proto.Marshal(wire.IntentToProto(&intent, symbols()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		var p strategypb.Intent
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		in, err := wire.IntentFromProto(&p, symbols())
		if err != nil {
			return
		}
		again, err := wire.IntentFromProto(wire.IntentToProto(&in, symbols()), symbols())
		if err != nil || !reflect.DeepEqual(in, again) {
			t.Errorf("%+v became %+v: %v", in, again, err)
		}
	})
}

func TestBadReady(t *testing.T) {
	for _, c := range []struct {
		tf         string
		n          int64
		field, why string
	}{
		{"7x", 1, "lookback[0].timeframe", "not a timeframe"},
		{"1d", -1, "lookback[0].candles", "not between"},
		{"30m", 1, "lookback", "30m is no exact multiple of the run's timeframe 1h"},
		{"90m", 1, "lookback", "90m is no exact multiple"},
		{"1M", 200_000, "lookback", "more than 100000000 of 1h"},
	} {
		_, err := wire.ReadyFromProto(&strategypb.Ready{
			Lookback: []*strategypb.Lookback{{Timeframe: c.tf, Candles: c.n}}}, market.MustTimeframe("1h"))
		var wrong *wire.ProtocolError
		if !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(wrong.Message, c.why) {
			t.Errorf("%s %d: %v", c.tf, c.n, err)
		}
	}
}

func FuzzPluginMessage(f *testing.F) {
	f.Add([]byte{}, int64(-1), int64(100))
	f.Fuzz(func(t *testing.T, data []byte, previous, total int64) {
		var p strategypb.PluginMessage
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		if d, err := wire.DecisionsFromProto(p.GetDecisions(), symbols(), previous, total); err == nil &&
			(d.Watermark <= previous || d.Watermark >= total) {
			t.Errorf("watermark %d", d.Watermark)
		}
		_, _ = wire.DecisionFromProto(p.GetDecision(), symbols())
		if d, err := wire.AdvancedFromProto(p.GetAdvanced(), symbols(), previous+1, total); err == nil &&
			(d.Step <= previous || d.Step > total) {
			t.Errorf("advanced to %d", d.Step)
		}
		_, _, _ = wire.LogLinesFromProto(p.GetLogLines())
		_, _, _ = wire.AnnotationsFromProto(p.GetAnnotations())
		_, _ = wire.FailureFromProto(p.GetFailed())
		if signals := wire.NewSignals(symbols(), 1000); signals.Add(p.GetSignals()) == nil {
			for step := range signals.Steps {
				if len(signals.Take(step)) == 0 {
					t.Errorf("no intents at step %d", step)
				}
			}
		}
		if w, err := wire.ReadyFromProto(p.GetReady(), market.MustTimeframe("1m")); err == nil &&
			(w.Span(market.MustTimeframe("1m")) < w.Candles || w.Check(market.MustTimeframe("1m")) != nil) {
			t.Errorf("a warm-up of %+v", w)
		}
	})
}

func FuzzHostMessage(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var p strategypb.HostMessage
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		_, _ = wire.StartFromProto(p.GetStart())
		var s wire.Step
		_ = s.FromProto(p.GetStep(), symbols())
		r := wire.NewCandlesReader(2)
		if r.Load(p.GetCandles()) == nil {
			candles, closed := make([]market.Candle, 2), make([]bool, 2)
			for ok := true; ok; {
				_, ok = r.Next(candles, closed)
			}
		}
	})
}
