package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
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

// updates is what the strategy has not been told yet.
type updates struct {
	orders []market.Order
	fills  []market.Fill
	known  int // orders that the recorder knows
}

// changeOrders lets the order manager do something and takes what follows from it.
func (bk *bookkeeper) changeOrders(n note, f func() (oms.Result, error)) error {
	r, err := bk.callOrders(f)
	bk.applyEffects(n, r)
	return err
}

// change is changeOrders for what the order manager cannot refuse.
func (bk *bookkeeper) change(f func() oms.Result, source order.Source) {
	_ = bk.changeOrders(note{source: source}, func() (oms.Result, error) { return f(), nil })
}

func (bk *bookkeeper) callOrders(f func() (oms.Result, error)) (r oms.Result, err error) {
	bk.withGate(func() {
		bk.manager.Begin(max(bk.steps.index-1, 0), bk.now())
		r, err = f()
		bk.drainUpdates()
	})
	return r, err
}

// withGate holds the gate while f changes what others read, and lets go of it also where f breaks.
func (bk *bookkeeper) withGate(f func()) {
	bk.cfg.Gate.Lock()
	defer bk.cfg.Gate.Unlock()
	f()
}

// now returns the run's clock. While a step is decided it stands at its close.
func (bk *bookkeeper) now() market.Time { return max(bk.session.clock.Now(), bk.steps.closed) }

// applyEvent takes one event of an order.
func (bk *bookkeeper) applyEvent(ev order.Event) error {
	before := len(bk.batch.Events)
	err := bk.changeOrders(note{ev.Source, ev.Kind, ev.Result}, func() (oms.Result, error) {
		return bk.manager.Apply(ev, time.Now())
	})
	if err == nil && len(bk.batch.Events) == before && ev.Result.Outcome != "" &&
		ev.Result.Outcome != exchange.Accepted {
		// It changed nothing and is worth knowing all the same.
		bk.batch.Events = append(bk.batch.Events,
			bk.journalEvent(ev.ClientOrderID, string(ev.Kind), note{ev.Source, ev.Kind, ev.Result}))
	}
	return err
}

// drainUpdates gives the recorder what is new and keeps it for the strategy; with the gate held.
func (bk *bookkeeper) drainUpdates() {
	updates, fills, trades := bk.manager.Drain()
	if bk.rec == nil {
		return
	}
	at := max(bk.steps.index-1, 0)
	for i := range updates {
		o := &updates[i]
		if int(o.ID) > bk.unsent.known+1 { // the recorder takes them in the order of their ids
			for _, before := range bk.manager.Orders()[bk.unsent.known : o.ID-1] {
				bk.rec.Order(at, &before)
				bk.noteOrder(before)
			}
		}
		bk.unsent.known = max(bk.unsent.known, int(o.ID))
		bk.rec.Order(at, o)
		bk.noteOrder(*o)
	}
	for i := range fills {
		bk.rec.Fill(at, &fills[i])
	}
	for i := range trades {
		bk.rec.Trade(at, &trades[i])
	}
	bk.alarms.orders = append(bk.alarms.orders, updates...)
	bk.unsent.orders = append(bk.unsent.orders, updates...)
	bk.unsent.fills = append(bk.unsent.fills, fills...)
}

// noteOrder keeps the newest state of an order for the journal.
func (bk *bookkeeper) noteOrder(o market.Order) {
	if i, ok := bk.shown[o.ID]; ok {
		bk.orders[i] = o
		return
	}
	bk.shown[o.ID] = len(bk.orders)
	bk.orders = append(bk.orders, o)
}

// applyEffects looks through what the order manager asks for: news go into the journal and to the limits, the
// rest is to be done.
func (bk *bookkeeper) applyEffects(n note, r oms.Result) {
	booked := false
	for _, f := range r.Effects {
		switch f.Do {
		case order.Tell:
			bk.onStateChange(n, f)
		case order.Count:
			bk.onFill(f)
			booked = true
		case order.Alarm:
			bk.raiseAlarm(f.Code, string(f.Symbol), f.Message) // a thousand orders are not a thousand alarms
		case order.Reduce:
			bk.guard.Raise(risk.Reason{Code: risk.Code(f.Code), State: risk.Reducing, Clears: risk.AtEnd,
				Since: bk.now(), Message: "an order of the run cannot be trusted: " + f.Code})
		case order.Halt:
			bk.guard.Raise(risk.Reason{Code: risk.Code(f.Code), State: risk.Halted, Clears: risk.WhenGone,
				Since: bk.now(), Message: f.Message})
			bk.raiseWarning(f.Code, f.Message)
		case order.Resume:
			bk.guard.Clear(risk.Code(f.Code))
			bk.clearAlarm(f.Code, "")
		default:
			bk.effects = append(bk.effects, f)
		}
	}
	bk.raiseRejects()
	bk.proposals = append(bk.proposals, r.Proposals...)
	if booked && !bk.loop.stopped {
		bk.judgeEquity()
	}
}

// judgeEquity has the limits look at the account between two closes.
func (bk *bookkeeper) judgeEquity() {
	bk.recordVerdicts(bk.guard.OnEquity(bk.now(), bk.manager.Equity()))
}

// onStateChange writes down that an order changed its state.
func (bk *bookkeeper) onStateChange(n note, f order.Effect) {
	s, ok := bk.manager.Book().Get(f.Order)
	if !ok {
		return
	}
	if f.From != order.None { // the intent is its own row, and what was denied has none
		bk.batch.Events = append(bk.batch.Events, bk.journalEvent(f.Order, string(s.State), n))
	}
	if s.State != order.Intent && s.State != order.Sent {
		delete(bk.session.calls.leaveBy, f.Order)
	}
	bk.trackFate(f.Order, s)
	bk.recon.markChanged(s.Spec.Symbol)
	asked := f.From == order.Sent || f.From == order.Lost
	switch {
	case s.Spec.Exit: // what only reduces may be refused as often as it takes
	case s.Spec.PostOnly && s.Reason == string(market.ReasonWouldTake): // as it wants it
	case s.State == order.Rejected && asked && s.Reason != order.CodeNeverReached &&
		s.Reason != order.CodeNotSent:
		bk.recordVerdicts(bk.guard.OnReject(bk.now()))
	case asked && (s.State == order.Open || s.State == order.Partial || s.State == order.Filled):
		bk.guard.OnAccept()
	}
}

func (bk *bookkeeper) journalEvent(id, kind string, n note) journal.Event {
	ev := journal.Event{
		ClientOrderID: id, Kind: kind, Source: string(n.source), Outcome: string(n.result.Outcome),
		RawSHA256: n.result.RawSHA256, At: bk.now(),
	}
	if n.source == order.FromList || n.source == "" {
		ev.Source = string(order.FromQuery)
	}
	if s, ok := bk.manager.Book().Get(id); ok {
		ev.VenueOrderID, ev.CumQuantity = s.VenueOrderID, s.Reported.Max(s.Filled)
	}
	return ev
}

func (bk *bookkeeper) onFill(f order.Effect) {
	failpoint.Point(failpoint.FillRead)
	x := f.Fill
	bk.trades++
	bk.recon.markChanged(x.Symbol)
	bk.valueThirdFee(x)
	bk.batch.Fills = append(bk.batch.Fills, x)
	if bk.flattens && x.Side == market.Buy {
		bk.loop.inbox.post(func() { bk.closePosition(x.Symbol) })
	}
	if !bk.counted[f.Order] {
		bk.counted[f.Order] = true
		bk.recordVerdicts(bk.guard.OnFill(x.Symbol, bk.now()))
	}
}

// runEffects does what the order manager asks for, until nothing is left, and commits what was learnt.
func (bk *bookkeeper) runEffects() {
	for {
		switch {
		case len(bk.proposals) > 0:
			p := bk.proposals[0]
			bk.proposals = bk.proposals[1:]
			bk.proposeOrder(p)
		case len(bk.effects) > 0:
			f := bk.effects[0]
			bk.effects = bk.effects[1:]
			bk.session.runEffect(f)
		default:
			bk.commitBatch()
			return
		}
	}
}

// commitBatch writes down what was learnt. A journal that fails ends the run, not the commit of
// what is learnt later.
func (bk *bookkeeper) commitBatch(intents ...journal.Intent) bool {
	b := bk.batch
	b.Intents = intents
	bk.batch = journal.Batch{}
	if len(bk.orders) > 0 {
		b.Entries = append(b.Entries,
			journal.Entry{Kind: LogOrders, Data: map[string]any{"orders": bk.orders}})
		bk.orders = nil
		clear(bk.shown)
	}
	if len(b.Intents)+len(b.Events)+len(b.Fills)+len(b.Candles)+len(b.Equity)+len(b.Entries) == 0 {
		return true
	}
	outcomes, err := bk.cfg.Run.Commit(context.Background(), b)
	if err != nil {
		bk.loop.unwritten = cmp.Or(bk.loop.unwritten, err)
		bk.loop.failRun(err)
		return false
	}
	for _, o := range outcomes {
		if o.Conflict {
			bk.raiseWarning(order.CodeFillConflict,
				"trade "+o.Kept.TradeID+" is known of run "+o.KeptRun+" with other data; the first is kept")
		}
	}
	bk.markCommitted(b.Events)
	return true
}

// markCommitted marks the places at which a crash finds events committed.
func (bk *bookkeeper) markCommitted(events []journal.Event) {
	for _, ev := range events {
		switch order.State(ev.Kind) {
		case order.Open:
			failpoint.Point(failpoint.AckCommitted)
		case order.Canceled:
			failpoint.Point(failpoint.CancelCommitted)
		}
	}
}

// proposeOrder judges an order, writes it down and hands it to the book, which sends it.
func (bk *bookkeeper) proposeOrder(p oms.Proposal) {
	if code := bk.denyProposal(p); code != "" {
		_ = bk.changeOrders(note{source: order.FromLocal}, func() (oms.Result, error) {
			return bk.manager.Deny(p, code, time.Now())
		})
		return
	}
	if s := p.Specs[0]; s.Wanted.IsPos() {
		value := s.QuoteAmount.Max(order.Times(s.Quantity, s.Price()))
		bk.recordVerdicts([]risk.Verdict{{
			Code: risk.SizeClamped, Symbol: s.Symbol, Value: s.Wanted.Trim(0).String(),
			Limit: value.Trim(0).String(), Passed: true,
			Message: fmt.Sprintf(
				"an order of %s was to spend %s and spends %s, which is what the limits of risk leave",
				s.Symbol, s.Wanted.Trim(0), value.Trim(0)),
		}})
	}
	intents := make([]journal.Intent, len(p.Specs))
	for i, s := range p.Specs {
		var err error
		if intents[i], err = journalIntent(intentBody{Spec: s}, bk.now()); err != nil {
			bk.loop.failRun(err)
			return
		}
	}
	if !bk.commitBatch(intents...) {
		return // not written down, so it does not exist
	}
	err := bk.changeOrders(note{source: order.FromLocal}, func() (oms.Result, error) {
		return bk.manager.Commit(p, time.Now())
	})
	if err != nil && !bk.loop.stopped {
		bk.loop.failRun(err)
	}
}

// conditions are how the run stands, by which orders may leave or not. Whatever has to know it asks here:
// it before exits are taken back, risk before an order is written down, the call before it is sent.
func (bk *bookkeeper) conditions() admission.Conditions {
	c := admission.Conditions{Barrier: bk.session.barrier}
	if !bk.loop.stopped { // the barrier is the only rule of a stop
		c.Reconciling, c.Guard, c.InputStale = !bk.recon.synced, bk.guard, bk.cfg.Host.InputStale()
	}
	return c
}

// denyProposal returns why an order may not be written down; "" when it may.
func (bk *bookkeeper) denyProposal(p oms.Proposal) string {
	c := bk.conditions()
	if !bk.loop.stopped {
		bk.judgeEquity()
		s := p.Specs[0]
		c.Limits = func() risk.Code { return bk.checkLimits(s, p) }
	}
	return admission.Judge(c, admission.KindOf(p.Shrinks, p.Protects)).Code
}

// checkLimits judges an order by every limit and returns the code of the breach by which it is denied.
func (bk *bookkeeper) checkLimits(s order.Spec, p oms.Proposal) risk.Code {
	verdicts, allowed := bk.guard.Check(risk.Order{
		Symbol: s.Symbol, Side: s.Side, Quantity: s.Quantity, QuoteAmount: s.QuoteAmount,
		LimitPrice: s.LimitPrice,
		StopPrice:  s.StopPrice, Shrinks: p.Shrinks, Protects: p.Protects,
	}, risk.Account{Now: bk.now(), Symbols: bk.exposures()})
	bk.recordVerdicts(verdicts)
	if !allowed {
		return verdicts[0].Code
	}
	bk.alarms.limits.Passed(bk.cfg.Host, s.Symbol)
	return ""
}

// limitHeadroom returns the value that the limits leave for one more order.
func (bk *bookkeeper) limitHeadroom(s market.Symbol, ofSymbol, ofAll dec) dec {
	return bk.guard.Headroom(s, risk.Account{Now: bk.now(), Symbols: bk.exposures()}, ofSymbol, ofAll)
}

// ReasonNoOrder is why a start did not begin under whose limits no order is possible.
const ReasonNoOrder = "limits_allow_no_order"

// requireAnyOrder refuses a run under whose limits, and with whose cash, the market takes no order at all.
// Price is the last close of a symbol, 0 while it is not known.
func (bk *bookkeeper) requireAnyOrder(cash dec, price func(int) dec) error {
	var list []map[string]any
	for i, m := range bk.recon.markets {
		least, most := m.MinNotional, bk.guard.Headroom(m.Symbol, risk.Account{}, dec{}, dec{}).Min(cash)
		for _, q := range [...]dec{m.MinQuantity, m.MarketMinQuantity, m.QuantityStep} {
			least = least.Max(order.Times(q, price(i)))
		}
		if most.IsPos() && least.Cmp(most) <= 0 {
			return nil
		}
		list = append(list,
			map[string]any{"symbol": m.Symbol, "smallest": least.Trim(0), "largest": most.Trim(0)})
	}
	first := list[0]
	f := ExchangeFault(ReasonNoOrder, nil,
		"No order is possible: the smallest that %s takes of %s is worth %s, and the cash "+
			"and the limits of risk leave %s. Raise the limits, or the cash.",
		bk.cfg.Venue.ID, first["symbol"], first["smallest"], first["largest"])
	f.Data["orders"], f.Data["cash"] = list, cash.Trim(0)
	return f
}

// exposures returns how the symbols stand, with what working orders may still buy.
func (bk *bookkeeper) exposures() []risk.Symbol {
	for i := range bk.symbols {
		s := &bk.symbols[i]
		s.Position, s.Working = bk.manager.Ledger().Quantity(s.Symbol),
			bk.manager.Book().Exposure(s.Symbol).BuyValue
	}
	return bk.symbols
}

// recordVerdicts writes breaches down and raises them.
func (bk *bookkeeper) recordVerdicts(list []risk.Verdict) {
	for _, v := range list {
		bk.batch.Entries = append(bk.batch.Entries, journal.Entry{Kind: LogRisk, Data: map[string]any{
			"code": v.Code, "symbol": v.Symbol, "value": v.Value, "limit": v.Limit, "message": v.Message,
			"shadow": v.Shadow, "passed": v.Passed,
		}})
		bk.alarms.limits.Raise(bk.cfg.Host, bk.guard, v)
	}
	if bk.guard.Killed() {
		bk.loop.failRun(&Fault{Code: CodeRiskKill,
			Message: "The drawdown limit ended the run: " + bk.killMessage(list), Data: map[string]any{}})
	}
}

func (bk *bookkeeper) killMessage(list []risk.Verdict) string {
	for _, v := range list {
		if v.Code == risk.Kill {
			return v.Message
		}
	}
	return string(risk.Kill)
}

// isUnknownOrder reports whether an event is about an order that is not of this run.
func isUnknownOrder(err error) bool { return errors.As(err, new(*order.UnknownOrderError)) }
