package wire

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// populated fails for every field that has its zero value, so that a field which is added
// to the .proto cannot be forgotten in a conversion. Of a oneof one member is enough.
func populated(t *testing.T, path string, m protoreflect.Message) {
	t.Helper()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := path + "." + string(f.Name())
		if one := f.ContainingOneof(); one != nil && m.WhichOneof(one) != nil && !m.Has(f) {
			continue
		}
		switch {
		case !m.Has(f):
			t.Errorf("%s is zero after the conversion", name)
		case f.Message() == nil:
		case f.IsList():
			for k := range m.Get(f).List().Len() {
				populated(t, name+"["+strconv.Itoa(k)+"]", m.Get(f).List().Get(k).Message())
			}
		default:
			populated(t, name, m.Get(f).Message())
		}
	}
}

// filled fails for every field of an example that has its zero value, so that a field
// which is added to a struct cannot be forgotten either.
func filled(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		filled(t, path, v.Elem())
		return
	case reflect.Slice:
		for i := range v.Len() {
			filled(t, path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				filled(t, path+"."+f.Name, v.Field(i))
			}
		}
	}
	if v.IsZero() {
		t.Errorf("%s is zero in the example", path)
	}
}

// travel converts there, over the wire and back.
func travel[P, D any](t *testing.T, example D) {
	travelBy(t, example, message[P, D], noun[D, P])
}

func travelBy[P, D any](t *testing.T, example D, to func(D) *P, from func(*reader, *P) D) {
	t.Helper()
	name := reflect.TypeFor[D]().Name()
	filled(t, name, reflect.ValueOf(example))
	p := any(to(example)).(proto.Message)
	populated(t, name, p.ProtoReflect())
	bytes, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	received := new(P)
	if err := proto.Unmarshal(bytes, any(received).(proto.Message)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*reader{{known: map[market.Symbol]bool{"BTC/USDT": true}}, {anySymbol: true}} {
		back := from(r, received)
		if r.err() != nil || !reflect.DeepEqual(back, example) {
			t.Errorf("%s came back different: %v\n got %+v\nwant %+v", name, r.err(), back, example)
		}
	}
}

func dec(s string) decimal.Decimal { return decimal.MustParse(s) }

func exampleOrder() exchange.Order {
	return exchange.Order{
		ClientOrderID: "aso4iqles1kfl9am0u", VenueOrderID: "12", Symbol: "BTC/USDT", Side: market.Sell,
		Type:   market.StopLimit,
		Status: exchange.OrderPartiallyFilled, Quantity: dec("1.50"), CumQuantity: dec("0.5"),
		LimitPrice: dec("30000.01"),
		StopPrice:  dec("30001"), AveragePrice: dec("30000.005"), Reason: "for people", UpdatedAt: 7,
	}
}

func exampleFill() exchange.Fill {
	return exchange.Fill{
		TradeID: "9", ClientOrderID: "aso4iqles1kfl9am0u", VenueOrderID: "12", Symbol: "BTC/USDT",
		Side: market.Sell, Price: dec("3"),
		Quantity: dec("0.00000001"), Fee: dec("-0.1"), FeeAsset: "BNB", Liquidity: market.Maker, Time: 8,
	}
}

func TestEveryFieldTravels(t *testing.T) {
	travel[connectorpb.Result](t,
		exchange.Result{Outcome: exchange.Throttled, VenueCode: "-1003", HTTPStatus: 429, RetryAfterMS: 1500,
			Message: "too much", RawSHA256: "ab", RequestSHA256: "cd"})
	travelBy(t, exchange.Description{
		ID: "x", Name: "X", Aliases: []string{"y"}, Version: "1.0.0", Kind: "native", Sandbox: true,
		Modes:   []string{"paper", "live"},
		Symbols: []market.Symbol{"BTC/USDT"}, Timeframes: []market.Timeframe{market.MustTimeframe("1h")},
		OrderTypes: []string{"limit"},
		MakerFee:   dec("0.001"), TakerFee: dec("0.002"), RequiresCredentials: true, RateLimitMS: 50,
		DeadMan: "lease", Comment: "text",
		ConfigSchema: json.RawMessage(`{}`),
	}, descriptionMessage, func(r *reader, p *connectorpb.Description) exchange.Description {
		d, err := readDescription(p)
		errors.As(err, &r.fault)
		return d
	})
	travel[connectorpb.Market](t, exchange.Market{
		Symbol: "BTC/USDT", Trading: true, Status: "TRADING", PriceTick: dec("0.01"),
		QuantityStep: dec("0.00001"), MinQuantity: dec("0.0001"),
		MaxQuantity: dec("9000"), MarketMinQuantity: dec("0.0002"), MarketMaxQuantity: dec("100"),
		MarketQuantityStep: dec("0.00002"),
		MinNotional:        dec("5"), MaxNotional: dec("9000000"), PercentPriceUp: dec("5"),
		PercentPriceDown: dec("0.2"), MakerFee: dec("0.001"), TakerFee: dec("0.002"),
		OrderTypes: []string{"limit", "stop"}, MaxStops: 5, MaxPosition: dec("10"),
	})
	travel[connectorpb.Candle](t,
		market.Candle{OpenTime: 1, CloseTime: 2, Open: 3, High: 4, Low: 5, Close: 6, Volume: 7})
	travel[connectorpb.SubmitRequest](t, exchange.OrderRequest{
		ClientOrderID: "a", Symbol: "BTC/USDT", Side: market.Sell, Type: market.StopLimit,
		TimeInForce: market.IOC, Quantity: dec("1"),
		QuoteAmount: dec("2"), Reduces: true, LimitPrice: dec("3"), StopPrice: dec("4"),
		PostOnly: true,
	})
	travel[connectorpb.SubmitPairRequest](t, exchange.PairRequest{
		ListID: "l", LimitID: "a", StopID: "b", Symbol: "BTC/USDT", Side: market.Sell, Quantity: dec("1"),
		LimitPrice: dec("3"), StopPrice: dec("4"),
	})
	travel[connectorpb.OrderRef](t, exchange.OrderRef{ClientOrderID: "a", Symbol: "BTC/USDT"})
	travel[connectorpb.Order](t, exampleOrder())
	travel[connectorpb.Fill](t, exampleFill())
	travel[connectorpb.Balance](t, exchange.Balance{Asset: "USDT", Free: dec("1"), Locked: dec("2")})
}

func TestEveryEventTravels(t *testing.T) {
	candle := market.Candle{OpenTime: 1, CloseTime: 2, Open: 3, High: 4, Low: 5, Close: 6, Volume: 7}
	for _, e := range []exchange.CandleEvent{{Symbol: "BTC/USDT", Candle: candle},
		{State: exchange.Gap, Reason: "cut"}} {
		p := candleEventMessage(e)
		populated(t, "CandleEvent", p.ProtoReflect())
		if back := readCandleEvent(&reader{}, p); back != e {
			t.Errorf("got %+v, want %+v", back, e)
		}
	}
	order, fill, balance := exampleOrder(), exampleFill(),
		exchange.Balance{Asset: "USDT", Free: dec("1"), Locked: dec("2")}
	transfer := exchange.Transfer{Asset: "USDT", Amount: dec("-500"), Time: 7}
	for _, e := range []exchange.AccountEvent{{State: exchange.Connected, Reason: "again"}, {Order: &order},
		{Fill: &fill}, {Balance: &balance}, {Transfer: &transfer}} {
		p := accountEventMessage(e)
		populated(t, "AccountEvent", p.ProtoReflect())
		if back := readAccountEvent(&reader{}, p); !reflect.DeepEqual(back, e) {
			t.Errorf("got %+v, want %+v", back, e)
		}
	}
	for _, o := range outcomes {
		if back := new(reader).result(
			message[connectorpb.Result](exchange.Result{Outcome: o})); back.Outcome != o {
			t.Errorf("%s became %s", o, back.Outcome)
		}
	}
	if back := new(reader).result(nil); back.Outcome != exchange.Unknown {
		t.Errorf("no result is %s", back.Outcome)
	}
}

// TestOpenRequestTravels: secrets reach the connector and nothing else.
func TestOpenRequestTravels(t *testing.T) {
	q := exchange.OpenRequest{
		RunID: "svc_1", RunTag: "o4iqle", Trading: true, Symbols: []market.Symbol{"BTC/USDT"},
		Timeframe: market.MustTimeframe("1h"),
		Config: exchange.Config{APIKey: exchange.NewSecret("k"), Secret: exchange.NewSecret("s"),
			Password: exchange.NewSecret("p"), Sandbox: true,
			RateLimitMS: 50, Unspaced: true, Settings: json.RawMessage(`{"a":1}`)},
		LeaseTTL: 10 * time.Second, LeaseFile: "/x", Endpoint: "http://127.0.0.1:1", OnLeaseLoss: exchange.CancelNone, Exits: []string{"aso4iqle0000000001"},
	}
	filled(t, "OpenRequest", reflect.ValueOf(q))
	p := message[connectorpb.OpenRequest](q)
	populated(t, "OpenRequest", p.ProtoReflect())
	back, err := request[exchange.OpenRequest](p)
	if err != nil || !reflect.DeepEqual(back, q) {
		t.Errorf("came back different: %v", err)
	}
	if c := back.Config; c.APIKey.Reveal() != "k" || c.Secret.Reveal() != "s" || c.Password.Reveal() != "p" {
		t.Error("a secret is lost")
	}
}

func TestRefusedNumbers(t *testing.T) {
	for _, s := range []string{"NaN", "Inf", "1e3", "1E-3", "+1", " 1", "1.", ".5", "0x1", "1,5", "--1",
		strings.Repeat("1", 41), "12345678901234567890.5", "0." + strings.Repeat("1", 20)} {
		r := &reader{}
		if r.signed("x", s); r.err() == nil {
			t.Errorf("%q was taken", s)
		}
	}
	for s, want := range map[string]string{"": "0", "0": "0", "-1.50": "-1.50", "0.00000001": "0.00000001",
		"0.0010000000000000000000000000000": "0.001", "9999999999.000000000": "9999999999.000000000"} {
		r := &reader{}
		if d := r.signed("x", s); r.err() != nil || d.Cmp(dec(want)) != 0 {
			t.Errorf("%q became %s, %v", s, d, r.err())
		}
	}
}

// TestBrokenMessages: every lie names its field.
func TestBrokenMessages(t *testing.T) {
	order := func(change func(*connectorpb.Order)) func(*reader) {
		p := orderMessage(exampleOrder())
		change(p)
		return func(r *reader) { noun[exchange.Order](r, p) }
	}
	candle := func(change func(*connectorpb.Candle)) func(*reader) {
		p := &connectorpb.Candle{Open: 1}
		change(p)
		return func(r *reader) { noun[market.Candle](r, p) }
	}
	for field, broken := range map[string]func(*reader){
		"quantity":        order(func(p *connectorpb.Order) { p.Quantity = "-1" }),
		"cum_quantity":    order(func(p *connectorpb.Order) { p.CumQuantity = "1e8" }),
		"average_price":   order(func(p *connectorpb.Order) { p.AveragePrice = "NaN" }),
		"symbol":          order(func(p *connectorpb.Order) { p.Symbol = "DOGE/USDT" }),
		"status":          order(func(p *connectorpb.Order) { p.Status = "PENDING_CANCEL" }),
		"side":            order(func(p *connectorpb.Order) { p.Side = "" }),
		"type":            order(func(p *connectorpb.Order) { p.Type = "iceberg" }),
		"updated_at":      order(func(p *connectorpb.Order) { p.UpdatedAt = -1 }),
		"client_order_id": order(func(p *connectorpb.Order) { p.ClientOrderId = strings.Repeat("x", 300) }),
		"open":            candle(func(p *connectorpb.Candle) { p.Open = math.NaN() }),
		"volume":          candle(func(p *connectorpb.Candle) { p.Volume = math.Inf(1) }),
		"result.outcome":  func(r *reader) { r.result(&connectorpb.Result{Outcome: 99}) },
		"trade_id": func(r *reader) {
			noun[exchange.Fill](r, &connectorpb.Fill{Symbol: "BTC/USDT", Side: "buy", Liquidity: "taker"})
		},
		"locked": func(r *reader) {
			noun[exchange.Balance](r, &connectorpb.Balance{Asset: "X", Locked: "-0.1"})
		},
		"event": func(r *reader) { readAccountEvent(r, &connectorpb.AccountEvent{}) },
		"state.state": func(r *reader) {
			readCandleEvent(r,
				&connectorpb.CandleEvent{
					Event: &connectorpb.CandleEvent_State{State: &connectorpb.Link{State: "fine"}}})
		},
	} {
		r := &reader{known: map[market.Symbol]bool{"BTC/USDT": true}}
		broken(r)
		var fault *ProtocolError
		if !errors.As(r.err(), &fault) || fault.Field != field {
			t.Errorf("%s: %v", field, r.err())
		}
	}
}

// FuzzMessages: no bytes of a connector make the host panic, and what is taken is sane.
func FuzzMessages(f *testing.F) {
	seed := func(m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	seed(orderMessage(exampleOrder()))
	seed(message[connectorpb.Fill](exampleFill()))
	order, fill := exampleOrder(), exampleFill()
	seed(accountEventMessage(exchange.AccountEvent{Order: &order}))
	seed(accountEventMessage(exchange.AccountEvent{Fill: &fill}))
	seed(accountEventMessage(
		exchange.AccountEvent{Transfer: &exchange.Transfer{Asset: "BTC", Amount: dec("1"), Time: 1}}))
	seed(candleEventMessage(exchange.CandleEvent{Symbol: "BTC/USDT", Candle: market.Candle{OpenTime: 1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		known := map[market.Symbol]bool{"BTC/USDT": true}
		check := func(o exchange.Order) {
			if o.Quantity.IsNeg() || o.CumQuantity.IsNeg() || o.Symbol != "BTC/USDT" {
				t.Errorf("took %+v", o)
			}
		}
		if p := new(connectorpb.Order); proto.Unmarshal(b, p) == nil {
			r := &reader{known: known}
			if o := noun[exchange.Order](r, p); r.err() == nil {
				check(o)
				if again := noun[exchange.Order](&reader{}, orderMessage(o)); !reflect.DeepEqual(again, o) {
					t.Errorf("%+v became %+v", o, again)
				}
			}
		}
		if p := new(connectorpb.AccountEvent); proto.Unmarshal(b, p) == nil {
			r := &reader{known: known}
			if e := readAccountEvent(r, p); r.err() == nil && e.Order != nil {
				check(*e.Order)
			}
		}
		if p := new(connectorpb.CandleEvent); proto.Unmarshal(b, p) == nil {
			r := &reader{known: known}
			if e := readCandleEvent(r, p); r.err() == nil &&
				(math.IsNaN(e.Candle.Open) || e.Candle.OpenTime < 0) {
				t.Errorf("took %+v", e)
			}
		}
		if p := new(connectorpb.Description); proto.Unmarshal(b, p) == nil {
			_, _ = readDescription(p)
		}
		if p := new(connectorpb.OpenRequest); proto.Unmarshal(b, p) == nil {
			_, _ = request[exchange.OpenRequest](p)
		}
	})
}

// TestTooManyDigits: what is only shown is rounded, anything else breaks the protocol.
func TestTooManyDigits(t *testing.T) {
	const long = "30910.947752345678901234"
	o := exampleOrder()
	p := orderMessage(o)
	p.AveragePrice = long
	r := &reader{}
	if got := noun[exchange.Order](r, p); r.err() != nil ||
		got.AveragePrice.Cmp(dec("30910.94775234567890")) != 0 {
		t.Errorf("%s %v", got.AveragePrice, r.err())
	}
	for _, wrong := range []string{strings.Repeat("9", 20), "-1", "1e5", "x",
		long + strings.Repeat("1", 20)} {
		p.AveragePrice = wrong
		r := &reader{}
		if noun[exchange.Order](r, p); r.err() == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
	p.AveragePrice, p.Quantity = "1", long
	if r := (&reader{}); noun[exchange.Order](r, p).Quantity.IsPos() && r.err() == nil {
		t.Error("a quantity with too many digits was taken")
	}
}
