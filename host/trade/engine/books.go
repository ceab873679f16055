package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The kinds of the journal's log that the engine writes.
const (
	// LogOrders has the strategy's orders that changed, LogRisk a verdict, LogReconcile what a
	// snapshot showed.
	LogOrders    = "orders"
	LogRisk      = "risk"
	LogReconcile = "reconcile"
)

// note is where a change of the books comes from.
type note struct {
	source order.Source
	kind   order.Kind
	result exchange.Result
}

// told is what the strategy has not been told yet.
type told struct {
	orders []market.Order
	fills  []market.Fill
	known  int // orders that the recorder knows
}

// change lets the desk do something and takes what follows from it.
func (e *Engine) change(n note, f func() (desk.Result, error)) error {
	r, err := e.gated(f)
	e.absorb(n, r)
	return err
}

func (e *Engine) gated(f func() (desk.Result, error)) (r desk.Result, err error) {
	e.locked(func() {
		e.desk.Begin(max(e.steps.index-1, 0), e.now())
		r, err = f()
		e.harvest()
	})
	return r, err
}

// locked holds the gate while f changes what others read, and lets go of it also where f breaks.
func (e *Engine) locked(f func()) {
	e.cfg.Gate.Lock()
	defer e.cfg.Gate.Unlock()
	f()
}

// now is the run's clock. While a step is decided it stands at its close.
func (e *Engine) now() market.Time { return max(e.clock.Now(), e.steps.closed) }

// apply takes one event of an order.
func (e *Engine) apply(ev order.Event) error {
	before := len(e.batch.Events)
	err := e.change(note{ev.Source, ev.Kind, ev.Result}, func() (desk.Result, error) { return e.desk.Apply(ev, time.Now()) })
	if err == nil && len(e.batch.Events) == before && ev.Result.Outcome != "" && ev.Result.Outcome != exchange.Accepted {
		// It changed nothing and is worth knowing all the same.
		e.batch.Events = append(e.batch.Events, e.event(ev.ClientOrderID, string(ev.Kind), note{ev.Source, ev.Kind, ev.Result}))
	}
	return err
}

// harvest gives the recorder what is new and keeps it for the strategy; with the gate held.
func (e *Engine) harvest() {
	updates, fills, trades := e.desk.Drain()
	if e.rec == nil {
		return
	}
	at := max(e.steps.index-1, 0)
	for i := range updates {
		o := &updates[i]
		if int(o.ID) > e.told.known+1 { // the recorder wants them in the order of their ids
			for _, before := range e.desk.Orders()[e.told.known : o.ID-1] {
				e.rec.Order(at, &before)
				e.show(before)
			}
		}
		e.told.known = max(e.told.known, int(o.ID))
		e.rec.Order(at, o)
		e.show(*o)
	}
	for i := range fills {
		e.rec.Fill(at, &fills[i])
	}
	for i := range trades {
		e.rec.Trade(at, &trades[i])
	}
	e.alarms.orders = append(e.alarms.orders, updates...)
	e.told.orders = append(e.told.orders, updates...)
	e.told.fills = append(e.told.fills, fills...)
}

// show keeps the newest state of an order for the journal.
func (e *Engine) show(o market.Order) {
	if i, ok := e.shown[o.ID]; ok {
		e.orders[i] = o
		return
	}
	e.shown[o.ID] = len(e.orders)
	e.orders = append(e.orders, o)
}

// absorb looks through what the desk wants: news go into the journal and to the limits, the
// rest is to be done.
func (e *Engine) absorb(n note, r desk.Result) {
	booked := false
	for _, f := range r.Effects {
		switch f.Do {
		case order.Tell:
			e.moved(n, f)
		case order.Count:
			e.filled(f)
			booked = true
		case order.Alarm:
			e.raise(f.Code, subjectOf(f), f.Message)
		case order.Reduce:
			e.guard.Raise(risk.Reason{Code: risk.Code(f.Code), State: risk.Reducing, Clears: risk.AtEnd, Since: e.now(), Message: "an order of the run cannot be trusted: " + f.Code})
		case order.Halt:
			e.guard.Raise(risk.Reason{Code: risk.Code(f.Code), State: risk.Halted, Clears: risk.WhenGone, Since: e.now(), Message: f.Message})
			e.warn(f.Code, f.Message)
		case order.Resume:
			e.guard.Clear(risk.Code(f.Code))
			e.clear(f.Code, "")
		default:
			e.todo = append(e.todo, f)
		}
	}
	e.judgeOrders()
	e.proposals = append(e.proposals, r.Proposals...)
	if booked && !e.stopped {
		e.judgeEquity()
	}
}

// judgeEquity has the limits look at the account between two closes.
func (e *Engine) judgeEquity() { e.verdicts(e.guard.OnEquity(e.now(), e.desk.Equity())) }

// moved writes down that an order changed its state.
func (e *Engine) moved(n note, f order.Effect) {
	s, ok := e.desk.Book().Get(f.Order)
	if !ok {
		return
	}
	if f.From != order.None { // the intent is its own row, and what was denied has none
		e.batch.Events = append(e.batch.Events, e.event(f.Order, string(s.State), n))
	}
	if s.State != order.Intent && s.State != order.Sent {
		delete(e.calls.leaveBy, f.Order)
	}
	e.fate(f.Order, s)
	e.recon.stirs(s.Spec.Symbol)
	asked := f.From == order.Sent || f.From == order.Lost
	switch {
	case s.Spec.Exit: // what only reduces may be refused as often as it takes
	case s.State == order.Rejected && asked && s.Reason != order.CodeNeverReached && s.Reason != order.CodeNotSent:
		e.verdicts(e.guard.OnReject(e.now()))
	case asked && (s.State == order.Open || s.State == order.Partial || s.State == order.Filled):
		e.guard.OnAccept()
	}
}

func (e *Engine) event(id, kind string, n note) journal.Event {
	ev := journal.Event{
		ClientOrderID: id, Kind: kind, Source: string(n.source), Outcome: string(n.result.Outcome), RawSHA256: n.result.RawSHA256, At: e.now(),
	}
	if n.source == order.FromList || n.source == "" {
		ev.Source = string(order.FromQuery)
	}
	if s, ok := e.desk.Book().Get(id); ok {
		ev.VenueOrderID, ev.CumQuantity = s.VenueOrderID, s.Reported.Max(s.Filled)
	}
	return ev
}

func (e *Engine) filled(f order.Effect) {
	failpoint.Point(failpoint.FillRead)
	x := f.Fill
	e.trades++
	e.recon.stirs(x.Symbol)
	e.thirdFee(x)
	e.batch.Fills = append(e.batch.Fills, journal.Fill{
		Symbol: x.Symbol, TradeID: x.TradeID, ClientOrderID: f.Order, Side: x.Side, Quantity: x.Quantity, Price: x.Price,
		Fee: x.Fee, FeeAsset: x.FeeAsset, Liquidity: x.Liquidity, At: x.Time,
	})
	if e.flattens && x.Side == market.Buy {
		e.inbox.post(func() { e.closeOne(x.Symbol) })
	}
	if !e.counted[f.Order] {
		e.counted[f.Order] = true
		e.verdicts(e.guard.OnFill(x.Symbol, e.now()))
	}
}

// work does what the desk wants, until it wants nothing more, and commits what was learnt.
func (e *Engine) work() {
	for {
		switch {
		case len(e.proposals) > 0:
			p := e.proposals[0]
			e.proposals = e.proposals[1:]
			e.propose(p)
		case len(e.todo) > 0:
			f := e.todo[0]
			e.todo = e.todo[1:]
			e.do(f)
		default:
			e.commit()
			return
		}
	}
}

// commit writes down what was learnt. A journal that fails ends the run, not the commit of
// what is learnt later.
func (e *Engine) commit(intents ...journal.Intent) bool {
	b := e.batch
	b.Intents = intents
	e.batch = journal.Batch{}
	if len(e.orders) > 0 {
		b.Entries = append(b.Entries, journal.Entry{Kind: LogOrders, Data: map[string]any{"orders": e.orders}})
		e.orders = nil
		clear(e.shown)
	}
	if len(b.Intents)+len(b.Events)+len(b.Fills)+len(b.Candles)+len(b.Equity)+len(b.Entries) == 0 {
		return true
	}
	outcomes, err := e.cfg.Run.Commit(context.Background(), b)
	if err != nil {
		e.unwritten = cmp.Or(e.unwritten, err)
		e.fail(err)
		return false
	}
	for _, o := range outcomes {
		if o.Conflict {
			e.warn(order.CodeFillConflict, "trade "+o.Kept.TradeID+" is known of run "+o.KeptRun+" with other data; the first is kept")
		}
	}
	e.passed(b.Events)
	return true
}

// passed marks the places at which a crash finds events committed.
func (e *Engine) passed(events []journal.Event) {
	for _, ev := range events {
		switch journal.State(ev.Kind) {
		case journal.StateOpen:
			failpoint.Point(failpoint.AckCommitted)
		case journal.StateCanceled:
			failpoint.Point(failpoint.CancelCommitted)
		}
	}
}

// propose judges an order, writes it down and hands it to the book, which sends it.
func (e *Engine) propose(p desk.Proposal) {
	if code := e.judge(p); code != "" {
		_ = e.change(note{source: order.FromLocal}, func() (desk.Result, error) { return e.desk.Deny(p, code, time.Now()) })
		return
	}
	if s := p.Specs[0]; s.Wanted.IsPos() {
		value := s.QuoteAmount.Max(order.Times(s.Quantity, s.Price()))
		e.verdicts([]risk.Verdict{{
			Code: risk.SizeClamped, Symbol: s.Symbol, Value: s.Wanted.Trim(0).String(), Limit: value.Trim(0).String(), Passed: true,
			Message: fmt.Sprintf("an order of %s was to spend %s and spends %s, which is what the limits of risk leave",
				s.Symbol, s.Wanted.Trim(0), value.Trim(0)),
		}})
	}
	intents := make([]journal.Intent, len(p.Specs))
	for i, s := range p.Specs {
		body, err := json.Marshal(bodyOf(s))
		if err != nil {
			e.fail(err)
			return
		}
		intents[i] = journal.Intent{Seq: s.Seq, ClientOrderID: s.ClientOrderID, Step: s.Step, Symbol: s.Symbol, Body: body, CreatedAt: e.now()}
	}
	if !e.commit(intents...) {
		return // not written down, so it does not exist
	}
	err := e.change(note{source: order.FromLocal}, func() (desk.Result, error) { return e.desk.Commit(p, time.Now()) })
	if err != nil && !e.stopped {
		e.fail(err)
	}
}

// admit is why an order of a kind may not leave now, whatever its size and price; "" when it may. Everything that wants
// to know asks here: the desk before it takes exits back, risk before an order is written down, the call before it is sent.
func (e *Engine) admit(o risk.Order) string {
	switch {
	case e.stopped:
		return "" // the stop has rules of its own: the barrier and the pass
	case !e.recon.synced:
		return CodeStreamReconciling
	case e.guard.Killed() && !o.Shrinks && !o.Protects:
		return string(risk.Kill)
	}
	return string(e.guard.Admits(o))
}

// shut is why no order may leave that makes a position smaller, or that protects one.
func (e *Engine) shut(protects bool) string {
	return e.admit(risk.Order{Shrinks: true, Protects: protects})
}

// judge is why an order may not be written down; "" when it may.
func (e *Engine) judge(p desk.Proposal) string {
	if e.stopped {
		return ""
	}
	e.judgeEquity()
	s := p.Specs[0]
	o := risk.Order{
		Symbol: s.Symbol, Side: s.Side, Quantity: s.Quantity, QuoteAmount: s.QuoteAmount, LimitPrice: s.LimitPrice, StopPrice: s.StopPrice,
		Shrinks: p.Shrinks, Protects: p.Protects,
	}
	if code := e.admit(o); code == CodeStreamReconciling || code == string(risk.Kill) {
		return code
	}
	verdicts, allowed := e.guard.Check(o, risk.Account{Now: e.now(), Symbols: e.exposed()})
	e.verdicts(verdicts)
	if allowed {
		e.alarms.limits.Passed(e.cfg.Host, s.Symbol)
		return ""
	}
	return string(verdicts[0].Code)
}

// room is the value that the limits leave for one more order.
func (e *Engine) room(s market.Symbol, ofSymbol, ofAll dec) dec {
	return e.guard.Room(s, risk.Account{Now: e.now(), Symbols: e.exposed()}, ofSymbol, ofAll)
}

// ReasonNoOrder is why a start did not begin under whose limits no order is possible.
const ReasonNoOrder = "limits_allow_no_order"

// possible refuses a run under whose limits, and with whose cash, the market takes no order at all. Price is the last
// close of a symbol, 0 while it is not known.
func (e *Engine) possible(cash dec, price func(int) dec) error {
	var list []map[string]any
	for i, m := range e.markets {
		least, most := m.MinNotional, e.guard.Room(m.Symbol, risk.Account{}, dec{}, dec{}).Min(cash)
		for _, q := range [...]dec{m.MinQuantity, m.MarketMinQuantity, m.QuantityStep} {
			least = least.Max(order.Times(q, price(i)))
		}
		if most.IsPos() && least.Cmp(most) <= 0 {
			return nil
		}
		list = append(list, map[string]any{"symbol": m.Symbol, "smallest": least.Trim(0), "largest": most.Trim(0)})
	}
	first := list[0]
	f := ExchangeFault(ReasonNoOrder, nil, "No order is possible: the smallest that %s takes of %s is worth %s, and the cash "+
		"and the limits of risk leave %s. Raise the limits, or the cash.",
		e.cfg.Venue.ID, first["symbol"], first["smallest"], first["largest"])
	f.Data["orders"], f.Data["cash"] = list, cash.Trim(0)
	return f
}

// exposed is how the symbols stand, with what working orders may still buy.
func (e *Engine) exposed() []risk.Symbol {
	for i := range e.symbols {
		s := &e.symbols[i]
		s.Position, s.Working = e.desk.Ledger().Quantity(s.Symbol), e.desk.Book().Exposure(s.Symbol).BuyValue
	}
	return e.symbols
}

// verdicts writes breaches down and raises them.
func (e *Engine) verdicts(list []risk.Verdict) {
	for _, v := range list {
		e.batch.Entries = append(e.batch.Entries, journal.Entry{Kind: LogRisk, Data: map[string]any{
			"code": v.Code, "symbol": v.Symbol, "value": v.Value, "limit": v.Limit, "message": v.Message, "shadow": v.Shadow, "passed": v.Passed,
		}})
		e.alarms.limits.Raise(e.cfg.Host, e.guard, v)
	}
	if e.guard.Killed() {
		e.fail(&Fault{Code: CodeRiskKill, Message: "The drawdown limit ended the run: " + e.killMessage(list), Data: map[string]any{}})
	}
}

func (e *Engine) killMessage(list []risk.Verdict) string {
	for _, v := range list {
		if v.Code == risk.Kill {
			return v.Message
		}
	}
	return string(risk.Kill)
}

// unknownOrder says that an event is about an order that is not of this run.
func unknownOrder(err error) bool { return errors.As(err, new(*order.UnknownOrderError)) }
