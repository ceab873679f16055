package order

import (
	"errors"
	"fmt"
	"testing"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestEventPermutations gives the same truthful messages in every order, each one to three times: the
// state, the sums and the trades must not depend on it.
func TestEventPermutations(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	for name, events := range map[string][]Event{
		"fills then cancel": {
			accepted(1, exchange.OrderOpen, "0"), sight(1, exchange.OrderOpen, "0"), trade(1, "t1", "0.25"),
			sight(1, exchange.OrderPartiallyFilled, "0.25"), trade(1, "t2", "0.5"),
			sight(1, exchange.OrderCanceled, "0.75"),
		},
		"filled in three": {
			accepted(1, exchange.OrderPartiallyFilled, "0.25"), trade(1, "t1", "0.25"),
			trade(1, "t2", "0.25"),
			sight(1, exchange.OrderPartiallyFilled, "0.5"), trade(1, "t3", "0.5"),
			sight(1, exchange.OrderFilled, "1"),
		},
		"lost, found, expired": {
			reply(1, exchange.Unknown), sight(1, exchange.OrderOpen, "0"), trade(1, "t1", "0.1"),
			found(1, exchange.OrderPartiallyFilled, "0.1"),
			found(1, exchange.OrderExpired, "0.1"), queried(1, exchange.Unknown),
		},
		"lost and rejected": {reply(1, exchange.Unknown), queried(1, exchange.Unknown),
			found(1, exchange.OrderRejected, "0"), reply(1, exchange.Rejected)},
		"duplicate then filled": {reply(1, exchange.Duplicate), found(1, exchange.OrderOpen, "0"),
			trade(1, "t1", "1"), sight(1, exchange.OrderFilled, "1"), queried(1, exchange.NotFound)},
		"canceled without word": {reply(1, exchange.Unknown), trade(1, "t1", "0.5"),
			found(1, exchange.OrderCanceled, "0.5")},
		"cancel too late": {accepted(1, exchange.OrderOpen, "0"), trade(1, "t1", "1"),
			{Kind: CancelReply, ClientOrderID: id1, Result: exchange.Result{Outcome: exchange.NotOpen}},
			found(1, exchange.OrderFilled, "1")},
		"fills tell it all": {trade(1, "t1", "0.5"), trade(1, "t2", "0.25"), trade(1, "t3", "0.25"),
			reply(1, exchange.Unknown)},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			n := 0
			permutations(len(events), func(order []int) {
				for _, repeat := range repeats(len(events)) {
					h := sentOrder(t)
					at := 0.0
					for _, i := range order {
						for range repeat[i] {
							at += 0.1
							h.apply(events[i], at)
						}
					}
					got := fingerprint(h.status())
					if want == "" {
						want = got
					}
					if n++; got != want {
						t.Fatalf("order %v, each %v times:\n got %s\nwant %s", order, repeat, got, want)
					}
				}
			})
			t.Logf("%d histories: %s", n, want)
		})
	}
}

func fingerprint(s Status) string {
	trades := ""
	for _, f := range s.Fills {
		trades += " " + f.TradeID
	}
	return fmt.Sprintf("%s reason=%q filled=%s reported=%s spent=%s average=%s settled=%v%s", s.State,
		s.Reason, s.Filled, s.Reported, s.Spent, s.AveragePrice, s.Settled, trades)
}

// permutations of 0..n-1, every one (Heap).
func permutations(n int, each func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var walk func(int)
	walk = func(k int) {
		if k <= 1 {
			each(order)
			return
		}
		for i := range k {
			walk(k - 1)
			j := 0
			if k%2 == 0 {
				j = i
			}
			order[j], order[k-1] = order[k-1], order[j]
		}
	}
	walk(n)
}

// repeats returns how often each event comes: all once, all three times, and each alone two or three times.
func repeats(n int) [][]int {
	var list [][]int
	fill := func(all int) []int {
		r := make([]int, n)
		for i := range r {
			r[i] = all
		}
		return r
	}
	list = append(list, fill(1), fill(3))
	for i := range n {
		r := fill(1)
		r[i] = 2 + i%2
		list = append(list, r)
	}
	return list
}

func TestWriteAhead(t *testing.T) {
	b := NewBook()
	if _, err := b.Apply(Event{Kind: Handed, ClientOrderID: id1}, day0); err == nil {
		t.Error("an order was handed over that was never written down")
	}
	var unknown *UnknownOrderError
	if _, err := b.Apply(trade(1, "t1", "1"), day0); !errors.As(err, &unknown) ||
		unknown.ClientOrderID != id1 {
		t.Errorf("a trade of an order that nobody knows: %v", err)
	}
	effects, err := b.Commit(buy(1), day0)
	if err != nil || count(effects, Send) != 1 || effects[0].Do != Tell {
		t.Errorf("commit: %v %s", err, show(effects))
	}
	if _, err := b.Commit(buy(1), day0); err == nil {
		t.Error("a number was used twice")
	}
	if _, err := b.Deny(buy(1), "x", day0); err == nil {
		t.Error("a number was used twice by a denial")
	}
	denied := buy(2)
	effects, err = b.Deny(denied, CodeBelowMinimum, day0)
	if err != nil || count(effects, Send) != 0 {
		t.Errorf("deny: %v %s", err, show(effects))
	}
	if _, err := b.Apply(Event{Kind: Handed, ClientOrderID: denied.ClientOrderID}, day0); err == nil {
		t.Error("a denied order was handed over")
	}
	both := buy(3)
	both.QuoteAmount = d("1")
	if _, err := b.Commit(both, day0); err == nil {
		t.Error("an order with quantity and amount was taken")
	}
}

func TestHandedOverOnce(t *testing.T) {
	h := sentOrder(t)
	if _, err := h.book.Apply(Event{Kind: Handed, ClientOrderID: id1}, sec(1)); err == nil {
		t.Error("an order that is on its way was handed over again")
	}
	h.apply(reply(1, exchange.Unknown), 1)
	if _, err := h.book.Apply(Event{Kind: Handed, ClientOrderID: id1}, sec(2)); err == nil {
		t.Error("an order of unknown fate was handed over again")
	}
	for at := 1.0; at < 300; at += 0.5 {
		if n := count(h.book.Due(sec(at)), Send); n != 0 {
			t.Fatal("an order of unknown fate is to be sent again")
		}
	}
}

func TestUnsentIsSentAgain(t *testing.T) {
	for _, out := range []exchange.Outcome{exchange.NotSent, exchange.Throttled, exchange.Banned,
		exchange.Clock} {
		h := sentOrder(t)
		ev := reply(1, out)
		ev.Attempt, ev.Result.RetryAfterMS = 1, 7000
		h.apply(ev, 1)
		h.is(Intent)
		if count(h.book.Due(sec(7.9)), Send) != 0 {
			t.Errorf("%s: sent again within the venue's time", out)
		}
		again := h.book.Due(sec(8))
		if count(again, Send) != 1 || again[0].Order != id1 || again[0].Attempt != 2 {
			t.Fatalf("%s: not sent again under the same id: %s", out, show(again))
		}
		if count(h.book.Due(sec(9)), Send) != 0 {
			t.Errorf("%s: two sends of one order are under way", out)
		}
		h.apply(Event{Kind: Handed, ClientOrderID: id1}, 9)
		h.apply(ev, 9.1) // the first reply once more
		h.is(Sent)
		ev.Attempt = 2
		h.apply(ev, 10)
		h.is(Intent)
		h.take(h.book.WithdrawUnsent(btc, sec(11)), nil)
		h.is(Rejected)
		if s := h.status(); s.Reason != "EXPIRED_BEFORE_SEND" {
			t.Errorf("reason %s", s.Reason)
		}
		if e := h.book.Due(sec(60)); len(e) != 0 {
			t.Errorf("%s: %s after the end", out, show(e))
		}
	}
}

func TestTerminalVerdicts(t *testing.T) {
	t.Run("a list decides nothing", func(t *testing.T) {
		h := sentOrder(t)
		h.apply(accepted(1, exchange.OrderOpen, "0"), 1)
		effects, _ := h.book.OpenList(nil, sec(30), sec(30))
		h.is(Open)
		if count(effects, Query) != 1 {
			t.Errorf("what a list lacks is asked for: %s", show(effects))
		}
		ev := sight(1, exchange.OrderCanceled, "0")
		ev.Source = FromList
		h.apply(queried(1, exchange.Unknown), 31)
		h.apply(ev, 32)
		h.is(Open)
		h.apply(queried(1, exchange.NotFound), 33)
		h.is(Open)
	})
	t.Run("a list asked before the order was there", func(t *testing.T) {
		h := sentOrder(t)
		h.apply(accepted(1, exchange.OrderOpen, "0"), 1)
		if effects, _ := h.book.OpenList(nil, sec(-1), sec(2)); len(effects) != 0 {
			t.Errorf("%s", show(effects))
		}
	})
	for _, end := range []exchange.OrderStatus{exchange.OrderCanceled, exchange.OrderExpired,
		exchange.OrderRejected} {
		t.Run("late fill after "+string(end), func(t *testing.T) {
			h := sentOrder(t)
			h.apply(sight(1, end, "0"), 1)
			h.is(State(end))
			effects := h.apply(trade(1, "t1", "0.5"), 2)
			h.is(Partial)
			if h.codes() != "LATE_FILL" || count(effects, Query) != 1 || count(effects, Count) != 1 {
				t.Errorf("%s", show(effects))
			}
			h.apply(found(1, exchange.OrderCanceled, "0.5"), 3)
			h.is(Canceled)
			h.apply(trade(1, "t1", "0.5"), 4)
			h.is(Canceled)
			h.apply(trade(1, "t2", "0.5"), 5)
			h.is(Filled)
		})
	}
	t.Run("overfill", func(t *testing.T) {
		h := sentOrder(t)
		h.apply(trade(1, "t1", "1"), 1)
		h.is(Filled)
		effects := h.apply(trade(1, "t2", "0.1"), 2)
		h.is(Filled)
		if h.codes() != "OVERFILL" || count(effects, Reduce) != 1 {
			t.Errorf("%s", show(effects))
		}
		if s := h.status(); s.Filled.String() != "1.1" {
			t.Errorf("filled %s", s.Filled)
		}
	})
	t.Run("the same trade with other data", func(t *testing.T) {
		h := sentOrder(t)
		h.apply(trade(1, "t1", "0.5"), 1)
		h.apply(trade(1, "t1", "0.6"), 2)
		h.apply(trade(1, "t1", "0.6"), 3)
		if s := h.status(); s.Filled.String() != "0.5" || h.codes() != "FILL_CONFLICT" {
			t.Errorf("filled %s, alarms %s", s.Filled, h.codes())
		}
	})
	t.Run("dead but alive", func(t *testing.T) {
		h := sentOrder(t)
		h.apply(reply(1, exchange.Rejected), 1)
		effects := h.apply(sight(1, exchange.OrderOpen, "0"), 2)
		h.is(Rejected)
		if count(effects, Cancel) != 1 || count(effects, Reduce) != 1 || h.codes() != CodeOrderConflict {
			t.Errorf("%s", show(effects))
		}
	})
	t.Run("not sent but there", func(t *testing.T) {
		h := sentOrder(t)
		h.apply(reply(1, exchange.NotSent), 1)
		h.apply(sight(1, exchange.OrderOpen, "0"), 2)
		h.is(Open)
		if h.codes() != CodeOrderConflict || count(h.book.Due(sec(10)), Send) != 0 {
			t.Errorf("alarms %s", h.codes())
		}
	})
}

func TestCancel(t *testing.T) {
	h := sentOrder(t)
	h.apply(accepted(1, exchange.OrderOpen, "0"), 1)
	if e := h.apply(Event{Kind: CancelAsked, ClientOrderID: id1}, 2); count(e, Cancel) != 1 {
		t.Fatalf("%s", show(e))
	}
	if e := h.apply(Event{Kind: CancelAsked, ClientOrderID: id1}, 2); count(e, Cancel) != 0 {
		t.Fatalf("a second cancel while one is on its way: %s", show(e))
	}
	for i, out := range []exchange.Outcome{exchange.Unknown, exchange.NotOpen, exchange.NotFound,
		exchange.Rejected} {
		at := 3 + 4*float64(i)
		e := h.apply(Event{Kind: CancelReply, ClientOrderID: id1, Result: exchange.Result{Outcome: out}}, at)
		h.is(Open)
		if count(e, Query) != 1 {
			t.Errorf("%s: %s", out, show(e))
		}
		h.apply(found(1, exchange.OrderOpen, "0"), at+0.5)
		if e := h.book.Due(sec(at + 3)); count(e, Cancel) != 1 {
			t.Errorf("after %s: not cancelled again: %s", out, show(e))
		}
	}
	done := Event{Kind: CancelReply, ClientOrderID: id1, Result: exchange.Result{Outcome: exchange.Accepted},
		Order: venueOrder(1, exchange.OrderCanceled, "0")}
	h.apply(done, 40)
	h.is(Canceled)
	if e := h.book.Due(sec(100)); len(e) != 0 {
		t.Errorf("%s", show(e))
	}
}

func TestBarrier(t *testing.T) {
	b := NewBook()
	if _, err := b.Commit(buy(1), day0); err != nil {
		t.Fatal(err)
	}
	b.Barrier(sec(1))
	if s, _ := b.Get(id1); s.State != Rejected {
		t.Errorf("an order that was not handed over is %s after the barrier", s.State)
	}
	if _, err := b.Commit(buy(2), sec(2)); err == nil {
		t.Error("an order was taken after the barrier")
	}
	h := sentOrder(t)
	h.book.Barrier(sec(1))
	h.apply(reply(1, exchange.NotSent), 2)
	for at := 2.0; at < 30; at++ {
		for _, e := range h.book.Due(sec(at)) {
			if e.Do == Send {
				t.Fatal("an order leaves after the barrier")
			}
		}
	}
	if _, err := h.book.Apply(Event{Kind: Handed, ClientOrderID: id1}, sec(3)); err == nil {
		t.Error("an order was handed over after the barrier")
	}
}

func TestRestore(t *testing.T) {
	b := NewBook()
	effects, err := b.Restore(buy(1), day0, sec(100))
	if err != nil || count(effects, Send) != 0 {
		t.Fatalf("%v %s", err, show(effects))
	}
	if s, _ := b.Get(id1); s.State != Lost || !b.Unresolved(btc) {
		t.Errorf("an order of an earlier process is %s", s.State)
	}
	if e := b.Due(sec(101)); count(e, Query) != 1 {
		t.Errorf("%s", show(e))
	}
}

func TestExposure(t *testing.T) {
	h := sentOrder(t)
	check := func(when, want string) {
		t.Helper()
		e := h.book.Exposure(btc)
		if got := fmt.Sprintf("buy %s value %s sell %s orders %d", e.Buy, e.BuyValue, e.Sell,
			e.Orders); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	check("sent", "buy 1 value 100 sell 0 orders 1")
	h.apply(reply(1, exchange.Unknown), 1)
	check("unknown", "buy 1 value 100 sell 0 orders 1")
	h.apply(trade(1, "t1", "0.25"), 2)
	check("partial", "buy 0.75 value 75 sell 0 orders 1")
	h.apply(sight(1, exchange.OrderFilled, "1"), 3)
	check("filled, trades missing", "buy 0.75 value 75 sell 0 orders 0")
	h.apply(trade(1, "t2", "0.75"), 4)
	check("filled", "buy 0 value 0 sell 0 orders 0")

	pair := func(seq, other int64, typ market.OrderType) Spec {
		return Spec{Seq: seq, ClientOrderID: ClientID(testRun, seq), Sibling: ClientID(testRun, other),
			ListID: ListID(testRun, 2), Symbol: btc,
			Side: market.Sell, Type: typ, Quantity: d("1"), LimitPrice: d("110"), StopPrice: d("90"),
			Exit: true}
	}
	limit, stop := pair(2, 3, market.Limit), pair(3, 2, market.Stop)
	limit.StopPrice, stop.LimitPrice = dec{}, dec{}
	effects := h.take(h.book.CommitPair(limit, stop, sec(5)))
	check("pair", "buy 0 value 0 sell 1 orders 2")
	var sends []Effect
	for _, e := range effects {
		if e.Do == Send {
			sends = append(sends, e)
		}
	}
	if len(sends) != 1 || sends[0].Pair == nil || sends[0].Pair.LimitID != limit.ClientOrderID ||
		sends[0].Pair.StopID != stop.ClientOrderID ||
		sends[0].Pair.StopPrice.Cmp(d("90")) != 0 || sends[0].Pair.LimitPrice.Cmp(d("110")) != 0 {
		t.Errorf("%+v", sends)
	}
	h.apply(Event{Kind: Handed, ClientOrderID: limit.ClientOrderID}, 6)
	if a, _ := h.book.Get(limit.ClientOrderID); a.State != Sent {
		t.Errorf("the limit is %s", a.State)
	}
	if b, _ := h.book.Get(stop.ClientOrderID); b.State != Sent {
		t.Errorf("the stop is %s: a pair is handed over as one", b.State)
	}
}

// TestUnsentAndUnwanted: what did not leave, and was meanwhile to be taken back or lost its other leg, ends
// here.
func TestUnsentAndUnwanted(t *testing.T) {
	h := sentOrder(t)
	h.apply(Event{Kind: CancelAsked, ClientOrderID: id1}, 0.1)
	h.apply(reply(1, exchange.NotSent), 0.2)
	if h.is(Rejected); h.status().Reason != CodeNotSent {
		t.Errorf("%s", h.status().Reason)
	}

	limit, stop := buy(1), buy(2)
	limit.ListID, limit.Sibling, stop.ListID, stop.Sibling = "list", stop.ClientOrderID, "list",
		limit.ClientOrderID
	stop.LimitPrice, stop.StopPrice = dec{}, d("110")
	h = &harness{t: t, book: NewBook()}
	h.take(h.book.CommitPair(limit, stop, day0))
	h.apply(Event{Kind: Handed, ClientOrderID: id1}, 0)
	h.apply(reply(2, exchange.NotSent), 0.1)
	h.apply(Event{Kind: CancelAsked, ClientOrderID: stop.ClientOrderID}, 0.2)
	h.apply(reply(1, exchange.NotSent), 0.3)
	if h.is(Rejected); !h.book.NextDue().IsZero() {
		t.Errorf("due at %s", h.book.NextDue())
	}
}

// TestHeld: a pair that may not leave is asked for again after a second, as one and as the same try, and not
// once it was handed over.
func TestHeld(t *testing.T) {
	limit, stop := buy(1), buy(2)
	limit.ListID, limit.Sibling, stop.ListID, stop.Sibling = "list", stop.ClientOrderID, "list",
		limit.ClientOrderID
	stop.LimitPrice, stop.StopPrice = dec{}, d("110")
	h := &harness{t: t, book: NewBook()}
	h.take(h.book.CommitPair(limit, stop, day0))
	for at := 0.0; at < 3; at++ {
		h.apply(Event{Kind: Held, ClientOrderID: id1}, at)
		if e := h.book.Due(sec(at + 0.9)); len(e) != 0 {
			t.Errorf("too soon: %s", show(e))
		}
		if e := h.book.Due(sec(at + 1)); count(e, Send) != 1 || e[0].Pair == nil || e[0].Attempt != 1 {
			t.Fatalf("a second later: %s", show(e))
		}
	}
	h.apply(Event{Kind: Handed, ClientOrderID: id1}, 4)
	h.apply(Event{Kind: Held, ClientOrderID: id1}, 4)
	if h.is(Sent); count(h.book.Due(sec(6)), Send) != 0 {
		t.Error("sent twice")
	}
}

// TestUnansweredCalls: a call that the engine forgot does not stand in the way of the next one.
func TestUnansweredCalls(t *testing.T) {
	h := sentOrder(t)
	h.apply(accepted(1, exchange.OrderOpen, "0"), 0.1)
	h.apply(Event{Kind: CancelAsked, ClientOrderID: id1}, 1)
	if due := h.book.NextDue(); !due.Equal(sec(31)) {
		t.Fatalf("due at %s", due)
	}
	before := len(h.all)
	h.take(h.book.Due(sec(31)), nil)
	if h.codes() != CodeUnanswered || count(h.all[before:], Cancel) != 1 {
		t.Errorf("%s", show(h.all[before:]))
	}
	h.apply(found(1, exchange.OrderCanceled, "0"), 32)
	h.is(Canceled)
}
