package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Codes of what the guard refuses beside those of package exchange.
const (
	codeNotTrading = "NOT_TRADING"
	codeLeaseLost  = "LEASE_LOST"
)

// sessionState is where a session stands. It only moves forward, but that a failed Open
// may be tried again.
type sessionState int

const (
	fresh sessionState = iota
	opening
	opened
	closing // no submits any more
	lost    // the host is gone: no submits any more
	closed
)

// guard is a connection that keeps the contract for its connector.
type guard struct {
	inner  exchange.Connection
	redact *Redactor
	ended  func()
	orders tracker

	mu    sync.Mutex
	state sessionState
	req   exchange.OpenRequest
	beat  time.Time     // the last one, or Open
	broke chan string   // why the lease's stream ended
	stop  chan struct{} // closed by Close
	kept  chan struct{} // closed when keep has returned
	all   bool          // a Close was to cancel everything, and has not done it yet

	closing  sync.Mutex // one Close at a time
	sweeping sync.Mutex // one sweep at a time
}

// Guard puts the contract around a connection: a session is opened once, nothing is
// traded without a session, texts hold no credentials, and when no Beat comes for the
// lease's time those of the run's open orders are cancelled that it was opened to cancel. After that ended
// is called, if it is not nil; the session is over then. Close with cancelOpen cancels the run's orders here
// and calls the connection's own Close with false.
//
// Serve does this for a connector's process.
func Guard(conn exchange.Connection, ended func()) exchange.Connection {
	g := newGuard(conn, ended)
	return exchange.Connection{Connector: g, Clock: conn.Clock}
}

func newGuard(conn exchange.Connection, ended func()) *guard {
	return &guard{inner: conn, redact: &Redactor{}, ended: ended}
}

func refusal(code, message string) exchange.Result {
	return exchange.Result{Outcome: exchange.NotSent, VenueCode: code, Message: message}
}

// may explains why a call cannot be made now; an empty outcome: it can.
func (g *guard) mayLocked(keyed bool) exchange.Result {
	switch {
	case g.state == fresh || g.state == opening:
		return refusal(exchange.CodeNotOpen, "the session is not open")
	case g.state == closed:
		return refusal(exchange.CodeClosed, "the session is closed")
	case keyed && !g.req.Trading:
		return refusal(codeNotTrading,
			"the session was opened for paper: it makes no request with credentials")
	}
	return exchange.Result{}
}

func (g *guard) may(keyed bool) exchange.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mayLocked(keyed)
}

// read makes a call that has an error.
func read[T any](g *guard, keyed bool, call func() (T, error)) (T, error) {
	if no := g.may(keyed); no.Outcome != "" {
		var none T
		return none, &exchange.Error{Result: no}
	}
	v, err := call()
	return v, g.redact.Error(err)
}

func (g *guard) tag() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.req.RunTag
}

// Describe implements exchange.Connector.
func (g *guard) Describe(ctx context.Context) (exchange.Description, error) {
	d, err := g.inner.Describe(ctx)
	return d, g.redact.Error(err)
}

// Open implements exchange.Connector. After a failure it may be called again.
func (g *guard) Open(ctx context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	g.mu.Lock()
	if g.state != fresh {
		g.mu.Unlock()
		return exchange.Opened{}, &exchange.Error{Result: exchange.Result{
			Outcome: exchange.Rejected, VenueCode: exchange.CodeAlreadyOpen,
			Message: "the session has been opened already; a run needs a new one",
		}}
	}
	g.state = opening
	g.redact.Add(req.Config.APIKey, req.Config.Secret, req.Config.Password)
	g.mu.Unlock()
	done := false
	defer func() {
		if !done { // a panic of the connector
			g.mu.Lock()
			defer g.mu.Unlock()
			g.state = fresh
		}
	}()
	out, err := g.inner.Open(ctx, req)
	done = true
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.state = fresh
		return exchange.Opened{}, g.redact.Error(err)
	}
	g.state, g.req = opened, req
	g.begin()
	return out, nil
}

// Markets implements exchange.Connector.
func (g *guard) Markets(ctx context.Context) ([]exchange.Market, error) {
	return read(g, false, func() ([]exchange.Market, error) { return g.inner.Markets(ctx) })
}

// Close implements exchange.Connector. The lease is kept until it is done: a host that dies
// in the middle leaves no orders behind.
func (g *guard) Close(ctx context.Context, cancelOpen bool) (unconfirmed []string, err error) {
	g.closing.Lock()
	defer g.closing.Unlock()
	g.mu.Lock()
	if g.state == opened {
		g.state = closing
	}
	g.all = g.all || cancelOpen
	state, trading := g.state, g.req.Trading
	g.mu.Unlock()
	switch state {
	case closing:
	case lost: // the orders are being cancelled: it is not over yet
		return nil, &exchange.Error{Result: refusal(codeLeaseLost, "the lease is lost")}
	default:
		return nil, nil
	}
	if cancelOpen && trading {
		limited, cancel := context.WithTimeout(ctx, sweepLimit)
		g.sweeping.Lock()
		_, left := g.sweep(limited, true)
		g.sweeping.Unlock()
		cancel()
		unconfirmed = append(unconfirmed, left...) // nil for none
		if ctx.Err() != nil {
			return unconfirmed, g.redact.Error(ctx.Err()) // the lease goes on, and so may another Close
		}
	}
	close(g.stop)
	<-g.kept
	g.mu.Lock()
	gone := g.state != closing
	g.mu.Unlock()
	if gone {
		return unconfirmed, &exchange.Error{Result: refusal(codeLeaseLost, "the lease was lost meanwhile")}
	}
	return unconfirmed, g.finish(ctx)
}

// finish ends the session of the connection itself.
func (g *guard) finish(ctx context.Context) error {
	_, err := g.inner.Close(ctx, false)
	err = g.redact.Error(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.req.Config = closed, exchange.Config{}
	return err
}

// Candles implements exchange.Connector.
func (g *guard) Candles(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	return read(g, false, func() ([]market.Candle, error) { return g.inner.Candles(ctx, q) })
}

// StreamCandles implements exchange.Connector.
func (g *guard) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	_, err := read(g, false, func() (struct{}, error) {
		return struct{}{}, g.inner.StreamCandles(ctx, func(e exchange.CandleEvent) {
			e.Reason = exchange.Clip(g.redact.Text(e.Reason))
			on(e)
		})
	})
	return err
}

// sending admits a submit. It and the loss of the lease exclude each other: what is
// admitted is known to the sweep.
func (g *guard) sending(reduces bool, refs ...exchange.OrderRef) exchange.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	if no := g.mayLocked(true); no.Outcome != "" {
		return no
	}
	switch {
	case g.state == lost || time.Since(g.beat) > g.ttl():
		return refusal(codeLeaseLost, "the host has been silent for too long")
	case g.state == closing:
		return refusal(exchange.CodeClosed, "the session is being closed")
	}
	g.orders.sending(reduces, refs...)
	return exchange.Result{}
}

// Submit implements exchange.Connector.
func (g *guard) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	ref := exchange.OrderRef{ClientOrderID: req.ClientOrderID, Symbol: req.Symbol}
	if no := g.sending(req.Reduces, ref); no.Outcome != "" {
		return no, exchange.Order{}
	}
	outcome := exchange.Unknown // of a panic too
	defer func() { g.orders.answered(outcome, ref) }()
	r, o := g.inner.Submit(ctx, req)
	outcome = r.Outcome
	return g.answer(r, o)
}

// SubmitPair implements exchange.Connector.
func (g *guard) SubmitPair(ctx context.Context,
	req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	refs := []exchange.OrderRef{{ClientOrderID: req.LimitID, Symbol: req.Symbol},
		{ClientOrderID: req.StopID, Symbol: req.Symbol}}
	if no := g.sending(true, refs...); no.Outcome != "" {
		return no, [2]exchange.Order{}
	}
	outcome := exchange.Unknown
	defer func() { g.orders.answered(outcome, refs...) }()
	r, legs := g.inner.SubmitPair(ctx, req)
	outcome = r.Outcome
	for i := range legs {
		_, legs[i] = g.answer(r, legs[i])
	}
	return g.redact.Result(r), legs
}

// Cancel implements exchange.Connector.
func (g *guard) Cancel(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	if no := g.may(true); no.Outcome != "" {
		return no, exchange.Order{}
	}
	return g.answer(g.inner.Cancel(ctx, ref))
}

// Query implements exchange.Connector.
func (g *guard) Query(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	if no := g.may(true); no.Outcome != "" {
		return no, exchange.Order{}
	}
	r, o := g.inner.Query(ctx, ref)
	switch r.Outcome {
	case exchange.NotFound:
		g.orders.missing(ref.ClientOrderID)
	case exchange.Accepted:
		g.orders.found(ref.ClientOrderID)
	}
	return g.answer(r, o)
}

// answer redacts what a venue said and notes where the order stands.
func (g *guard) answer(r exchange.Result, o exchange.Order) (exchange.Result, exchange.Order) {
	return g.redact.Result(r), g.seen(o)
}

func (g *guard) seen(o exchange.Order) exchange.Order {
	o.Reason = exchange.Clip(g.redact.Text(o.Reason))
	if o.ClientOrderID != "" && o.Status != "" {
		g.saw(o)
	}
	return o
}

// saw notes an order that the venue told about.
func (g *guard) saw(o exchange.Order) {
	g.mu.Lock()
	reduces := slices.Contains(g.req.Exits, o.ClientOrderID)
	g.mu.Unlock()
	g.orders.saw(o, reduces, g.ours)
}

// OpenOrders implements exchange.Connector.
func (g *guard) OpenOrders(ctx context.Context) ([]exchange.Order, error) {
	list, err := read(g, true, func() ([]exchange.Order, error) { return g.inner.OpenOrders(ctx) })
	for i := range list {
		list[i] = g.seen(list[i])
	}
	return list, err
}

// Fills implements exchange.Connector.
func (g *guard) Fills(ctx context.Context, symbol market.Symbol, since market.Time) (exchange.Fills, error) {
	return read(g, true, func() (exchange.Fills, error) { return g.inner.Fills(ctx, symbol, since) })
}

// Balances implements exchange.Connector.
func (g *guard) Balances(ctx context.Context) ([]exchange.Balance, error) {
	return read(g, true, func() ([]exchange.Balance, error) { return g.inner.Balances(ctx) })
}

// StreamAccount implements exchange.Connector.
func (g *guard) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	_, err := read(g, true, func() (struct{}, error) {
		return struct{}{}, g.inner.StreamAccount(ctx, func(e exchange.AccountEvent) {
			e.Reason = exchange.Clip(g.redact.Text(e.Reason))
			if e.Order != nil {
				o := g.seen(*e.Order)
				e.Order = &o
			}
			on(e)
		})
	})
	return err
}

// ArmDeadMan implements exchange.Connector.
func (g *guard) ArmDeadMan(ctx context.Context, ttl time.Duration) error {
	_, err := read(g, true, func() (struct{}, error) { return struct{}{}, g.inner.ArmDeadMan(ctx, ttl) })
	return err
}

const (
	// DefaultLeaseTTL is how long a connector lets orders stand without a beat.
	DefaultLeaseTTL = 10 * time.Second

	sweepLimit  = 20 * time.Second // to cancel and confirm
	finishLimit = 5 * time.Second  // to end the venue's session after that
)

// Why a lease was lost.
const (
	// ReasonNoBeat: the host is silent.
	ReasonNoBeat = "no_beat"
	// ReasonStreamBroken: the connection to the host ended.
	ReasonStreamBroken = "stream_broken"
)

// LeaseReport is lease.json: what a connector did when it lost its host.
type LeaseReport struct {
	Reason string `json:"reason"`
	// Cancelled are the run's orders that the venue confirmed as canceled, Unconfirmed those
	// that should be and may still be open, Kept those that were left open: exits, as a rule. Client order
	// ids, ascending.
	Cancelled   []string    `json:"cancelled"`
	Unconfirmed []string    `json:"unconfirmed"`
	Kept        []string    `json:"kept"`
	At          market.Time `json:"at"`
}

func (g *guard) ttl() time.Duration { return cmp.Or(max(g.req.LeaseTTL, 0), DefaultLeaseTTL) }

// begin starts the lease of a session that has just been opened. With the lock held.
func (g *guard) begin() {
	g.beat, g.broke, g.stop, g.kept = time.Now(), make(chan string, 1), make(chan struct{}),
		make(chan struct{})
	go g.keep()
}

// Beat implements exchange.Connector. A lease that was lost stays lost.
func (g *guard) Beat(ctx context.Context, seq int64) (exchange.Ack, error) {
	g.mu.Lock()
	no := g.mayLocked(false)
	if no.Outcome == "" && (g.state == lost || time.Since(g.beat) > g.ttl()) {
		no = refusal(codeLeaseLost, "the lease is lost")
	}
	if no.Outcome == "" {
		g.beat = time.Now()
	}
	g.mu.Unlock()
	if no.Outcome != "" {
		return exchange.Ack{}, &exchange.Error{Result: no}
	}
	ack, err := g.inner.Beat(ctx, seq)
	if err != nil {
		ack = exchange.Ack{}
	}
	ack.OpenOrders = g.orders.count()
	return ack, nil
}

// broken reports that no beat can come any more.
func (g *guard) broken() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broke == nil {
		return
	}
	select {
	case g.broke <- ReasonStreamBroken:
	default:
	}
}

// live reports whether a session holds a lease, or cleans up after it.
func (g *guard) live() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == opened || g.state == closing || g.state == lost
}

// keep waits until the session is closed or its lease is lost.
func (g *guard) keep() {
	timer := time.NewTimer(g.ttl())
	defer timer.Stop()
	for {
		var reason string
		select {
		case <-g.stop:
			close(g.kept)
			return
		case reason = <-g.broke:
		case <-timer.C:
			g.mu.Lock()
			left := g.ttl() - time.Since(g.beat)
			g.mu.Unlock()
			if left > 0 {
				timer.Reset(left)
				continue
			}
			reason = ReasonNoBeat
		}
		g.lose(reason)
		return
	}
}

// lose is the end of a session without its host.
func (g *guard) lose(reason string) {
	g.mu.Lock()
	g.state = lost
	trading, path, cancels := g.req.Trading, g.req.LeaseFile,
		cmp.Or(g.req.OnLeaseLoss, exchange.CancelEntries)
	if g.all {
		cancels = exchange.CancelAll
	}
	g.mu.Unlock()
	close(g.kept)
	report := LeaseReport{Reason: reason, Cancelled: []string{}, Unconfirmed: []string{}, Kept: []string{}}
	if trading {
		ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
		g.sweeping.Lock()
		if cancels != exchange.CancelNone {
			report.Cancelled, report.Unconfirmed = g.sweep(ctx, cancels == exchange.CancelAll)
		}
		for _, o := range g.orders.left(true) {
			if !slices.Contains(report.Unconfirmed, o.ref.ClientOrderID) {
				report.Kept = append(report.Kept, o.ref.ClientOrderID)
			}
		}
		g.sweeping.Unlock()
		cancel()
	}
	report.At = market.FromTime(time.Now())
	if path != "" {
		_ = writeReport(path, report) // no host is left to report to
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	_ = g.finish(ctx)
	if g.ended != nil {
		g.ended()
	}
}

// writeReport writes lease.json so that it is there whole or not at all.
func writeReport(path string, report LeaseReport) error {
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Write(path, append(text, '\n'), 0o600)
}
