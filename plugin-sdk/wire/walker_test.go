package wire_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// populated fails for every field that has its zero value, so that a field which is
// added to the .proto cannot be forgotten in a conversion. Of a oneof one member
// is enough.
func populated(t *testing.T, path string, m protoreflect.Message) {
	t.Helper()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := path + "." + string(f.Name())
		if one := f.ContainingOneof(); one != nil && m.WhichOneof(one) != nil && !m.Has(f) {
			continue
		}
		if (f.Name() == "symbol" || f.Name() == "input") && strings.HasSuffix(path, "[0]") {
			continue // the index of the first symbol
		}
		if !m.Has(f) {
			t.Errorf("%s is zero after the conversion", name)
			continue
		}
		if f.Message() == nil || f.IsMap() {
			continue
		}
		if !f.IsList() {
			populated(t, name, m.Get(f).Message())
			continue
		}
		list := m.Get(f).List()
		for k := range list.Len() {
			populated(t, name+"["+strconv.Itoa(k)+"]", list.Get(k).Message())
		}
	}
}

// notTold is the one field of an order that strategies are not told.
const notTold = ".ExchangeID"

// filled fails for every field of an example that has its zero value, so that a
// field which is added to a struct cannot be forgotten either.
func filled(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if strings.HasSuffix(path, notTold) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			filled(t, path, v.Elem())
			return
		}
	case reflect.Slice:
		for i := range v.Len() {
			filled(t, path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				filled(t, path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	if v.IsZero() {
		t.Errorf("%s is zero in the example", path)
	}
}

// roundTrip converts there, over the wire and back.
func roundTrip[D any, P proto.Message](t *testing.T, example D, to func(*D) P, from func(P) (D, error)) {
	t.Helper()
	name := reflect.TypeFor[D]().Name()
	filled(t, name, reflect.ValueOf(example))
	p := to(&example)
	populated(t, name, p.ProtoReflect())
	bytes, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	received := p.ProtoReflect().New().Interface().(P)
	if err := proto.Unmarshal(bytes, received); err != nil {
		t.Fatal(err)
	}
	back, err := from(received)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, example) {
		t.Errorf("%s came back different:\n got %+v\nwant %+v", name, back, example)
	}
}

func TestEveryFieldTravels(t *testing.T) {
	symbols := symbols()
	roundTrip(t, exampleSpec(), wire.SpecToProto, func(p *strategypb.Spec) (wire.Description, error) {
		d, err := wire.SpecFromProto(p)
		d.FreshProcess = true // the SDK makes Sessions of it
		return d, err
	})
	roundTrip(t, exampleStart(), wire.StartToProto, wire.StartFromProto)
	roundTrip(t, exampleFill(), func(f *market.Fill) *strategypb.Fill { return wire.FillToProto(f, symbols) },
		func(p *strategypb.Fill) (market.Fill, error) { return wire.FillFromProto(p, symbols) })
	roundTrip(t, exampleOrder(), func(o *market.Order) *strategypb.OrderUpdate {
		return wire.OrderToProto(o, symbols)
	},
		func(p *strategypb.OrderUpdate) (market.Order, error) { return wire.OrderFromProto(p, symbols) })
	roundTrip(t, exampleFailure(), wire.FailureToProto, wire.FailureFromProto)
	hour := market.MustTimeframe("1h")
	roundTrip(t, market.Warmup{Candles: 3, Larger: []market.Larger{{Timeframe: market.MustTimeframe("1w"),
		Candles: 7}}}, func(w *market.Warmup) *strategypb.Ready {
		p := wire.ReadyToProto(*w)
		// The host takes these as they are.
		p.Indicators = []*strategypb.Indicator{{Name: "SMA", Args: []float64{3}, Shape: "doji",
			Sources: []*strategypb.Source{{Symbol: 1, Field: 4}}}}
		return p
	},
		func(p *strategypb.Ready) (market.Warmup, error) { return wire.ReadyFromProto(p, hour) })
	roundTrip(t, exampleStep(), func(s *wire.Step) *strategypb.Step { return wire.StepToProto(s, symbols) },
		func(p *strategypb.Step) (s wire.Step, err error) { return s, s.FromProto(p, symbols) })
}

func TestEveryFieldOfAnIntentTravels(t *testing.T) {
	symbols := symbols()
	to := func(i *market.Intent) *strategypb.Intent { return wire.IntentToProto(i, symbols) }
	from := func(p *strategypb.Intent) (market.Intent, error) { return wire.IntentFromProto(p, symbols) }
	for _, kind := range []market.SizeKind{market.SizeQuantity, market.SizeQuoteAmount,
		market.SizeCashFraction, market.SizeEquityFraction, market.SizeRiskFraction,
		market.SizeTargetFraction} {
		example := exampleIntent()
		example.Size.Kind = kind
		roundTrip(t, example, to, from)
	}
	for action := market.Submit; action <= market.Close; action++ {
		want := market.Intent{Action: action, Symbol: symbols[0], Ref: "o-000001"}
		got, err := from(to(&want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestDecisionsTravel(t *testing.T) {
	symbols := symbols()
	example := wire.Decisions{
		Decisions: []wire.Decision{{Step: 5, Intents: []market.Intent{exampleIntent()}},
			{Step: 9, Intents: []market.Intent{exampleIntent()}}},
		Watermark: 12, Digest: [32]byte{1, 2, 3},
		Trace: []wire.TracePoint{{Step: 6, Digest: [8]byte{4}}, {Step: 10, Digest: [8]byte{5}}},
	}
	var b wire.Batch
	for _, d := range example.Decisions {
		b.Add(d.Step, d.Intents, symbols)
	}
	for _, point := range example.Trace {
		b.Trace(point.Step, [32]byte(append(point.Digest[:], make([]byte, 24)...)))
	}
	if b.Bytes() < 50 {
		t.Errorf("a batch of two intents is said to have %d bytes", b.Bytes())
	}
	p := b.Message(12, example.Digest)
	populated(t, "Decisions", p.ProtoReflect())
	back, err := wire.DecisionsFromProto(p, symbols, 4, 13)
	if err != nil || !reflect.DeepEqual(back, example) {
		t.Errorf("came back different: %v\n got %+v\nwant %+v", err, back, example)
	}
	if m := b.Message(13, example.Digest); len(m.Decisions) != 0 || b.Bytes() != 0 {
		t.Error("the batch was not begun afresh")
	}
}

func TestNotesTravel(t *testing.T) {
	lines := []wire.LogLine{{Step: 7, Time: 1700000000000, Level: "warn", Message: "careful",
		Fields: market.Fields{{Key: "rsi", Value: "12.5"}}}}
	p := wire.LogLinesToProto(lines, 3)
	populated(t, "LogLines", p.ProtoReflect())
	gotLines, dropped, err := wire.LogLinesFromProto(p)
	if err != nil || dropped != 3 || !reflect.DeepEqual(gotLines, lines) {
		t.Errorf("lines came back as %+v, %d, %v", gotLines, dropped, err)
	}
	series := []wire.Series{{Name: "fast", Symbol: "A/X", Times: []market.Time{1, 2}, Values: []float64{1.5, -2}}}
	a := wire.AnnotationsToProto(series, 4)
	populated(t, "Annotations", a.ProtoReflect())
	gotSeries, dropped, err := wire.AnnotationsFromProto(a)
	if err != nil || dropped != 4 || !reflect.DeepEqual(gotSeries, series) {
		t.Errorf("points came back as %+v, %d, %v", gotSeries, dropped, err)
	}
}

func symbols() []market.Symbol { return []market.Symbol{"BTC/USDT", "ETH/USDT"} }

func exampleSpec() wire.Description {
	return wire.Description{
		Spec: sdk.Spec{
			Name: "x", DisplayName: "X", Version: "1.2.3", Description: "text", Author: "someone",
			Modes: []sdk.Mode{sdk.ModeBacktest}, Timeframes: sdk.Timeframes("1h"), MinSymbols: 1, MaxSymbols: 2,
			Supports: sdk.Supports{Short: true, MultiSymbol: true, ScaleFree: true,
				Calendar: sdk.CalendarDate},
			TrainedUntil: "2023-06-30", Extra: sdk.Timeframes("4h", "1M"),
			Inputs: []sdk.Input{{Name: "funding", MaxAge: time.Hour}},
			Plots: []sdk.Plot{{Series: "low", Title: "Channel", Pane: "channel", Kind: sdk.PlotBand, Upper: "high",
				Levels: []sdk.PlotLevel{{Param: "n", Value: 3, Title: "middle"}}, Color: sdk.ColorAccent}},
			FreshProcess: true,
		},
		Language: "go", SDKVersion: "1.0.0", ProtocolVersion: 1, SimID: "bar-v1/0", Signals: true, Sessions: true,
		Advance:      true,
		ParamsSchema: []byte(`{}`), DefaultParams: []byte(`{"a":1}`),
	}
}
