package order

import "fmt"

// State is where an order stands, by all that is known of it.
type State string

// The states. The zero value is an order that does not exist yet.
const (
	None     State = ""
	Denied   State = "denied"   // refused here; nothing was sent
	Intent   State = "intent"   // written down, not handed over; full exposure from here on
	Sent     State = "sent"     // handed to the connector
	Lost     State = "unknown"  // nobody knows whether the venue has it
	Open     State = "open"     // the venue has it
	Partial  State = "partial"  // something of it filled
	Filled   State = "filled"   // all of it filled
	Canceled State = "canceled" // taken back
	Rejected State = "rejected" // the venue said no, or it never reached the venue
	Expired  State = "expired"  // the venue ended it
)

// States are all of them, for whoever must handle each.
var States = []State{None, Denied, Intent, Sent, Lost, Open, Partial, Filled, Canceled, Rejected, Expired}

// Terminal says that the order ended. A fill that nobody announced opens it again.
func (s State) Terminal() bool {
	switch s {
	case Denied, Filled, Canceled, Rejected, Expired:
		return true
	}
	return false
}

// Working says that the order is or may be at the venue: "sent .. partial".
func (s State) Working() bool { return s == Sent || s == Lost || s == Open || s == Partial }

// Exposed says that the order may still fill, as far as anybody knows.
func (s State) Exposed() bool { return s == Intent || s.Working() }

// Evidence is what a message says about an order, after it was compared with what
// is known already.
type Evidence string

// The evidence.
const (
	// Deny: a risk or market rule refused the intent.
	Deny Evidence = "deny"
	// Commit: the journal has the intent.
	Commit Evidence = "commit"
	// HandOver: the connector is given the order.
	HandOver Evidence = "hand_over"
	// Refused: REJECTED in a reply, in the stream or in a Query.
	Refused Evidence = "refused"
	// Unsent: NOT_SENT, THROTTLED, BANNED or CLOCK.
	Unsent Evidence = "unsent"
	// TooLate: the step's next close came, or the barrier of a stop, before it could be sent.
	TooLate Evidence = "too_late"
	// Doubt: UNKNOWN, no answer in time, DUPLICATE before its Query.
	Doubt Evidence = "doubt"
	// Restarted: the process that sent it is gone.
	Restarted Evidence = "restarted"
	// Acked: the venue has it and nothing filled.
	Acked Evidence = "acked"
	// FilledPart, FilledAll: trades, or a cumulative quantity that tells of them.
	FilledPart Evidence = "filled_part"
	FilledAll  Evidence = "filled_all"
	// Overfill: more filled than the order asked for.
	Overfill Evidence = "overfill"
	// CancelWanted and CancelDoubt (cancel UNKNOWN or NOT_OPEN): the order stays what it is; a Query decides.
	CancelWanted Evidence = "cancel_wanted"
	CancelDoubt  Evidence = "cancel_doubt"
	// CanceledThere, ExpiredThere: the stream, a Query or the reply to a Cancel say so.
	CanceledThere Evidence = "canceled_there"
	ExpiredThere  Evidence = "expired_there"
	// Absent: the definite absence of the unknown rule.
	Absent Evidence = "absent"
	// Stale: older or repeated.
	Stale Evidence = "stale"
)

// AllEvidence is every kind.
var AllEvidence = []Evidence{
	Deny, Commit, HandOver, Refused, Unsent, TooLate, Doubt, Restarted, Acked, FilledPart, FilledAll, Overfill,
	CancelWanted, CancelDoubt, CanceledThere, ExpiredThere, Absent, Stale,
}

// rule is one legal pair.
type rule struct {
	from State
	on   Evidence
	to   State
}

// table is the whole state machine; Stale, which is legal everywhere but before the order
// exists and leads nowhere, is not written out.
var table = []rule{
	{None, Deny, Denied},
	{None, Commit, Intent},

	{Intent, HandOver, Sent},
	{Intent, TooLate, Rejected},
	{Intent, Restarted, Lost},

	{Sent, Refused, Rejected},
	{Sent, Unsent, Intent},
	{Sent, Doubt, Lost},
	{Sent, Restarted, Lost},
	{Sent, Acked, Open},
	{Sent, FilledPart, Partial},
	{Sent, FilledAll, Filled},
	{Sent, CancelWanted, Sent},
	{Sent, CancelDoubt, Sent},
	{Sent, CanceledThere, Canceled},
	{Sent, ExpiredThere, Expired},

	{Lost, Refused, Rejected},
	{Lost, Acked, Open},
	{Lost, FilledPart, Partial},
	{Lost, FilledAll, Filled},
	{Lost, CancelWanted, Lost},
	{Lost, CancelDoubt, Lost},
	{Lost, CanceledThere, Canceled},
	{Lost, ExpiredThere, Expired},
	{Lost, Absent, Rejected},

	{Open, FilledPart, Partial},
	{Open, FilledAll, Filled},
	{Open, CancelWanted, Open},
	{Open, CancelDoubt, Open},
	{Open, CanceledThere, Canceled},
	{Open, ExpiredThere, Expired},

	{Partial, FilledPart, Partial},
	{Partial, FilledAll, Filled},
	{Partial, CancelWanted, Partial},
	{Partial, CancelDoubt, Partial},
	{Partial, CanceledThere, Canceled},
	{Partial, ExpiredThere, Expired},

	{Rejected, FilledPart, Partial},
	{Rejected, FilledAll, Filled},
	{Canceled, FilledPart, Partial},
	{Canceled, FilledAll, Filled},
	{Expired, FilledPart, Partial},
	{Expired, FilledAll, Filled},

	{Filled, Overfill, Filled},
}

// TransitionError says that evidence cannot be about an order in this state.
type TransitionError struct {
	From State
	On   Evidence
}

// Error is the message.
func (e *TransitionError) Error() string {
	from := e.From
	if from == None {
		from = "new"
	}
	return fmt.Sprintf("an order that is %s cannot take %s", from, e.On)
}

// Next is the state after the evidence, or a *TransitionError.
func Next(from State, on Evidence) (State, error) {
	if on == Stale && from != None {
		return from, nil
	}
	for _, r := range table {
		if r.from == from && r.on == on {
			return r.to, nil
		}
	}
	return from, &TransitionError{From: from, On: on}
}
