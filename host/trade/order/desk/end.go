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
