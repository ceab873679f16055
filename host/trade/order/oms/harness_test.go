package oms

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const btc = market.Symbol("BTC/USDT")

var day0 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func d(s string) dec { return decimal.MustParse(s) }

// harness is an order manager with an engine and a venue around it. The engine keeps to the contract of the
// Manager: it does one thing at a time, and it answers everything that it is asked to do.
type harness struct {
	t       *testing.T
	manager *Manager
	at      time.Time
	step    int64
	open    []exchange.Order          // stands at the venue
	seen    map[string]exchange.Order // every order that came to the venue, as it is there
	pairs   map[string]string
	base    dec // what the venue has of the run's
	trades  []exchange.Fill
	alarms  []string
	sent    []order.Spec
	fee     func(side market.Side, q, p dec) (dec, string)
	hold    bool // cancels come to the venue only when told
	held    []string
	slow    bool // so do orders
	onWay   []func()
	deaf    bool // the engine forgets that a cancel wants an answer
	deny    string
	refuse  int      // so many sales are refused by the venue
	codes   []string // of effects that halt the run, and of those that end that
	shut    bool     // the manager knows that it is denied
	split   int      // market orders fill in so many trades
	chatty  bool     // the venue tells the balance after every report, as it is then
	locked  dec      // base that somebody else holds back there
	stale   []dec    // balances that were read and have not come yet

	todo []func() // for the engine, and on its way from the venue
	busy bool
	// wild makes the network bad: it picks what happens next, and what becomes of a call.
	wild func(what string, n int) int
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	return newHarnessOf(t, btc)
}

func newHarnessOf(t *testing.T, symbols ...market.Symbol) *harness {
	t.Helper()
	var markets []exchange.Market
	for _, s := range symbols {
		markets = append(markets, exchange.Market{Symbol: s, Trading: true, PriceTick: d("0.01"),
			QuantityStep: d("0.0001"), MinNotional: d("5"), TakerFee: d("0.001"), MakerFee: d("0.001")})
	}
	s := &harness{t: t, at: day0, seen: map[string]exchange.Order{}, pairs: map[string]string{}, split: 1}
	k, err := New(Config{
		Conditions: func() (c admission.Conditions) {
			if s.shut && s.deny != "" {
				c.Limits = func() risk.Code { return risk.Code(s.deny) }
			}
			return c
		},
		RunID: "svc_test", Symbols: symbols, Markets: markets, Cash: d("10000"),
		OrderTypes: []string{"market", "market_quote", "limit", "stop", "stop_limit", "exit_pair"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.manager = k
	s.fee = func(_ market.Side, q, p dec) (dec, string) {
		return order.Times(order.Times(q, p), d("0.001")), "USDT"
	}
	s.candle(100, 100, 100)
	return s
}

// run takes what the order manager wants and does it until it wants nothing.
func (s *harness) run(r Result, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range r.Effects {
		if e.Do == order.Alarm {
			s.alarms = append(s.alarms, e.Code)
			continue
		}
		if e.Do == order.Halt || e.Do == order.Resume {
			s.codes = append(s.codes, string(e.Do)+" "+e.Code)
			continue
		}
		s.todo = append(s.todo, func() { s.effect(e) })
	}
	for _, p := range r.Proposals {
		s.todo = append(s.todo, func() { s.answer(p) })
	}
	s.work(1 << 20)
}

// work does up to so many things. With a wild network more may stay undone for later.
func (s *harness) work(most int) {
	s.t.Helper()
	if s.busy {
		return
	}
	s.busy = true
	if s.wild != nil {
		most = min(most, s.wild("work", 12))
	}
	for ; most > 0 && len(s.todo) > 0; most-- {
		i := 0
		if s.wild != nil {
			i = s.wild("next", len(s.todo))
		}
		do := s.todo[i]
		s.todo = append(s.todo[:i:i], s.todo[i+1:]...)
		do()
	}
	s.busy = false
	if err := s.manager.Ledger().Check(); err != nil {
		s.t.Fatal(err)
	}
}

// answer is risk and the journal.
func (s *harness) answer(p Proposal) {
	s.t.Helper()
	if s.deny != "" {
		s.run(s.manager.Deny(p, s.deny, s.at))
		return
	}
	s.sent = append(s.sent, p.Specs...)
	s.run(s.manager.Commit(p, s.at))
}

// luck returns what becomes of a call: it works.
func (s *harness) luck() string {
	if s.wild == nil {
		return "ok"
	}
	return [...]string{"ok", "ok", "ok", "ok", "ok", "lost", "unreached", "unsent"}[s.wild("luck", 8)]
}

func (s *harness) effect(e order.Effect) {
	s.t.Helper()
	switch e.Do {
	case order.Send:
		s.send(e)
	case order.Cancel:
		if s.held = append(s.held, e.Order); !s.hold {
			s.release()
		}
	case order.Query:
		ev := order.Event{Kind: order.QueryReply, Source: order.FromQuery, ClientOrderID: e.Order,
			RequestedAt: s.at}
		ev.Result.Outcome, ev.Order = exchange.NotFound, exchange.Order{}
		if o, ok := s.seen[e.Order]; ok {
			ev.Result.Outcome, ev.Order = exchange.Accepted, o
		}
		if s.luck() != "ok" {
			ev.Result.Outcome, ev.Order = exchange.Unknown, exchange.Order{}
		}
		s.tell(ev)
	case order.FetchFills:
		s.fetch(e.Since)
	case order.FetchBalances:
		s.tellFree()
	}
}

// free returns the base that the venue calls free.
func (s *harness) free() dec { return order.Minus(order.Minus(s.base, s.offered()), s.locked) }

// tellFree is a balance on its way to the order manager, as it is now.
func (s *harness) tellFree() {
	free := s.free()
	if s.wild == nil {
		s.manager.SetFree("BTC", free)
		return
	}
	s.todo = append(s.todo, func() { s.manager.SetFree("BTC", free) })
}

func (s *harness) fetch(since time.Time) {
	s.t.Helper()
	r, foreign := s.manager.FillsPage(btc, exchange.Fills{Fills: s.trades, Complete: true}, since, s.at, s.at)
	if s.run(r, nil); len(foreign) > 0 {
		s.t.Fatalf("foreign %v", foreign)
	}
}

// reconcile is what the engine does now and then.
func (s *harness) reconcile() {
	s.t.Helper()
	r, _ := s.manager.OpenList(append([]exchange.Order(nil), s.open...), s.at, s.at)
	s.run(r, nil)
	s.fetch(day0)
}

// balance tells what is free at the venue. The engine asks for it when nothing is on its way.
func (s *harness) balance() {
	if len(s.todo) == 0 && len(s.held) == 0 {
		s.manager.SetFree("BTC", s.free())
	}
}

func (s *harness) apply(ev order.Event) {
	s.t.Helper()
	s.run(s.manager.Apply(ev, s.at))
}

// tell is a word of the venue's to the order manager: at once, or, on a wild network, some time.
func (s *harness) tell(ev order.Event) {
	if s.wild == nil {
		s.apply(ev)
		return
	}
	if ev.Source == order.FromStream && s.wild("drop", 12) == 0 {
		return
	}
	s.todo = append(s.todo, func() { s.apply(ev) })
}

func (s *harness) send(e order.Effect) {
	s.t.Helper()
	r, err := s.manager.Apply(order.Event{Kind: order.Handed, ClientOrderID: e.Order}, s.at)
	if s.run(r, nil); err != nil {
		return // it was taken back in the meantime: it must not be sent
	}
	ids := []string{e.Order}
	if e.Pair != nil {
		ids = []string{e.Pair.LimitID, e.Pair.StopID}
		s.pairs[ids[0]], s.pairs[ids[1]] = ids[1], ids[0]
	}
	switch {
	case s.slow:
		s.onWay = append(s.onWay, func() { s.arrive(ids, e.Attempt) })
	case s.wild != nil:
		s.todo = append(s.todo, func() { s.arrive(ids, e.Attempt) })
	default:
		s.arrive(ids, e.Attempt)
	}
}

// arrive is a submit that comes to the venue, or does not.
func (s *harness) arrive(ids []string, attempt int) {
	s.t.Helper()
	outcome := map[string]exchange.Outcome{"ok": exchange.Accepted, "lost": exchange.Unknown,
		"unreached": exchange.Unknown, "unsent": exchange.NotSent}
	luck := s.luck()
	st, _ := s.manager.Book().Get(ids[0])
	if luck == "ok" && st.Spec.Side == market.Sell && s.refuse > 0 {
		s.refuse--
		luck, outcome["refused"] = "refused", exchange.Rejected
	}
	for i, id := range ids {
		ev := order.Event{Kind: order.SubmitReply, Source: order.FromReply, ClientOrderID: id,
			Attempt: attempt}
		ev.Result.Outcome = outcome[luck]
		if luck == "ok" || luck == "lost" {
			s.accept(id, i == 0)
		}
		if luck == "ok" {
			ev.Order = s.seen[id]
		}
		s.tell(ev)
		s.execute(id)
	}
}

// accept takes an order. Nobody can sell there what he has not.
func (s *harness) accept(id string, leads bool) {
	s.t.Helper()
	st, _ := s.manager.Book().Get(id)
	if _, again := s.seen[id]; again {
		s.t.Fatalf("%s came twice", id)
	}
	if st.Spec.Side == market.Sell && leads && order.Plus(s.offered(), st.Spec.Quantity).Cmp(s.base) > 0 {
		s.t.Fatalf("%s more is offered for sale, %s is held: %s", st.Spec.Quantity, s.base, s.stands())
	}
	s.seen[id] = exchange.Order{
		ClientOrderID: id, Symbol: st.Spec.Symbol, Side: st.Spec.Side, Type: st.Spec.Type,
		Status: exchange.OrderOpen, Quantity: st.Spec.Quantity,
		LimitPrice: st.Spec.LimitPrice, StopPrice: st.Spec.StopPrice,
	}
	s.open = append(s.open, s.seen[id])
}

// execute fills what is to fill at once.
func (s *harness) execute(id string) {
	s.t.Helper()
	o, ok := s.seen[id]
	if !ok || o.Type != market.Market || !s.has(id) {
		return
	}
	if st, _ := s.manager.Book().Get(id); st.Spec.QuoteAmount.IsPos() {
		o.Quantity = order.Share(st.Spec.QuoteAmount, s.manager.sym[0].last).Floor(4)
		s.put(o)
	}
	each := order.Share(o.Quantity, decimal.MustNew(int64(s.split), 0)).Floor(4)
	for range s.split - 1 {
		s.fill(id, each, s.manager.sym[0].last)
	}
	s.fill(id, o.Quantity, s.manager.sym[0].last)
}

// put changes an order at the venue.
func (s *harness) put(o exchange.Order) {
	s.seen[o.ClientOrderID] = o
	for i := range s.open {
		if s.open[i].ClientOrderID != o.ClientOrderID {
			continue
		}
		if s.open[i] = o; o.Status != exchange.OrderOpen && o.Status != exchange.OrderPartiallyFilled {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
		}
		return
	}
}

// release lets the cancels come to the venue, and answers them.
func (s *harness) release() {
	s.t.Helper()
	list := s.held
	s.held = nil
	for _, id := range list {
		luck := s.luck()
		ev := order.Event{Kind: order.CancelReply, Source: order.FromReply, ClientOrderID: id, RequestedAt: s.at}
		if luck == "ok" || luck == "lost" {
			ev.Result.Outcome = exchange.NotOpen
			if s.has(id) {
				s.end(id, exchange.OrderCanceled)
				if other := s.pairs[id]; other != "" {
					s.end(other, exchange.OrderCanceled)
				}
				ev.Result.Outcome, ev.Order = exchange.Accepted, s.seen[id]
			}
		}
		if s.deaf {
			continue
		}
		switch luck {
		case "lost", "unreached":
			ev.Result.Outcome, ev.Order = exchange.Unknown, exchange.Order{}
		case "unsent":
			ev.Result.Outcome = exchange.NotSent
		}
		s.tell(ev)
	}
}

// end ends what stands at the venue.
func (s *harness) end(id string, status exchange.OrderStatus) {
	s.t.Helper()
	if s.has(id) {
		o := s.seen[id]
		o.Status = status
		s.put(o)
		s.tell(order.Event{Kind: order.OrderSeen, Source: order.FromStream, ClientOrderID: id, Order: o})
		if s.chatty {
			s.tellFree()
		}
	}
}

// fill fills so much of an order, or what is left of it. The other leg of a pair ends with the first trade.
func (s *harness) fill(id string, q, p dec) {
	s.t.Helper()
	o := s.seen[id]
	q = q.Min(order.Minus(o.Quantity, o.CumQuantity))
	o.CumQuantity, o.Status = order.Plus(o.CumQuantity, q), exchange.OrderPartiallyFilled
	if o.CumQuantity.Cmp(o.Quantity) == 0 {
		o.Status = exchange.OrderFilled
	}
	s.put(o)
	fee, asset := s.fee(o.Side, q, p)
	f := exchange.Fill{
		TradeID: fmt.Sprint(len(s.trades) + 1), ClientOrderID: id, Symbol: o.Symbol, Side: o.Side,
		Quantity: q, Price: p, Fee: fee, FeeAsset: asset, Time: market.FromTime(s.at),
	}
	s.trades = append(s.trades, f)
	if f.Side == market.Sell {
		q = q.Neg()
	}
	if s.base = order.Plus(s.base, q); asset == "BTC" {
		s.base = order.Minus(s.base, fee)
	}
	if other := s.pairs[id]; other != "" {
		s.end(other, exchange.OrderCanceled)
	}
	s.tell(order.Event{Kind: order.FillSeen, Source: order.FromStream, ClientOrderID: id, Fill: f})
	if s.chatty {
		s.tellFree()
	}
	if o.Type == market.Market && o.Status == exchange.OrderFilled {
		s.tell(order.Event{Kind: order.OrderSeen, Source: order.FromStream, ClientOrderID: id, Order: o})
	}
}

// part fills so much of a resting order, at its price.
func (s *harness) part(i int, q dec) {
	s.t.Helper()
	price := s.open[i].LimitPrice
	if !price.IsPos() {
		price = s.open[i].StopPrice
	}
	s.fill(s.open[i].ClientOrderID, q, price)
}

// price fills in full what a price reaches.
func (s *harness) price(p string) {
	s.t.Helper()
	for _, o := range append([]exchange.Order(nil), s.open...) {
		level, up := o.LimitPrice, o.Side == market.Sell
		if o.StopPrice.IsPos() {
			level, up = o.StopPrice, o.Side == market.Buy
		}
		if c := d(p).Cmp(level); (up && c < 0) || (!up && c > 0) || !s.has(o.ClientOrderID) {
			continue
		}
		s.fill(o.ClientOrderID, o.Quantity, level)
	}
}

func (s *harness) has(id string) bool {
	for _, o := range s.open {
		if o.ClientOrderID == id {
			return true
		}
	}
	return false
}

// offered returns what the venue may sell of ours: one leg of a pair cancels the other.
func (s *harness) offered() dec {
	sum := dec{}
	for _, o := range s.open {
		if o.Side == market.Sell &&
			(s.pairs[o.ClientOrderID] == "" || o.LimitPrice.IsPos() || !s.has(s.pairs[o.ClientOrderID])) {
			sum = order.Plus(sum, order.Minus(o.Quantity, o.CumQuantity))
		}
	}
	return sum
}

func (s *harness) candle(high, low, last float64) {
	s.t.Helper()
	s.at = s.at.Add(time.Minute)
	s.step++
	now := market.FromTime(s.at)
	s.manager.Begin(s.step, now)
	s.run(s.manager.Candle(btc,
		market.Candle{OpenTime: now - 60_000, CloseTime: now, Open: last, High: high, Low: low, Close: last},
		s.at), nil)
}

func (s *harness) decide(list ...market.Intent) []string {
	s.t.Helper()
	r, refused, err := s.manager.Intents(list, false, s.at)
	s.run(r, err)
	return refused
}

func (s *harness) wait(by time.Duration) {
	s.t.Helper()
	s.at = s.at.Add(by)
	s.run(s.manager.Due(s.at), nil)
}

// shows returns the orders of the strategy, one word each.
func (s *harness) shows() string {
	var words []string
	for _, o := range s.manager.Orders() {
		w := fmt.Sprintf("%s:%s:%s", o.Role, o.Status, o.FilledQuantity)
		if o.Reason != "" {
			w += ":" + string(o.Reason)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// stands returns what rests at the venue.
func (s *harness) stands() string {
	var words []string
	for _, o := range s.open {
		words = append(words, fmt.Sprintf("%s %s@%s/%s", o.Side, o.Quantity, o.LimitPrice, o.StopPrice))
	}
	return strings.Join(words, ", ")
}

func (s *harness) expect(orders, venue string) {
	s.t.Helper()
	if got := s.shows(); got != orders {
		s.t.Errorf("the strategy sees %q, want %q", got, orders)
	}
	if got := s.stands(); got != venue {
		s.t.Errorf("at the venue %q, want %q", got, venue)
	}
}
