// Package exchange is what the host knows of a venue: the nouns of an account there and
// the interfaces that a connector implements.
//
// A connector is a process of its own that speaks them over gRPC (package wire); the
// venue "sim" implements them inside the host (package sim). Whoever drives a connector
// (package trade) cannot tell the two apart. The rules that keep orders safe are part of
// the contract and are proved for every connector by package conformance:
//
//   - a connector never sends a submit a second time by itself;
//   - an answer is a reject only when the venue said so with a code that is known to mean
//     it; whatever is not understood is Unknown;
//   - no terminal status is ever concluded from a list that lacks an order;
//   - an error and a message carry no credential.
//
// Prices, quantities and amounts are decimals, candles float64, times Unix milliseconds
// UTC. The package imports the market nouns only.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Connection is one connector, ready to be opened.
type Connection struct {
	Connector
	// Clock is set where the venue's time does not pass as ours does; nil: it
	// goes on from Opened.ClockOffset, and Ack corrects it.
	Clock VenueClock
	// Gone is closed when the connector's process is gone without having been ended here, or was
	// killed because it broke the protocol; nil where there is no process.
	Gone <-chan struct{}
	// Release ends what stands behind the connection, once its session is closed or it is gone;
	// nil: nothing. It may be called more than once.
	Release func()
	// Leave is Release where orders of the session may still be open: what stands behind the
	// connection takes it for the loss of its host, cancels them and ends by itself; nil: Release.
	Leave func()
	// Sandbox is the level of what closes the connector's process in; "" where there is none.
	Sandbox string
}

// ErrGone is the end of what goes on over a connector whose process is gone.
var ErrGone = errors.New("the connector is gone")

// IsGone reports whether the connector's process is gone.
func (c *Connection) IsGone() bool {
	select {
	case <-c.Gone:
		return true
	default:
		return false
	}
}

// While runs f, whose context ends with ErrGone when the connector's process is gone.
func (c *Connection) While(ctx context.Context, f func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-c.Gone:
			end(ErrGone)
		case <-ctx.Done():
		}
	}()
	defer func() {
		end(nil)
		<-watched
	}()
	return f(ctx)
}

// BeatEvery is how often a host beats.
const BeatEvery = 2 * time.Second

// KeepLease beats, so that the connector knows that its host lives, until ctx ends. Heard is given each
// answer, and when it was asked for; a beat that is not answered is followed by the next.
func (c *Connection) KeepLease(ctx context.Context, heard func(Ack, time.Time)) {
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	for seq := int64(1); ; seq++ {
		limit, cancel := context.WithTimeout(ctx, BeatEvery)
		asked := time.Now()
		ack, err := c.Beat(limit, seq)
		cancel()
		if err == nil {
			heard(ack, asked)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Connector is a connector's one session with a venue. Its methods may be called from any
// goroutine.
type Connector interface {
	Session
	Data
	Trader
}

// The codes of what a session refuses by itself; venues have their own.
const (
	CodeNotOpen     = string(NotOpen)
	CodeAlreadyOpen = "ALREADY_OPEN"
	CodeClosed      = "CLOSED"
)

// Session opens and closes the connector for one run, and ends its orders when the host is gone.
type Session interface {
	// Describe returns what the venue offers; it needs no network. Deadline 5 s.
	Describe(ctx context.Context) (Description, error)
	// Open takes the credentials and connects. It is called once; a second call is refused. Deadline 30 s.
	Open(ctx context.Context, req OpenRequest) (Opened, error)
	// Markets are the rules of the symbols of the session. An unknown symbol is absent. Deadline 10 s.
	Markets(ctx context.Context) ([]Market, error)
	// Close ends the session; with cancelOpen this run's open orders are cancelled first and
	// those that could not be confirmed as gone are returned by client order id. Deadline 30 s.
	// A second call does nothing. The guard of package wire cancels itself: what stands behind it
	// is only called with false.
	Close(ctx context.Context, cancelOpen bool) (unconfirmed []string, err error)
	// ArmDeadMan asks the venue itself to cancel the orders of the session unless it is asked
	// again within ttl; errors.ErrUnsupported where it cannot.
	ArmDeadMan(ctx context.Context, ttl time.Duration) error
	// Beat shows the connector that the host lives. When none came for the lease's time it
	// refuses submits (NotSent), cancels the run's open orders according to OpenRequest.OnLeaseLoss, writes
	// lease.json and ends.
	Beat(ctx context.Context, seq int64) (Ack, error)
}

// Data is the public market data.
type Data interface {
	// Candles are closed candles that open in [From, To), ascending, at most Limit. Deadline 10 s.
	Candles(ctx context.Context, q CandleQuery) ([]market.Candle, error)
	// StreamCandles calls back with every candle that closes and every change of the
	// connection, from one goroutine, until ctx ends (it returns nil) or it gives up. A slow callback
	// holds the stream up; nothing is dropped. ErrEnded: there are no more candles.
	StreamCandles(ctx context.Context, on func(CandleEvent)) error
}

// Trader sends orders and reads what the venue keeps for the credentials. None of the
// methods tries again by itself.
type Trader interface {
	// Submit sends one order. Deadline 10 s. The Result is what became of it; an Order
	// stands beside an Accepted one.
	Submit(ctx context.Context, req OrderRequest) (Result, Order)
	// SubmitPair sends a limit and a stop exit of which one cancels the other.
	SubmitPair(ctx context.Context, req PairRequest) (Result, [2]Order)
	// Cancel takes an order back. Accepted: it is canceled. NotOpen: ask. Deadline 10 s.
	Cancel(ctx context.Context, ref OrderRef) (Result, Order)
	// Query asks for one order. NotFound is the venue's definite word. Deadline 5 s.
	Query(ctx context.Context, ref OrderRef) (Result, Order)
	// OpenOrders are all orders that are open on the symbols of the session, foreign ones too.
	OpenOrders(ctx context.Context) ([]Order, error)
	// Fills of a symbol since a time, ascending by trade.
	Fills(ctx context.Context, symbol market.Symbol, since market.Time) (Fills, error)
	// Balances of the account, by asset.
	Balances(ctx context.Context) ([]Balance, error)
	// StreamAccount calls back from one goroutine until ctx ends (it returns nil) or it gives
	// up. The first event is a State connected, or it returns an error: never silence.
	StreamAccount(ctx context.Context, on func(AccountEvent)) error
}

// Ack is the answer to a beat.
type Ack struct {
	// OpenOrders of the run, as far as is known. Guard counts them for a connector.
	OpenOrders int
	// VenueTime is the time now by which the venue judges requests, as measured last and gone on since by a
	// clock that is never set; 0: not known.
	VenueTime market.Time
}

// OpenRequest is what a session is opened with.
type OpenRequest struct {
	RunID string
	// RunTag is the six characters of this run in its client order ids.
	RunTag string
	// Trading is false for paper: the connector makes no keyed request then.
	Trading   bool
	Symbols   []market.Symbol
	Timeframe market.Timeframe
	Config    Config
	// LeaseTTL is how long the connector lets orders stand without a Beat.
	LeaseTTL time.Duration
	// LeaseFile is where it writes what it did when the lease was lost; empty: nowhere.
	LeaseFile string `wire:"long"`
	// Endpoint replaces the venue's base URL; only a server option sets it.
	Endpoint string `wire:"long"`
	// OnLeaseLoss is what is cancelled when the host is silent for too long; empty: CancelEntries.
	OnLeaseLoss LeaseLoss `wire:"|entries|all|none"`
	// Exits are orders of the run, of sessions before this one, that only reduce a position.
	Exits []string
}

// LeaseLoss is what a connector cancels when it has lost its host.
type LeaseLoss string

// What it cancels.
const (
	// CancelEntries takes back what could make a position larger: exits go on protecting what is held.
	CancelEntries LeaseLoss = "entries"
	CancelAll     LeaseLoss = "all"
	CancelNone    LeaseLoss = "none"
)

// ParseLeaseLoss reads the option.
func ParseLeaseLoss(s string) (LeaseLoss, error) {
	switch l := LeaseLoss(s); l {
	case CancelEntries, CancelAll, CancelNone:
		return l, nil
	}
	return "", fmt.Errorf("%q is not known here: write entries, all or none", s)
}

// Opened is the answer to Open.
type Opened struct {
	// AccountID is the venue's own id of the account, never derived from a key; the run id for paper.
	AccountID string
	// ClockOffset is the venue's clock minus ours.
	ClockOffset time.Duration
	// Clock is set where the time of the candles does not pass as ours does, which only a venue
	// behind OpenRequest.Endpoint may say; ClockOffset is that of requests then.
	Clock *PacedClock
	// FeeAsset is what fees are taken in where it is neither base nor quote; "": none, or not known.
	FeeAsset string
}

// CandleQuery asks for history.
type CandleQuery struct {
	Symbol market.Symbol
	// From and To bound the open times; To is exclusive.
	From, To market.Time
	// Limit is at most 1000.
	Limit int
}

// LinkState is how a stream stands.
type LinkState string

// The states. After Reconnecting and Gap something may have been missed.
const (
	Connected    LinkState = "connected"
	Reconnecting LinkState = "reconnecting"
	Gap          LinkState = "gap"
)

// CandleEvent is a closed candle, or a change of the stream's state when State is set.
type CandleEvent struct {
	State  LinkState
	Reason string // of a state, for people
	Symbol market.Symbol
	Candle market.Candle
}

// AccountEvent has exactly one of its fields set.
type AccountEvent struct {
	State   LinkState
	Reason  string // of a state, for people
	Order   *Order
	Fill    *Fill
	Balance *Balance
	// Transfer is a deposit or a withdrawal, by its name; the balance comes by itself.
	Transfer *Transfer
}

// certified returns the compiled list: connectors that may trade real money, each with the one
// version that has passed every card of the conformance suite. A version gets here by its test
// calling conformance.Certify, which fails where this list differs.
func certified() map[string]string {
	return map[string]string{"binance": "1.0.0"}
}

// Certified reports whether a connector may trade real money: its id is in the compiled list with
// the version that it declares.
func Certified(d Description) bool {
	version, listed := certified()[d.ID]
	return listed && version == d.Version && d.Kind == "native"
}
