package sim

import (
	"github.com/assay-run/assay/plugin-sdk/market"
)

// fill executes an order at a reference price, or rejects or cancels it. An error
// is an overflow of the ledger and ends the run.
func (e *executor) fill(o *order, ref dec, l market.Liquidity, x execution) error {
	price, err := e.fillPrice(o, ref, l)
	if err != nil {
		return err
	}
	rate := e.opt.FeeTaker
	if l == market.Maker {
		rate = e.opt.FeeMaker
	}
	q, refusal, err := e.quantityFor(o, price, rate)
	if err != nil {
		return err
	}
	if refusal != "" {
		status := market.StatusRejected
		if refusal == market.ReasonReduceOnlyNoPosition {
			status = market.StatusCanceled
		}
		e.finish(o, status, refusal, x.at)
		return nil
	}
	d := deal{order: o, price: price, ref: ref, rate: rate, liquidity: l, x: x}
	if e.isExit(o) {
		d.closing = minDec(q, e.ledger.books[o.sym].quantity.Abs())
	}
	if d.opening, err = q.Sub(d.closing); err != nil {
		return err
	}
	return e.execute(&d)
}

// deal is a fill that is about to happen; one through zero closes, then opens.
type deal struct {
	order            *order
	price, ref, rate dec
	closing, opening dec // quantities
	liquidity        market.Liquidity
	x                execution
	ambiguous        bool
}

// quantityFor is what an order trades at a price, or the code of its refusal.
func (e *executor) quantityFor(o *order, price, rate dec) (dec, market.Reason, error) {
	if o.ReduceOnly {
		if !e.reduces(o) {
			return dec{}, market.ReasonReduceOnlyNoPosition, nil
		}
		held := e.ledger.books[o.sym].quantity.Abs()
		if o.Quantity.IsZero() {
			return held, "", nil
		}
		return minDec(o.Quantity, held), "", nil
	}
	if o.size.Kind == market.SizeQuantity || o.size.Kind.OfEquity() {
		return o.Quantity, "", nil
	}
	budget, err := e.budget(o)
	if err != nil {
		return dec{}, "", err
	}
	q, err := e.ledger.sizeByCash(budget, price, rate, e.opt.QuantityStep)
	switch {
	case err != nil && budget.Cmp(e.ledger.cash) > 0:
		return dec{}, market.ReasonInsufficientCash, nil // an amount that the books cannot even write down
	case err == nil && !q.IsPos():
		return dec{}, market.ReasonQuantityBelowStep, nil
	}
	return q, "", err
}

// reduces reports whether there is a position and the order is against it.
func (v *venue) reduces(o *order) bool {
	q := v.ledger.books[o.sym].quantity
	return (q.IsPos() && o.Side == market.Sell) || (q.IsNeg() && o.Side == market.Buy)
}

// budget is what a cash-sized order may spend, fee included; a share of the cash
// is floored to the money unit.
func (e *executor) budget(o *order) (dec, error) {
	value, err := Decimal(o.size.Value)
	if err != nil {
		return dec{}, err
	}
	if o.size.Kind == market.SizeQuoteAmount {
		return value, nil
	}
	free, err := e.ledger.free(e.opt.AllowShort)
	if err != nil || !free.IsPos() {
		return dec{}, err
	}
	return mulFloor(free, value, e.ledger.scale)
}

// execute checks the money, books the fill and everything that follows from it.
func (e *executor) execute(d *deal) error {
	o := d.order
	refusal, err := e.refuseOpening(d)
	switch {
	case refusal == market.ReasonQuantityBelowStep: // nothing was left of an order sized by equity
		e.finish(o, market.StatusCanceled, refusal, d.x.at)
	case refusal != "":
		e.finish(o, market.StatusRejected, refusal, d.x.at)
	}
	if err != nil || refusal != "" {
		return err
	}
	o.FilledAt, o.AveragePrice = d.x.at, d.price
	if d.closing.IsPos() {
		if o.Role == market.RoleEntry {
			o.Role = market.RoleExit
		}
		if err := e.closePart(d); err != nil {
			return err
		}
	}
	if d.opening.IsPos() {
		o.Role = market.RoleEntry
		if err := e.openPart(d); err != nil {
			return err
		}
	}
	o.oco.cancelOthers(e.venue, o, d.x.at)
	o.Quantity = o.FilledQuantity
	e.close(o)
	e.changed(o, market.StatusFilled, "", d.x.at)
	return e.afterFill(d)
}

// refuseOpening checks the opening part against shorting rules and free cash, with
// the closing part already done: all or nothing.
func (e *executor) refuseOpening(d *deal) (market.Reason, error) {
	o, l := d.order, e.ledger
	if !d.opening.IsPos() {
		return "", nil
	}
	if o.Side == market.Sell && !e.opt.AllowShort {
		return market.ReasonShortNotAllowed, nil
	}
	if d.closing.IsPos() {
		undo := l.save(o.sym)
		defer undo()
		n, f, err := l.costOf(d.closing, d.price, d.rate)
		if err == nil {
			_, err = l.reduce(o.sym, d.closing, n, f)
		}
		if err != nil {
			return "", err
		}
	}
	if o.size.Kind.OfEquity() {
		if err := e.clamp(d); err != nil {
			return "", err
		}
		switch {
		case d.opening.IsPos():
		case d.closing.IsPos():
			return "", nil
		default:
			return market.ReasonQuantityBelowStep, nil
		}
	}
	n, f, err := l.costOf(d.opening, d.price, d.rate)
	if err != nil {
		return market.ReasonInsufficientCash, nil // more than the ledger can write down is more than there is
	}
	free, err := l.free(e.opt.AllowShort)
	if err != nil {
		return "", err
	}
	need, err := n.Add(f)
	if err != nil || need.Cmp(free) > 0 {
		return market.ReasonInsufficientCash, nil
	}
	return "", nil
}

func (e *executor) closePart(d *deal) error {
	o := d.order
	n, f, err := e.ledger.costOf(d.closing, d.price, d.rate)
	if err != nil {
		return err
	}
	gross, err := e.ledger.reduce(o.sym, d.closing, n, f)
	if err != nil {
		return err
	}
	d.ambiguous = e.ambiguousExit(o, d.x) || o.oco.isAmbiguous(e, o, d.x)
	fill, err := e.recordFill(d, d.closing, n, f, gross)
	if err != nil {
		return err
	}
	s := &e.symbols[o.sym]
	if err := s.trade.addExit(o, fill, n); err != nil {
		return err
	}
	if err := o.bracket.settle(e.venue, o, d.closing, d.x.at); err != nil {
		return err
	}
	if !e.ledger.books[o.sym].quantity.IsZero() {
		return nil
	}
	for _, child := range e.live {
		if child.sym == o.sym && child.isChild() && !child.done && child != o {
			e.finish(child, market.StatusCanceled, market.ReasonPositionClosed, d.x.at)
		}
	}
	return e.closeTrade(s, o, d.x)
}

func (e *executor) closeTrade(s *symbolState, o *order, x execution) error {
	e.stats.Trades++
	ended := s.trade
	s.trade = openTrade{}
	if e.rec == nil {
		return nil
	}
	t, err := ended.closed(market.TradeID(e.stats.Trades), o, x.at, s.index, e.ledger.scale)
	if err == nil {
		e.rec.Trade(e.step, t)
	}
	return err
}

func (e *executor) openPart(d *deal) error {
	o := d.order
	n, f, err := e.ledger.costOf(d.opening, d.price, d.rate)
	if err != nil {
		return err
	}
	if err := e.ledger.open(o.sym, o.Side, d.opening, n, f); err != nil {
		return err
	}
	d.ambiguous = e.ambiguousEntry(d) || o.oco.isAmbiguous(e, o, d.x)
	fill, err := e.recordFill(d, d.opening, n, f, dec{})
	if err != nil {
		return err
	}
	s := &e.symbols[o.sym]
	return s.trade.addEntry(o, fill, n, s, d.x)
}

// afterFill makes the children of an order that opened and tests the stop loss of
// one that filled inside right away.
func (e *executor) afterFill(d *deal) error {
	o := d.order
	if !d.opening.IsPos() || (o.stopLoss == nil && len(o.targets) == 0) {
		return nil
	}
	first := len(e.live)
	if err := e.makeChildren(o, d.opening, d.price, d.x); err != nil {
		return err
	}
	if !d.x.inside || e.opt.Intrabar == "ohlc_color" || first == len(e.live) {
		return nil
	}
	stop := e.live[first]
	if !stop.active || stop.Role != market.RoleStopLoss {
		return nil
	}
	stop.tested = true
	if !e.reachedInside(stop, &e.symbols[o.sym].candle) {
		return nil
	}
	return e.fillInside(stop, Float(d.ref))
}

// recordFill writes one execution down.
func (e *executor) recordFill(d *deal, q, n, f, gross dec) (*market.Fill, error) {
	o := d.order
	var sum adder
	slippage := sum.keep(mulRound(sum.sub(d.price, d.ref).Abs(), q, e.ledger.scale))
	if sum.err != nil {
		return nil, sum.err
	}
	e.stats.Fills++
	e.stats.Fees = e.ledger.fees
	e.stats.Slippage = sum.total(e.stats.Slippage, slippage)
	e.stats.Notional = sum.total(e.stats.Notional, n)
	o.Fee = sum.add(o.Fee, f)
	o.FilledQuantity = sum.add(o.FilledQuantity, q)
	if sum.err != nil {
		return nil, sum.err
	}
	if d.ambiguous {
		e.stats.AmbiguousFills++
	}
	e.fills = append(e.fills, market.Fill{
		ID: market.FillID(e.stats.Fills), OrderID: o.ID, Symbol: o.Symbol, Side: o.Side, Role: o.Role,
		Quantity: q, Price: d.price, ReferencePrice: d.ref, Slippage: slippage, Fee: f,
		Liquidity: d.liquidity,
		Time:      d.x.at, PositionAfter: e.ledger.books[o.sym].quantity, RealizedPnL: gross,
		Ambiguous: d.ambiguous, Tag: o.Tag,
	})
	fill := &e.fills[len(e.fills)-1]
	e.digest.fill(e.step, fill, e.ledger.cash)
	if e.rec != nil {
		e.rec.Fill(e.step, fill)
	}
	return fill, nil
}

// ambiguousExit: the candle also touches another exit beside the child that filled
// inside it, or the stop loss goes off in the candle inside which its stop-type
// parent filled; the candle does not show what came first.
func (e *executor) ambiguousExit(o *order, x execution) bool {
	if !x.inside || !o.isChild() {
		return false
	}
	s := &e.symbols[o.sym]
	if o.raised || o.bracket.touchesOther(o, s) {
		return true
	}
	kind := o.parent.Type
	stopParent := kind == market.Stop || kind == market.TrailingStop ||
		(kind == market.StopLimit && !o.parent.triggered)
	return o.Role == market.RoleStopLoss && o.bornAt == s.index && o.parentInside && stopParent
}

// ambiguousEntry: the candle inside which an entry filled touches a take profit of it too.
func (e *executor) ambiguousEntry(d *deal) bool {
	o := d.order
	if !d.x.inside {
		return false
	}
	exit := o.Side.Opposite()
	for i := range o.targets {
		target, err := childLevel(&o.targets[i].Level, exit, false, d.price)
		if err == nil && reached(exit, favourable(exit, &e.symbols[o.sym].candle), Float(target)) {
			return true
		}
	}
	return false
}

// touchesInside reports whether the extremes of a candle reach a bracket child.
func touchesInside(o *order, c *market.Candle) bool {
	if o.isStop() {
		return triggers(o.Side, adverse(o.Side, c), o.stopF)
	}
	return reached(o.Side, favourable(o.Side, c), o.limitF)
}

func minDec(a, b dec) dec {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func maxDec(a, b dec) dec { return minDec(a.Neg(), b.Neg()).Neg() }
