package order

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The pace of what is tried again.
const (
	// inFlightLimit: an order that was not answered for so long is asked for.
	inFlightLimit = 5 * time.Second
	// cancelAgain, resendAgain, heldAgain and fetchAgain are the least time between two tries.
	cancelAgain = 2 * time.Second
	resendAgain = 500 * time.Millisecond
	heldAgain   = time.Second
	fetchAgain  = 5 * time.Second
)

// Book is every order of a run. It is not safe for concurrent use.
type Book struct {
	byID map[string]*record
	// list is the orders as they were written down.
	list []*record
	// live is those that time or the venue may still change.
	live   []*record
	halted bool
	// barrier is closed by the end of the run.
	barrier *Barrier
}

var errBarred = errors.New("the run is ending: no order leaves any more")

// NewBook returns an empty book with a barrier of its own.
func NewBook() *Book { return NewBookBehind(new(Barrier)) }

// NewBookBehind returns an empty book behind a barrier that others look at too.
func NewBookBehind(b *Barrier) *Book { return &Book{byID: map[string]*record{}, barrier: b} }

// Barrier is what the end of a run closes: no order leaves any more. Its zero value is open, and so is nil.
// It is safe for concurrent use.
type Barrier struct {
	mu            sync.Mutex
	closed, exits bool
}

// Close lets nothing pass from now on.
func (b *Barrier) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// LetExits lets orders pass that shrink a position: the stop asked for it, and everything else is confirmed
// to be gone.
func (b *Barrier) LetExits() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exits = true
}

// Closed reports whether the barrier has fallen.
func (b *Barrier) Closed() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Passes reports whether an order may leave.
func (b *Barrier) Passes(exit bool) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed || (b.exits && exit)
}

// Commit takes an order whose intent the journal has committed; it is an error to call it before.
// The first effect is to send it.
func (b *Book) Commit(spec Spec, at time.Time) ([]Effect, error) {
	if b.closed(spec) {
		return nil, errBarred
	}
	r, err := b.add(spec, at)
	if err != nil {
		return nil, err
	}
	a := b.act(r, at)
	a.step(Commit)
	r.resendAt = at
	a.send()
	return a.effects, nil
}

// CommitPair is Commit for the two exits of a pair, the limit first. They are sent as one.
func (b *Book) CommitPair(limit, stop Spec, at time.Time) ([]Effect, error) {
	if b.barrier.Closed() {
		return nil, errBarred
	}
	if limit.Sibling != stop.ClientOrderID || stop.Sibling != limit.ClientOrderID ||
		limit.ListID != stop.ListID || limit.ListID == "" {
		return nil, fmt.Errorf("orders %s and %s are not the legs of one pair", limit.ClientOrderID,
			stop.ClientOrderID)
	}
	first, err := b.add(limit, at)
	if err != nil {
		return nil, err
	}
	second, err := b.add(stop, at)
	if err != nil {
		return nil, err
	}
	a := b.act(first, at)
	a.step(Commit)
	c := b.act(second, at)
	c.step(Commit)
	first.resendAt, second.resendAt = at, at
	a.send()
	return append(a.effects, c.effects...), nil
}

// Deny keeps an order that a rule refused. Nothing is ever sent for it.
func (b *Book) Deny(spec Spec, code string, at time.Time) ([]Effect, error) {
	r, err := b.add(spec, at)
	if err != nil {
		return nil, err
	}
	r.reason = code
	a := b.act(r, at)
	a.step(Deny)
	return a.effects, nil
}

// Restore takes an order of a process that is gone: whether it was sent is not known. It is asked for,
// never sent. Written is when its intent was committed.
func (b *Book) Restore(spec Spec, written, at time.Time) ([]Effect, error) {
	r, err := b.add(spec, written)
	if err != nil {
		return nil, err
	}
	a := b.act(r, at)
	a.step(Commit)
	a.step(Restarted)
	return a.effects, nil
}

// Barrier ends the sending: orders that were not handed over end here, and none is from now on.
func (b *Book) Barrier(at time.Time) []Effect {
	b.barrier.Close()
	return b.WithdrawUnsent("", at)
}

// Flatten lets exits leave after the barrier.
func (b *Book) Flatten() { b.barrier.LetExits() }

// closed reports whether the order may not leave any more.
func (b *Book) closed(s Spec) bool { return !b.barrier.Passes(s.Exit) }

func (b *Book) add(spec Spec, at time.Time) (*record, error) {
	if _, used := b.byID[spec.ClientOrderID]; used || spec.ClientOrderID == "" {
		return nil, fmt.Errorf("client order id %q (seq %d) was used before", spec.ClientOrderID, spec.Seq)
	}
	if spec.Quantity.IsPos() == spec.QuoteAmount.IsPos() {
		return nil, fmt.Errorf("order %s needs either a quantity or a quote amount", spec.ClientOrderID)
	}
	r := newRecord(spec, at)
	b.byID[spec.ClientOrderID] = r
	b.list = append(b.list, r)
	b.watch(r)
	return r, nil
}

// watch keeps an order among the live ones.
func (b *Book) watch(r *record) {
	if !r.watched {
		r.watched = true
		b.live = append(b.live, r)
	}
}

// working returns the live orders; what has come to rest is left out.
func (b *Book) working() []*record {
	b.live = slices.DeleteFunc(b.live, func(r *record) bool {
		r.watched = r.state == None || r.state.Exposed() || !r.settled()
		return !r.watched
	})
	return slices.Clone(b.live)
}

// Apply takes an event and returns what to do about it. An event about an order that the book
// does not have is an *UnknownOrderError; one that cannot be about the order is an alarm.
func (b *Book) Apply(ev Event, at time.Time) ([]Effect, error) {
	r := b.byID[ev.ClientOrderID]
	if r == nil {
		return nil, &UnknownOrderError{ClientOrderID: ev.ClientOrderID}
	}
	if ev.RequestedAt.IsZero() {
		ev.RequestedAt = at
	}
	a := b.act(r, at)
	if err := a.apply(ev); err != nil {
		return nil, err
	}
	a.afterwards()
	return a.effects, nil
}

// UnknownOrderError reports that an event is about an order that the book does not have.
type UnknownOrderError struct{ ClientOrderID string }

// Error returns the message.
func (e *UnknownOrderError) Error() string {
	return fmt.Sprintf("no order of this run has the client order id %q", e.ClientOrderID)
}

// Due returns what time alone calls for: queries of the unknown rule, tries again, halting. The engine calls
// it at NextDue, or a few times a second.
func (b *Book) Due(at time.Time) []Effect {
	var all []Effect
	for _, r := range b.working() {
		a := b.act(r, at)
		a.due()
		all = append(all, a.effects...)
	}
	return append(all, b.halt(at)...)
}

// halt starts and ends the halt of the unknown rule.
func (b *Book) halt(at time.Time) []Effect {
	stuck := ""
	for _, r := range b.working() {
		if r.state == Lost && r.search.tooLong(at) {
			stuck = r.spec.ClientOrderID
			break
		}
	}
	switch {
	case stuck != "" && !b.halted:
		b.halted = true
		return []Effect{{Do: Halt, Order: stuck, Code: CodeUnresolvedTooOld,
			Message: fmt.Sprintf("the fate of order %s has been unknown for %s", stuck, HaltAfter)}}
	case stuck == "" && b.halted:
		b.halted = false
		return []Effect{{Do: Resume, Code: CodeUnresolvedTooOld}}
	}
	return nil
}

// FillsPage takes an answer to Fills: its trades of ours, then, for the searches, what it lacks.
// Trades of orders that the book does not know come back; the engine judges whose they are.
func (b *Book) FillsPage(symbol market.Symbol, page exchange.Fills, since, asked,
	at time.Time) (effects []Effect, foreign []exchange.Fill) {
	for _, f := range page.Fills {
		got, err := b.Apply(Event{Kind: FillSeen, Source: FromFills, ClientOrderID: f.ClientOrderID, Fill: f},
			at)
		if err != nil {
			foreign = append(foreign, f)
			continue
		}
		effects = append(effects, got...)
	}
	for _, r := range b.working() {
		if r.spec.Symbol != symbol || r.state != Lost {
			continue
		}
		r.search.page(asked, since, page.Complete)
		a := b.act(r, at)
		a.conclude()
		a.afterwards()
		effects = append(effects, a.effects...)
	}
	return effects, foreign
}

// OpenList takes an answer to OpenOrders. What it shows is evidence; what it lacks is
// asked for and nothing more. Orders that the book does not have come back.
func (b *Book) OpenList(orders []exchange.Order, asked,
	at time.Time) (effects []Effect, foreign []exchange.Order) {
	listed := map[string]bool{}
	for _, o := range orders {
		listed[o.ClientOrderID] = true
		got, err := b.Apply(Event{Kind: OrderSeen, Source: FromList, ClientOrderID: o.ClientOrderID, Order: o,
			RequestedAt: asked}, at)
		if err != nil {
			foreign = append(foreign, o)
			continue
		}
		effects = append(effects, got...)
	}
	for _, r := range b.working() {
		if (r.state == Open || r.state == Partial) && !listed[r.spec.ClientOrderID] &&
			r.handed.Before(asked) {
			a := b.act(r, at)
			a.query()
			effects = append(effects, a.effects...)
		}
	}
	return effects, foreign
}

// Unresolved reports whether an order of the symbol is of unknown fate: no entries until it is known.
func (b *Book) Unresolved(symbol market.Symbol) bool {
	return slices.ContainsFunc(b.working(), func(r *record) bool {
		return r.spec.Symbol == symbol && r.state == Lost
	})
}

// UnknownSale reports whether a sale of the symbol is of unknown fate.
func (b *Book) UnknownSale(symbol market.Symbol) bool {
	return slices.ContainsFunc(b.working(), func(r *record) bool {
		return r.spec.Symbol == symbol && r.spec.Side == market.Sell && r.state == Lost
	})
}

// WithdrawUnsent ends every order of the symbol (of all when empty) that waits to be sent: the step's next
// close came, or a barrier.
func (b *Book) WithdrawUnsent(symbol market.Symbol, at time.Time) []Effect {
	var all []Effect
	for _, r := range b.working() {
		if r.state == Intent && (symbol == "" || r.spec.Symbol == symbol) {
			a := b.act(r, at)
			_ = a.apply(Event{Kind: NotSendable, Source: FromLocal, ClientOrderID: r.spec.ClientOrderID})
			a.afterwards()
			all = append(all, a.effects...)
		}
	}
	return all
}

// Exposure is what the working orders of a symbol may still do: quantity to buy (base) and
// its value, amounts to buy for (quote), quantity to sell. Unknown orders count like all others.
type Exposure struct {
	Buy, BuyValue, Sell dec
	// Orders that may still fill.
	Orders int
}

// Exposure of one symbol.
func (b *Book) Exposure(symbol market.Symbol) Exposure {
	e, buy, value, sell := Exposure{}, ratZero, ratZero, ratZero
	for _, r := range b.working() {
		left, quote := r.remaining()
		if r.spec.Symbol != symbol || left.Sign() == 0 {
			continue
		}
		if r.state.Exposed() {
			e.Orders++
		}
		switch {
		case r.spec.Side == market.Sell:
			other := b.byID[r.spec.Sibling]
			if r.spec.Sibling == "" || r.spec.Type == market.Limit || other == nil || !other.state.Exposed() {
				sell = plus(sell, left) // one leg of a pair cancels the other
			}
		case quote:
			value = plus(value, left)
		default:
			buy = plus(buy, left)
			value = plus(value, times(left, exact(r.spec.Price())))
		}
	}
	e.Buy, e.BuyValue, e.Sell = toDec(buy), toDec(value), toDec(sell)
	return e
}

// Price returns what an order is valued at: its limit, else its stop, else the reference.
func (s Spec) Price() dec {
	switch {
	case s.LimitPrice.IsPos():
		return s.LimitPrice
	case s.StopPrice.IsPos():
		return s.StopPrice
	}
	return s.Reference
}

// NextDue returns the earliest time at which Due has something to do; zero: none.
func (b *Book) NextDue() time.Time {
	var next time.Time
	for _, r := range b.working() {
		if t := r.nextDue(); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// Status is an order as the book has it.
type Status struct {
	Spec         Spec
	State        State
	Reason       string
	VenueOrderID string
	// Filled is what the trades add up to, Reported what the venue told of; Spent is in quote, without fees.
	Filled, Reported, Spent, AveragePrice dec
	// Settled reports whether every trade that was told of is here.
	Settled      bool
	CancelWanted bool
	Attempts     int
	Fills        []exchange.Fill
	// Written is when the intent was committed.
	Written time.Time
}

func (r *record) status() Status {
	s := Status{
		Spec: r.spec, State: r.state, Reason: r.reason, VenueOrderID: r.venueID, Filled: toDec(r.sum),
		Reported: toDec(r.reported),
		Spent:    toDec(r.spent), AveragePrice: r.average, Settled: r.settled(),
		CancelWanted: r.cancel.wanted, Attempts: r.attempt,
		Fills: r.tradeList(), Written: r.written,
	}
	if r.sum.Sign() > 0 {
		s.AveragePrice = toDec(new(big.Rat).Quo(r.spent, r.sum))
	}
	return s
}

// Get returns one order.
func (b *Book) Get(clientID string) (Status, bool) {
	if r := b.byID[clientID]; r != nil {
		return r.status(), true
	}
	return Status{}, false
}

// All returns every order, as written down.
func (b *Book) All() []Status {
	list := make([]Status, len(b.list))
	for i, r := range b.list {
		list[i] = r.status()
	}
	return list
}

// Pending returns the orders that may still be at the venue or wait for trades; what a stop has to cancel and
// confirm.
func (b *Book) Pending() []Status {
	var list []Status
	for _, r := range b.working() {
		if r.state.Exposed() || !r.settled() {
			list = append(list, r.status())
		}
	}
	return list
}
