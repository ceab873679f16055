package oms

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var all = market.Size{Kind: market.SizeCashFraction, Value: 1}

func quantity(q float64) market.Size { return market.Size{Kind: market.SizeQuantity, Value: q} }

func TestMarketOrders(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: all, Tag: "in"})
	if got := s.sent[0].QuoteAmount.String(); got != "9990.00999" {
		t.Errorf("fee included, %s is spent", got)
	}
	s.expect("entry:filled:99.9", "")
	s.decide(market.Intent{Action: market.Close})
	s.expect("entry:filled:99.9 exit:filled:99.9", "")
	updates, fills, trades := s.manager.Drain()
	if len(fills) != 2 || len(trades) != 1 || len(updates) < 4 || trades[0].EntryTag != "in" ||
		updates[0].Status != market.StatusNew {
		t.Errorf("%d updates, %d fills, %+v", len(updates), len(fills), trades)
	}
	s.decide(market.Intent{Action: market.Close}, market.Intent{Side: market.Sell, Size: quantity(1)})
	if got := s.shows(); !strings.HasSuffix(got,
		"entry:rejected:0:reduce_only_no_position exit:rejected:0:short_not_allowed") &&
		!strings.HasSuffix(got, "exit:rejected:0:reduce_only_no_position exit:rejected:0:short_not_allowed") {
		t.Errorf("%s", got)
	}
}

func TestBracketPair(t *testing.T) {
	s := newHarness(t)
	s.split = 3
	bracket := market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05},
		TakeProfit: &market.Child{Price: 110}}
	s.decide(bracket)
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@110/0, sell 3@0/95")
	if p := s.manager.Positions(); len(p) != 1 || p[0].StopLoss.String() != "95" ||
		p[0].TakeProfit.String() != "110" {
		t.Errorf("%+v", p)
	}
	s.price("110")
	s.expect("entry:filled:3 stop_loss:canceled:0:oco take_profit:filled:3", "")
	_, _, trades := s.manager.Drain()
	if len(trades) != 1 || trades[0].ExitReason != "take_profit" {
		t.Errorf("%+v", trades)
	}
}

func TestBracketIsRenewedAtMostEveryTwoSeconds(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}})
	entry := s.open[0].ClientOrderID
	var placed []time.Duration
	for i := range 30 {
		if i < 20 {
			s.fill(entry, d("0.1"), d("99"))
		}
		before := len(s.sent)
		s.wait(100 * time.Millisecond)
		if len(s.sent) > before {
			placed = append(placed, s.at.Sub(day0))
		}
	}
	s.wait(2 * time.Second)
	for i := 1; i < len(placed); i++ {
		if placed[i]-placed[i-1] < 2*time.Second {
			t.Errorf("placed at %s", placed)
		}
	}
	s.expect("entry:partially_filled:2 stop_loss:open:0", "buy 3@99/0, sell 2@0/94.05")
}

func TestCloseTakesTheExitsBack(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05},
		TakeProfit: &market.Child{Percent: 0.1}})
	s.wait(2 * time.Second)
	s.hold = true
	s.decide(market.Intent{Action: market.Close})
	if n := len(s.sent); s.sent[n-1].Type == market.Market && s.sent[n-1].Side == market.Sell {
		t.Error("sold before the exits were confirmed to be gone: the venue holds the base for them")
	}
	s.hold = false
	s.release()
	s.expect("entry:filled:3 stop_loss:canceled:0:position_closed take_profit:canceled:0:position_closed "+
		"exit:filled:3", "")
	if !s.manager.Ledger().Flat(btc) {
		t.Error("not flat")
	}
}

func TestPartialExitKeepsTheRestProtected(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}})
	s.wait(2 * time.Second)
	s.decide(market.Intent{Side: market.Sell, Size: quantity(1)})
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 exit:filled:1", "sell 2@0/95")
}

// TestReplaceOfAStopThatWasReached: a stop-limit whose stop a candle reached is replaced by a limit, as in a
// backtest, unless the change has a stop to wait for.
func TestReplaceOfAStopThatWasReached(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.StopLimit, StopPrice: 104, LimitPrice: 103, Size: quantity(1),
		ClientRef: "a"})
	s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 102})
	s.expect("entry:open:0", "buy 1@102/104")
	s.candle(105, 99, 104)
	s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 101})
	s.expect("entry:open:0", "buy 1@101/0")
	s.decide(market.Intent{Action: market.Replace, Ref: "a", StopPrice: 106, LimitPrice: 105})
	s.expect("entry:open:0", "buy 1@105/106")
}

func TestReplaceIsCancelConfirmNew(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(2), ClientRef: "a"})
	s.hold = true
	if r := s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 98.009,
		Size: quantity(3)}); r[0] != "" {
		t.Fatal(r)
	}
	s.expect("entry:open:0", "buy 2@99/0")
	s.part(0, d("0.5")) // before the venue saw the cancel
	s.hold = false
	s.release()
	s.expect("entry:partially_filled:0.5", "buy 2.5@98/0")
	if r := s.decide(market.Intent{Action: market.Replace, Ref: "b"},
		market.Intent{Action: market.Cancel, Ref: "b"},
		market.Intent{Action: market.Cancel, Ref: "o-000001"}); r[0] != "unknown_order" ||
		r[1] != "unknown_order" || r[2] != "" {
		t.Error(r)
	}
	s.expect("entry:canceled:0.5:strategy", "")
	ids := map[string]bool{}
	for _, o := range s.sent {
		if ids[o.ClientOrderID] {
			t.Error("an id was used twice")
		}
		ids[o.ClientOrderID] = true
	}
}

func TestReplaceTooLate(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(2), ClientRef: "a"})
	s.hold = true
	s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 98})
	s.price("99")
	s.wait(time.Second)
	s.expect("entry:filled:2", "")
	if len(s.sent) != 1 {
		t.Errorf("%d orders were sent", len(s.sent))
	}
}

func TestTrailingStop(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(1)})
	s.decide(market.Intent{
		Side: market.Sell, Type: market.TrailingStop, Size: market.Size{Kind: market.SizePosition},
		TrailPercent: 0.1,
	})
	s.expect("entry:filled:1 exit:open:0", "sell 1@0/90")
	s.candle(120, 100, 119)
	s.expect("entry:filled:1 exit:open:0", "sell 1@0/108")
	s.candle(119, 110, 110)
	s.expect("entry:filled:1 exit:open:0", "sell 1@0/108")
	s.price("108")
	s.expect("entry:filled:1 exit:filled:1", "")
}

func TestTrailingBracket(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(1), StopLoss: &market.Child{TrailAmount: 5},
		TakeProfit: &market.Child{Price: 150}})
	s.wait(2 * time.Second)
	s.expect("entry:filled:1 stop_loss:open:0 take_profit:open:0", "sell 1@150/0, sell 1@0/95")
	s.candle(120, 100, 119)
	s.expect("entry:filled:1 stop_loss:open:0 take_profit:open:0", "sell 1@150/0, sell 1@0/115")
}

func TestBracketThatTightens(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(1), StopLoss: &market.Child{Percent: 0.05, TightenTo: 0.1,
		TightenAfter: 0.2}})
	s.wait(2 * time.Second)
	s.expect("entry:filled:1 stop_loss:open:0", "sell 1@0/95")
	s.candle(120, 100, 119)
	s.expect("entry:filled:1 stop_loss:open:0", "sell 1@0/95")
	s.candle(130, 118, 129)
	s.expect("entry:filled:1 stop_loss:open:0", "sell 1@0/117")
}

func TestExpiry(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 90, Size: quantity(1), TimeInForce: market.GTD,
		ExpireAfter: 2})
	s.candle(100, 99, 100)
	s.expect("entry:open:0", "buy 1@90/0")
	s.candle(100, 99, 100)
	s.expect("entry:expired:0:gtd", "")
}

func TestFeesInTheBaseLeaveDust(t *testing.T) {
	s := newHarness(t)
	s.fee = func(side market.Side, q, p dec) (dec, string) {
		if side == market.Buy {
			return order.Times(q, d("0.001")), "BTC"
		}
		return order.Times(order.Times(q, p), d("0.001")), "USDT"
	}
	s.manager.SetFree("BTC", d("5")) // 5 that are not the run's
	s.decide(market.Intent{Size: quantity(1.2345)})
	s.decide(market.Intent{Action: market.Close})
	s.expect("entry:filled:1.2345 exit:filled:1.2332", "")
	if l := s.manager.Ledger(); !l.Flat(btc) || l.Dust(btc).String() != "0.0000655" ||
		s.manager.Positions() != nil {
		t.Errorf("%s is left, dust %s", l.Quantity(btc), l.Dust(btc))
	}
	if _, _, trades := s.manager.Drain(); len(trades) != 1 {
		t.Errorf("%d trades", len(trades))
	}
}

func TestFreeBalanceBoundsTheExit(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3)})
	s.manager.SetFree("BTC", d("2.00009"))
	s.decide(market.Intent{Action: market.Close})
	s.expect("entry:filled:3 exit:filled:2", "")
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		in   market.Intent
		want string
	}{
		"below the minimum": {market.Intent{Size: quantity(0.0499)}, "BELOW_MINIMUM"},
		"below the step":    {market.Intent{Size: quantity(0.00001)}, "BELOW_MINIMUM"},
		"amount too small": {market.Intent{Size: market.Size{Kind: market.SizeQuoteAmount, Value: 4.99}},
			"BELOW_MINIMUM"},
		"no size":          {market.Intent{}, "invalid_size"},
		"negative":         {market.Intent{Size: quantity(-1)}, "invalid_quantity"},
		"too much":         {market.Intent{Size: quantity(100)}, "insufficient_cash"},
		"no limit":         {market.Intent{Type: market.Limit, Size: quantity(1)}, "invalid_price"},
		"a limit too many": {market.Intent{LimitPrice: 1, Size: quantity(1)}, "invalid_price"},
		"stop with ioc": {market.Intent{Type: market.Stop, StopPrice: 110, Size: quantity(1),
			TimeInForce: market.IOC}, "ORDER_TYPE_UNSUPPORTED"},
		"gtd without end": {market.Intent{Size: quantity(1), TimeInForce: market.GTD},
			"invalid_expiry"},
		"trailing target": {market.Intent{Size: quantity(1),
			TakeProfit: &market.Child{TrailPercent: 0.1}}, "invalid_bracket"},
		"tightening target": {market.Intent{Size: quantity(1),
			TakeProfit: &market.Child{Percent: 0.1, TightenTo: 0.1}}, "invalid_bracket"},
		"stop loss above limit": {market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(1),
			StopLoss: &market.Child{Price: 99.5}}, "invalid_bracket"},
		"short": {market.Intent{Side: market.Sell, Size: quantity(1)}, "short_not_allowed"},
	} {
		s := newHarness(t)
		s.decide(tc.in)
		if o := s.manager.Orders()[0]; o.Status != market.StatusRejected || string(o.Reason) != tc.want ||
			len(s.sent) != 0 {
			t.Errorf("%s: %s %s, %d sent", name, o.Status, o.Reason, len(s.sent))
		}
	}
	s := newHarness(t)
	s.manager.cfg.OrderTypes = []string{"market", "limit"}
	for _, in := range []market.Intent{{Size: all}, {Type: market.Stop, StopPrice: 101, Size: quantity(1)},
		{Size: quantity(1), StopLoss: &market.Child{Percent: 0.1}}} {
		s.decide(in)
	}
	for _, o := range s.manager.Orders() {
		if o.Reason != "ORDER_TYPE_UNSUPPORTED" {
			t.Errorf("%s", o.Reason)
		}
	}
	s = newHarness(t)
	if _, _, err := s.manager.Intents([]market.Intent{{Size: quantity(math.NaN())}}, false,
		s.at); !errors.As(err, new(*IntentError)) {
		t.Errorf("NaN: %v", err)
	}
	if _, _, err := s.manager.Intents([]market.Intent{{Symbol: "X/Y"}}, false, s.at); err == nil {
		t.Error("a foreign symbol")
	}
	r, _, err := s.manager.Intents([]market.Intent{{Size: quantity(1)}}, true, s.at)
	if err != nil || len(r.Proposals) != 0 || s.manager.Orders()[0].Reason != "warmup" {
		t.Error("an order during warm-up")
	}
}

func TestRiskDenies(t *testing.T) {
	s := newHarness(t)
	s.deny = "ORDER_NOTIONAL_EXCEEDED"
	s.decide(market.Intent{Size: quantity(1)})
	s.expect("entry:rejected:0:ORDER_NOTIONAL_EXCEEDED", "")
	s.deny = ""
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(1),
		StopLoss: &market.Child{Percent: 0.05}})
	s.deny = "STATE_HALTED"
	s.price("99")
	if got := strings.Join(s.alarms, " "); got != "EXIT_NOT_PLACED" || s.stands() != "" {
		t.Errorf("alarms %q, venue %q", got, s.stands())
	}
	s.deny = ""
	s.wait(10 * time.Second)
	s.expect("entry:rejected:0:ORDER_NOTIONAL_EXCEEDED entry:filled:1 stop_loss:open:0", "sell 1@0/94.05")
}

func TestUnresolvedSymbolTakesNoEntries(t *testing.T) {
	s := newHarness(t)
	r, _, err := s.manager.Intents([]market.Intent{{Type: market.Limit, LimitPrice: 99, Size: quantity(1)}},
		false, s.at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.manager.Commit(r.Proposals[0], s.at); err != nil {
		t.Fatal(err)
	}
	id := r.Proposals[0].Specs[0].ClientOrderID
	s.apply(order.Event{Kind: order.Handed, ClientOrderID: id})
	s.apply(order.Event{Kind: order.SubmitReply, ClientOrderID: id,
		Result: exchange.Result{Outcome: exchange.Unknown}})
	s.decide(market.Intent{Size: quantity(1)})
	s.expect("entry:new:0 entry:rejected:0:SYMBOL_UNRESOLVED", "")
}

func TestBarrier(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(1)})
	s.run(s.manager.Barrier(s.at), nil)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 98, Size: quantity(0)})
	s.run(s.manager.CancelAll(s.at), nil)
	if s.stands() != "" || len(s.manager.Book().Pending()) != 0 {
		t.Errorf("%s", s.stands())
	}
}

func TestFlattenAfterTheBarrier(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05},
		TakeProfit: &market.Child{Percent: 0.1}})
	s.wait(2 * time.Second)
	s.run(s.manager.Barrier(s.at), nil)
	s.run(s.manager.CancelAll(s.at), nil)
	s.expect("entry:filled:3 stop_loss:canceled:0:end_of_data take_profit:canceled:0:end_of_data", "")
	s.run(s.manager.Flatten(s.at), nil)
	s.expect("entry:filled:3 stop_loss:canceled:0:end_of_data take_profit:canceled:0:end_of_data "+
		"exit:filled:3", "")
}

func TestLevelsThatThePriceHasPassed(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Price: 101},
		TakeProfit: &market.Child{Price: 110}})
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:filled:3 take_profit:canceled:0:oco", "")

	s = newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Price: 90},
		TakeProfit: &market.Child{Price: 99}})
	s.wait(2 * time.Second)
	if s.stands() != "sell 3@99/0" {
		t.Errorf("at the venue %q", s.stands())
	}
	s.candle(98, 97, 97)
	s.wait(2 * time.Second)
	if s.stands() != "sell 3@99/0, sell 3@0/90" {
		t.Errorf("at the venue %q", s.stands())
	}
}

// TestEntryKeepsFillingAfterItsExitDid: what comes later is protected too.
func TestEntryKeepsFillingAfterItsExitDid(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Price: 95}})
	s.part(0, d("1"))
	s.wait(2 * time.Second)
	s.part(1, d("1"))
	s.part(0, d("2"))
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:filled:1 stop_loss:open:0", "sell 2@0/95")
}

// TestHalfAnExit: the venue ends one leg of a pair with the first trade of the other. What is left
// gets both again.
func TestHalfAnExit(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05},
		TakeProfit: &market.Child{Percent: 0.1}})
	s.wait(2 * time.Second)
	s.part(0, d("1"))
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:partially_filled:1", "sell 2@110/0, sell 2@0/95")
	s.price("110")
	s.expect("entry:filled:3 stop_loss:canceled:0:oco take_profit:filled:3", "")
}
