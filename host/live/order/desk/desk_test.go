package desk

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/live/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const btc = market.Symbol("BTC/USDT")

var day0 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func d(s string) dec { return decimal.MustParse(s) }

// shop is a desk with an engine and a venue around it, as small as they can be.
type shop struct {
	t      *testing.T
	desk   *Desk
	at     time.Time
	step   int64
	open   []exchange.Order // at the venue, with pairs by list
	pairs  map[string]string
	trades int
	alarms []string
	sent   []order.Spec
	fee    func(side market.Side, q, p dec) (dec, string)
	hold   bool // the venue confirms cancels only when told
	held   []string
	deny   string
	split  int // market orders fill in so many trades
}

func newShop(t *testing.T) *shop {
	t.Helper()
	m := exchange.Market{Symbol: btc, Trading: true, PriceTick: d("0.01"), QuantityStep: d("0.0001"), MinNotional: d("5"), TakerFee: d("0.001"), MakerFee: d("0.001")}
	k, err := New(Config{
		RunID: "svc_test", Symbols: []market.Symbol{btc}, Markets: []exchange.Market{m}, Cash: d("10000"),
		OrderTypes: []string{"market", "market_quote", "limit", "stop", "stop_limit", "exit_pair"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, desk: k, at: day0, pairs: map[string]string{}, split: 1}
	s.fee = func(_ market.Side, q, p dec) (dec, string) { return order.Times(order.Times(q, p), d("0.001")), "USDT" }
	s.candle(100, 100, 100)
	return s
}

// run does what the desk wants until it wants nothing.
func (s *shop) run(r Result, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range r.Effects {
		s.effect(e)
	}
	for _, p := range r.Proposals {
		if s.deny != "" {
			s.run(s.desk.Deny(p, s.deny, s.at))
			continue
		}
		s.sent = append(s.sent, p.Specs...)
		s.run(s.desk.Commit(p, s.at))
	}
	if err := s.desk.Ledger().Check(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) effect(e order.Effect) {
	s.t.Helper()
	switch e.Do {
	case order.Alarm:
		s.alarms = append(s.alarms, e.Code)
	case order.Send:
		ids := []string{e.Order}
		if e.Pair != nil {
			ids = []string{e.Pair.LimitID, e.Pair.StopID}
			s.pairs[ids[0]], s.pairs[ids[1]] = ids[1], ids[0]
		}
		r, err := s.desk.Apply(order.Event{Kind: order.Handed, ClientOrderID: e.Order}, s.at)
		if s.run(r, nil); err != nil {
			return // it was taken back in the meantime: it must not be sent
		}
		for _, id := range ids {
			s.accept(id)
		}
	case order.Cancel:
		s.held = append(s.held, e.Order)
		if !s.hold {
			s.release()
		}
	}
}

func (s *shop) apply(ev order.Event) {
	s.t.Helper()
	s.run(s.desk.Apply(ev, s.at))
}

func (s *shop) accept(id string) {
	s.t.Helper()
	st, _ := s.desk.Book().Get(id)
	o := exchange.Order{ClientOrderID: id, Symbol: btc, Side: st.Spec.Side, Type: st.Spec.Type, Status: exchange.OrderOpen, Quantity: st.Spec.Quantity, LimitPrice: st.Spec.LimitPrice, StopPrice: st.Spec.StopPrice}
	s.apply(order.Event{Kind: order.SubmitReply, ClientOrderID: id, Result: exchange.Result{Outcome: exchange.Accepted}, Order: o})
	if st.Spec.Type == market.Market {
		q := st.Spec.Quantity
		if st.Spec.QuoteAmount.IsPos() {
			q = order.Share(st.Spec.QuoteAmount, s.desk.sym[0].last).Floor(4)
		}
		o.Quantity = q
		for i := range s.split {
			part := order.Share(q, decimal.MustNew(int64(s.split), 0)).Floor(4)
			if i == s.split-1 {
				part = order.Minus(q, order.Times(part, decimal.MustNew(int64(s.split-1), 0)))
			}
			s.fill(o, part, s.desk.sym[0].last)
		}
		o.Status, o.CumQuantity = exchange.OrderFilled, q
		s.apply(order.Event{Kind: order.OrderSeen, Source: order.FromStream, ClientOrderID: id, Order: o})
		return
	}
	s.open = append(s.open, o)
}

// release confirms the cancels that were asked for.
func (s *shop) release() {
	s.t.Helper()
	list := s.held
	s.held = nil
	for _, id := range list {
		s.end(id, exchange.OrderCanceled)
		if other := s.pairs[id]; other != "" {
			s.end(other, exchange.OrderCanceled)
		}
	}
}

func (s *shop) end(id string, status exchange.OrderStatus) {
	s.t.Helper()
	for i, o := range s.open {
		if o.ClientOrderID == id {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
			o.Status = status
			s.apply(order.Event{Kind: order.OrderSeen, Source: order.FromStream, ClientOrderID: id, Order: o})
			return
		}
	}
}

func (s *shop) fill(o exchange.Order, q, p dec) {
	s.t.Helper()
	s.trades++
	fee, asset := s.fee(o.Side, q, p)
	s.apply(order.Event{Kind: order.FillSeen, Source: order.FromStream, ClientOrderID: o.ClientOrderID, Fill: exchange.Fill{
		TradeID: fmt.Sprint(s.trades), ClientOrderID: o.ClientOrderID, Symbol: btc, Side: o.Side, Quantity: q, Price: p, Fee: fee, FeeAsset: asset, Time: market.FromTime(s.at),
	}})
}

// price fills in full what a price reaches, and ends the other leg of a pair.
func (s *shop) price(p string) {
	s.t.Helper()
	for _, o := range append([]exchange.Order(nil), s.open...) {
		level, up := o.LimitPrice, o.Side == market.Sell
		if o.StopPrice.IsPos() {
			level, up = o.StopPrice, o.Side == market.Buy
		}
		if c := d(p).Cmp(level); (up && c < 0) || (!up && c > 0) || !s.has(o.ClientOrderID) {
			continue
		}
		for i := range s.open {
			if s.open[i].ClientOrderID == o.ClientOrderID {
				s.open = append(s.open[:i:i], s.open[i+1:]...)
				break
			}
		}
		if other := s.pairs[o.ClientOrderID]; other != "" {
			s.end(other, exchange.OrderCanceled)
		}
		s.fill(o, o.Quantity, level)
	}
}

func (s *shop) has(id string) bool {
	for _, o := range s.open {
		if o.ClientOrderID == id {
			return true
		}
	}
	return false
}

func (s *shop) candle(high, low, last float64) {
	s.t.Helper()
	s.at = s.at.Add(time.Minute)
	s.step++
	now := market.FromTime(s.at)
	s.desk.Begin(s.step, now)
	s.run(s.desk.Candle(btc, market.Candle{OpenTime: now - 60_000, CloseTime: now, Open: last, High: high, Low: low, Close: last}, s.at), nil)
}

func (s *shop) decide(list ...market.Intent) []string {
	s.t.Helper()
	r, refused, err := s.desk.Intents(list, false, s.at)
	s.run(r, err)
	return refused
}

func (s *shop) wait(by time.Duration) {
	s.t.Helper()
	s.at = s.at.Add(by)
	s.run(s.desk.Due(s.at), nil)
}

// shows is the orders of the strategy, one word each.
func (s *shop) shows() string {
	var words []string
	for _, o := range s.desk.Orders() {
		w := fmt.Sprintf("%s:%s:%s", o.Role, o.Status, o.FilledQuantity)
		if o.Reason != "" {
			w += ":" + o.Reason
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// stands is what rests at the venue.
func (s *shop) stands() string {
	var words []string
	for _, o := range s.open {
		words = append(words, fmt.Sprintf("%s %s@%s/%s", o.Side, o.Quantity, o.LimitPrice, o.StopPrice))
	}
	return strings.Join(words, ", ")
}

func (s *shop) expect(orders, venue string) {
	s.t.Helper()
	if got := s.shows(); got != orders {
		s.t.Errorf("the strategy sees %q, want %q", got, orders)
	}
	if got := s.stands(); got != venue {
		s.t.Errorf("at the venue %q, want %q", got, venue)
	}
}

var all = market.Size{Kind: market.SizeCashFraction, Value: 1}

func quantity(q float64) market.Size { return market.Size{Kind: market.SizeQuantity, Value: q} }

func TestMarketOrders(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Size: all, Tag: "in"})
	if got := s.sent[0].QuoteAmount.String(); got != "9990.00999" {
		t.Errorf("fee included, %s is spent", got)
	}
	s.expect("entry:filled:99.9", "")
	s.decide(market.Intent{Action: market.Close})
	s.expect("entry:filled:99.9 exit:filled:99.9", "")
	updates, fills, trades := s.desk.Drain()
	if len(fills) != 2 || len(trades) != 1 || len(updates) < 4 || trades[0].EntryTag != "in" || updates[0].Status != market.StatusNew {
		t.Errorf("%d updates, %d fills, %+v", len(updates), len(fills), trades)
	}
	s.decide(market.Intent{Action: market.Close}, market.Intent{Side: market.Sell, Size: quantity(1)})
	if got := s.shows(); !strings.HasSuffix(got, "entry:rejected:0:reduce_only_no_position exit:rejected:0:short_not_allowed") && !strings.HasSuffix(got, "exit:rejected:0:reduce_only_no_position exit:rejected:0:short_not_allowed") {
		t.Errorf("%s", got)
	}
}

func TestBracketPair(t *testing.T) {
	s := newShop(t)
	s.split = 3
	bracket := market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}, TakeProfit: &market.Child{Price: 110}}
	s.decide(bracket)
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@110/0, sell 3@0/95")
	if p := s.desk.Positions(); len(p) != 1 || p[0].StopLoss.String() != "95" || p[0].TakeProfit.String() != "110" {
		t.Errorf("%+v", p)
	}
	s.price("110")
	s.expect("entry:filled:3 stop_loss:canceled:0:oco take_profit:filled:3", "")
	_, _, trades := s.desk.Drain()
	if len(trades) != 1 || trades[0].ExitReason != "take_profit" {
		t.Errorf("%+v", trades)
	}
}

func TestBracketIsRenewedAtMostEveryTwoSeconds(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}})
	entry := s.open[0]
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
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}, TakeProfit: &market.Child{Percent: 0.1}})
	s.wait(2 * time.Second)
	s.hold = true
	s.decide(market.Intent{Action: market.Close})
	if n := len(s.sent); s.sent[n-1].Type == market.Market && s.sent[n-1].Side == market.Sell {
		t.Error("sold before the exits were confirmed to be gone: the venue holds the base for them")
	}
	s.hold = false
	s.release()
	s.expect("entry:filled:3 stop_loss:canceled:0:position_closed take_profit:canceled:0:position_closed exit:filled:3", "")
	if !s.desk.Ledger().Flat(btc) {
		t.Error("not flat")
	}
}

func TestPartialExitKeepsTheRestProtected(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}})
	s.wait(2 * time.Second)
	s.decide(market.Intent{Side: market.Sell, Size: quantity(1)})
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 exit:filled:1", "sell 2@0/95")
}

func TestReplaceIsCancelConfirmNew(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(2), ClientRef: "a"})
	s.hold = true
	if r := s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 98.009, Size: quantity(3)}); r[0] != "" {
		t.Fatal(r)
	}
	s.expect("entry:open:0", "buy 2@99/0")
	entry := s.open[0]
	s.fill(entry, d("0.5"), d("99")) // before the venue saw the cancel
	s.open[0].CumQuantity = d("0.5")
	s.hold = false
	s.release()
	s.expect("entry:partially_filled:0.5", "buy 2.5@98/0")
	if r := s.decide(market.Intent{Action: market.Replace, Ref: "b"}, market.Intent{Action: market.Cancel, Ref: "b"}, market.Intent{Action: market.Cancel, Ref: "o-000001"}); r[0] != "unknown_order" || r[1] != "unknown_order" || r[2] != "" {
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
	s := newShop(t)
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
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(1)})
	s.decide(market.Intent{Side: market.Sell, Type: market.TrailingStop, ReduceOnly: true, TrailPercent: 0.1})
	s.expect("entry:filled:1 exit:open:0", "sell 1@0/90")
	s.candle(120, 100, 119)
	s.expect("entry:filled:1 exit:open:0", "sell 1@0/108")
	s.candle(119, 110, 110)
	s.expect("entry:filled:1 exit:open:0", "sell 1@0/108")
	s.price("108")
	s.expect("entry:filled:1 exit:filled:1", "")
}

func TestTrailingBracket(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(1), StopLoss: &market.Child{TrailAmount: 5}, TakeProfit: &market.Child{Price: 150}})
	s.wait(2 * time.Second)
	s.expect("entry:filled:1 stop_loss:open:0 take_profit:open:0", "sell 1@150/0, sell 1@0/95")
	s.candle(120, 100, 119)
	s.expect("entry:filled:1 stop_loss:open:0 take_profit:open:0", "sell 1@150/0, sell 1@0/115")
}

func TestExpiry(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 90, Size: quantity(1), TimeInForce: market.GTD, ExpireAfter: 2})
	s.candle(100, 99, 100)
	s.expect("entry:open:0", "buy 1@90/0")
	s.candle(100, 99, 100)
	s.expect("entry:expired:0:gtd", "")
}

func TestFeesInTheBaseLeaveDust(t *testing.T) {
	s := newShop(t)
	s.fee = func(side market.Side, q, p dec) (dec, string) {
		if side == market.Buy {
			return order.Times(q, d("0.001")), "BTC"
		}
		return order.Times(order.Times(q, p), d("0.001")), "USDT"
	}
	s.desk.SetFree("BTC", d("5")) // 5 that are not the run's
	s.decide(market.Intent{Size: quantity(1.2345)})
	s.decide(market.Intent{Action: market.Close})
	s.expect("entry:filled:1.2345 exit:filled:1.2332", "")
	if l := s.desk.Ledger(); !l.Flat(btc) || l.Dust(btc).String() != "0.0000655" || s.desk.Positions() != nil {
		t.Errorf("%s is left, dust %s", l.Quantity(btc), l.Dust(btc))
	}
	if _, _, trades := s.desk.Drain(); len(trades) != 1 {
		t.Errorf("%d trades", len(trades))
	}
}

func TestFreeBalanceBoundsTheExit(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(3)})
	s.desk.SetFree("BTC", d("2.00009"))
	s.decide(market.Intent{Action: market.Close})
	s.expect("entry:filled:3 exit:filled:2", "")
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		in   market.Intent
		want string
	}{
		"below the minimum":     {market.Intent{Size: quantity(0.0499)}, "BELOW_MINIMUM"},
		"below the step":        {market.Intent{Size: quantity(0.00001)}, "BELOW_MINIMUM"},
		"amount too small":      {market.Intent{Size: market.Size{Kind: market.SizeQuoteAmount, Value: 4.99}}, "BELOW_MINIMUM"},
		"no size":               {market.Intent{}, "invalid_size"},
		"negative":              {market.Intent{Size: quantity(-1)}, "invalid_quantity"},
		"too much":              {market.Intent{Size: quantity(100)}, "insufficient_cash"},
		"no limit":              {market.Intent{Type: market.Limit, Size: quantity(1)}, "invalid_price"},
		"a limit too many":      {market.Intent{LimitPrice: 1, Size: quantity(1)}, "invalid_price"},
		"stop with ioc":         {market.Intent{Type: market.Stop, StopPrice: 110, Size: quantity(1), TimeInForce: market.IOC}, "ORDER_TYPE_UNSUPPORTED"},
		"gtd without end":       {market.Intent{Size: quantity(1), TimeInForce: market.GTD}, "invalid_expiry"},
		"trailing target":       {market.Intent{Size: quantity(1), TakeProfit: &market.Child{TrailPercent: 0.1}}, "invalid_bracket"},
		"stop loss above limit": {market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(1), StopLoss: &market.Child{Price: 99.5}}, "invalid_bracket"},
		"short":                 {market.Intent{Side: market.Sell, Size: quantity(1)}, "short_not_allowed"},
	} {
		s := newShop(t)
		s.decide(tc.in)
		if o := s.desk.Orders()[0]; o.Status != market.StatusRejected || o.Reason != tc.want || len(s.sent) != 0 {
			t.Errorf("%s: %s %s, %d sent", name, o.Status, o.Reason, len(s.sent))
		}
	}
	s := newShop(t)
	s.desk.cfg.OrderTypes = []string{"market", "limit"}
	for _, in := range []market.Intent{{Size: all}, {Type: market.Stop, StopPrice: 101, Size: quantity(1)}, {Size: quantity(1), StopLoss: &market.Child{Percent: 0.1}}} {
		s.decide(in)
	}
	for _, o := range s.desk.Orders() {
		if o.Reason != "ORDER_TYPE_UNSUPPORTED" {
			t.Errorf("%s", o.Reason)
		}
	}
	s = newShop(t)
	if _, _, err := s.desk.Intents([]market.Intent{{Size: quantity(math.NaN())}}, false, s.at); !errors.As(err, new(*IntentError)) {
		t.Errorf("NaN: %v", err)
	}
	if _, _, err := s.desk.Intents([]market.Intent{{Symbol: "X/Y"}}, false, s.at); err == nil {
		t.Error("a foreign symbol")
	}
	r, _, err := s.desk.Intents([]market.Intent{{Size: quantity(1)}}, true, s.at)
	if err != nil || len(r.Proposals) != 0 || s.desk.Orders()[0].Reason != "warmup" {
		t.Error("an order during warm-up")
	}
}

func TestRiskDenies(t *testing.T) {
	s := newShop(t)
	s.deny = "ORDER_NOTIONAL_EXCEEDED"
	s.decide(market.Intent{Size: quantity(1)})
	s.expect("entry:rejected:0:ORDER_NOTIONAL_EXCEEDED", "")
	s.deny = ""
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(1), StopLoss: &market.Child{Percent: 0.05}})
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
	s := newShop(t)
	r, _, err := s.desk.Intents([]market.Intent{{Type: market.Limit, LimitPrice: 99, Size: quantity(1)}}, false, s.at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.desk.Commit(r.Proposals[0], s.at); err != nil {
		t.Fatal(err)
	}
	id := r.Proposals[0].Specs[0].ClientOrderID
	s.apply(order.Event{Kind: order.Handed, ClientOrderID: id})
	s.apply(order.Event{Kind: order.SubmitReply, ClientOrderID: id, Result: exchange.Result{Outcome: exchange.Unknown}})
	s.decide(market.Intent{Size: quantity(1)})
	s.expect("entry:new:0 entry:rejected:0:SYMBOL_UNRESOLVED", "")
}

func TestBarrier(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(1)})
	s.run(s.desk.Barrier(s.at), nil)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 98, Size: quantity(0)})
	s.run(s.desk.CancelAll(s.at), nil)
	if s.stands() != "" || len(s.desk.Book().Pending()) != 0 {
		t.Errorf("%s", s.stands())
	}
}

func TestFlattenAfterTheBarrier(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}, TakeProfit: &market.Child{Percent: 0.1}})
	s.wait(2 * time.Second)
	s.run(s.desk.Barrier(s.at), nil)
	s.run(s.desk.CancelAll(s.at), nil)
	s.expect("entry:filled:3 stop_loss:canceled:0:end_of_data take_profit:canceled:0:end_of_data", "")
	s.run(s.desk.Flatten(s.at), nil)
	s.expect("entry:filled:3 stop_loss:canceled:0:end_of_data take_profit:canceled:0:end_of_data exit:filled:3", "")
}

func TestLevelsThatThePriceHasPassed(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Price: 101}, TakeProfit: &market.Child{Price: 110}})
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:filled:3 take_profit:canceled:0:oco", "")

	s = newShop(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Price: 90}, TakeProfit: &market.Child{Price: 99}})
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
	s := newShop(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3), StopLoss: &market.Child{Price: 95}})
	entry := s.open[0]
	s.fill(entry, d("1"), d("99"))
	s.wait(2 * time.Second)
	stop := s.open[1]
	s.open = s.open[:1]
	s.fill(stop, d("1"), d("95"))
	s.open = nil
	s.fill(entry, d("2"), d("99"))
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:filled:1 stop_loss:open:0", "sell 2@0/95")
}

// TestHalfAnExit: the venue ends one leg of a pair with the first trade of the other. What is left
// gets both again.
func TestHalfAnExit(t *testing.T) {
	s := newShop(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}, TakeProfit: &market.Child{Percent: 0.1}})
	s.wait(2 * time.Second)
	s.part(0, d("1"))
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:partially_filled:1", "sell 2@110/0, sell 2@0/95")
	s.price("110")
	s.expect("entry:filled:3 stop_loss:canceled:0:oco take_profit:filled:3", "")
}
