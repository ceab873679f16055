package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/hosttest/toxics"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// rig is a run over the real network: the engine, the connector for Binance with its guard, two
// proxies that spoil what passes (REST, streams), and the test venue. The market moves by steps.
type rig struct {
	t       *testing.T
	name    string
	venue   *testvenue.Venue
	rest    *toxics.Proxy
	streams *toxics.Proxy
	book    *journal.Journal
	engine  *Engine
	gate    sync.Mutex
	limits  risk.Limits
	onStop  OnStop
	resume  Resume
	decide  func(*View) []market.Intent
	// around is told that a call begins, the n-th of its kind from 1; what it returns is told the answer.
	around func(call string, n int) func(exchange.Result)
	// deaf is of how many orders, the first, nothing is heard on the stream.
	deaf int
	// connect makes the connector; nil: the one above.
	connect  func(context.Context) (*exchange.Connection, error)
	endpoint string         // of a connector in a process
	symbol   market.Symbol  // that the run trades
	gone     sync.WaitGroup // what a fault began

	mu       sync.Mutex
	calls    map[string]int
	sent     []string // in their order
	steps    int64
	phases   []string
	warnings []string
	orders   []market.Order
	strange  []string // handed over and not written down
	late     []string // handed over after the barrier
	barrier  time.Time
	up       bool // the streams are
	cancel   context.CancelCauseFunc
	ended    chan error
}

// far is when the markets of rigs begin: no candle there has closed by this machine's clock, so that
// a later one tells.
var far = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func newRig(t *testing.T, name string, book *journal.Journal) *rig {
	t.Helper()
	v, err := testvenue.Start(testvenue.Options{Start: far, History: 30, Ping: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, name: name, venue: v, book: book, symbol: btc, limits: loose(), calls: map[string]int{},
		ended: make(chan error, 1)}
	r.decide = func(*View) []market.Intent { return nil }
	return r
}

// proxied puts the proxies in between.
func (r *rig) proxied(server *toxics.Server) {
	for _, p := range []**toxics.Proxy{&r.rest, &r.streams} {
		made, err := server.Proxy(strings.TrimPrefix(r.venue.URL(), "http://"))
		if err != nil {
			r.t.Fatal(err)
		}
		*p = made
	}
}

func (r *rig) close() {
	r.gone.Wait()
	for _, p := range []*toxics.Proxy{r.rest, r.streams} {
		if p != nil {
			if err := p.Close(); err != nil {
				r.errorf("%v", err)
			}
		}
	}
	if err := r.venue.Close(); err != nil {
		r.errorf("%v", err)
	}
}

func (r *rig) errorf(format string, args ...any) {
	r.t.Errorf("%s: %s", r.name, fmt.Sprintf(format, args...))
}

// start begins the run.
func (r *rig) start() {
	id := "svc_" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(r.name))
	run, err := r.book.Begin(r.t.Context(), infoOf(id))
	if err != nil {
		r.ended <- err
		return
	}
	connect := r.connect
	if connect == nil {
		connect = r.dial
	}
	r.engine = New(Config{
		RunID: id, Symbols: []market.Symbol{r.symbol}, Timeframe: market.MustTimeframe("1m"),
		Venue: offered(),
		Connect: func(ctx context.Context) (*exchange.Connection, error) {
			c, err := connect(ctx)
			if err != nil {
				return nil, err
			}
			return r.tapped(c), nil
		},
		Open: r.request(id), Journal: r.book, Run: run, Limits: r.limits, OnStop: r.onStop, Resume: r.resume,
		Orderly: func(err error) bool { return errors.Is(err, errStop) }, Gate: &r.gate, Host: r,
		Link: func(l Link) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.up = l.Up
		},
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	go func() {
		err := r.engine.Run(ctx)
		end := journal.End{Status: journal.Completed, StopReason: "stopped", At: market.FromTime(time.Now())}
		if e := run.End(context.Background(), end); e != nil {
			r.errorf("%v", e)
		}
		r.ended <- err
	}()
}

func infoOf(id string) journal.Info {
	return journal.Info{
		RunID: id, RunTag: order.Tag(id), Mode: journal.Live, Exchange: binance.ID,
		Symbols: []market.Symbol{btc}, Timeframe: market.MustTimeframe("1m"), Request: json.RawMessage(`{}`),
	}
}

func (r *rig) request(id string) exchange.OpenRequest {
	q := request(id)
	q.Endpoint, q.Symbols = r.endpoint, []market.Symbol{r.symbol}
	return q
}

// request returns what a session at a test venue is opened with.
func request(id string) exchange.OpenRequest {
	return exchange.OpenRequest{
		RunID: id, RunTag: order.Tag(id), Trading: true, Symbols: []market.Symbol{btc},
		Timeframe: market.MustTimeframe("1m"),
		Config: exchange.Config{APIKey: exchange.NewSecret(testvenue.DefaultKey),
			Secret: exchange.NewSecret(testvenue.DefaultSecret), RateLimitMS: 1},
	}
}

// offered returns what the connector says about itself.
func offered() exchange.Description {
	c := binance.New()
	d, err := c.Describe(context.Background())
	if err != nil {
		panic(err)
	}
	return d
}

// dial returns the connector in this process, behind the proxies where there are any.
func (r *rig) dial(context.Context) (*exchange.Connection, error) {
	at := binance.At(r.venue.URL())
	if r.rest != nil {
		ws := "ws://" + r.streams.Addr
		at = binance.Endpoints{REST: "http://" + r.rest.Addr, Streams: ws, API: ws}
	}
	c := wire.Guard(binance.NewAt(at, at), nil)
	return &c, nil
}

// tapped listens to what the engine asks of a connector. The account is one of its own for each
// rig, although all venues have the same; the clock is that of the market, which does not pass as ours.
func (r *rig) tapped(c *exchange.Connection) *exchange.Connection {
	out := *c
	out.Connector, out.Clock = tapped{c.Connector, r}, r.venue
	return &out
}

type tapped struct {
	exchange.Connector
	r *rig
}

func (x tapped) Open(ctx context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	out, err := x.Connector.Open(ctx, req)
	if err == nil {
		out.AccountID += " " + x.r.name
	}
	return out, err
}

func (x tapped) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	return x.Connector.StreamAccount(ctx, func(ev exchange.AccountEvent) {
		x.r.mu.Lock()
		unheard := x.r.sent[:min(x.r.deaf, len(x.r.sent))]
		drop := ev.Order != nil && slices.Contains(unheard, ev.Order.ClientOrderID) || ev.Fill != nil &&
			slices.Contains(unheard, ev.Fill.ClientOrderID)
		x.r.mu.Unlock()
		if !drop {
			on(ev)
		}
	})
}

func (x tapped) Submit(ctx context.Context, q exchange.OrderRequest) (exchange.Result, exchange.Order) {
	x.r.handed(q.ClientOrderID)
	answered := x.r.begins("submit")
	res, o := x.Connector.Submit(ctx, q)
	answered(res)
	return res, o
}

func (x tapped) SubmitPair(ctx context.Context, q exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	x.r.handed(q.LimitID, q.StopID)
	answered := x.r.begins("submit")
	res, o := x.Connector.SubmitPair(ctx, q)
	answered(res)
	return res, o
}

func (x tapped) Cancel(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	answered := x.r.begins("cancel")
	res, o := x.Connector.Cancel(ctx, ref)
	answered(res)
	return res, o
}

func (x tapped) Query(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	answered := x.r.begins("query")
	res, o := x.Connector.Query(ctx, ref)
	answered(res)
	return res, o
}

func (r *rig) begins(call string) func(exchange.Result) {
	r.mu.Lock()
	r.calls[call]++
	n := r.calls[call]
	r.mu.Unlock()
	if r.around == nil {
		return func(exchange.Result) {}
	}
	if answered := r.around(call, n); answered != nil {
		return answered
	}
	return func(exchange.Result) {}
}

// afterBarrier is how long a submit that passed the barrier before it fell may take to be noticed.
const afterBarrier = time.Second

// handed judges orders when they go to the connector.
func (r *rig) handed(ids ...string) {
	strange, err := r.book.NotOurs(context.Background(), ids)
	if err != nil {
		r.errorf("%v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.strange = append(r.strange, strange...)
	r.sent = append(r.sent, ids...)
	if !r.barrier.IsZero() && time.Since(r.barrier) > afterBarrier && r.onStop != Flatten {
		r.late = append(r.late, ids...)
	}
}

// Begin implements Host, and so on.
func (r *rig) Begin(Layout) (sim.Recorder, error) { return r, nil }
func (r *rig) Candles(int64, *sim.Batch)          {}

func (r *rig) Decide(v *View) ([]market.Intent, error) {
	intents := r.decide(v)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = v.Step + 1
	return intents, nil
}

func (r *rig) InputStale() bool { return false }

func (r *rig) Phase(p string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases = append(r.phases, p)
	if p == Stopping {
		r.barrier = time.Now()
	}
}

func (r *rig) Raise(o alarm.Occurrence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := o.Code + " " + o.Text; !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

func (r *rig) Clear(string, string) {}

func (r *rig) Intent(int64, *market.Intent, market.Reason) {}
func (r *rig) Fill(int64, *market.Fill)                    {}
func (r *rig) Trade(int64, *market.Trade)                  {}
func (r *rig) Equity(int64, *sim.Mark)                     {}

func (r *rig) Order(_ int64, o *market.Order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := int(o.ID) - 1; i < len(r.orders) {
		r.orders[i] = *o
	} else {
		r.orders = append(r.orders, *o)
	}
}

// notes returns what the run told until now.
func (r *rig) notes() notes {
	r.mu.Lock()
	defer r.mu.Unlock()
	return notes{phases: slices.Clone(r.phases), warnings: slices.Clone(r.warnings),
		orders: slices.Clone(r.orders)}
}

func (r *rig) phase() string {
	if n := r.notes(); len(n.phases) > 0 {
		return n.phase()
	}
	return ""
}

// synced says that nothing was missed, as far as is known.
func (r *rig) synced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up
}

// until waits for something; false: it did not come, or the run ended before.
func (r *rig) until(limit time.Duration, what string, ok func() bool) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		switch {
		case ok():
			return true
		case len(r.ended) > 0:
			err := <-r.ended
			r.ended <- err
			r.errorf("the run ended before %s: %v", what, err)
			return false
		case time.Now().After(deadline):
			r.errorf("no %s within %s: %+v", what, limit, r.notes())
			return false
		}
	}
}

// do gives the venue a script.
func (r *rig) do(s testvenue.Script) {
	if err := r.venue.Do(s); err != nil {
		r.errorf("%v", err)
	}
}

// trades waits until the run does, and hears of candles.
func (r *rig) trades() bool {
	return r.until(time.Minute, "trading", func() bool {
		return r.phase() == Trading && r.venue.Listeners(false) > 0
	})
}

// step closes a candle and waits until the strategy was asked about it, or about the next one where
// the stream lost it.
func (r *rig) step() bool {
	r.mu.Lock()
	want := r.steps + 1
	r.mu.Unlock()
	closed := time.Time{}
	return r.until(time.Minute, "step", func() bool {
		if time.Since(closed) > 5*time.Second {
			closed = time.Now()
			r.do(testvenue.Script{Action: "step"})
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.steps >= want
	})
}

// moving waits for something with the market moving on: by a minute each time that the last one
// has been decided on, so that a busy machine misses no candles, or when that takes too long.
func (r *rig) moving(what string, ok func([]market.Order) bool) bool {
	moved, before := time.Now(), int64(-1)
	return r.until(time.Minute, what, func() bool {
		r.mu.Lock()
		decided := r.steps
		r.mu.Unlock()
		since := time.Since(moved)
		if since > 5*time.Second || since > 300*time.Millisecond && decided > before {
			moved, before = time.Now(), decided
			r.do(testvenue.Script{Action: "step"})
		}
		return ok(r.notes().orders)
	})
}

// settled waits until every order is at its end.
func (r *rig) settled() bool {
	return r.moving("end of all orders", func(list []market.Order) bool {
		for _, o := range list {
			if !slices.Contains([]market.OrderStatus{market.StatusFilled, market.StatusCanceled,
				market.StatusRejected, market.StatusExpired}, o.Status) {
				return false
			}
		}
		return true
	})
}

// stop ends the run and returns how it ended.
func (r *rig) stop() error {
	if r.cancel != nil {
		r.guarded()
		r.cancel(errStop)
	}
	return r.wait()
}

func (r *rig) wait() error {
	select {
	case err := <-r.ended:
		return err
	case <-time.After(2 * time.Minute):
		r.errorf("it does not end: %+v", r.notes())
		return errors.New("it does not end")
	}
}

// check holds a run that has ended against what must always be so. Most is what its entries may
// have cost at most; none if it is zero.
func (r *rig) check(most dec) {
	r.mu.Lock()
	strange, late := r.strange, r.late
	r.mu.Unlock()
	if len(strange)+len(late) > 0 {
		r.errorf("submits that were not written down %v, after the barrier %v", strange, late)
	}
	tag, seen := order.Tag(r.engine.cfg.RunID), map[string]bool{}
	var ids []string
	cost := dec{}
	for _, o := range r.venue.Orders() {
		if seen[o.Client] {
			r.errorf("%s was accepted twice", o.Client)
		}
		seen[o.Client] = true
		if order.Ours(o.Client) {
			ids = append(ids, o.Client)
		}
		if o.Open && ofRun(o.Client, tag) && (o.Side == "BUY" || (r.onStop != "" && r.onStop != Leave)) {
			r.errorf("%s is still open", o.Client)
		}
		if o.Open && o.Side == "BUY" {
			cost = order.Plus(cost, order.Times(order.Minus(o.Quantity, o.Filled), o.Price))
		}
	}
	if foreign, err := r.book.NotOurs(context.Background(), ids); err != nil || len(foreign) > 0 {
		r.errorf("the venue has orders without an intent: %v %v", foreign, err)
	}
	held := dec{}
	for _, x := range r.venue.Trades() {
		if !ofRun(x.Client, tag) {
			continue
		}
		if x.Side == "BUY" {
			held, cost = order.Plus(held, x.Quantity), order.Plus(cost, order.Times(x.Price, x.Quantity))
		} else {
			held = order.Minus(held, x.Quantity)
		}
		if x.FeeAsset == r.symbol.Base() {
			held = order.Minus(held, x.Fee)
		}
	}
	if most.IsPos() && cost.Cmp(most) > 0 {
		r.errorf("entries cost %s, at most %s were allowed", cost, most)
	}
	if r.engine.books.manager == nil {
		return
	}
	if err := r.engine.books.manager.Ledger().Check(); err != nil {
		r.errorf("%v", err)
	}
	if n := r.notes(); !n.warned(order.CodeUnprotected) {
		if bad := r.engine.atEnd(); bad != "" {
			r.errorf("%s", bad)
		}
	}
	if have := r.engine.books.manager.Ledger().Quantity(r.symbol); have.Cmp(held) != 0 {
		r.errorf("the books hold %s, the venue's trades make %s", have, held)
	}
}

// spoil adds a toxic to a proxy; what it returns removes it.
func (r *rig) spoil(p *toxics.Proxy, kind, direction string, attributes map[string]int, n int) func() {
	toxic := toxics.Toxic{Name: fmt.Sprintf("%s-%d", kind, n), Kind: kind, Direction: direction,
		Attributes: attributes}
	if err := p.Add(toxic); err != nil {
		r.errorf("%v", err)
		return func() {}
	}
	return func() {
		if err := p.Remove(toxic.Name); err != nil {
			r.errorf("%v", err)
		}
	}
}
