package oms

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestSlots: what a symbol does not take, or not as much of, is refused before it leaves.
func TestSlots(t *testing.T) {
	open := func(change func(*exchange.Market)) *Manager {
		m := exchange.Market{Symbol: "BTC/USDT", Trading: true, PriceTick: d("0.01"),
			QuantityStep: d("0.001")}
		change(&m)
		manager, err := New(Config{
			RunID: "svc_slots", Symbols: []market.Symbol{"BTC/USDT"}, Markets: []exchange.Market{m},
			Cash:       d("10000"),
			OrderTypes: []string{"market", "market_quote", "limit", "stop", "stop_limit", "exit_pair"},
		})
		if err != nil {
			t.Fatal(err)
		}
		manager.Candle("BTC/USDT",
			market.Candle{OpenTime: 0, CloseTime: 60_000, Open: 100, High: 100, Low: 100, Close: 100},
			time.Unix(0, 0))
		return manager
	}
	stopped := func(q float64) market.Intent {
		in := market.Intent{Type: market.Limit, LimitPrice: 90,
			Size: market.Size{Kind: market.SizeQuantity, Value: q}}
		in.StopLoss = &market.Child{Percent: 0.1}
		return in
	}
	plain := stopped(1)
	plain.StopLoss = nil
	for name, c := range map[string]struct {
		market  func(*exchange.Market)
		intents []market.Intent
		reasons []string
	}{
		"no bound": {func(*exchange.Market) {}, []market.Intent{stopped(1), stopped(1)},
			[]string{"", ""}},
		"one stop": {func(m *exchange.Market) {
			m.MaxStops = 1
		}, []market.Intent{stopped(1), plain, stopped(1)}, []string{"", "", CodeNoExitSlot}},
		"position": {func(m *exchange.Market) {
			m.MaxPosition = d("1.5")
		}, []market.Intent{stopped(1.5), stopped(1.6)}, []string{"", "ABOVE_MAXIMUM"}},
		"no stops at all": {func(m *exchange.Market) {
			m.OrderTypes = []string{"limit"}
		}, []market.Intent{plain, stopped(1)}, []string{"", "ORDER_TYPE_UNSUPPORTED"}},
		"of all but limits": {func(m *exchange.Market) {
			m.OrderTypes = []string{"market"}
		}, []market.Intent{plain}, []string{"ORDER_TYPE_UNSUPPORTED"}},
	} {
		manager := open(c.market)
		if _, _, err := manager.Intents(c.intents, false, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		for i, o := range manager.Orders() {
			if string(o.Reason) != c.reasons[i] {
				t.Errorf("%s: order %d is %q, want %q", name, i, o.Reason, c.reasons[i])
			}
		}
	}
}
