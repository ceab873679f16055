package market

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/govalues/decimal"
)

var update = flag.Bool("update", false, "rewrite the golden files of package market")

// examples is one of each noun, with every field set to something that is not zero.
func examples() map[string]any {
	d := decimal.MustParse
	return map[string]any{
		"candle": Candle{OpenTime: 1577836800000, CloseTime: 1577840400000, Open: 1.5, High: 2, Low: 0.1,
			Close: 1e-9, Volume: 12},
		"series": Series{Symbol: "BTC/USDT", Timeframe: MustTimeframe("1h"), Time: []Time{1577836800000},
			Open: []float64{1},
			High: []float64{2}, Low: []float64{0.5}, Close: []float64{1.25}, Volume: []float64{3}},
		"intent": Intent{
			Action: Replace, Symbol: "BTC/USDT", Side: Sell, Type: StopLimit, Size: Size{SizeQuantity, 0.25},
			LimitPrice: 99.5,
			StopPrice:  100.25, TrailPercent: 0.01, TrailAmount: 3, TimeInForce: GTD, ExpireAfter: 4,
			ReduceOnly: true, PostOnly: true,
			StopLoss:   &Child{TrailPercent: 0.02, TrailAmount: 5, TightenTo: 0.01, TightenAfter: 0.03},
			TakeProfit: &Child{Price: 120, Percent: 0.1},
			Targets:    []TakeProfit{{Level: Child{Price: 120}, Share: 0.5}}, OCO: 2,
			Guard: &Guard{Position: StanceFlat | StanceShort, EntryWorking: true, MaxEntries: 3, MaxOpen: 2},
			Tag:   "t", ClientRef: "c", Ref: "o-000007",
		},
		"order": Order{
			ID: 7, ParentID: 6, Ref: "c", Symbol: "BTC/USDT", Side: Sell, Type: TrailingStop,
			Role: RoleStopLoss, TimeInForce: IOC,
			ReduceOnly: true, Quantity: d("0.10"), FilledQuantity: d("0.05"), LimitPrice: d("1"),
			StopPrice: d("2"), AveragePrice: d("3"),
			Fee: d("0.00000001"), Status: StatusPartiallyFilled, Reason: "gtd", Clamped: true, Tag: "t",
			ExchangeID: "x-1",
			CreatedAt:  1577836800000, UpdatedAt: 1577840400000, FilledAt: 1577836800001,
		},
		"fill": Fill{
			ID: 201, OrderID: 143, Symbol: "BTC/USDT", Side: Sell, Role: RoleTakeProfit, Quantity: d("1"),
			Price:          d("2"),
			ReferencePrice: d("3"), Slippage: d("4"), Fee: d("5"), Liquidity: Maker, Time: 1577836800000,
			PositionAfter: d("-6"),
			RealizedPnL:   d("-7.5"), Ambiguous: true, Tag: "t",
		},
		"trade": Trade{
			ID: 71, Symbol: "BTC/USDT", Direction: Short, Quantity: d("1"), EntryTime: 1577836800000,
			ExitTime:   1577840400000,
			EntryPrice: d("2"), ExitPrice: d("3"), GrossPnL: d("-1"), Fees: d("0.1"), Slippage: d("0.2"),
			PnL: d("-1.1"), Return: -0.55,
			ExitReason: "stop_loss", CandlesHeld: 3, MAE: d("-4"), MFE: d("5"), EntryTag: "in",
			ExitTag: "out", OrderIDs: []OrderID{1, 100000},
			Ambiguous: true,
		},
		"position": Position{
			Symbol: "BTC/USDT", Direction: Short, Quantity: d("-1"), AverageEntryPrice: d("2"),
			MarkPrice: d("3"), MarketValue: d("-3"),
			UnrealizedPnL: d("-1"), RealizedPnL: d("4"), Fees: d("0.5"), StopLoss: d("6"), TakeProfit: d("1"),
			OpenedAt: 1577836800000, UpdatedAt: 1577840400000,
		},
		"equity_point": EquityPoint{Time: 1577836800000, Equity: 1, Cash: 2, PositionValue: -1,
			Drawdown: 0.25, Exposure: 0.5},
	}
}

// TestStoredFormIsExplicit holds the JSON of every noun to its golden file, both ways. What is on a disk
// depends on these names: a changed line here needs a reader of the old one where it is stored.
func TestStoredFormIsExplicit(t *testing.T) {
	for name, noun := range examples() {
		whole(t, name, reflect.ValueOf(noun))
		text, err := json.MarshalIndent(noun, "", "  ")
		if err != nil {
			t.Fatal(name, err)
		}
		text = append(text, '\n')
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s is\n%s%v", name, text, err)
		}
		back := reflect.New(reflect.TypeOf(noun))
		if err := json.Unmarshal(want, back.Interface()); err != nil ||
			!reflect.DeepEqual(back.Elem().Interface(), noun) {
			t.Errorf("%s reads back as %+v %v", name, back.Elem(), err)
		}
	}
}

// whole fails for a field without a tag, and for one that the example leaves zero.
func whole(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		whole(t, path, v.Elem())
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[Order]().PkgPath() ||
			v.Type() == reflect.TypeFor[Timeframe]() {
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "" || tag != strings.ToLower(tag) {
				t.Errorf("%s.%s has no name in JSON", path, f.Name)
			}
			if v.Field(i).IsZero() && v.Type() != reflect.TypeFor[Child]() {
				t.Errorf("%s.%s is zero in the example", path, f.Name)
			}
			whole(t, path+"."+f.Name, v.Field(i))
		}
	}
}

// TestEnumerationsAreText writes and reads every value of every enumeration, and refuses the next one.
func TestEnumerationsAreText(t *testing.T) {
	text[Side](t, sideNames.list)
	text[OrderType](t, orderTypeNames.list)
	text[TimeInForce](t, timeInForceNames.list)
	text[Role](t, roleNames.list)
	text[OrderStatus](t, orderStatusNames.list)
	text[Liquidity](t, liquidityNames.list)
	text[Direction](t, directionNames.list)
	text[Action](t, actionNames.list)
	text[SizeKind](t, sizeKindNames.list)
}

func text[T ~uint8](t *testing.T, names []string) {
	t.Helper()
	for i, name := range names {
		b, err := json.Marshal(T(i))
		if err != nil || string(b) != `"`+name+`"` {
			t.Errorf("%T %d is %s %v", T(0), i, b, err)
		}
		var back T
		if err := json.Unmarshal(b, &back); err != nil || back != T(i) {
			t.Errorf("%s reads back as %d %v", b, back, err)
		}
	}
	if b, err := json.Marshal(T(len(names))); err == nil {
		t.Errorf("%T %d is %s", T(0), len(names), b)
	}
	for _, bad := range []string{`"sideways"`, `""`, `1`, `"BUY"`, `{}`} {
		into := T(1)
		if err := json.Unmarshal([]byte(bad), &into); err == nil || into != 1 {
			t.Errorf("%T takes %s as %d", T(0), bad, into)
		}
	}
}

func TestIDsReadBack(t *testing.T) {
	for _, good := range []string{"", "o-000001", "o-000143", "o-099999", "o-100000", "o-1234567"} {
		var id OrderID
		if err := id.UnmarshalText([]byte(good)); err != nil || id.String() != good {
			t.Errorf("%q is %d, %v", good, id, err)
		}
	}
	for _, bad := range []string{"o-", "o-0", "o-000000", "o-1", "o-0000143", "f-000001", "143", "o--00001",
		"o-99999999999999999999"} {
		if err := new(OrderID).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// FuzzNouns reads anything as each noun: what is taken is written so that it is taken again and equal.
func FuzzNouns(f *testing.F) {
	for _, noun := range examples() {
		b, err := json.Marshal(noun)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"side":"hold"}`))
	f.Add([]byte(`{"order_id":7,"quantity":"1e99","created_at":"yesterday"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, noun := range []any{&Candle{}, &Series{}, &Intent{}, &Order{}, &Fill{}, &Trade{}, &Position{},
			&EquityPoint{}} {
			if json.Unmarshal(b, noun) != nil {
				continue
			}
			once, err := json.Marshal(noun)
			if err != nil {
				t.Fatalf("%T of %s cannot be written: %v", noun, b, err)
			}
			again := reflect.New(reflect.TypeOf(noun).Elem()).Interface()
			if err := json.Unmarshal(once, again); err != nil {
				t.Fatalf("%T: %s cannot be read: %v", noun, once, err)
			}
			if twice, err := json.Marshal(again); err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("%T: %s, then %s %v", noun, once, twice, err)
			}
		}
	})
}
