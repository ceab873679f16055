package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/desk"
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

// Engine is one run. Run is called once.
type Engine struct {
	cfg   Config
	inbox inbox
	// life is the context of everything that goes on during the stop.
	life    context.Context
	running sync.WaitGroup // every goroutine of the run
	barrier *order.Barrier // the stop closes it
	calls   calls
	coming  atomic.Pointer[link] // a new connection that is not in use yet
	current atomic.Pointer[link] // link, for the warm-up's goroutine
	stopAs  atomic.Pointer[OnStop]
	venue   exchange.SteadyClock // by which the venue judges requests; for every goroutine

	// What follows is of the goroutine in Run.

	link    *link
	crashes Crashes
	reachBy time.Time // when a start gives up on a venue that wants no requests
	markets []exchange.Market
	clock   exchange.VenueClock
	account string // its id
	sold    int64  // sequence numbers that the start used to sell what earlier runs left
	release []left // what the start hands to the operator
	phase   string
	failure error // ends the run
	// unwritten is the first commit that failed.
	unwritten error
	stopped   bool // no step is taken any more
	ticked    time.Time

	// The desk exists from the snapshot on; others read it with the gate held.
	desk      *desk.Desk
	rec       sim.Recorder
	told      told
	counted   map[string]bool // orders that filled, for the limits
	trades    int             // trades that were booked
	bare      []desk.Gap      // what had no exits when the run ended
	guard     *risk.Guard
	symbols   []risk.Symbol
	alarms    alarms
	flattens  bool // what still fills is sold too
	fees      feePrice
	skew      time.Duration // of this machine's clock, as warned of last
	batch     journal.Batch
	shown     map[market.OrderID]int // place in orders
	orders    []market.Order         // changed since the last commit
	todo      []order.Effect
	proposals []desk.Proposal

	feed  *feed.Feed
	steps steps
	recon recon
}

// New makes the engine of a run.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg.withDefaults(), barrier: new(order.Barrier), counted: map[string]bool{}, shown: map[market.OrderID]int{}}
	e.inbox.wake = make(chan struct{}, 1)
	e.steps.offers = make(feed.Offers)
	e.calls.leaveBy = map[string]market.Time{}
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
			e.abandon()
			end()
			panic(p)
		}
	}()
	err := e.start(ctx)
	if err == nil {
		err = e.warmUp(ctx)
	}
	switch {
	case err == nil:
		err = e.trade(ctx)
	case ctx.Err() != nil:
		err = context.Cause(ctx) // what a stop breaks off has not failed
	}
	err = e.stop(err)
	e.leave()
	end()
	e.running.Wait()
	if l := e.coming.Load(); l != nil { // it came when nobody took it any more
		if f, ok := errors.AsType[*Fault](err); ok && f.Code == CodeUnconfirmed {
			l.let(true)
		} else {
			e.hangUp(l, false)
		}
	}
	return err
}

// Stop ends the run from outside with a cause, as the end of the context of Run does.
func (e *Engine) Stop(cause error) { e.inbox.post(func() { e.fail(cause) }) }

// Restrict lets positions only shrink for a reason from outside, until it is lifted.
func (e *Engine) Restrict(code, message string, on bool) {
	e.inbox.post(func() {
		if e.guard == nil {
			return
		}
		if !on {
			e.guard.Clear(risk.Code(code))
			return
		}
		e.guard.Raise(risk.Reason{Code: risk.Code(code), State: risk.Reducing, Clears: risk.WhenGone, Since: e.clock.Now(), Message: message})
	})
}

// abandon is the end of a run whose books cannot be believed: no order leaves any more, and the connector cancels
// what is open as if its host were gone.
func (e *Engine) abandon() {
	e.barrier.Close()
	if e.link != nil {
		e.link.end()
		e.link.let(true)
	}
}

// fail keeps the first reason to end.
func (e *Engine) fail(err error) {
	if e.failure == nil && err != nil {
		e.failure = err
	}
}

// trade is the run from the end of its warm-up to the reason of its end.
func (e *Engine) trade(ctx context.Context) error {
	e.follow()
	for {
		e.drain()
		switch {
		case e.failure != nil:
			return e.failure
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		e.answer()
		if s, ok := e.steps.next(); ok {
			e.step(s)
			continue
		}
		e.begin()
		e.wait(ctx.Done(), e.steps.wanted())
	}
}

// wait is one turn of the loop: whatever comes first.
func (e *Engine) wait(done <-chan struct{}, steps <-chan feed.Offer) {
	rest := e.sleep()
	if rest <= 0 { // also where something always comes first
		e.tick()
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	var gone <-chan struct{}
	if e.link != nil {
		gone = e.link.conn.Gone
	}
	select {
	case <-e.inbox.wake:
	case o := <-steps:
		e.drain() // what happened before the candle closed
		e.step(o)
	case <-gone:
		e.crashed()
	case <-timer.C:
		e.tick()
	case <-done:
	}
}

// sleep is how long nothing is due.
func (e *Engine) sleep() time.Duration {
	since := time.Since(e.ticked)
	wait := tickEvery - since
	if e.desk != nil {
		if due := e.nextDue(); !due.IsZero() {
			wait = min(wait, max(time.Until(due), leastWait-since))
		}
	}
	return wait
}

// nextDue is when time calls for something. The desk tidies up as it looks, and others look at it too.
func (e *Engine) nextDue() (due time.Time) {
	e.locked(func() { due = e.desk.NextDue() })
	return due
}

// tick is what time calls for.
func (e *Engine) tick() {
	now := time.Now()
	e.ticked = now
	if e.desk == nil {
		return
	}
	if due := e.nextDue(); !due.IsZero() && !due.After(now) {
		e.change(note{source: order.FromLocal}, func() (desk.Result, error) { return e.desk.Due(now), nil })
	}
	if !e.stopped {
		e.verdicts(e.guard.OnTime(e.clock.Now(), e.symbols))
		e.reconcileWhenDue(now)
	}
	e.work()
}

// drain does what others posted.
func (e *Engine) drain() {
	for list := e.inbox.take(); len(list) > 0; list = e.inbox.take() {
		for _, f := range list {
			f()
			if e.desk != nil {
				e.work()
			}
		}
	}
	e.alarms.limits.Look(e.cfg.Host, e.guard)
	e.showPhase()
}

// enter tells a phase.
func (e *Engine) enter(phase string) {
	if e.phase != phase {
		e.phase = phase
		e.cfg.Host.Phase(phase)
	}
}

// begin ends the warm-up once its last step was decided.
func (e *Engine) begin() {
	if e.phase == Warming && e.steps.idle() && e.steps.index >= e.steps.layout.Warmup {
		e.enter(Trading)
		e.showPhase()
	}
}

// showPhase says what a run that trades may do.
func (e *Engine) showPhase() {
	if e.phase != Trading && e.phase != Reducing && e.phase != Halted {
		return
	}
	switch e.guard.State() {
	case risk.Halted:
		e.enter(Halted)
	case risk.Reducing:
		e.enter(Reducing)
	default:
		e.enter(Trading)
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
