package trade

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// hand is a venue of one symbol whose clock, candles and connector a test moves. A candle that was not
// streamed yet is in no history, unless it closed while nobody listened.
type hand struct {
	Venues
	symbol  market.Symbol
	candles []market.Candle
	tick    decimal.Decimal
	moves   chan move
	told    bool // its time is known only by what the connector says

	mu      sync.Mutex
	now     market.Time
	closed  int // candles in the history
	next    int // the candle that is streamed next
	started int
	conn    *handConn              // the newest
	dies    func(call string) bool // the connector goes down with this call; nil: with none
}

// move is what the stream does next: a candle, or its end with an error.
type move struct {
	err  error
	done chan struct{}
}

// byHand returns a venue of stored candles; the first warm of them have closed.
func byHand(t *testing.T, d *testHost, warm int) *hand {
	t.Helper()
	v := &hand{Venues: d.launcher.opts.Venues, symbol: one, moves: make(chan move), closed: warm, next: warm}
	set, err := d.store.Lookup(t.Context(), stored, one, market.MustTimeframe("1h"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := d.store.OpenSeries(set)
	if err != nil {
		t.Fatal(err)
	}
	for i := range file.Series().Len() {
		v.candles = append(v.candles, file.Series().At(i))
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	v.tick, v.now = set.PriceStep, v.candles[warm].OpenTime
	d.launcher.opts.Venues = v
	return v
}

// Choose implements Venues.
func (v *hand) Choose(context.Context, runner.StartRequest, *run.Plan) (Venue, error) {
	return Venue{ID: "hand", Description: exchange.Description{ID: "hand", Kind: "native"},
		Connect: v.connect}, nil
}

func (v *hand) connect(context.Context) (*exchange.Connection, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.started++
	v.conn = &handConn{v: v, gone: make(chan struct{})}
	conn := &exchange.Connection{Connector: v.conn, Clock: v, Gone: v.conn.gone}
	if v.told {
		conn.Clock = nil
	}
	return conn, nil
}

// Now implements exchange.VenueClock.
func (v *hand) Now() market.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// Wall implements exchange.VenueClock.
func (v *hand) Wall(d time.Duration) time.Duration { return d }

// pass lets time go by without a candle.
func (v *hand) pass(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = v.now.Add(d)
}

// step streams a candle, on time unless the clock is ahead, and waits until the run has answered it.
func (v *hand) step(t *testing.T) {
	t.Helper()
	v.move(t, nil)
}

// unheard closes candles of which the stream tells nothing.
func (v *hand) unheard(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.next += n
	v.closed = v.next
	v.now = max(v.now, v.candles[v.next-1].CloseTime)
}

// move gives the stream an error to end with, or nil for the next candle.
func (v *hand) move(t *testing.T, err error) {
	t.Helper()
	m := move{err, make(chan struct{})}
	limit := time.After(30 * time.Second)
	select {
	case v.moves <- m:
	case <-limit:
		t.Fatal("nobody listens to the candles")
	}
	select {
	case <-m.done:
	case <-limit:
		t.Fatal("a candle is not answered")
	}
}

// crash ends the connector's process.
func (v *hand) crash() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conn.crash()
}

// starts returns how many connectors were started.
func (v *hand) starts() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.started
}

// handConn is one process of the connector.
type handConn struct {
	exchange.Trader

	v    *hand
	gone chan struct{}
	down sync.Once
}

var errDown = errors.New("transport is closing")

func (c *handConn) crash() { c.down.Do(func() { close(c.gone) }) }

// call returns the error of a call.
func (c *handConn) call(name string) error {
	if c.v.dies != nil && c.v.dies(name) {
		c.crash()
	}
	select {
	case <-c.gone:
		return errDown
	default:
		return nil
	}
}

// Describe implements exchange.Connector, and so on.
func (c *handConn) Describe(context.Context) (exchange.Description, error) {
	return exchange.Description{ID: "hand"}, nil
}

func (c *handConn) Open(_ context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	return exchange.Opened{AccountID: req.RunID, ClockOffset: time.Until(c.v.now.Time())}, c.call("open")
}

func (c *handConn) Markets(context.Context) ([]exchange.Market, error) {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	return []exchange.Market{{Symbol: c.v.symbol, Trading: true, PriceTick: c.v.tick}}, c.call("markets")
}

func (c *handConn) Close(context.Context, bool) ([]string, error) { return nil, nil }

func (c *handConn) ArmDeadMan(context.Context, time.Duration) error { return errors.ErrUnsupported }

func (c *handConn) Beat(context.Context, int64) (exchange.Ack, error) {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	if !c.v.told {
		return exchange.Ack{}, nil
	}
	return exchange.Ack{VenueTime: c.v.now}, nil
}

func (c *handConn) Candles(_ context.Context, q exchange.CandleQuery) (page []market.Candle, err error) {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	if err := c.call("candles"); err != nil {
		return nil, err
	}
	for _, k := range c.v.candles[:c.v.closed] {
		if k.OpenTime >= q.From && k.OpenTime < q.To && len(page) < q.Limit {
			page = append(page, k)
		}
	}
	return page, nil
}

func (c *handConn) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	on(exchange.CandleEvent{State: exchange.Connected})
	for {
		select {
		case m := <-c.v.moves:
			if m.err != nil {
				close(m.done)
				return m.err
			}
			c.v.mu.Lock()
			k := c.v.candles[c.v.next]
			c.v.next++
			c.v.now = max(c.v.now, k.CloseTime)
			c.v.mu.Unlock()
			on(exchange.CandleEvent{Symbol: c.v.symbol, Candle: k})
			c.v.mu.Lock()
			c.v.closed = max(c.v.closed, c.v.next)
			c.v.mu.Unlock()
			close(m.done)
		case <-c.gone:
			return errDown
		case <-ctx.Done():
			return nil
		}
	}
}
