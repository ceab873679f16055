package order

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// record is all that is known of one order. What is known only grows, so that the order in
// which messages come does not matter.
type record struct {
	spec  Spec
	state State
	// reason is the code or the venue's text of a denied, rejected, canceled or expired order.
	reason  string
	venueID string
	written time.Time
	// acked reports whether the venue was seen to have it.
	acked bool
	// done reports whether the venue called it filled; total is then what that means in base.
	done bool
	// reported is the largest cumulative quantity the venue told of, sum what the trades add up to.
	reported, sum, spent *big.Rat
	average              dec // the venue's, beside the largest reported
	trades               map[string]exchange.Fill
	verdict              verdict
	search               *search
	cancel               cancelling
	overfilled           bool
	alarmed              map[string]bool
	watched              bool // is in Book.live
	requests
}

// requests is when the venue was asked about an order, and when it is to be asked again.
type requests struct {
	attempt  int       // tries to send it
	handed   time.Time // to the connector, the last time
	resendAt time.Time // of an intent that was not sent
	querying bool
	queried  time.Time
	fetched  time.Time // when missing trades were last asked for
}

// verdict is the end of an order as the venue told it: with that much filled, and no more.
type verdict struct {
	state  State
	cum    *big.Rat
	reason string
}

// cancelling is how far a wanted cancel is.
type cancelling struct {
	wanted, inFlight bool
	asked, again     time.Time // when last, and not before
}

func newRecord(spec Spec, at time.Time) *record {
	return &record{
		spec: spec, written: at, reported: ratZero, sum: ratZero, spent: ratZero,
		trades:  map[string]exchange.Fill{},
		alarmed: map[string]bool{},
	}
}

// known returns how much of it filled by all that is known.
func (r *record) known() *big.Rat { return largest(r.reported, r.sum) }

// full reports whether nothing is left of it. An order by quote amount has no quantity: the venue reports
// when it is done.
func (r *record) full() bool {
	if r.spec.Quantity.IsPos() {
		return r.done || r.known().Cmp(exact(r.spec.Quantity)) >= 0
	}
	return r.done
}

// over reports whether more filled than was asked for.
func (r *record) over() bool {
	if r.spec.Quantity.IsPos() {
		return r.known().Cmp(exact(r.spec.Quantity)) > 0
	}
	return r.spent.Cmp(exact(r.spec.QuoteAmount)) > 0
}

// settled reports whether every trade that the venue told of is here.
func (r *record) settled() bool { return r.sum.Cmp(r.reported) >= 0 }

// remaining returns what may still come into the position, in base; for an open order by quote amount in
// quote. What the venue filled and whose trades are not here yet is part of it.
func (r *record) remaining() (left *big.Rat, quote bool) {
	switch {
	case !r.state.Exposed():
		return largest(ratZero, minus(r.reported, r.sum)), false
	case r.spec.Quantity.IsPos():
		return largest(ratZero, minus(exact(r.spec.Quantity), r.sum)), false
	}
	return largest(ratZero, minus(exact(r.spec.QuoteAmount), r.spent)), true
}

// addTrade puts a trade into the set. It reports whether it is new, and whether a known
// id came with other data, in which case the first stays.
func (r *record) addTrade(f exchange.Fill) (added, conflict bool) {
	if old, ok := r.trades[f.TradeID]; ok {
		return false, !sameTrade(old, f)
	}
	r.trades[f.TradeID] = f
	q := exact(f.Quantity)
	r.sum = plus(r.sum, q)
	r.spent = plus(r.spent, times(q, exact(f.Price)))
	r.acked = true
	return true, false
}

// sameTrade compares what money depends on.
func sameTrade(a, b exchange.Fill) bool {
	return a.Symbol == b.Symbol && a.Side == b.Side && a.Price.Cmp(b.Price) == 0 &&
		a.Quantity.Cmp(b.Quantity) == 0 &&
		a.Fee.Cmp(b.Fee) == 0 && (a.FeeAsset == b.FeeAsset || a.Fee.IsZero())
}

// progress returns the evidence of fills: none of it new when the state has it already.
func (r *record) progress() Evidence {
	switch full := r.full(); {
	case full && r.state != Filled:
		return FilledAll
	case !full && r.known().Sign() > 0 && r.state != Partial && r.state != Filled:
		return FilledPart
	case r.known().Sign() == 0 && (r.state == Sent || r.state == Lost):
		return Acked
	}
	return Stale
}

// stands reports whether the verdict accounts for all that filled. One that does not was passed
// before that was known and decides nothing.
func (r *record) stands() bool { return r.verdict.state != None && r.known().Cmp(r.verdict.cum) <= 0 }

// ended returns the evidence of a verdict that stands.
func (r *record) ended() Evidence {
	switch {
	case r.full():
		return r.progress()
	case r.state == r.verdict.state || r.state == Expired || r.state == Canceled:
		return Stale
	case r.verdict.state == Canceled:
		return CanceledThere
	case r.verdict.state == Expired:
		return ExpiredThere
	case r.state == Sent || r.state == Lost:
		return Refused
	case r.state == Open || r.state == Partial:
		// taken first and dropped later: a stop that could not be placed when it triggered
		return ExpiredThere
	}
	return Stale
}

// judge keeps the verdict with the larger quantity: a later one cannot know of less.
func (r *record) judge(state State, cum *big.Rat, reason string) {
	if r.verdict.state == None || cum.Cmp(r.verdict.cum) > 0 {
		r.verdict = verdict{state: state, cum: cum, reason: reason}
	}
}

// tradeList returns the trades by time and id, so that it does not depend on how they came.
func (r *record) tradeList() []exchange.Fill {
	return slices.SortedFunc(maps.Values(r.trades), func(a, b exchange.Fill) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.TradeID, b.TradeID))
	})
}

// The unknown rule.
const (
	// queryEvery is the pace after the first queries.
	queryEvery = 10 * time.Second
	// absences that definite absence takes, this far apart, the last one this long after the latest moment
	// of sending (2 x recvWindow).
	absencesNeeded = 3
	absenceSpacing = 2 * time.Second
	absenceAfter   = 10 * time.Second
	// HaltAfter is how long an order may stay unknown before the run is halted.
	HaltAfter = 2 * time.Minute
)

var firstQueries = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// search finds out what became of one order. It only counts and schedules: an ack on any
// channel ends it from outside.
type search struct {
	written time.Time // when the intent was committed: no fill can be older
	// began is when the answer was given up. The order may have waited in the connector until then and was
	// not sent later.
	began time.Time
	asked int
	// seen reports whether the venue once answered DUPLICATE: it has had the order, so no NOT_FOUND can
	// prove absence.
	seen     bool
	absences int
	lastMiss time.Time // when the last counted NOT_FOUND was asked
	// complete reports whether Fills since the sending were complete without ours, asked late enough.
	complete bool
}

// due is when the next query is to be made.
func (s *search) due() time.Time {
	if s.asked < len(firstQueries) {
		return s.began.Add(firstQueries[s.asked])
	}
	last := s.began.Add(firstQueries[len(firstQueries)-1])
	return last.Add(time.Duration(s.asked-len(firstQueries)+1) * queryEvery)
}

// ask counts a query made at a time. One that was due earlier is not made up for.
func (s *search) ask(at time.Time) {
	for s.asked++; !s.due().After(at); s.asked++ {
	}
}

// miss takes a successful NOT_FOUND by the time at which it was asked.
func (s *search) miss(asked time.Time) {
	if s.absences > 0 && asked.Sub(s.lastMiss) < absenceSpacing {
		return
	}
	s.absences++
	s.lastMiss = asked
}

// missed reports whether the NOT_FOUNDs suffice and only the fills are wanting.
func (s *search) missed() bool {
	return !s.seen && s.absences >= absencesNeeded && s.late(s.lastMiss)
}

// page takes a list of fills without ours, by when and since when it was asked for.
func (s *search) page(asked, since time.Time, complete bool) {
	if complete && s.late(asked) && !since.After(s.written) {
		s.complete = true
	}
}

// absent is definite absence.
func (s *search) absent() bool { return s.missed() && s.complete }

// tooLong reports whether the run must halt.
func (s *search) tooLong(at time.Time) bool { return at.Sub(s.began) >= HaltAfter }

func (s *search) late(asked time.Time) bool { return asked.Sub(s.began) >= absenceAfter }

// due is what time calls for.
func (a *action) due() {
	r := a.r
	if t := r.nextDue(); t.IsZero() || a.at.Before(t) {
		return
	}
	switch {
	case r.state == Intent:
		a.send()
	case r.state == Lost && !a.at.Before(r.search.due()):
		r.search.ask(a.at)
		a.query()
		if r.search.missed() {
			a.fetch()
		}
	case r.inFlight() && !a.at.Before(later(r.handed, r.queried).Add(inFlightLimit)):
		a.query()
	}
	a.unanswered()
	if r.cancel.wanted && r.state.Working() {
		a.cancelNow()
	}
	if !r.settled() && a.at.Sub(r.fetched) >= fetchAgain {
		a.fetch()
	}
}

// answerLimit is how long the engine may take to answer a Query or Cancel, which is longer than any
// deadline. Then the call is taken as lost, so that it does not hold back the next one for ever.
const answerLimit = 30 * time.Second

// unanswered gives up calls whose outcome is never reported.
func (a *action) unanswered() {
	r := a.r
	if r.cancel.inFlight && a.at.Sub(r.cancel.asked) >= answerLimit {
		r.cancel.inFlight = false
		a.alarm(CodeUnanswered, "a cancel of the order was never answered")
	}
	if r.querying && a.at.Sub(r.queried) >= answerLimit {
		r.querying = false
		a.alarm(CodeUnanswered, "a query of the order was never answered")
	}
}

// nextDue is when time will call for something; zero: never.
func (r *record) nextDue() time.Time {
	var next time.Time
	soonest := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	switch {
	case r.state == Intent:
		soonest(r.resendAt)
	case r.state == Lost:
		soonest(r.search.due())
	case r.inFlight():
		soonest(later(r.handed, r.queried).Add(inFlightLimit))
	}
	if r.cancel.inFlight {
		soonest(r.cancel.asked.Add(answerLimit))
	} else if r.cancel.wanted && r.state.Working() {
		soonest(r.cancel.again)
	}
	if r.querying {
		soonest(r.queried.Add(answerLimit))
	}
	if !r.settled() {
		soonest(r.fetched.Add(fetchAgain))
	}
	return next
}

// inFlight reports whether news of the order should be here within moments: it waits for its
// reply, or for the end of what cannot rest.
func (r *record) inFlight() bool {
	rests := r.spec.Type != market.Market && r.spec.TimeInForce != market.IOC
	return !r.querying && (r.state == Sent || (!rests && (r.state == Open || r.state == Partial)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
