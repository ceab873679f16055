package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestMarketsReadBack holds the form of this version to a golden file, and reads that of version 1.
func TestMarketsReadBack(t *testing.T) {
	d := decimal.MustParse
	want := []exchange.Market{{
		Symbol: "BTC/USDT", Trading: true, Status: "TRADING", PriceTick: d("0.01"),
		QuantityStep: d("0.00001"), MinQuantity: d("1"),
		MaxQuantity: d("2"), MarketMinQuantity: d("3"), MarketMaxQuantity: d("4"), MarketQuantityStep: d("5"),
		MinNotional: d("6"),
		MaxNotional: d("7"), PercentPriceUp: d("8"), PercentPriceDown: d("9"), MakerFee: d("0.001"),
		TakerFee:   d("0.002"),
		OrderTypes: []string{"limit", "stop"}, MaxStops: 5, MaxPosition: d("10"),
	}}
	if v := reflect.ValueOf(want[0]); true {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s is zero in the example", v.Type().Field(i).Name)
			}
		}
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "markets.json"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := EncodeMarkets(want); err != nil || string(text)+"\n" != string(golden) {
		t.Errorf("%s %v", text, err)
	}
	const version1 = `[{"Symbol":"BTC/USDT","Trading":true,"Status":"TRADING","PriceTick":"0.01","QuantityStep":"0.00001",
		"MinQuantity":"1","MaxQuantity":"2","MarketMinQuantity":"3","MarketMaxQuantity":"4","MarketQuantityStep":"5",
		"MinNotional":"6","MaxNotional":"7","PercentPriceUp":"8","PercentPriceDown":"9","MakerFee":"0.001","TakerFee":"0.002"}]`
	if got, err := DecodeMarkets(golden); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %+v %v", golden, got, err)
	}
	// What came with a later release of this version is absent in rows of before.
	const before = `{"v":2,"markets":[{"symbol":"BTC/USDT","trading":true,"status":"TRADING","price_tick":"0.01","quantity_step":"0.00001","min_quantity":"1","max_quantity":"2","market_min_quantity":"3","market_max_quantity":"4","market_quantity_step":"5","min_notional":"6","max_notional":"7","percent_price_up":"8","percent_price_down":"9","maker_fee":"0.001","taker_fee":"0.002"}]}`
	want[0].OrderTypes, want[0].MaxStops, want[0].MaxPosition = nil, 0, decimal.Decimal{}
	for _, text := range []string{before, version1} {
		if got, err := DecodeMarkets(json.RawMessage(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v %v", text, got, err)
		}
	}
	if got, err := DecodeMarkets(json.RawMessage(`{"v":3,"markets":[]}`)); err == nil {
		t.Errorf("of a later version: %+v", got)
	}
}

// TestOrdersOfVersion1 reads a row with numbers for enumerations, and refuses a number that was none.
func TestOrdersOfVersion1(t *testing.T) {
	row := func(version int, text string) ([]market.Order, error) {
		return decodeOrders(journal.Entry{Kind: LogOrders, Data: json.RawMessage(text), Version: version})
	}
	got, err := row(1,
		`{"orders":[{"ID":7,"ParentID":6,"Ref":"r","Symbol":"BTC/USDT","Side":1,"Type":3,"Role":2,"TimeInForce":1,
		"ReduceOnly":true,"Quantity":"0.1","FilledQuantity":"0","LimitPrice":"9","StopPrice":"10","AveragePrice":"0","Fee":"0",
		"Status":4,"Reason":"oco","Tag":"t","ExchangeID":"x","CreatedAt":"2020-01-01T00:00:00.000Z","UpdatedAt":null,"FilledAt":null}]}`)
	want := market.Order{
		ID: 7, ParentID: 6, Ref: "r", Symbol: "BTC/USDT", Side: market.Sell, Type: market.StopLimit,
		Role:        market.RoleStopLoss,
		TimeInForce: market.GTD, ReduceOnly: true, Quantity: decimal.MustParse("0.1"),
		LimitPrice: decimal.MustParse("9"),
		StopPrice:  decimal.MustParse("10"), Status: market.StatusCanceled, Reason: "oco", Tag: "t",
		ExchangeID: "x", CreatedAt: 1577836800000,
	}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []string{`{"orders":[{"ID":1,"Side":2}]}`, `{"orders":[{"ID":1,"Status":7}]}`,
		`{"orders":[{"ID":1,"Role":"exit"}]}`} {
		if got, err := row(1, bad); err == nil {
			t.Errorf("%s is %+v", bad, got)
		}
	}
	text, err := json.Marshal(map[string]any{"orders": []market.Order{want}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := row(journal.Version, string(text)); err != nil || len(got) != 1 ||
		!reflect.DeepEqual(got[0], want) {
		t.Errorf("%+v %v", got, err)
	}
}

// FuzzStored reads anything as the rows that this package keeps: nothing panics.
func FuzzStored(f *testing.F) {
	f.Add(1, []byte(`{"orders":[{"ID":1,"Side":1,"Status":3}]}`))
	f.Add(2, []byte(`{"orders":[{"order_id":"o-000001","side":"sell","status":"filled"}]}`))
	f.Add(2, []byte(`{"v":2,"markets":[{"symbol":"BTC/USDT","price_tick":"0.01"}]}`))
	f.Add(1, []byte(`[{"Symbol":"BTC/USDT","PriceTick":"1e99"}]`))
	f.Fuzz(func(t *testing.T, version int, text []byte) {
		_, _ = decodeOrders(journal.Entry{Data: json.RawMessage(text), Version: version})
		_, _ = DecodeMarkets(text)
	})
}
