package engine

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// The phases of a run, in the order of a good one; reducing and halted are trading with
// restrictions.
const (
	Starting    = "starting"
	Reconciling = "reconciling"
	Warming     = "warming"
	Trading     = "trading"
	Reducing    = "reducing"
	Halted      = "halted"
	Stopping    = "stopping"
)

// OnStop is what a stop does once no order leaves any more.
type OnStop string

// The ways to stop.
const (
	// Cancel takes all orders back, exits too, and keeps positions.
	Cancel OnStop = "cancel"
	// Flatten takes all orders back and sells what is held at the market.
	Flatten OnStop = "flatten"
	// Leave takes entries back and leaves the exits of positions at the venue.
	Leave OnStop = "leave"
)

// ParseOnStop reads the option.
func ParseOnStop(s string) (OnStop, error) {
	switch o := OnStop(s); o {
	case Cancel, Flatten, Leave:
		return o, nil
	}
	return "", fmt.Errorf("%q is no way to stop: write cancel, flatten or leave", s)
}

// DefaultConnectLimit is how long the venue may be out of reach at the start.
const DefaultConnectLimit = 120 * time.Second

// Config is one run.
type Config struct {
	RunID     string
	Symbols   []market.Symbol
	Timeframe market.Timeframe
	// Venue is what the connector says it offers.
	Venue exchange.Description
	// Connect starts the connector; Open is what its session is opened with, credentials included.
	Connect func(context.Context) (*exchange.Connection, error)
	Open    exchange.OpenRequest
	// Journal is read, Run is written.
	Journal *journal.Journal
	Run     *journal.Run
	Limits  risk.Limits
	// Warmup is how many candles the strategy wants before it decides.
	Warmup int
	// OnStop is what a stop does with what is held, OnShutdown what the end of the service does: Leave if empty.
	OnStop, OnShutdown OnStop
	// Resume is what the start does about what earlier runs left on the account: Refuse if empty.
	Resume Resume
	// Unprotected is what becomes of a position whose exits cannot be placed: desk.Hold if empty.
	Unprotected desk.Unprotected
	// Orderly says that a cause of the end is a stop that somebody asked for.
	Orderly func(error) bool
	// Shutdown says that such a cause is the end of the service; nil: none is.
	Shutdown func(error) bool
	// Gate is held while anything changes that others read.
	Gate sync.Locker
	Host Host
	// Link hears how the connection stands, without the gate; nil: nobody does.
	Link func(Link)
	// ConnectLimit is DefaultConnectLimit if zero.
	ConnectLimit time.Duration
}

func (c Config) withDefaults() Config {
	c.ConnectLimit = cmp.Or(c.ConnectLimit, DefaultConnectLimit)
	c.OnStop, c.OnShutdown = cmp.Or(c.OnStop, Leave), cmp.Or(c.OnShutdown, Leave)
	return c
}

// Link is how the connection stands. It is told with everything that comes.
type Link struct {
	// Up says that the streams are connected and have missed nothing, as far as is known.
	Up bool
	// Latency is that of the request that was answered; 0 when it is not about one.
	Latency time.Duration
	// Offset is the venue's clock minus ours; Synthetic says that it has a time of its own.
	Offset    time.Duration
	Synthetic bool
}

// Layout is where in the steps of a run what begins.
type Layout struct {
	// Window is the first step that is recorded, Warmup the first on which orders are taken.
	Window, Warmup int64
	// Short is how many warm-up candles were not there before the start.
	Short int
}

// Host is who runs the engine. Its methods are called without the gate unless they say so.
type Host interface {
	// Begin is called once, when it is known how much warm-up there is and before the first
	// step. What the books say goes to the recorder, with the gate held.
	Begin(Layout) (sim.Recorder, error)
	// Candles tells a step that is about to be decided, with the gate held.
	Candles(step int64, b *sim.Batch)
	// Decide asks the strategy, from a goroutine of its own. It ends when the context of Run does.
	Decide(*View) ([]market.Intent, error)
	// Phase tells a change.
	Phase(string)
	Alarms
}

// View is the account at a step, as the strategy is told it.
type View struct {
	Step      int64
	CloseTime market.Time
	// Warmup says that no order is taken.
	Warmup  bool
	Candles []market.Candle // by symbol; Closed tells which are new
	Closed  []bool
	// Orders that changed and Fills since the last step.
	Orders       []market.Order
	Fills        []market.Fill
	Cash, Equity float64
	Holdings     []Holding
}

// Holding is the position in one symbol.
type Holding struct {
	Quantity, EntryPrice float64
	CandlesHeld          int64
}

// Fault ends a run: a code of the API's with its data.
type Fault struct {
	// Code is EXCHANGE_ERROR, STOP_UNCONFIRMED or RISK_KILL.
	Code string
	// Reason of an EXCHANGE_ERROR: unreachable, symbol, reconcile, clock_skew, connector_crashed, subscription_refused,
	// positions_left or limits_allow_no_order.
	Reason, Message string
	Data            map[string]any
	Err             error
}

// The codes of faults.
const (
	CodeExchange    = "EXCHANGE_ERROR"
	CodeUnconfirmed = "STOP_UNCONFIRMED"
	CodeRiskKill    = "RISK_KILL"
)

// Error is the message.
func (f *Fault) Error() string { return f.Message }

// Unwrap is the cause.
func (f *Fault) Unwrap() error { return f.Err }

// ExchangeFault is an EXCHANGE_ERROR.
func ExchangeFault(reason string, err error, format string, args ...any) *Fault {
	return &Fault{Code: CodeExchange, Reason: reason, Message: fmt.Sprintf(format, args...), Err: err, Data: map[string]any{"reason": reason}}
}

// The codes of warnings and of reasons, besides those of the packages below.
const (
	CodeStreamReconciling = admission.CodeStreamReconciling
	CodeBalanceDrift      = "BALANCE_DRIFT"
	CodeForeignOrders     = "FOREIGN_ORDERS"
	CodeClockSkew         = "CLOCK_SKEW"
	CodeConnectorCrashed  = admission.CodeUnlinked
	CodeConnectorBack     = "CONNECTOR_RELAUNCHED"
	CodeMarketStatus      = "MARKET_STATUS"
	// CodePaused: the operator lets no entry leave.
	CodePaused = "OPERATOR_PAUSED"
	// CodeTransfer: money came or went otherwise than by a trade; CodeFeesNotValued: fees have no value in
	// quote.
	CodeTransfer      = "TRANSFER_BOOKED"
	CodeFeesNotValued = "FEES_NOT_VALUED"
)
