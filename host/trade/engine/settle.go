package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// settleLimit is how long the orders of earlier runs may take to be known and gone: definite absence takes 18 seconds
// and two answers, and the connector of a run that was killed cancels for up to 20.
const settleLimit = 30 * time.Second

// flatLimit is how long the sale of what earlier runs left may take.
const flatLimit = 75 * time.Second

// settling is the orders of earlier runs on the way to their end, before this run begins; exits may stay. It
// does one thing after the other: nothing else is going on.
type settling struct {
	e        *Engine
	book     *order.Book
	runs     map[string]string // run by client order id; "": not known
	todo     []order.Effect
	deadline time.Time
	limit    time.Duration
	// all says that exits go too; else they stand.
	all bool
}

func (e *Engine) newSettling() *settling {
	return &settling{e: e, book: order.NewBook(), runs: map[string]string{}, limit: settleLimit}
}

func (s *settling) restore(spec order.Spec, run string, written time.Time) error {
	s.runs[spec.ClientOrderID] = run
	effects, err := s.book.Restore(spec, written, time.Now())
	s.todo = append(s.todo, effects...)
	return err
}

// commit takes an order that is written down, to be sent.
func (s *settling) commit(spec order.Spec, run string, at time.Time) error {
	s.runs[spec.ClientOrderID], s.all = run, true
	effects, err := s.book.Commit(spec, at)
	s.todo = append(s.todo, effects...)
	return err
}

// stays says that an order is an exit that stands.
func (s *settling) stays(o order.Status) bool {
	return !s.all && o.Spec.Exit && o.Settled && !o.CancelWanted && (o.State == order.Open || o.State == order.Partial)
}

// standing is the exits that are open.
func (s *settling) standing() []order.Status {
	return slices.DeleteFunc(s.book.Pending(), func(o order.Status) bool { return !s.stays(o) })
}

// pending is the orders that are not where they are to be.
func (s *settling) pending() []order.Status { return slices.DeleteFunc(s.book.Pending(), s.stays) }

// cancelStanding takes the exits back.
func (s *settling) cancelStanding(ctx context.Context) error {
	list := s.standing()
	s.all = true
	for _, o := range list {
		if err := s.apply(order.Event{Kind: order.CancelAsked, Source: order.FromLocal, ClientOrderID: o.Spec.ClientOrderID}); err != nil {
			return err
		}
	}
	return s.run(ctx)
}

// run returns once every order is at its end, or a fault that lists those that are not.
func (s *settling) run(ctx context.Context) error {
	s.deadline = time.Now().Add(s.limit)
	for _, o := range s.pending() {
		if o.State == order.Intent {
			continue // about to be sent
		}
		s.todo = append(s.todo, order.Effect{Do: order.Query, Order: o.Spec.ClientOrderID, Symbol: o.Spec.Symbol})
	}
	for {
		for len(s.todo) > 0 {
			f := s.todo[0]
			s.todo = s.todo[1:]
			if err := s.do(ctx, f); err != nil {
				return err
			}
		}
		pending := s.pending()
		if len(pending) == 0 {
			return nil
		}
		if !time.Now().Before(s.deadline) {
			f := ExchangeFault("reconcile", nil, "%d orders of earlier runs could not be settled: look at them at %s", len(pending), s.e.cfg.Venue.ID)
			f.Data["orders"] = idsOf(pending)
			return f
		}
		if !exchange.Pause(ctx, min(max(time.Until(s.book.NextDue()), leastWait), time.Second)) {
			return context.Cause(ctx)
		}
		s.todo = append(s.todo, s.book.Due(time.Now())...)
		for _, o := range s.pending() {
			if (o.State == order.Open || o.State == order.Partial) && !o.CancelWanted { // nobody tells how it goes on
				s.todo = append(s.todo, order.Effect{Do: order.Query, Order: o.Spec.ClientOrderID, Symbol: o.Spec.Symbol})
			}
		}
	}
}

func idsOf(list []order.Status) []string {
	ids := make([]string, len(list))
	for i, o := range list {
		ids[i] = o.Spec.ClientOrderID
	}
	return ids
}

// do is one effect, with the call that it takes.
func (s *settling) do(ctx context.Context, f order.Effect) error {
	c := s.e.link.conn
	o, _ := s.book.Get(f.Order)
	now := time.Now()
	switch f.Do {
	case order.Send:
		if err := s.apply(order.Event{Kind: order.Handed, Source: order.FromLocal, ClientOrderID: f.Order}); err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		r, got := c.Submit(limit, o.Spec.Request())
		return s.answered(ctx, order.Event{Kind: order.SubmitReply, Source: order.FromReply, ClientOrderID: f.Order, Attempt: f.Attempt, Result: r, Order: got})
	case order.Query:
		limit, cancel := context.WithTimeout(ctx, queryLimit)
		defer cancel()
		r, got := c.Query(limit, o.Spec.Ref())
		return s.answered(ctx, order.Event{Kind: order.QueryReply, Source: order.FromQuery, ClientOrderID: f.Order, Result: r, Order: got, AskedAt: now})
	case order.Cancel:
		limit, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		r, got := c.Cancel(limit, o.Spec.Ref())
		return s.answered(ctx, order.Event{Kind: order.CancelReply, Source: order.FromReply, ClientOrderID: f.Order, Result: r, Order: got, AskedAt: now})
	case order.FetchFills:
		limit, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		page, err := c.Fills(limit, f.Symbol, s.e.venueTime(f.Since))
		if err != nil {
			return s.sitOut(ctx, exchange.ResultOf(err)) // asked for again
		}
		effects, _ := s.book.FillsPage(f.Symbol, page, f.Since, now, time.Now())
		s.todo = append(s.todo, effects...)
	case order.Tell:
		return s.moved(o)
	case order.Count:
		return s.e.keepEarlier(ctx, f.Fill)
	case order.Alarm:
		s.e.warn(f.Code, f.Message)
	}
	return nil
}

// answered takes the reply to a call.
func (s *settling) answered(ctx context.Context, ev order.Event) error {
	if err := s.apply(ev); err != nil {
		return err
	}
	return s.sitOut(ctx, ev.Result)
}

// sitOut waits where the venue wants no requests for a while, which does not count.
func (s *settling) sitOut(ctx context.Context, r exchange.Result) error {
	if r.HoldOff() == 0 {
		return nil
	}
	s.deadline = s.deadline.Add(r.HoldOff())
	return s.e.sitOut(ctx, r)
}

func (s *settling) apply(ev order.Event) error {
	effects, err := s.book.Apply(ev, time.Now())
	s.todo = append(s.todo, effects...)
	return err
}

// moved writes a new state down with the order's own run; what is open is taken back.
func (s *settling) moved(o order.Status) error {
	if run := s.runs[o.Spec.ClientOrderID]; run != "" {
		book, err := s.e.bookOf(run)
		if err != nil {
			return err
		}
		err = book.Events(context.Background(), journal.Event{
			ClientOrderID: o.Spec.ClientOrderID, Kind: string(o.State), Source: string(order.FromQuery), VenueOrderID: o.VenueOrderID,
			CumQuantity: o.Reported.Max(o.Filled), At: s.e.clock.Now(),
		})
		if err != nil {
			return err
		}
	}
	if (o.State == order.Open || o.State == order.Partial) && !o.CancelWanted && !o.Spec.Exit {
		return s.apply(order.Event{Kind: order.CancelAsked, Source: order.FromLocal, ClientOrderID: o.Spec.ClientOrderID})
	}
	return nil
}

// bookOf is what is written of a run, be it this one.
func (e *Engine) bookOf(run string) (*journal.Run, error) {
	if run == e.cfg.RunID {
		return e.cfg.Run, nil
	}
	return e.cfg.Journal.Resume(context.Background(), run)
}

// keepEarlier writes down a fill of an order of an earlier run.
func (e *Engine) keepEarlier(ctx context.Context, f exchange.Fill) error {
	if !order.Ours(f.ClientOrderID) {
		return nil
	}
	run, err := e.cfg.Journal.RunOf(ctx, f.ClientOrderID)
	if err != nil || run == "" {
		return err
	}
	book, err := e.bookOf(run)
	if err != nil {
		return err
	}
	_, err = book.Fill(context.Background(), journal.Fill{
		Symbol: f.Symbol, TradeID: f.TradeID, ClientOrderID: f.ClientOrderID, Side: f.Side, Quantity: f.Quantity, Price: f.Price,
		Fee: f.Fee, FeeAsset: f.FeeAsset, Liquidity: f.Liquidity, At: f.Time,
	})
	return err
}

// intentBody is an order as the journal keeps it.
type intentBody struct {
	OrderID     string          `json:"order_id"`
	Side        string          `json:"side"`
	Type        string          `json:"type"`
	TimeInForce string          `json:"time_in_force"`
	Quantity    decimal.Decimal `json:"quantity"`
	QuoteAmount decimal.Decimal `json:"quote_amount"`
	LimitPrice  decimal.Decimal `json:"limit_price"`
	StopPrice   decimal.Decimal `json:"stop_price"`
	Reference   decimal.Decimal `json:"reference"`
	Exit        bool            `json:"exit"`
	Manual      bool            `json:"manual,omitempty"`
	// Settles says that it sells what earlier runs left: it is none of the books of its run.
	Settles bool `json:"settles,omitempty"`
	// Wanted is the amount that a size came to before the limits cut it down.
	Wanted  *decimal.Decimal `json:"wanted,omitempty"`
	ListID  string           `json:"list_id,omitempty"`
	Sibling string           `json:"sibling,omitempty"`
}

func bodyOf(s order.Spec) intentBody {
	b := intentBody{
		OrderID: s.Public.String(), Side: s.Side.String(), Type: s.Type.String(), TimeInForce: s.TimeInForce.String(),
		Quantity: s.Quantity, QuoteAmount: s.QuoteAmount, LimitPrice: s.LimitPrice, StopPrice: s.StopPrice, Reference: s.Reference,
		Exit: s.Exit, Manual: s.Manual, ListID: s.ListID, Sibling: s.Sibling,
	}
	if s.Wanted.IsPos() {
		b.Wanted = &s.Wanted
	}
	return b
}

// specOf reads what bodyOf wrote. Of another run a leg is asked for by itself.
func specOf(o journal.Order) (order.Spec, error) {
	var b intentBody
	if err := json.Unmarshal(o.Body, &b); err != nil {
		return order.Spec{}, fmt.Errorf("journal: intent %s: %w", o.ClientOrderID, err)
	}
	s := order.Spec{
		Seq: o.Seq, ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Quantity: b.Quantity, QuoteAmount: b.QuoteAmount,
		LimitPrice: b.LimitPrice, StopPrice: b.StopPrice, Reference: b.Reference, Exit: b.Exit, Step: o.Step,
	}
	var errs [3]error
	s.Side, errs[0] = market.ParseSide(b.Side)
	s.Type, errs[1] = market.ParseOrderType(b.Type)
	s.TimeInForce, errs[2] = market.ParseTimeInForce(b.TimeInForce)
	if err := errors.Join(errs[:]...); err != nil {
		return s, fmt.Errorf("journal: intent %s: %w", o.ClientOrderID, err)
	}
	return s, nil
}
