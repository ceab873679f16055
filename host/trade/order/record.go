package order

import (
	"math/big"
	"sort"
	"time"

	"github.com/assay-run/assay/host/exchange"
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
	handed  time.Time
	attempt int
	// acked says that the venue was seen to have it.
	acked bool
	// done says that the venue called it filled; total is then what that means in base.
	done bool
	// reported is the largest cumulative quantity the venue told of, sum what the trades add up to.
	reported, sum, spent *big.Rat
	average              dec // the venue's, beside the largest reported
	trades               map[string]exchange.Fill
	verdict              verdict
	search               *search
	resendAt             time.Time // of an intent that was not sent
	cancel               cancelling
	querying             bool
	queried              time.Time
	overfilled           bool
	fetched              time.Time // when missing trades were last asked for
	alarmed              map[string]bool
	watched              bool // is in Book.live
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
		spec: spec, written: at, reported: ratZero, sum: ratZero, spent: ratZero, trades: map[string]exchange.Fill{},
		alarmed: map[string]bool{},
	}
}

// known is how much of it filled by all that is known.
func (r *record) known() *big.Rat { return largest(r.reported, r.sum) }

// full says that nothing is left of it. An order by quote amount has no quantity: the venue says when it is done.
func (r *record) full() bool {
	if r.spec.Quantity.IsPos() {
		return r.done || r.known().Cmp(exact(r.spec.Quantity)) >= 0
	}
	return r.done
}

// over says that more filled than was asked for.
func (r *record) over() bool {
	if r.spec.Quantity.IsPos() {
		return r.known().Cmp(exact(r.spec.Quantity)) > 0
	}
	return r.spent.Cmp(exact(r.spec.QuoteAmount)) > 0
}

// settled says that every trade that the venue told of is here.
func (r *record) settled() bool { return r.sum.Cmp(r.reported) >= 0 }

// remaining is what may still come into the position, in base; for an open order by quote amount in
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

// addTrade puts a trade into the set. It says whether it is new, and whether a known
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
	return a.Symbol == b.Symbol && a.Side == b.Side && a.Price.Cmp(b.Price) == 0 && a.Quantity.Cmp(b.Quantity) == 0 &&
		a.Fee.Cmp(b.Fee) == 0 && (a.FeeAsset == b.FeeAsset || a.Fee.IsZero())
}

// progress is the evidence of fills: none of it new when the state says it already.
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

// stands says that the verdict accounts for all that filled. One that does not was passed
// before that was known and decides nothing.
func (r *record) stands() bool { return r.verdict.state != None && r.known().Cmp(r.verdict.cum) <= 0 }

// ended is the evidence of a verdict that stands.
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
		return ExpiredThere // taken first and dropped later: a stop that could not be placed when it triggered
	}
	return Stale
}

// judge keeps the verdict with the larger quantity: a later one cannot know of less.
func (r *record) judge(state State, cum *big.Rat, reason string) {
	if r.verdict.state == None || cum.Cmp(r.verdict.cum) > 0 {
		r.verdict = verdict{state: state, cum: cum, reason: reason}
	}
}

// tradeList is the trades by time and id, so that it does not depend on how they came.
func (r *record) tradeList() []exchange.Fill {
	list := make([]exchange.Fill, 0, len(r.trades))
	for _, f := range r.trades {
		list = append(list, f)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Time != list[j].Time {
			return list[i].Time < list[j].Time
		}
		return list[i].TradeID < list[j].TradeID
	})
	return list
}
