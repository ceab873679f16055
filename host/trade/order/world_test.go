package order

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	testRun = "svc_01jd2q7z9v8k3m6t4r1x5c0wbn"
	btc     = market.Symbol("BTC/USDT")
)

var (
	day0 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	id1  = ClientID(testRun, 1)
)

func d(s string) dec { return decimal.MustParse(s) }

func sec(s float64) time.Time { return day0.Add(time.Duration(s * float64(time.Second))) }

// buy returns a limit order for 1 at 100 with the number seq.
func buy(seq int64) Spec {
	return Spec{Seq: seq, ClientOrderID: ClientID(testRun, seq), Symbol: btc, Side: market.Buy,
		Type: market.Limit, Quantity: d("1"), LimitPrice: d("100")}
}

func trade(seq int64, id, quantity string) Event {
	return Event{Kind: FillSeen, Source: FromStream, ClientOrderID: ClientID(testRun, seq),
		Fill: exchange.Fill{
			TradeID: id, ClientOrderID: ClientID(testRun, seq), Symbol: btc, Side: market.Buy,
			Price: d("100"), Quantity: d(quantity),
			Fee: d("0.1"), FeeAsset: "USDT",
		}}
}

func venueOrder(seq int64, status exchange.OrderStatus, cum string) exchange.Order {
	return exchange.Order{ClientOrderID: ClientID(testRun, seq), VenueOrderID: "v1", Symbol: btc,
		Side: market.Buy, Status: status, Quantity: d("1"), CumQuantity: d(cum)}
}

func sight(seq int64, status exchange.OrderStatus, cum string) Event {
	return Event{Kind: OrderSeen, Source: FromStream, ClientOrderID: ClientID(testRun, seq),
		Order: venueOrder(seq, status, cum)}
}

func reply(seq int64, out exchange.Outcome) Event {
	return Event{Kind: SubmitReply, Source: FromReply, ClientOrderID: ClientID(testRun, seq),
		Result: exchange.Result{Outcome: out}}
}

func accepted(seq int64, status exchange.OrderStatus, cum string) Event {
	ev := reply(seq, exchange.Accepted)
	ev.Order = venueOrder(seq, status, cum)
	return ev
}

func queried(seq int64, out exchange.Outcome) Event {
	return Event{Kind: QueryReply, Source: FromQuery, ClientOrderID: ClientID(testRun, seq),
		Result: exchange.Result{Outcome: out}}
}

func found(seq int64, status exchange.OrderStatus, cum string) Event {
	ev := queried(seq, exchange.Accepted)
	ev.Order = venueOrder(seq, status, cum)
	return ev
}

// harness is a book with one order that was handed over at second 0.
type harness struct {
	t    *testing.T
	book *Book
	all  []Effect
}

func sentOrder(t *testing.T) *harness {
	t.Helper()
	h := &harness{t: t, book: NewBook()}
	h.take(h.book.Commit(buy(1), day0))
	h.apply(Event{Kind: Handed, Source: FromLocal, ClientOrderID: id1}, 0)
	return h
}

func (h *harness) take(e []Effect, err error) []Effect {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	h.all = append(h.all, e...)
	return e
}

func (h *harness) apply(ev Event, at float64) []Effect {
	h.t.Helper()
	return h.take(h.book.Apply(ev, sec(at)))
}

func (h *harness) status() Status {
	s, ok := h.book.Get(id1)
	if !ok {
		h.t.Fatal("the order is gone")
	}
	return s
}

func (h *harness) is(want State) {
	h.t.Helper()
	if s := h.status(); s.State != want {
		h.t.Fatalf("the order is %s, want %s; effects so far: %s", s.State, want, show(h.all))
	}
}

// codes are the alarms so far.
func (h *harness) codes() string {
	var list []string
	for _, e := range h.all {
		if e.Do == Alarm {
			list = append(list, e.Code)
		}
	}
	return strings.Join(list, " ")
}

func count(list []Effect, what Action) int {
	n := 0
	for _, e := range list {
		if e.Do == what {
			n++
		}
	}
	return n
}

func show(list []Effect) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%s(%s%s) ", e.Do, e.From, e.Code)
	}
	return b.String()
}
