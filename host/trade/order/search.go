package order

import (
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The unknown rule.
const (
	// queryEvery is the pace after the first queries.
	queryEvery = 10 * time.Second
	// absences that definite absence takes, this far apart, the last one this long after the latest moment of sending
	// (2 x recvWindow).
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
	// began is when the answer was given up. The order may have waited in the connector until then and was not sent later.
	began time.Time
	asked int
	// seen says that the venue once answered DUPLICATE: it has had the order, so no NOT_FOUND can prove absence.
	seen     bool
	absences int
	lastMiss time.Time // when the last counted NOT_FOUND was asked
	// complete says that Fills since the sending were complete without ours, asked late enough.
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

// missed says that the NOT_FOUNDs suffice and only the fills are wanting.
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

// tooLong says that the run must halt.
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

// answerLimit is how long the engine may take to answer a Query or Cancel, which is longer than any deadline. Then
// the call is taken as lost, so that it does not hold back the next one for ever.
const answerLimit = 30 * time.Second

// unanswered gives calls up of which nobody says what became of them.
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

// inFlight says that news of the order should be here within moments: it waits for its
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
