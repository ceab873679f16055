// Package engine trades one live run on a connector: it takes candles and what happens to
// the account, asks the strategy, and sends orders.
//
// One goroutine, the one in Run, owns all books: the order manager with its Book and Ledger, the
// Guard, and what goes into the journal. Whatever takes time happens elsewhere (calls of
// the venue, the answer of the strategy, the two streams) and comes back as an event, so
// that no fill waits for a slow strategy and no cancel for a slow venue.
//
// The order of things is what makes it safe:
//
//   - an order is handed to the connector only after its intent is committed, and only
//     through the pass, which a stop closes;
//   - what is known of an order is committed before anything follows from it;
//   - the account stream is confirmed before any snapshot is read, and after it was
//     interrupted no order leaves before the snapshots were read again.
//
// Who runs it (package trade) knows the plugin and shows the results; it is reached through
// Host. Everything that others read is changed with Config.Gate held.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

type dec = decimal.Decimal

// The pace of the loop.
const (
	tickEvery = time.Second           // risk and reconciling are looked at
	leastWait = 20 * time.Millisecond // between two looks at what is due
)

// errFinished is the end of a replay.
var errFinished = errors.New("the candles have ended")

// Engine is one run: its loop, to which everything that takes time comes back as an event, with its phases,
// its controls and its end. Run is called once. What it works with are parts that know each other:
//
//   - session: the connection, its lease, and the calls over it;
//   - bookkeeper: the order manager with the limits of risk and what goes into the journal;
//   - steps: the candles and the strategy;
//   - recon: how the books are compared with the venue;
//   - starter: all that comes before the first candle.
//
// But for what is marked all of them are of the goroutine in Run.
type Engine struct {
	*parts
	starter *starter
	inbox   inbox
	// life is the context of everything that goes on during the stop.
	life    context.Context
	running sync.WaitGroup // every goroutine of the run
	stopAs  atomic.Pointer[OnStop]
	phase   string
	failure error // ends the run
	// unwritten is the first commit that failed.
	unwritten error
	stopped   bool // no step is taken any more
	ticked    time.Time
	bare      []oms.Gap // what had no exits when the run ended
}

// parts are the parts of a run, which know each other.
type parts struct {
	cfg     *Config
	loop    *Engine
	session *session
	books   *bookkeeper
	steps   *steps
	recon   *recon
}

// session is the connection to the venue, and what goes on over it.
type session struct {
	*parts
	barrier *order.Barrier // the stop closes it; for every goroutine
	calls   calls
	coming  atomic.Pointer[link] // a new connection that is not in use yet
	current atomic.Pointer[link] // link, for the warm-up's goroutine
	venue   exchange.SteadyClock // by which the venue judges requests; for every goroutine
	link    *link
	crashes Crashes
	clock   exchange.VenueClock
	account string        // its id
	skew    time.Duration // of this machine's clock, as warned of last
}

// bookkeeper is the books of the run: the order manager, the limits, and what is to be written down.
type bookkeeper struct {
	*parts
	// The order manager exists from the snapshot on; others read it with the gate held.
	manager   *oms.Manager
	rec       sim.Recorder
	unsent    updates
	counted   map[string]bool // orders that filled, for the limits
	trades    int             // trades that were booked
	guard     *risk.Guard
	symbols   []risk.Symbol
	alarms    alarms
	flattens  bool // what still fills is sold too
	fees      feePrice
	batch     journal.Batch
	shown     map[market.OrderID]int // place in orders
	orders    []market.Order         // changed since the last commit
	effects   []order.Effect
	proposals []oms.Proposal
}

// New makes the engine of a run.
func New(cfg Config) *Engine {
	cfg = cfg.withDefaults()
	p := &parts{cfg: &cfg}
	p.session = &session{parts: p, barrier: new(order.Barrier),
		calls: calls{leaveBy: map[string]market.Time{}}}
	p.books = &bookkeeper{parts: p, counted: map[string]bool{}, shown: map[market.OrderID]int{}}
	p.steps = &steps{parts: p, offers: make(feed.Offers)}
	p.recon = &recon{parts: p}
	e := &Engine{parts: p, starter: &starter{parts: p}, inbox: inbox{wake: make(chan struct{}, 1)}}
	p.loop = e
	return e
}

// Run trades until ctx ends, whose cause it returns then, or something fails. It returns
// nil at the end of a replay. When it returns no goroutine of it is left, and what is still
// at the venue was told: by a *Fault, or by the positions that are kept.
func (e *Engine) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	e.life = life
	defer func() {
		if p := recover(); p != nil {
			e.abandonRun()
			end()
			panic(p)
		}
	}()
	err := e.starter.startRun(ctx)
	if err == nil {
		err = e.steps.readWarmup(ctx)
	}
	switch {
	case err == nil:
		err = e.runTrading(ctx)
	case ctx.Err() != nil:
		err = context.Cause(ctx) // what a stop breaks off has not failed
	}
	err = e.stopTrading(err)
	if l := e.session.link; l != nil {
		e.session.closeLink(l, false)
	}
	end()
	e.running.Wait()
	if l := e.session.coming.Load(); l != nil { // it came when it was not needed any more
		if f, ok := errors.AsType[*Fault](err); ok && f.Code == CodeUnconfirmed {
			l.let(true)
		} else {
			e.session.closeLink(l, false)
		}
	}
	return err
}

// Stop ends the run from outside with a cause, as the end of the context of Run does.
func (e *Engine) Stop(cause error) { e.inbox.post(func() { e.failRun(cause) }) }

// Restrict lets positions only shrink for a reason from outside, until it is lifted.
func (e *Engine) Restrict(code, message string, on bool) {
	e.inbox.post(func() {
		if e.books.guard == nil {
			return
		}
		if !on {
			e.books.guard.Clear(risk.Code(code))
			return
		}
		e.books.guard.Raise(risk.Reason{Code: risk.Code(code), State: risk.Reducing, Clears: risk.WhenGone,
			Since: e.session.clock.Now(), Message: message})
	})
}

// abandonRun is the end of a run whose books cannot be believed: no order leaves any more, and the connector
// cancels what is open as if its host were gone.
func (e *Engine) abandonRun() {
	e.session.barrier.Close()
	if e.session.link != nil {
		e.session.link.end()
		e.session.link.let(true)
	}
}

// failRun keeps the first reason to end.
func (e *Engine) failRun(err error) {
	if e.failure == nil && err != nil {
		e.failure = err
	}
}

// runTrading returns the run from the end of its warm-up to the reason of its end.
func (e *Engine) runTrading(ctx context.Context) error {
	e.steps.followCandles()
	for {
		e.drainInbox()
		switch {
		case e.failure != nil:
			return e.failure
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		e.steps.releaseFeed()
		if s, ok := e.steps.nextWarm(); ok {
			e.steps.takeStep(s)
			continue
		}
		e.beginTrading()
		e.waitOnce(ctx.Done(), e.steps.openOffers())
	}
}

// waitOnce is one turn of the loop: whatever comes first.
func (e *Engine) waitOnce(done <-chan struct{}, steps <-chan feed.Offer) {
	rest := e.untilDue()
	if rest <= 0 { // also where something always comes first
		e.runTimers()
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	var gone <-chan struct{}
	if e.session.link != nil {
		gone = e.session.link.conn.Gone
	}
	select {
	case <-e.inbox.wake:
	case o := <-steps:
		e.drainInbox() // what happened before the candle closed
		e.steps.takeStep(o)
	case <-gone:
		e.session.onConnectorCrash()
	case <-timer.C:
		e.runTimers()
	case <-done:
	}
}

// untilDue returns how long nothing is due.
func (e *Engine) untilDue() time.Duration {
	since := time.Since(e.ticked)
	wait := tickEvery - since
	if e.books.manager != nil {
		if due := e.books.nextDue(); !due.IsZero() {
			wait = min(wait, max(time.Until(due), leastWait-since))
		}
	}
	return wait
}

// nextDue is when time calls for something. Orders are tidied up as it looks, and others look at it too.
func (bk *bookkeeper) nextDue() (due time.Time) {
	bk.withGate(func() { due = bk.manager.NextDue() })
	return due
}

// runTimers is what time calls for.
func (e *Engine) runTimers() {
	now := time.Now()
	e.ticked = now
	if e.books.manager == nil {
		return
	}
	if due := e.books.nextDue(); !due.IsZero() && !due.After(now) {
		e.books.change(func() oms.Result { return e.books.manager.Due(now) }, order.FromLocal)
	}
	if !e.stopped {
		e.books.recordVerdicts(e.books.guard.OnTime(e.session.clock.Now(), e.books.symbols))
		e.recon.reconcileWhenDue(now)
	}
	e.books.runEffects()
}

// drainInbox does what others posted.
func (e *Engine) drainInbox() {
	for list := e.inbox.take(); len(list) > 0; list = e.inbox.take() {
		for _, f := range list {
			f()
			if e.books.manager != nil {
				e.books.runEffects()
			}
		}
	}
	e.books.alarms.limits.Look(e.cfg.Host, e.books.guard)
	e.updatePhase()
}

// enterPhase begins a phase.
func (e *Engine) enterPhase(phase string) {
	if e.phase != phase {
		e.phase = phase
		e.cfg.Host.Phase(phase)
	}
}

// beginTrading ends the warm-up once its last step was decided.
func (e *Engine) beginTrading() {
	if e.phase == Warming && e.steps.idle() && e.steps.index >= e.steps.layout.Warmup {
		e.enterPhase(Trading)
		e.updatePhase()
	}
}

// updatePhase takes the phase of a run that trades from its limits.
func (e *Engine) updatePhase() {
	if e.phase != Trading && e.phase != Reducing && e.phase != Halted {
		return
	}
	switch state := e.books.guard.State(); {
	case state == risk.Halted:
		e.enterPhase(Halted)
	case state == risk.Reducing, e.cfg.Host.InputStale():
		e.enterPhase(Reducing)
	default:
		e.enterPhase(Trading)
	}
}

// inbox is what goroutines have for the one that owns the books.
type inbox struct {
	mu   sync.Mutex
	list []func()
	wake chan struct{} // holds one token
}

func (b *inbox) post(f func()) {
	b.mu.Lock()
	b.list = append(b.list, f)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = nil
	return list
}

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
	return "", fmt.Errorf("%q is not a way to stop: write cancel, flatten or leave", s)
}

// DefaultConnectLimit is how long the venue may be out of reach at the start.
const DefaultConnectLimit = 120 * time.Second

// Config is one run.
type Config struct {
	RunID     string
	Symbols   []market.Symbol
	Timeframe market.Timeframe
	// Venue is what the connector offers.
	Venue exchange.Description
	// Connect starts the connector; Open is what its session is opened with, credentials included.
	Connect func(context.Context) (*exchange.Connection, error)
	Open    exchange.OpenRequest
	// Journal is read, Run is written.
	Journal *journal.Journal
	Run     *journal.Run
	Limits  risk.Limits
	// Warmup is what the strategy needs before it decides.
	Warmup market.Warmup
	// OnStop is what a stop does with what is held, OnShutdown what the end of the service does: Leave if
	// empty.
	OnStop, OnShutdown OnStop
	// Resume is what the start does about what earlier runs left on the account: Refuse if empty.
	Resume Resume
	// Unprotected is what becomes of a position whose exits cannot be placed: oms.Hold if empty.
	Unprotected oms.Unprotected
	// Orderly reports whether a cause of the end is a stop that was asked for.
	Orderly func(error) bool
	// Shutdown reports whether such a cause is the end of the service; nil: none is.
	Shutdown func(error) bool
	// Gate is held while anything changes that others read.
	Gate sync.Locker
	Host Host
	// Link gets how the connection stands, without the gate; may be nil.
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
	// Up reports whether the streams are connected and have missed nothing, as far as is known.
	Up bool
	// Latency is that of the request that was answered; 0 when it is not about one.
	Latency time.Duration
	// Offset is the venue's clock minus ours; Synthetic reports whether it has a time of its own.
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
	// Candles passes a step that is about to be decided, with the gate held.
	Candles(step int64, b *sim.Batch)
	// Decide asks the strategy, from a goroutine of its own. It ends when the context of Run does.
	Decide(*View) ([]market.Intent, error)
	// InputStale reports whether an input that the strategy reads was too old at the last close of which it
	// was asked: no entry leaves then.
	InputStale() bool
	// Phase passes a change of the phase.
	Phase(string)
	Alarms
}

// View is the account at a step, as the strategy is told it.
type View struct {
	Step      int64
	CloseTime market.Time
	// Warmup reports whether no order is taken.
	Warmup  bool
	Candles []market.Candle // by symbol; Closed marks which are new
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
	// Reason of an EXCHANGE_ERROR: unreachable, symbol, reconcile, clock_skew, connector_crashed,
	// subscription_refused, positions_left or limits_allow_no_order.
	Reason, Message string
	Data            map[string]any
	Err             error
}

// The codes of faults.
const (
	CodeExchange    = "EXCHANGE_ERROR"
	CodeUnconfirmed = runner.CodeStopUnconfirmed
	CodeRiskKill    = string(risk.Kill)
)

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// ExchangeFault returns an EXCHANGE_ERROR.
func ExchangeFault(reason string, err error, format string, args ...any) *Fault {
	return &Fault{Code: CodeExchange, Reason: reason, Message: fmt.Sprintf(format, args...), Err: err,
		Data: map[string]any{"reason": reason}}
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
	// CodeOrderRejected: an order of the strategy was rejected.
	CodeOrderRejected = "ORDER_REJECTED"
	// CodeBankrupt: nothing is left of the equity.
	CodeBankrupt = "BANKRUPT"
	// CodeInputRefused: what is stored now of an input is not used.
	CodeInputRefused = "INPUT_REFUSED"
	// CodePaused: the operator lets no entry leave.
	CodePaused = "OPERATOR_PAUSED"
	// CodeTransfer: money came or went otherwise than by a trade; CodeFeesNotValued: fees have no value in
	// quote.
	CodeTransfer      = "TRANSFER_BOOKED"
	CodeFeesNotValued = "FEES_NOT_VALUED"
)
