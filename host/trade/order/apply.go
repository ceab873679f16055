package order

import (
	"math/big"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// action is one event being applied to one order.
type action struct {
	book    *Book
	r       *record
	at      time.Time
	effects []Effect
}

func (b *Book) act(r *record, at time.Time) *action { return &action{book: b, r: r, at: at} }

func (a *action) do(e Effect) {
	e.Order, e.Symbol = a.r.spec.ClientOrderID, a.r.spec.Symbol
	a.effects = append(a.effects, e)
}

// alarm raises a thing once.
func (a *action) alarm(code, message string) {
	if !a.r.alarmed[code+message] {
		a.r.alarmed[code+message] = true
		a.do(Effect{Do: Alarm, Code: code, Message: message})
	}
}

// step takes evidence through the table. What the table has no line for is a conflict: the state stays.
func (a *action) step(on Evidence) bool {
	from := a.r.state
	to, err := Next(from, on)
	if err != nil {
		a.alarm(CodeOrderConflict, err.Error())
		return false
	}
	if to == from {
		return true
	}
	a.r.state = to
	a.book.watch(a.r)
	if to == Lost {
		a.r.search = &search{written: a.r.written, began: a.at}
	} else {
		a.r.search = nil
	}
	a.do(Effect{Do: Tell, From: from})
	return true
}

func (a *action) apply(ev Event) error {
	switch ev.Kind {
	case Handed:
		return a.handOver()
	case SubmitReply:
		a.submitReply(ev)
	case CancelAsked:
		a.cancelAsked()
	case CancelReply:
		a.cancelReply(ev)
	case QueryReply:
		a.queryReply(ev)
	case OrderSeen:
		a.seen(ev.Order, ev.Source)
	case FillSeen:
		a.fill(ev.Fill)
	case NotSendable:
		if a.r.state == Intent {
			a.tooLate()
		}
	case Held:
		if a.r.state == Intent {
			a.r.resendAt = a.at.Add(heldAgain)
		}
	}
	return nil
}

// handOver returns the last thing before the connector gets the order: an error means that it must not.
func (a *action) handOver() error {
	if a.book.closed(a.r.spec) {
		return errBarred
	}
	legs := []*action{a}
	if other := a.book.byID[a.r.spec.Sibling]; other != nil {
		legs = append(legs, a.book.act(other, a.at)) // a pair is one request
	}
	for _, leg := range legs {
		if _, err := Next(leg.r.state, HandOver); err != nil {
			return err
		}
	}
	for _, leg := range legs {
		leg.step(HandOver)
		leg.r.attempt++
		leg.r.handed = a.at
		if leg != a {
			a.effects = append(a.effects, leg.effects...)
		}
	}
	return nil
}

func (a *action) submitReply(ev Event) {
	r := a.r
	old := ev.Attempt != 0 && ev.Attempt < r.attempt
	switch out := ev.Result.Outcome; {
	case out == exchange.Accepted:
		if !a.seen(ev.Order, FromReply) && !old {
			a.doubt() // an answer about something else is no answer
		}
	case old:
		// The connector gave this try up; what counts is the one that came after it.
	case out == exchange.Rejected, out == exchange.AuthFailed:
		a.refused(ev.Result)
	case out == exchange.NotSent, out == exchange.Throttled, out == exchange.Banned, out == exchange.Clock:
		a.unsent(ev.Result)
	default:
		a.doubt()
		if out == exchange.Duplicate && r.state == Lost {
			r.search.seen = true
			a.query()
		}
	}
}

func (a *action) refused(res exchange.Result) {
	r := a.r
	switch {
	case r.verdict.state == Rejected:
		// Said before.
	case r.state == Sent, r.state == Lost:
		r.judge(Rejected, ratZero, reasonOf(res))
		a.endByVerdict()
	default:
		a.alarm(CodeOrderConflict, "the venue refused an order that is "+string(r.state))
	}
}

func reasonOf(res exchange.Result) string {
	switch {
	case res.VenueCode == string(market.ReasonWouldTake):
		return res.VenueCode
	case res.Message != "" && res.VenueCode != "":
		return res.VenueCode + ": " + res.Message
	case res.Message != "":
		return res.Message
	case res.VenueCode != "":
		return res.VenueCode
	}
	return string(Rejected)
}

// unsent puts the order back: the same id may be sent again, after the venue's time.
func (a *action) unsent(res exchange.Result) {
	if a.r.state != Sent {
		return // the fate is being looked for, or known: a late word of the connector changes nothing
	}
	a.step(Unsent)
	other := a.book.byID[a.r.spec.Sibling]
	if a.book.closed(a.r.spec) || a.r.cancel.wanted || (other != nil && other.state.Terminal()) {
		a.tooLate() // it is not wanted any more, or it is half a pair
		return
	}
	a.r.resendAt = a.at.Add(max(resendAgain, time.Duration(res.RetryAfterMS)*time.Millisecond))
}

// tooLate ends an order that was not sent and will not be.
func (a *action) tooLate() {
	a.r.reason = CodeNotSent
	a.step(TooLate)
	if other := a.book.byID[a.r.spec.Sibling]; other != nil && other.state == Intent {
		leg := a.book.act(other, a.at) // half a pair is never sent
		leg.tooLate()
		a.effects = append(a.effects, leg.effects...)
	}
}

func (a *action) doubt() {
	if a.r.state == Sent {
		a.step(Doubt)
	}
}

func (a *action) cancelAsked() {
	switch {
	case a.r.state == Intent:
		// Never sent, or refused unexecuted: it ends here.
		a.tooLate()
	case a.r.state.Working():
		a.r.cancel.wanted = true
		a.step(CancelWanted)
		a.cancelNow()
	}
}

func (a *action) cancelReply(ev Event) {
	r := a.r
	r.cancel.inFlight = false
	r.cancel.again = a.at.Add(cancelAgain)
	switch ev.Result.Outcome {
	case exchange.Accepted:
		a.seen(ev.Order, FromReply)
	case exchange.NotSent, exchange.Throttled, exchange.Banned, exchange.Clock:
		if wait := time.Duration(ev.Result.RetryAfterMS) * time.Millisecond; wait > cancelAgain {
			r.cancel.again = a.at.Add(wait)
		}
		return
	}
	if r.state.Working() {
		a.step(CancelDoubt)
		a.query()
	}
}

func (a *action) queryReply(ev Event) {
	r := a.r
	r.querying = false
	switch ev.Result.Outcome {
	case exchange.Accepted:
		a.seen(ev.Order, FromQuery)
		if r.cancel.wanted && r.state.Working() {
			a.cancelNow()
		}
	case exchange.NotFound:
		if r.state == Lost && !ev.RequestedAt.Before(r.search.began) {
			r.search.miss(ev.RequestedAt)
			a.conclude()
		}
	}
}

// conclude ends a search that proved absence, or asks for the fills that are wanting.
func (a *action) conclude() {
	s := a.r.search
	switch {
	case s == nil || !s.missed():
	case s.absent():
		a.r.judge(Rejected, ratZero, CodeNeverReached)
		a.r.reason = CodeNeverReached
		a.step(Absent)
	default:
		a.fetch()
	}
}

// seen takes the venue's own word on the order; false when it is about another one, or has no status.
func (a *action) seen(o exchange.Order, from Source) bool {
	r := a.r
	if o.ClientOrderID != r.spec.ClientOrderID || o.Symbol != r.spec.Symbol {
		return false
	}
	if from == FromList && o.Status != exchange.OrderOpen && o.Status != exchange.OrderPartiallyFilled {
		a.query()
		return true
	}
	a.believe()
	if r.venueID == "" {
		r.venueID = o.VenueOrderID
	}
	if cum := exact(o.CumQuantity); cum.Cmp(r.reported) > 0 {
		r.reported, r.average = cum, o.AveragePrice
	}
	if o.Status != exchange.OrderRejected {
		r.acked = true
	}
	switch o.Status {
	case exchange.OrderFilled:
		r.done = true
		if r.reported.Sign() == 0 {
			r.reported = exact(r.spec.Quantity)
		}
		a.advance()
	case exchange.OrderCanceled:
		a.verdict(Canceled, o)
	case exchange.OrderExpired:
		a.verdict(Expired, o)
	case exchange.OrderRejected:
		a.verdict(Rejected, o)
	case exchange.OrderOpen, exchange.OrderPartiallyFilled:
		a.alive()
	default:
		return false
	}
	return true
}

// believe makes room for the venue's word on an order that was thought not to have been sent: its fate was
// not known after all.
func (a *action) believe() {
	if a.r.state == Intent {
		a.alarm(CodeOrderConflict, "the venue has an order that the connector said was not sent")
		a.step(Restarted)
	}
}

// alive is an order that the venue has open.
func (a *action) alive() {
	r := a.r
	switch {
	case r.state == Denied, r.state == Rejected && r.known().Sign() == 0:
		// Nothing here counts on it any more: it must not live on.
		a.alarm(CodeOrderConflict, "the venue has an order open that was "+string(r.state))
		a.do(Effect{Do: Reduce, Code: CodeOrderConflict})
		r.cancel.wanted = true
		a.cancelNow()
	case !r.stands():
		a.advance()
	}
}

// advance takes what filled by all that is known. An order that ended with less is open again.
func (a *action) advance() {
	r := a.r
	on, was := r.progress(), r.state
	late := (on == FilledPart || on == FilledAll) && (was == Rejected || was == Canceled || was == Expired)
	if late {
		a.alarm(CodeLateFill, "the order filled after it was "+string(was))
		r.reason = ""
	}
	a.step(on)
	if late {
		a.query()
	}
}

func (a *action) verdict(state State, o exchange.Order) {
	reason := o.Reason
	if reason == "" {
		reason = string(state)
	}
	a.r.judge(state, exact(o.CumQuantity), reason)
	a.endByVerdict()
}

func (a *action) endByVerdict() {
	r := a.r
	if !r.stands() {
		// Passed before a trade was known that we know: only the venue can tell.
		if r.state.Working() {
			a.query()
		}
		return
	}
	on := r.ended()
	if on != Stale && on != FilledAll && on != FilledPart {
		r.reason = r.verdict.reason
	}
	a.step(on)
}

// fill takes a trade. A known id with other data keeps the first.
func (a *action) fill(f exchange.Fill) {
	r := a.r
	if f.Symbol != r.spec.Symbol || f.Side != r.spec.Side || !f.Quantity.IsPos() || !f.Price.IsPos() ||
		f.TradeID == "" {
		a.alarm(CodeFillConflict, "a trade that cannot be of this order: "+f.TradeID)
		return
	}
	added, conflict := r.addTrade(f)
	if conflict {
		a.alarm(CodeFillConflict, "trade "+f.TradeID+" came again with other data; the first is kept")
	}
	if !added {
		return
	}
	a.believe()
	a.do(Effect{Do: Count, Fill: f})
	if r.venueID == "" {
		r.venueID = f.VenueOrderID
	}
	switch {
	case r.stands():
		a.step(r.ended()) // the verdict told of it
	case r.state == Denied:
		a.alarm(CodeOrderConflict, "trade "+f.TradeID+" of an order that was never sent")
		a.do(Effect{Do: Reduce, Code: CodeOrderConflict})
	default:
		a.advance()
	}
}

// afterwards looks at the sums once an event is in.
func (a *action) afterwards() {
	r := a.r
	if r.over() && !r.overfilled {
		r.overfilled = true
		if r.state == Filled {
			a.step(Overfill)
		}
		a.alarm(CodeOverfill, "more filled than was ordered: "+toDec(r.sum).String())
		a.do(Effect{Do: Reduce, Code: CodeOverfill})
	}
	if !r.settled() {
		a.book.watch(r)
	}
	if !r.settled() && (r.fetched.IsZero() || a.at.Sub(r.fetched) >= fetchAgain) {
		a.fetch()
	}
	if a.book.halted {
		a.effects = append(a.effects, a.book.halt(a.at)...)
	}
}

func (a *action) send() {
	r := a.r
	if r.state != Intent {
		return
	}
	if a.book.halted && !r.spec.Protects {
		r.resendAt = a.at.Add(resendAgain)
		return
	}
	e := Effect{Do: Send, Attempt: r.attempt + 1}
	if r.spec.ListID != "" {
		other := a.book.byID[r.spec.Sibling]
		if other == nil || other.state != Intent {
			r.resendAt = a.at.Add(resendAgain)
			return // the legs are sent together or not at all
		}
		e.Pair = pairOf(r.spec, other.spec)
	}
	// Until the reply, or until the engine reports that it could not: no second one.
	r.resendAt = time.Time{}
	if other := a.book.byID[r.spec.Sibling]; other != nil {
		other.resendAt = time.Time{}
	}
	a.do(e)
}

func (a *action) query() {
	if a.r.querying {
		return
	}
	a.r.querying, a.r.queried = true, a.at
	a.do(Effect{Do: Query})
}

func (a *action) cancelNow() {
	c := &a.r.cancel
	if c.inFlight || a.at.Before(c.again) {
		return
	}
	c.inFlight, c.asked, c.again = true, a.at, a.at.Add(cancelAgain)
	a.do(Effect{Do: Cancel})
}

func (a *action) fetch() {
	a.r.fetched = a.at
	a.do(Effect{Do: FetchFills, Since: a.r.written})
}

// pairOf returns the request for two legs.
func pairOf(x, y Spec) *exchange.PairRequest {
	limit, stop := x, y
	if !limit.LimitPrice.IsPos() || limit.StopPrice.IsPos() {
		limit, stop = y, x
	}
	return &exchange.PairRequest{
		ListID: x.ListID, LimitID: limit.ClientOrderID, StopID: stop.ClientOrderID, Symbol: x.Symbol,
		Side:     x.Side,
		Quantity: x.Quantity, LimitPrice: limit.LimitPrice, StopPrice: stop.StopPrice,
	}
}

// value is price x quantity of a trade, exactly.
func value(f exchange.Fill) *big.Rat { return times(exact(f.Price), exact(f.Quantity)) }
