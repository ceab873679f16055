// Package sim is the venue "sim": a market and an account inside the host, without
// credentials and without a network. Runs cannot tell it from a connector.
//
// The market is synthetic, or it replays the candles of a stored exchange. Its clock runs
// at candles_per_second and waits: a candle closes only after whoever listens has answered
// the step before. A live run's orders match in plugin-sdk/sim, the simulator of backtests
// and paper runs, so that the same candles and orders give the same fills.
//
// # The synthetic market
//
// Candle 0 opens 5000 candles before the one in which start lies, on the grid of the
// timeframe. All prices are whole ticks of 0.01. A symbol's candles are drawn from one PCG
// whose two words are the first sixteen bytes, big-endian, of
//
//	sha256("assay/rng/v1" 0 seed 0 "sim/candle" 0 symbol 0 timeframe)
//
// in this order, candle by candle from 0:
//
//	p = the last close (at first 10000 ticks, for BTC 3000000, for ETH 200000)
//	Uint64N(16) == 0:  p moves once
//	open = p
//	p moves four times; high and low are the extremes of the five prices, close the last
//	volume = 1 + Uint64N(1000) hundredths
//
// where a move is m = max(1, p/500), p = max(100, p - m + Uint64N(2m+1)). Candle n needs
// all candles before it; the state of every 512th is kept, so that history is cheap.
//
// # The account
//
// Orders follow bar-v1 with its default options: an order that is sent after candle N
// closed is eligible from candle N+1, fills whole, and is known to have filled when that
// candle closes. What a venue has and the simulator lacks is added here: client order ids
// are never accepted twice, an open order ties up what it may spend (the simulator checks
// cash at the fill only), two exits can stand as a pair, and a fill is stamped with the
// close of its candle, not its open, because no fill may be older than its order. An order
// that the simulator refuses at its fill, for lack of cash after a gap, has expired here.
package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// maxPage is the most candles of one answer.
const maxPage = 1000

// New returns the venue, ready to be opened by one run. The store is what a replay reads and
// may be nil.
func New(store *candle.Store) exchange.Connection { return connect(&venue{store: store}) }

// NewStore returns the replay that a paper run on a stored exchange sees.
func NewStore(store *candle.Store, stored candle.Exchange) exchange.Connection {
	return connect(&venue{store: store, replayed: &stored})
}

// NewUnpaced is New without a pace: a candle closes as soon as the one before has been
// answered. It is for measurements and tests of months.
func NewUnpaced(store *candle.Store) exchange.Connection {
	return connect(&venue{store: store, unpaced: true})
}

func connect(v *venue) exchange.Connection { return exchange.Connection{Connector: v, Clock: v} }

// venue is one session. What mu guards is said below; the rest is fixed by Open.
type venue struct {
	store    *candle.Store
	replayed *candle.Exchange // set: the session of a stored exchange
	unpaced  bool

	req   exchange.OpenRequest
	conf  settings
	tapes []tape // by symbol; nil: there is no such symbol

	mu      sync.Mutex
	state   lifetime
	pace    pace
	next    []int // of each tape, the candle that closes next
	reading sync.WaitGroup
	stream  bool                   // StreamCandles runs
	pending []exchange.CandleEvent // of the step that closed, not handed over yet
	account *account               // nil without trading
}

type lifetime int

const (
	fresh lifetime = iota
	opened
	closed
)

// Describe implements exchange.Connector.
func (v *venue) Describe(context.Context) (exchange.Description, error) {
	if v.replayed != nil {
		return DescribeStore(*v.replayed), nil
	}
	return Describe(), nil
}

// Open implements exchange.Connector. The clock stands at start until the candles are
// listened to.
func (v *venue) Open(ctx context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != fresh {
		return exchange.Opened{}, refused(exchange.CodeAlreadyOpen,
			"the session has been opened already; a run needs a new one")
	}
	if err := v.prepare(ctx, req); err != nil {
		closeTapes(v.tapes)
		v.tapes = nil
		return exchange.Opened{}, refused("CONFIG", err.Error())
	}
	v.state = opened
	id := req.RunID
	if req.Trading {
		id = "sim-" + req.RunID
	}
	return exchange.Opened{AccountID: id}, nil
}

func (v *venue) prepare(ctx context.Context, req exchange.OpenRequest) error {
	store := ""
	if v.replayed != nil {
		store = v.replayed.ID
	}
	conf, err := readSettings(req.Config.Settings, store)
	switch {
	case err != nil:
		return err
	case len(req.Symbols) == 0:
		return errors.New("a session needs at least one symbol")
	case req.Trading && store != "":
		return errors.New(
			"stored exchanges are for paper runs; trade live on the exchange sim with market replay")
	case req.Timeframe.Duration() <= 0 && conf.Market == synthetically:
		return fmt.Errorf("the synthetic market has no timeframe %q", req.Timeframe)
	}
	req.Config = exchange.Config{} // its content is in conf; there is no use for a secret here
	v.req, v.conf = req, conf
	if conf.Market == replaying {
		if v.tapes, err = openReplay(ctx, v.store, conf.Source, req.Symbols, req.Timeframe); err != nil {
			return err
		}
		if v.conf.start, err = replayStart(v.tapes, conf.start); err != nil {
			return err
		}
	} else {
		v.tapes = make([]tape, len(req.Symbols))
		for i, symbol := range req.Symbols {
			if _, err := market.ParseSymbol(string(symbol)); err == nil {
				v.tapes[i] = newSynthetic(conf.Seed, symbol, req.Timeframe, conf.start)
			}
		}
	}
	v.next = make([]int, len(v.tapes))
	for i, t := range v.tapes {
		if t != nil {
			v.next[i] = firstToClose(t, v.conf.start)
		}
	}
	v.pace = pace{last: v.conf.start, next: v.nextClose(), period: v.conf.period()}
	if v.unpaced {
		v.pace.period = 1
	}
	if req.Trading {
		v.account, err = newAccount(v)
	}
	return err
}

// firstToClose returns the first candle that closes after a moment: the one that it lies in.
func firstToClose(t tape, at market.Time) int {
	n := t.index(at)
	if n > 0 {
		if c, ok := t.at(n - 1); ok && c.CloseTime > at {
			return n - 1
		}
	}
	return n
}

// refused returns the error of a call that the venue did not carry out.
func refused(code, message string) error {
	return &exchange.Error{Result: *rejected(code, message)}
}

// Markets implements exchange.Connector.
func (v *venue) Markets(context.Context) ([]exchange.Market, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return nil, err
	}
	list := make([]exchange.Market, 0, len(v.tapes))
	for i := range v.tapes {
		if v.tapes[i] != nil {
			list = append(list, v.rules(i))
		}
	}
	return list, nil
}

// The rules of every market. The largest quantity is such that each one below it passes
// through the float64 of an intent unchanged.
var (
	quantityStep = decimal.MustNew(1, 8)
	minNotional  = decimal.MustNew(5, 0)
	maxQuantity  = decimal.MustNew(1_000_000, 0)
	defaultFee   = decimal.MustNew(1, 3)
)

func (v *venue) rules(i int) exchange.Market {
	return exchange.Market{
		Symbol: v.req.Symbols[i], Trading: true, Status: "TRADING", PriceTick: v.tapes[i].tick(),
		QuantityStep: quantityStep, MinQuantity: quantityStep, MaxQuantity: maxQuantity,
		MarketMinQuantity: quantityStep, MarketMaxQuantity: maxQuantity, MarketQuantityStep: quantityStep,
		MinNotional: minNotional, MakerFee: defaultFee, TakerFee: defaultFee,
	}
}

func (v *venue) ready() error {
	switch v.state {
	case fresh:
		return refused(exchange.CodeNotOpen, "the session is not open")
	case closed:
		return refused(exchange.CodeClosed, "the session is closed")
	}
	return nil
}

// Candles implements exchange.Connector.
func (v *venue) Candles(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.mu.Lock()
	err := v.ready()
	i := v.symbol(q.Symbol)
	if err == nil && i < 0 {
		err = refused("UNKNOWN_SYMBOL", "the session has no such symbol")
	}
	if err != nil {
		v.mu.Unlock()
		return nil, err
	}
	now, t := v.pace.now(), v.tapes[i]
	v.reading.Add(1) // so that Close waits before it unmaps the candles
	v.mu.Unlock()
	defer v.reading.Done()
	limit := q.Limit
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	var list []market.Candle
	for n := t.index(q.From); len(list) < limit; n++ {
		c, ok := t.at(n)
		if !ok || c.OpenTime >= q.To || c.CloseTime > now {
			break
		}
		list = append(list, c)
	}
	return list, nil
}

// symbol returns the index of a symbol that exists; -1 otherwise.
func (v *venue) symbol(s market.Symbol) int {
	for i, have := range v.req.Symbols {
		if have == s && v.tapes[i] != nil {
			return i
		}
	}
	return -1
}

// Now implements exchange.VenueClock.
func (v *venue) Now() market.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pace.now()
}

// Wall implements exchange.VenueClock.
func (v *venue) Wall(d time.Duration) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pace.wall(d)
}

// ArmDeadMan implements exchange.Connector: the venue dies with its host.
func (v *venue) ArmDeadMan(context.Context, time.Duration) error { return errors.ErrUnsupported }

// Beat implements exchange.Connector.
func (v *venue) Beat(context.Context, int64) (exchange.Ack, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return exchange.Ack{}, err
	}
	if v.account == nil {
		return exchange.Ack{}, nil
	}
	return exchange.Ack{OpenOrders: len(v.account.open())}, nil
}

// Close implements exchange.Connector. Streams that still run end with an error at their
// next candle.
func (v *venue) Close(_ context.Context, cancelOpen bool) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != opened {
		v.state = closed
		return nil, nil
	}
	if v.account != nil && cancelOpen {
		for _, o := range v.account.open() {
			v.account.cancel(o, reasonClosed)
		}
		v.account.publish()
	}
	v.state = closed
	if v.account != nil {
		for _, s := range v.account.subs {
			s.nudge()
		}
	}
	v.reading.Wait()
	closeTapes(v.tapes)
	return nil, nil
}
