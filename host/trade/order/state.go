// Package order is the life of an order between a strategy and a venue. It decides and
// computes; it does no I/O, reads no clock and starts no goroutine. The engine
// reports what happened and when, and does what it asks.
//
//   - Book knows every order that a run sent, by client order id. What happened to an order
//     arrives as an Event, in any order and any number of times; what to do about it leaves
//     as Effects. The state machine is one table (state.go).
//   - Ledger turns fills into position, cash, fees and trades, exactly.
//   - oms.Manager turns the intents of a strategy into orders of a venue that knows less than the
//     simulator, and shows the strategy what a backtest would have shown it.
//
// An order whose fate is unknown is asked for. It is never sent again, never replaced under a
// new id and never taken for rejected because time passed (search.go). What is known of
// an order only grows: the largest cumulative quantity, the set of trades, the verdict. So
// older and repeated evidence changes nothing and the last writer never wins.
//
// Sums are kept as exact fractions; decimals leave the package rounded half-even to 19 digits,
// which changes nothing in any sum that fits.
package order

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Spec is an order as it was written down. Its JSON is the body that the journal keeps beside the columns of
// the intent.
type Spec struct {
	Seq           int64  `json:"-"`
	ClientOrderID string `json:"-"`
	// ListID and Sibling name the pair that the order is a leg of; empty otherwise.
	ListID      string             `json:"list_id,omitzero"`
	Sibling     string             `json:"sibling,omitzero"`
	Symbol      market.Symbol      `json:"-"`
	Side        market.Side        `json:"side"`
	Type        market.OrderType   `json:"type"`
	TimeInForce market.TimeInForce `json:"time_in_force"`
	// Exactly one of Quantity (base) and QuoteAmount is above 0. Prices are 0 where the type has none.
	Quantity    dec `json:"quantity"`
	QuoteAmount dec `json:"quote_amount"`
	LimitPrice  dec `json:"limit_price"`
	StopPrice   dec `json:"stop_price"`
	// Reference is the price that risk values the order at: the last close where it has no price of its own.
	Reference dec `json:"reference"`
	// Exit: the order can only shrink the position. Manual: it is the operator's (--on-stop flatten).
	// Protects: the host placed it for what is held: a leg of a bracket, or the sale of what has none.
	Exit     bool `json:"exit"`
	Manual   bool `json:"manual,omitzero"`
	Protects bool `json:"-"`
	// PostOnly: a limit order that must not take.
	PostOnly bool `json:"post_only,omitzero"`
	// Wanted is the amount of quote that the strategy's size came to, where the limits left less; 0
	// otherwise.
	Wanted dec `json:"wanted,omitzero"`
	// Public is the order that the strategy sees; several of the venue's may stand behind it.
	Public market.OrderID `json:"order_id"`
	Step   int64          `json:"-"`
}

// Request returns the order for Trader.Submit.
func (s Spec) Request() exchange.OrderRequest {
	return exchange.OrderRequest{
		ClientOrderID: s.ClientOrderID, Symbol: s.Symbol, Side: s.Side, Type: s.Type,
		TimeInForce: s.TimeInForce,
		Quantity:    s.Quantity, QuoteAmount: s.QuoteAmount, LimitPrice: s.LimitPrice, StopPrice: s.StopPrice,
		Reduces: s.Exit, PostOnly: s.PostOnly,
	}
}

// Ref names the order for Cancel and Query.
func (s Spec) Ref() exchange.OrderRef {
	return exchange.OrderRef{ClientOrderID: s.ClientOrderID, Symbol: s.Symbol}
}

// Source is where an event came from: the column of the journal.
type Source string

// The sources.
const (
	FromReply  Source = "reply"
	FromStream Source = "stream"
	FromQuery  Source = "query"
	FromFills  Source = "fills"
	FromList   Source = "list" // OpenOrders; never the source of a terminal verdict
	FromLocal  Source = "local"
)

// Kind is what happened.
type Kind string

// The kinds of events.
const (
	// Handed: the connector is about to get the order; the journal has its intent.
	Handed Kind = "sent"
	// SubmitReply: Submit or SubmitPair returned, or its deadline passed (Outcome Unknown). Attempt is which
	// try.
	SubmitReply Kind = "submit"
	// CancelAsked: the strategy, the engine or the end of the run takes it back.
	CancelAsked Kind = "cancel_wanted"
	// CancelReply and QueryReply: Cancel, Query returned. AskedAt is when they were called.
	CancelReply Kind = "cancel"
	QueryReply  Kind = "query"
	// OrderSeen: the account stream or OpenOrders showed it.
	OrderSeen Kind = "order"
	// FillSeen: the stream or Fills told of a trade.
	FillSeen Kind = "fill"
	// NotSendable: the next close or a barrier came before it could be sent.
	NotSendable Kind = "not_sendable"
	// Held: it may not leave now and was not handed over; Send is asked for again in a while.
	Held Kind = "held"
)

// Event is one thing that happened to one order.
type Event struct {
	Kind          Kind
	Source        Source
	ClientOrderID string
	// Attempt of a SubmitReply counts from 1; 0 is the latest.
	Attempt int
	Result  exchange.Result
	// Order of a reply or a sight, Fill of a trade.
	Order exchange.Order
	Fill  exchange.Fill
	// AskedAt is when the request behind a reply was made; zero: when the event is applied.
	RequestedAt time.Time
}

// Ask is what the engine has to do.
type Action string

// What is asked. Everything about an order names it in Effect.Order.
const (
	// Send: apply Handed, and when that is no error call Submit and apply SubmitReply. When Pair is
	// set: Handed once (it is for both legs), SubmitPair, SubmitReply for both with the one Result. An order
	// that may not leave gets Held or NotSendable instead, once for a pair.
	Send Action = "send"
	// Query and Cancel: call it, apply the reply, whatever it is: no second one is asked for before. One
	// that is not answered at all is an alarm, CALL_UNANSWERED, and asked for again.
	Query  Action = "query"
	Cancel Action = "cancel"
	// FetchFills: call Fills(Symbol, Since - clock offset), hand the page to FillsPage.
	FetchFills Action = "fetch_fills"
	// FetchBalances: read the balances, tell them to SetFree.
	FetchBalances Action = "fetch_balances"
	// Tell: the order changed; From is what it was.
	Tell Action = "tell"
	// Count: a trade counts for the first time; Fill is set.
	Count Action = "count"
	// Alarm: a warning of the run and a line of its log, with Code.
	Alarm Action = "alarm"
	// Reduce: the run may only shrink positions from now on.
	Reduce Action = "reduce"
	// Halt and Resume: cancels only, because of an order of unknown fate; until it is known.
	Halt   Action = "halt"
	Resume Action = "resume"
)

// Effect is one thing that the engine has to do, in the order of the list.
type Effect struct {
	Do     Action
	Order  string // client order id
	Symbol market.Symbol
	// Attempt of a Send, for its reply.
	Attempt int
	Pair    *exchange.PairRequest
	Since   time.Time
	From    State
	Fill    exchange.Fill
	// Code of an alarm, or the reason of a Halt or Reduce; Message is for people.
	Code, Message string
}

// The codes of alarms and of reasons.
const (
	CodeLateFill     = "LATE_FILL"
	CodeOverfill     = "OVERFILL"
	CodeFillConflict = "FILL_CONFLICT"
	// CodeOrderConflict: a message that cannot be true: an order lives that was rejected, say.
	CodeOrderConflict    = "ORDER_CONFLICT"
	CodeUnresolved       = "SYMBOL_UNRESOLVED"
	CodeUnknownOrder     = "ORDER_UNKNOWN"
	CodeNeverReached     = "NEVER_REACHED_VENUE"
	CodeNotSent          = "EXPIRED_BEFORE_SEND"
	CodeTypeUnsupported  = "ORDER_TYPE_UNSUPPORTED"
	CodeBelowMinimum     = "BELOW_MINIMUM"
	CodeMarketHalted     = "MARKET_HALTED"
	CodeUnresolvedTooOld = "ORDER_FATE_UNKNOWN"
	// CodeUnprotected: a position has been without its exits for too long.
	CodeUnprotected = "POSITION_UNPROTECTED"
	// CodeUnanswered: the engine was asked for a Query or a Cancel and never said what became of it.
	CodeUnanswered = "CALL_UNANSWERED"
)

const (
	idPrefix   = "as"
	tagLength  = 6
	bodyLength = 10
	idLength   = len(idPrefix) + tagLength + bodyLength
)

var b32 = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Tag returns the six characters that mark the orders of a run at the venue.
func Tag(runID string) string { return hashed("assay/run-tag\n"+runID, tagLength) }

// ClientID returns the client order id of a run's order: "as", the tag, ten characters. The same
// run and number give the same id for ever, so an order can be found again after a crash.
func ClientID(runID string, seq int64) string {
	return idPrefix + Tag(runID) + hashed("assay/order\n"+runID+"\n"+strconv.FormatInt(seq, 10), bodyLength)
}

// ListID returns the id of a pair whose first leg has the number seq.
func ListID(runID string, seq int64) string {
	return idPrefix + Tag(runID) + hashed("assay/list\n"+runID+"\n"+strconv.FormatInt(seq, 10), bodyLength)
}

// Ours reports whether an id has the form ^as[0-9a-v]{16}$: some run of this product made it.
func Ours(id string) bool {
	if len(id) != idLength || id[:len(idPrefix)] != idPrefix {
		return false
	}
	for _, c := range []byte(id[len(idPrefix):]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'v') {
			return false
		}
	}
	return true
}

func hashed(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return b32.EncodeToString(sum[:])[:n]
}

// State is where an order stands, by all that is known of it.
type State string

// The states. The zero value is an order that does not exist yet.
const (
	None     State = ""
	Denied   State = "denied"   // refused here; nothing was sent
	Intent   State = "intent"   // written down, not handed over; full exposure from here on
	Sent     State = "sent"     // handed to the connector
	Lost     State = "unknown"  // it is not known whether the venue has it
	Open     State = "open"     // the venue has it
	Partial  State = "partial"  // something of it filled
	Filled   State = "filled"   // all of it filled
	Canceled State = "canceled" // taken back
	Rejected State = "rejected" // the venue said no, or it never reached the venue
	Expired  State = "expired"  // the venue ended it
)

// Terminal reports whether the order ended. A fill that was not announced opens it again.
func (s State) Terminal() bool {
	switch s {
	case Denied, Filled, Canceled, Rejected, Expired:
		return true
	}
	return false
}

// Working reports whether the order is or may be at the venue: "sent .. partial".
func (s State) Working() bool { return s == Sent || s == Lost || s == Open || s == Partial }

// Exposed reports whether the order may still fill, as far as anybody knows.
func (s State) Exposed() bool { return s == Intent || s.Working() }

// Evidence is what a message means for an order, after it was compared with what
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
	// FilledPart, FilledAll: trades, or a cumulative quantity that includes them.
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

// TransitionError reports that evidence cannot be about an order in this state.
type TransitionError struct {
	From State
	On   Evidence
}

// Error returns the message.
func (e *TransitionError) Error() string {
	from := e.From
	if from == None {
		from = "new"
	}
	return fmt.Sprintf("an order that is %s cannot take %s", from, e.On)
}

// Next returns the state after the evidence, or a *TransitionError.
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
