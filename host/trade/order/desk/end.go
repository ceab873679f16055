package desk

import (
	"time"

	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Barrier ends the sending: what waits, or is proposed and not committed, ends here, and nothing is placed any more.
func (d *Desk) Barrier(at time.Time) Result {
	d.barred = true
	for _, s := range d.placer.proposed {
		d.byID[s.ClientOrderID].waiting = true
	}
	d.placer.proposed = nil
	for _, p := range d.workingOrders() {
		if p.waiting {
			p.endOrder(d, market.StatusCanceled, admission.CodeEndOfRun)
		}
		p.change, p.taken = nil, false
	}
	d.protector.groups = nil
	d.applyEffects(d.book.Barrier(at), at)
	return d.takeResult()
}

// Flatten sells what is held at the market, after the barrier and once every order is confirmed to be gone.
func (d *Desk) Flatten(at time.Time) Result {
	d.book.Flatten()
	d.flatten = true
	for i, s := range d.cfg.Symbols {
		if !d.ledger.Flat(s) {
			d.intake.submitIntent(i, market.Intent{Action: market.Close}, false)
		}
	}
	d.advance(at)
	return d.takeResult()
}

// CancelAll cancels every order that may be at the venue.
func (d *Desk) CancelAll(at time.Time) Result {
	for _, s := range d.book.Pending() {
		if p := d.byID[s.Spec.ClientOrderID]; p != nil && p.ending == "" {
			p.ending = admission.CodeEndOfRun
		}
		d.cancelID(s.Spec.ClientOrderID, at)
	}
	return d.takeResult()
}

// byOperator is the reason of a cancel, and the tag of an order, that the operator wanted.
const byOperator = "operator"

// Close sells what is held of a symbol at the market, at the operator's wish; false: nothing is.
func (d *Desk) Close(s market.Symbol, at time.Time) (Result, bool) {
	i := d.symbolIndex(s)
	if i < 0 || d.ledger.Flat(s) {
		return Result{}, false
	}
	if d.protector.isSelling(i) {
		return Result{}, true // it is on its way
	}
	d.intake.submitIntent(i, market.Intent{Action: market.Close, Tag: byOperator}, false)
	d.orders[len(d.orders)-1].manual = true
	d.advance(at)
	return d.takeResult(), true
}

// CancelOrder takes an open order back at the operator's wish; false: there is none of that id.
func (d *Desk) CancelOrder(id string, at time.Time) (Result, bool) {
	for _, p := range d.workingOrders() {
		if p.done || p.ID.String() != id {
			continue
		}
		if p.group != nil {
			p.group.dropLeg(d, p, at)
		} else {
			p.cancelOrder(d, byOperator, at)
		}
		d.advance(at)
		return d.takeResult(), true
	}
	return Result{}, false
}

// CancelEntries takes back what would make a position larger, and counts it.
func (d *Desk) CancelEntries(at time.Time) (Result, int) {
	n := 0
	for _, p := range d.workingOrders() {
		if !p.done && p.Side == market.Buy && p.ending == "" {
			p.cancelOrder(d, byOperator, at)
			n++
		}
	}
	d.advance(at)
	return d.takeResult(), n
}
