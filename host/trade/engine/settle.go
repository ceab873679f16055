package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// settleLimit is how long the orders of earlier runs may take to be known and gone: definite absence takes 18
// seconds and two answers, and the connector of a run that was killed cancels for up to 20.
const settleLimit = 30 * time.Second

// flatLimit is how long the sale of what earlier runs left may take.
const flatLimit = 75 * time.Second

// settling is the orders of earlier runs on the way to their end, before this run begins; exits may stay. It
// does one thing after the other: nothing else is going on.
type settling struct {
	starter  *starter
	book     *order.Book
	runs     map[string]string // run by client order id; "": not known
	effects  []order.Effect
	deadline time.Time
	limit    time.Duration
	// all reports whether exits go too; else they stand.
	all bool
}

func (sr *starter) newSettling() *settling {
	return &settling{starter: sr, book: order.NewBook(), runs: map[string]string{}, limit: settleLimit}
}

func (s *settling) restore(spec order.Spec, run string, written time.Time) error {
	s.runs[spec.ClientOrderID] = run
	effects, err := s.book.Restore(spec, written, time.Now())
	s.effects = append(s.effects, effects...)
	return err
}

// commit takes an order that is written down, to be sent.
func (s *settling) commit(spec order.Spec, run string, at time.Time) error {
	s.runs[spec.ClientOrderID], s.all = run, true
	effects, err := s.book.Commit(spec, at)
	s.effects = append(s.effects, effects...)
	return err
}

// stays reports whether an order is an exit that stands.
func (s *settling) stays(o order.Status) bool {
	return !s.all && o.Spec.Exit && o.Settled && !o.CancelWanted &&
		(o.State == order.Open || o.State == order.Partial)
}

// standing returns the exits that are open.
func (s *settling) standing() []order.Status {
	return slices.DeleteFunc(s.book.Pending(), func(o order.Status) bool { return !s.stays(o) })
}

// pending returns the orders that are not where they are to be.
func (s *settling) pending() []order.Status { return slices.DeleteFunc(s.book.Pending(), s.stays) }

// cancelStanding takes the exits back.
func (s *settling) cancelStanding(ctx context.Context) error {
	list := s.standing()
	s.all = true
	for _, o := range list {
		if err := s.apply(order.Event{Kind: order.CancelAsked, Source: order.FromLocal,
			ClientOrderID: o.Spec.ClientOrderID}); err != nil {
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
		s.effects = append(s.effects,
			order.Effect{Do: order.Query, Order: o.Spec.ClientOrderID, Symbol: o.Spec.Symbol})
	}
	for {
		for len(s.effects) > 0 {
			f := s.effects[0]
			s.effects = s.effects[1:]
			if err := s.do(ctx, f); err != nil {
				return err
			}
		}
		pending := s.pending()
		if len(pending) == 0 {
			return nil
		}
		if !time.Now().Before(s.deadline) {
			f := ExchangeFault("reconcile", nil,
				"%d orders of earlier runs could not be settled: look at them at %s", len(pending),
				s.starter.cfg.Venue.ID)
			f.Data["orders"] = idsOf(pending)
			return f
		}
		if !exchange.Pause(ctx, min(max(time.Until(s.book.NextDue()), leastWait), time.Second)) {
			return context.Cause(ctx)
		}
		s.effects = append(s.effects, s.book.Due(time.Now())...)
		for _, o := range s.pending() {
			// no stream reports how it goes on
			if (o.State == order.Open || o.State == order.Partial) && !o.CancelWanted {
				s.effects = append(s.effects,
					order.Effect{Do: order.Query, Order: o.Spec.ClientOrderID, Symbol: o.Spec.Symbol})
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

// do returns one effect, with the call that it takes.
func (s *settling) do(ctx context.Context, f order.Effect) error {
	c := s.starter.session.link.conn
	o, _ := s.book.Get(f.Order)
	ev := order.Event{Source: order.FromReply, ClientOrderID: f.Order, Attempt: f.Attempt,
		RequestedAt: time.Now()}
	limit, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	switch f.Do {
	case order.Send:
		if err := s.apply(order.Event{Kind: order.Handed, Source: order.FromLocal,
			ClientOrderID: f.Order}); err != nil {
			return err
		}
		ev.Kind, ev.RequestedAt = order.SubmitReply, time.Time{}
		ev.Result, ev.Order = c.Submit(limit, o.Spec.Request())
		return s.answered(ctx, ev)
	case order.Query:
		short, end := context.WithTimeout(ctx, queryLimit)
		defer end()
		ev.Kind, ev.Source = order.QueryReply, order.FromQuery
		ev.Result, ev.Order = c.Query(short, o.Spec.Ref())
		return s.answered(ctx, ev)
	case order.Cancel:
		ev.Kind = order.CancelReply
		ev.Result, ev.Order = c.Cancel(limit, o.Spec.Ref())
		return s.answered(ctx, ev)
	case order.FetchFills:
		page, err := c.Fills(limit, f.Symbol, s.starter.session.venueTime(f.Since))
		if err != nil {
			return s.waitOutRefusals(ctx, exchange.ResultOf(err)) // asked for again
		}
		effects, _ := s.book.FillsPage(f.Symbol, page, f.Since, ev.RequestedAt, time.Now())
		s.effects = append(s.effects, effects...)
	case order.Tell:
		return s.moved(o)
	case order.Count:
		return s.starter.keepEarlier(ctx, f.Fill)
	case order.Alarm:
		s.starter.books.raiseWarning(f.Code, f.Message)
	}
	return nil
}

// answered takes the reply to a call.
func (s *settling) answered(ctx context.Context, ev order.Event) error {
	if err := s.apply(ev); err != nil {
		return err
	}
	return s.waitOutRefusals(ctx, ev.Result)
}

// waitOutRefusals waits where the venue refuses requests for a while, which does not count.
func (s *settling) waitOutRefusals(ctx context.Context, r exchange.Result) error {
	if r.HoldOff() == 0 {
		return nil
	}
	s.deadline = s.deadline.Add(r.HoldOff())
	return s.starter.waitOutBan(ctx, r)
}

func (s *settling) apply(ev order.Event) error {
	effects, err := s.book.Apply(ev, time.Now())
	s.effects = append(s.effects, effects...)
	return err
}

// moved writes a new state down with the order's own run; what is open is taken back.
func (s *settling) moved(o order.Status) error {
	if run := s.runs[o.Spec.ClientOrderID]; run != "" {
		book, err := s.starter.openRun(run)
		if err != nil {
			return err
		}
		err = book.Events(context.Background(), journal.Event{
			ClientOrderID: o.Spec.ClientOrderID, Kind: string(o.State), Source: string(order.FromQuery),
			VenueOrderID: o.VenueOrderID,
			CumQuantity:  o.Reported.Max(o.Filled), At: s.starter.session.clock.Now(),
		})
		if err != nil {
			return err
		}
	}
	if (o.State == order.Open || o.State == order.Partial) && !o.CancelWanted && !o.Spec.Exit {
		return s.apply(order.Event{Kind: order.CancelAsked, Source: order.FromLocal,
			ClientOrderID: o.Spec.ClientOrderID})
	}
	return nil
}

// openRun returns what is written of a run, be it this one.
func (sr *starter) openRun(run string) (*journal.Run, error) {
	if run == sr.cfg.RunID {
		return sr.cfg.Run, nil
	}
	return sr.cfg.Journal.Resume(context.Background(), run)
}

// keepEarlier writes down a fill of an order of an earlier run.
func (sr *starter) keepEarlier(ctx context.Context, f exchange.Fill) error {
	if !order.Ours(f.ClientOrderID) {
		return nil
	}
	run, err := sr.cfg.Journal.RunOf(ctx, f.ClientOrderID)
	if err != nil || run == "" {
		return err
	}
	book, err := sr.openRun(run)
	if err != nil {
		return err
	}
	_, err = book.Fill(context.Background(), f)
	return err
}

// intentBody is an order as the journal keeps it.
type intentBody struct {
	order.Spec
	// Settles reports whether it sells what earlier runs left: it is none of the books of its run.
	Settles bool `json:"settles,omitzero"`
}

// journalIntent returns the row of an order that is to be written down.
func journalIntent(body intentBody, at market.Time) (journal.Intent, error) {
	text, err := json.Marshal(body)
	s := body.Spec
	return journal.Intent{
		Seq: s.Seq, ClientOrderID: s.ClientOrderID, Step: s.Step, Symbol: s.Symbol, Body: text, CreatedAt: at,
	}, err
}

// bodyOf reads the body of a row.
func bodyOf(in journal.Intent) (b intentBody, err error) {
	if err := json.Unmarshal(in.Body, &b); err != nil {
		return b, fmt.Errorf("journal: intent %s: %w", in.ClientOrderID, err)
	}
	b.Seq, b.ClientOrderID, b.Symbol, b.Step = in.Seq, in.ClientOrderID, in.Symbol, in.Step
	return b, nil
}

// Resume is what a start does about what earlier runs left on the account.
type Resume string

// What it does.
const (
	// Refuse starts nothing and touches nothing.
	Refuse Resume = "refuse"
	// Flat cancels their exits and sells what the journal attributes to them, then starts.
	Flat Resume = "flat"
	// Release cancels their exits and hands what they hold to the operator, then starts.
	Release Resume = "release"
)

// CodePositionsLeft is the warning of a start that settled what earlier runs had left, ReasonLeft why one
// did not begin.
const (
	CodePositionsLeft = "POSITIONS_LEFT"
	ReasonLeft        = "positions_left"
)

// left is what earlier runs hold of a symbol, with their orders that stand.
type left struct {
	Symbol   market.Symbol `json:"symbol"`
	Quantity dec           `json:"quantity"`
	Orders   []string      `json:"orders"`

	price dec
	rules order.Rules
}

// settleLeft looks at what earlier runs left: positions by their fills, as far as the account still has
// them, and exits that stand. What it returns are the balances to begin with.
func (sr *starter) settleLeft(ctx context.Context, s *settling,
	balances []exchange.Balance) ([]exchange.Balance, error) {
	list, err := sr.findLeft(ctx, s, balances)
	if err != nil {
		return nil, err
	}
	switch {
	case len(list) == 0: // exits of what is gone
	case sr.cfg.Resume == Release:
		sr.release = list
	case sr.cfg.Resume != Flat:
		return nil, sr.leftFault(list, "")
	}
	if len(list) == 0 && len(s.standing()) == 0 {
		return balances, nil
	}
	if err := s.cancelStanding(ctx); err != nil {
		return nil, err
	}
	if len(list) > 0 && sr.cfg.Resume == Flat {
		if err := sr.sellLeft(ctx, list); err != nil {
			return nil, err
		}
	}
	balances, err = snapshot(ctx, sr, "balances", sr.session.link.conn.Balances)
	if err != nil || sr.cfg.Resume == Release {
		return balances, err
	}
	if list, err = sr.findLeft(ctx, s, balances); err == nil && len(list) > 0 {
		err = sr.leftFault(list, "; it could not be sold")
	}
	return balances, err
}

// findLeft returns what earlier runs hold and can be sold.
func (sr *starter) findLeft(ctx context.Context, s *settling, balances []exchange.Balance) ([]left, error) {
	held, err := sr.cfg.Journal.Holdings(ctx, sr.cfg.Run.Info().Exchange, sr.session.account)
	if err != nil {
		return nil, err
	}
	have, standing := totals(balances), s.standing()
	var list []left
	for _, h := range held {
		l := left{Symbol: h.Symbol, Quantity: h.Quantity.Min(have[h.Symbol.Base()]), Orders: []string{},
			price: h.Price}
		known := sr.recon.markets
		if !slices.Contains(sr.cfg.Symbols, h.Symbol) {
			if known, err = DecodeMarkets(h.Markets); err != nil {
				return nil, err
			}
		}
		if i := slices.IndexFunc(known, func(m exchange.Market) bool {
			return m.Symbol == h.Symbol
		}); i >= 0 {
			l.rules = order.Rules{Market: known[i]}
		}
		if !l.Quantity.IsPos() || l.rules.Dust(l.Quantity, l.price) {
			continue
		}
		for _, o := range standing {
			if o.Spec.Symbol == h.Symbol {
				l.Orders = append(l.Orders, o.Spec.ClientOrderID)
			}
		}
		list = append(list, l)
	}
	return list, nil
}

func (sr *starter) leftFault(list []left, why string) *Fault {
	var words []string
	for _, l := range list {
		words = append(words,
			fmt.Sprintf("%s of %s with %d orders", l.Quantity.Trim(0), l.Symbol, len(l.Orders)))
	}
	f := ExchangeFault(ReasonLeft, nil,
		"Earlier runs left on the account: %s%s. Start with resume flat to cancel and sell that, with "+
			"resume release "+
			"to keep it yourself, or settle it at %s first.", strings.Join(words, ", "), why, sr.cfg.Venue.ID)
	f.Data["left"] = list
	return f
}

// sellLeft sells at the market what earlier runs hold, by orders of this run that are none of its books'.
func (sr *starter) sellLeft(ctx context.Context, list []left) error {
	for _, l := range list {
		if !slices.Contains(sr.cfg.Symbols, l.Symbol) {
			return sr.leftFault(list,
				fmt.Sprintf("; this run does not trade %s: begin with one that does", l.Symbol))
		}
	}
	if err := sr.cfg.Run.Connected(ctx, journal.Connected{AccountID: sr.session.account}); err != nil {
		return err
	}
	s := sr.newSettling()
	s.limit = flatLimit
	for _, l := range list {
		sr.sold++
		spec := order.Spec{
			Seq: sr.sold, ClientOrderID: order.ClientID(sr.cfg.RunID, sr.sold), Symbol: l.Symbol,
			Side: market.Sell, Type: market.Market,
			Quantity: l.rules.RoundQuantity(market.Market, l.Quantity), Reference: l.price, Exit: true,
			Manual: true,
		}
		in, err := journalIntent(intentBody{spec, true}, sr.session.clock.Now())
		if err != nil {
			return err
		}
		if err := sr.cfg.Run.Intent(ctx, in); err != nil {
			return err
		}
		if err := s.commit(spec, sr.cfg.RunID, time.Now()); err != nil {
			return err
		}
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	sr.reportSettled("what earlier runs had left was sold before the start: " + describeLeft(list))
	return nil
}

// reportSettled reports what became of what earlier runs had left: it is over, so that no alarm stays.
func (sr *starter) reportSettled(text string) {
	sr.cfg.Host.Raise(alarm.Occurrence{Code: CodePositionsLeft, Text: text, Shadow: true})
	sr.books.clearAlarm(CodePositionsLeft, "")
}

func describeLeft(list []left) string {
	var out []string
	for _, l := range list {
		out = append(out, l.Quantity.Trim(0).String()+" of "+string(l.Symbol))
	}
	return strings.Join(out, ", ")
}
