package order

import (
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// model is a venue that tells the truth through a channel that does not: messages are lost, repeated and
// late, replies are lost, the process dies. It holds what must always be true.
type model struct {
	t        *rapid.T
	book     *Book
	at       time.Time
	seq      int64
	trades   int
	journal  map[string]written
	order    []string // of the journal
	venue    map[string]*there
	mail     []Event  // of the stream, not delivered
	asks     []Effect // what the book wants
	counted  *big.Rat
	seen     map[string]bool // trades that were counted
	barred   bool
	attempts map[string]int // submits since the last definite word that none arrived
}

type written struct {
	spec Spec
	at   time.Time
}

// there is an order at the venue.
type there struct {
	spec   Spec
	status exchange.OrderStatus
	fills  []exchange.Fill
	cum    *big.Rat
}

func newModel(t *rapid.T) *model {
	return &model{t: t, book: NewBook(), at: day0, journal: map[string]written{}, venue: map[string]*there{},
		counted: new(big.Rat), seen: map[string]bool{}, attempts: map[string]int{}}
}

func (m *model) take(effects []Effect) {
	for _, e := range effects {
		switch e.Do {
		case Count:
			if m.seen[e.Fill.TradeID] {
				m.t.Fatalf("trade %s counts twice", e.Fill.TradeID)
			}
			m.seen[e.Fill.TradeID] = true
			m.counted.Add(m.counted, frac(e.Fill.Quantity))
		case Send, Query, Cancel, FetchFills:
			m.asks = append(m.asks, e)
		}
	}
}

func (m *model) apply(ev Event) {
	effects, err := m.book.Apply(ev, m.at)
	if err != nil {
		m.t.Fatalf("%s: %v", ev.Kind, err)
	}
	m.take(effects)
}

func (m *model) commit() {
	if m.barred || m.book.Unresolved(btc) || len(m.journal) >= 6 {
		return
	}
	m.seq++
	s := buy(m.seq)
	m.journal[s.ClientOrderID] = written{s, m.at}
	m.order = append(m.order, s.ClientOrderID)
	effects, err := m.book.Commit(s, m.at)
	if err != nil {
		m.t.Fatal(err)
	}
	m.take(effects)
}

// arrive is a submit that reaches the venue.
func (m *model) arrive(id string) {
	w, ok := m.journal[id]
	if !ok {
		m.t.Fatalf("%s is at the venue and not in the journal", id)
	}
	if m.venue[id] != nil {
		m.t.Fatalf("%s was accepted twice", id)
	}
	if m.barred {
		m.t.Fatalf("%s was sent after the barrier", id)
	}
	m.venue[id] = &there{spec: w.spec, status: exchange.OrderOpen, cum: new(big.Rat)}
	m.stream(id)
}

func (m *model) stream(id string) {
	m.mail = append(m.mail, Event{Kind: OrderSeen, Source: FromStream, ClientOrderID: id, Order: m.sight(id)})
}

func (m *model) sight(id string) exchange.Order {
	v := m.venue[id]
	return exchange.Order{ClientOrderID: id, VenueOrderID: "v" + id, Symbol: btc, Status: v.status,
		Quantity: v.spec.Quantity, CumQuantity: toDec(v.cum)}
}

// serve does one thing that the book asked for, with an outcome of the network's choice.
func (m *model) serve(outcome string) {
	if len(m.asks) == 0 {
		return
	}
	e := m.asks[0]
	m.asks = m.asks[1:]
	lost := outcome == "lost"
	switch e.Do {
	case Send:
		m.submit(e, outcome)
	case Query:
		ev := Event{Kind: QueryReply, Source: FromQuery, ClientOrderID: e.Order,
			Result: exchange.Result{Outcome: exchange.Unknown}}
		if v := m.venue[e.Order]; v != nil && !lost {
			ev.Result.Outcome, ev.Order = exchange.Accepted, m.sight(e.Order)
		} else if !lost {
			ev.Result.Outcome = exchange.NotFound
		}
		m.apply(ev)
	case Cancel:
		ev := Event{Kind: CancelReply, Source: FromReply, ClientOrderID: e.Order,
			Result: exchange.Result{Outcome: exchange.NotOpen}}
		if v := m.venue[e.Order]; v != nil && alive(v) && outcome != "unreached" {
			v.status = exchange.OrderCanceled
			ev.Result.Outcome, ev.Order = exchange.Accepted, m.sight(e.Order)
			m.stream(e.Order)
		}
		if lost || outcome == "unreached" {
			ev.Result, ev.Order = exchange.Result{Outcome: exchange.Unknown}, exchange.Order{}
		}
		m.apply(ev)
	case FetchFills:
		if !lost {
			m.page(e.Since)
		}
	}
}

func alive(v *there) bool {
	return v.status == exchange.OrderOpen || v.status == exchange.OrderPartiallyFilled
}

func (m *model) submit(e Effect, outcome string) {
	effects, err := m.book.Apply(Event{Kind: Handed, Source: FromLocal, ClientOrderID: e.Order}, m.at)
	if m.take(effects); err != nil {
		var illegal *TransitionError
		if !errors.As(err, &illegal) && !m.barred {
			m.t.Fatal(err)
		}
		return
	}
	ev := Event{Kind: SubmitReply, Source: FromReply, ClientOrderID: e.Order, Attempt: e.Attempt}
	switch outcome {
	case "lost": // it arrives, the reply does not
		m.arrive(e.Order)
		ev.Result.Outcome = exchange.Unknown
	case "unreached":
		ev.Result.Outcome = exchange.Unknown
	case "rejected":
		ev.Result.Outcome = exchange.Rejected
	case "unsent":
		ev.Result.Outcome = exchange.NotSent
	default:
		m.arrive(e.Order)
		ev.Result.Outcome, ev.Order = exchange.Accepted, m.sight(e.Order)
	}
	m.apply(ev)
}

func (m *model) page(since time.Time) {
	var all exchange.Fills
	all.Complete = true
	for _, id := range m.order {
		if v := m.venue[id]; v != nil {
			all.Fills = append(all.Fills, v.fills...)
		}
	}
	effects, foreign := m.book.FillsPage(btc, all, since, m.at, m.at)
	if m.take(effects); len(foreign) > 0 {
		m.t.Fatalf("foreign %v", foreign)
	}
}

// pick returns an order that the venue has alive.
func (m *model) pick() string {
	var ids []string
	for _, id := range m.order {
		if v := m.venue[id]; v != nil && alive(v) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return rapid.SampledFrom(ids).Draw(m.t, "order")
}

func (m *model) fill() {
	id := m.pick()
	if id == "" {
		return
	}
	v := m.venue[id]
	m.trades++
	f := trade(1, fmt.Sprint("t", m.trades), "0.25").Fill
	f.ClientOrderID = id
	if rapid.Bool().Draw(m.t, "all of it") {
		f.Quantity = toDec(new(big.Rat).Sub(frac(v.spec.Quantity), v.cum))
	}
	v.fills = append(v.fills, f)
	v.cum.Add(v.cum, frac(f.Quantity))
	v.status = exchange.OrderPartiallyFilled
	if v.cum.Cmp(frac(v.spec.Quantity)) == 0 {
		v.status = exchange.OrderFilled
	}
	m.mail = append(m.mail, Event{Kind: FillSeen, Source: FromStream, ClientOrderID: id, Fill: f})
	m.stream(id)
}

func (m *model) crash() {
	m.book, m.mail, m.asks = NewBook(), nil, nil
	m.counted, m.seen = new(big.Rat), map[string]bool{} // the ledger is rebuilt with the book
	m.at = m.at.Add(time.Second)
	for _, id := range m.order {
		effects, err := m.book.Restore(m.journal[id].spec, m.journal[id].at, m.at)
		if err != nil {
			m.t.Fatal(err)
		}
		m.take(effects)
	}
	if m.barred {
		m.take(m.book.Barrier(m.at))
	}
}

func (m *model) list() {
	var open []exchange.Order
	for _, id := range m.order {
		if v := m.venue[id]; v != nil && alive(v) {
			open = append(open, m.sight(id))
		}
	}
	effects, _ := m.book.OpenList(open, m.at, m.at)
	m.take(effects)
}

// holds is what is true at every moment: what may still come at the venue is exposure here.
func (m *model) holds() {
	could := new(big.Rat)
	for _, v := range m.venue {
		could.Add(could, v.cum)
		if alive(v) {
			could.Add(could, new(big.Rat).Sub(frac(v.spec.Quantity), v.cum))
		}
	}
	here := new(big.Rat).Add(m.counted, frac(m.book.Exposure(btc).Buy))
	if here.Cmp(could) < 0 {
		m.t.Fatalf("the venue may end with %s, the book counts %s", could.FloatString(2), here.FloatString(2))
	}
}

func (m *model) step(what string) {
	switch what {
	case "commit":
		m.commit()
	case "serve":
		m.serve(rapid.SampledFrom([]string{"ok", "ok", "lost", "unreached", "rejected", "unsent"}).Draw(m.t,
			"outcome"))
	case "fill":
		m.fill()
	case "cancel":
		if n := len(m.order); n > 0 {
			m.apply(Event{Kind: CancelAsked, Source: FromLocal,
				ClientOrderID: m.order[rapid.IntRange(0, n-1).Draw(m.t, "which")]})
		}
	case "venue cancels":
		if id := m.pick(); id != "" {
			m.venue[id].status = exchange.OrderExpired
			m.stream(id)
		}
	case "deliver", "repeat", "drop":
		if n := len(m.mail); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(m.t, "mail")
			if what != "drop" {
				m.apply(m.mail[i])
			}
			if what != "repeat" {
				m.mail = append(m.mail[:i:i], m.mail[i+1:]...)
			}
		}
	case "time":
		m.at = m.at.Add(time.Duration(rapid.IntRange(1, 8000).Draw(m.t, "ms")) * time.Millisecond)
		m.take(m.book.Due(m.at))
	case "list":
		m.list()
	case "close":
		m.take(m.book.WithdrawUnsent(btc, m.at))
	case "crash":
		m.crash()
	case "barrier":
		m.barred = true
		m.take(m.book.Barrier(m.at))
	}
}

// settle lets the network work until nothing is open any more.
func (m *model) settle() {
	for range 200 {
		for len(m.asks) > 0 {
			m.serve("ok")
		}
		m.at = m.at.Add(5 * time.Second)
		m.list()
		m.page(day0)
		m.take(m.book.Due(m.at))
		if m.resolved() {
			return
		}
	}
	m.t.Fatalf("not resolved after 1000 s: %+v", m.book.Pending())
}

func (m *model) resolved() bool {
	for _, s := range m.book.All() {
		if s.State == Intent || s.State == Sent || s.State == Lost || !s.Settled {
			return false
		}
		if v := m.venue[s.Spec.ClientOrderID]; v != nil &&
			(alive(v) != s.State.Exposed() || v.cum.Cmp(frac(s.Filled)) != 0) {
			return false
		}
	}
	return len(m.asks) == 0
}

// TestModel runs random histories: submit x outcome x crash, fill, cancel, deliver, drop, duplicate,
// reorder, reconcile.
func TestModel(t *testing.T) {
	t.Parallel()
	steps := []string{"commit", "commit", "serve", "serve", "serve", "serve", "fill", "fill", "cancel",
		"venue cancels", "deliver", "deliver", "deliver", "repeat", "drop", "time", "time", "list", "close",
		"crash", "barrier"}
	seen := map[State]int{}
	each := func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			m.step(rapid.SampledFrom(steps).Draw(t, "step"))
			m.holds()
		}
		m.settle()
		m.holds()
		sum := new(big.Rat)
		for _, v := range m.venue {
			sum.Add(sum, v.cum)
		}
		if sum.Cmp(m.counted) != 0 {
			t.Fatalf("the venue filled %s, the books have %s", sum.FloatString(2), m.counted.FloatString(2))
		}
		for _, s := range m.book.All() {
			seen[s.State]++
			v := m.venue[s.Spec.ClientOrderID]
			if (v == nil) != (s.State == Rejected) {
				t.Fatalf("%s is %s here and at the venue: %+v", s.Spec.ClientOrderID, s.State, v)
			}
		}
	}
	const round = 100 // histories that one check makes
	histories, wanted := 0, ring.Size(round, 20_000, 1_000_000)
	for ; histories < wanted; histories += round {
		if rapid.Check(t, each); t.Failed() {
			return
		}
	}
	t.Logf("%d histories ended as %v", histories, seen)
	ring.Count(t, "model histories", histories, wanted)
}
