package sim

import (
	"errors"
	"fmt"
	"math"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// maxOpenOrders bounds the open orders of a run.
const maxOpenOrders = 1000

// Config is everything that fixes a simulation besides candles and intents.
type Config struct {
	Symbols     []market.Symbol
	Timeframe   market.Timeframe
	InitialCash decimal.Decimal // quote currency, above 0
	Options     Options
	// PriceSteps are the ticks of the datasets, one per symbol; 1e-8 where zero or absent.
	PriceSteps []decimal.Decimal
	// WarmupSteps: intents returned at steps below are rejected. WindowStep: Recorder.Equity begins here.
	WarmupSteps, WindowStep int64
	// DelayCandles and WorstPrice are stress fields: what the strategy decides takes effect this many candles
	// of its symbol later; market fills take the worse of open and close.
	DelayCandles int
	WorstPrice   bool
	// Judge may refuse, by a code, an order that would be accepted, or the change of one: limits of whoever runs
	// the simulator. Its order is as it would be accepted. Nil: nobody refuses more than the simulator.
	Judge func(*market.Order, *market.Intent) market.Reason
}

// Stats counts what happened.
type Stats struct {
	Orders, Fills, Trades           int64
	RejectedOrders, RejectedIntents int64
	AmbiguousFills                  int64
	// LateMessages counts cancels and replaces whose order had ended when they arrived, under DelayCandles.
	LateMessages   int64
	Fees, Slippage decimal.Decimal // quote currency
	Notional       decimal.Decimal // of all fills, quote currency
}

// Engine is the venue of one run. It is not safe for concurrent use.
type Engine struct {
	cfg      Config
	opt      Options
	taker    [2]dec // slippage factor by side
	slips    bool
	rec      Recorder
	ledger   *ledger
	symbols  []symbolState
	live     []*order  // by sequence number
	openings int       // orders in live that are not done
	transit  []message // in the order of decisions
	step     int64
	now      market.Time // close time of the step
	stats    Stats
	mark     Mark
	digest   digest
	fills    []market.Fill
	updates  []market.Order
	seen     int // updates that the last Decide has seen
	bankrupt bool
}

// symbolState is what the engine knows of one symbol.
type symbolState struct {
	candle market.Candle
	closed bool
	index  int64 // of candle, from 0; -1 before the first
	tick   dec
	trade  openTrade
}

// NewEngine checks the configuration. The recorder may be nil.
func NewEngine(cfg Config, rec Recorder) (*Engine, error) {
	if len(cfg.Symbols) == 0 {
		return nil, errors.New("sim: no symbols")
	}
	for _, s := range cfg.Symbols[1:] {
		if s.Quote() != cfg.Symbols[0].Quote() {
			return nil, fmt.Errorf("sim: %s and %s have different quote currencies; a run needs one", cfg.Symbols[0], s)
		}
	}
	if !cfg.Options.QuantityStep.IsPos() {
		return nil, errors.New("sim: options are not resolved: use ResolveOptions")
	}
	l, err := newLedger(cfg.InitialCash, len(cfg.Symbols))
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, opt: cfg.Options, rec: rec, ledger: l, step: -1, digest: newDigest()}
	e.opt.QuantityStep = e.opt.QuantityStep.Trim(0)
	e.symbols = make([]symbolState, len(cfg.Symbols))
	for i := range e.symbols {
		e.symbols[i].index, e.symbols[i].tick = -1, defaultTick
		if i < len(cfg.PriceSteps) && cfg.PriceSteps[i].IsPos() {
			e.symbols[i].tick = cfg.PriceSteps[i]
		}
	}
	bps, err := e.opt.SlippageBps.Quo(decTenThou)
	if err != nil {
		return nil, err
	}
	var sum adder
	e.taker = [2]dec{market.Buy: sum.add(decOne, bps), market.Sell: sum.sub(decOne, bps)}
	e.slips = !bps.IsZero()
	return e, sum.err
}

// Match runs phases 1 to 5 of one step: the candles that just closed against the
// resting orders, expiry, trailing levels and the mark to close; then what is due
// under DelayCandles arrives. An error, a *LedgerError, ends the run.
func (e *Engine) Match(b *Batch) error {
	e.step++
	e.now = b.CloseTime
	e.fills = e.fills[:0]
	if len(e.updates) > 0 {
		e.updates = append(e.updates[:0], e.updates[e.seen:]...)
	}
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.closed = b.Closed[i]; s.closed {
			s.candle = b.Candles[i]
			s.index++
			if s.trade.active {
				s.trade.track(s.candle.Open)
				s.trade.whole = true
			}
		}
	}
	if len(e.live) > 0 {
		if err := e.matchOrders(); err != nil {
			return e.ledgerError("matching", err)
		}
	}
	if err := e.markToClose(); err != nil {
		return e.ledgerError("matching", err)
	}
	if len(e.transit) > 0 {
		if err := e.arrive(); err != nil {
			return e.ledgerError("matching", err)
		}
	}
	e.seen = len(e.updates)
	return nil
}

// nearLimit is the share of what the books can hold from which an account is too large for
// them: collateral and sums of a few amounts reach the limit before it does.
const nearLimit = 0.1

func (e *Engine) ledgerError(what string, err error) error {
	digits := decimal.MaxPrec - e.ledger.scale
	worth := e.ledger.cashF
	for i := range e.symbols {
		worth += float64(e.ledger.books[i].quantityF * e.symbols[i].candle.Close)
	}
	return &LedgerError{
		Step: e.step, Time: e.now, What: what, Limit: fmt.Sprintf("10^%d %s", digits,
			e.cfg.Symbols[0].Quote()),
		Outgrown: worth >= nearLimit*math.Pow10(digits), Err: err,
	}
}

func (e *Engine) markToClose() error {
	for i := range e.symbols {
		if s := &e.symbols[i]; s.closed && s.trade.active {
			s.trade.endCandle(&s.candle)
		}
	}
	e.updateMark()
	if e.mark.Equity <= 0 {
		if err := e.liquidate(); err != nil {
			return err
		}
	}
	e.recordMark()
	return nil
}

func (e *Engine) updateMark() {
	value, notional := 0.0, 0.0
	for i := range e.symbols {
		if q := e.ledger.books[i].quantityF; q != 0 {
			v := float64(q * e.symbols[i].candle.Close)
			value += v
			notional += abs(v)
		}
	}
	m := &e.mark // field by field: a literal would be built and copied at every step
	m.Time, m.Equity, m.Cash = e.now, e.ledger.cashF+value, e.ledger.cashF
	m.PositionValue, m.Notional = value, notional
}

func (e *Engine) recordMark() {
	if e.rec != nil && e.step >= e.cfg.WindowStep {
		e.rec.Equity(e.step, &e.mark)
	}
}

// matchOrders runs phases 1 to 5 for the resting orders.
func (e *Engine) matchOrders() error {
	n, reached := len(e.live), false
	for _, o := range e.live {
		if e.prepare(o) {
			reached = true
		}
	}
	if !reached {
		return e.endOfCandle()
	}
	for _, exits := range [...]bool{true, false} {
		if err := e.openPass(n, exits); err != nil {
			return err
		}
	}
	if err := e.openChildren(n); err != nil {
		return err
	}
	if err := e.inside(); err != nil {
		return err
	}
	return e.endOfCandle()
}

// openChildren fills at the open the children that parents have made there.
func (e *Engine) openChildren(n int) error {
	if n == len(e.live) {
		return nil
	}
	for sym := range e.symbols {
		for i := n; i < len(e.live); i++ {
			if o := e.live[i]; o.sym == sym && o.active && !o.done {
				if err := e.tryOpen(o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// prepare decides whether an order takes part in this step's candle of its symbol,
// and says whether the candle can do anything to it before its end.
func (e *Engine) prepare(o *order) bool {
	s := &e.symbols[o.sym]
	o.opened, o.tested, o.held = false, false, false
	o.active = s.closed && o.liveFrom <= s.index && o.since <= s.candle.OpenTime
	return o.active && o.inRange(&s.candle)
}

// openPass fills at the open: first the exits of all symbols, then the rest, so
// that no cash is used before it is freed.
func (e *Engine) openPass(n int, exits bool) error {
	for sym := range e.symbols {
		for _, o := range e.live[:n] {
			if o.sym != sym || !o.active || o.done || o.opened || (exits && !e.isExit(o)) {
				continue
			}
			o.opened = true
			if err := e.tryOpen(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// isExit says that an order can only reduce, or would reduce the position held now.
func (e *Engine) isExit(o *order) bool {
	if o.ReduceOnly {
		return true
	}
	q := e.ledger.books[o.sym].quantityF
	return (q > 0 && o.Side == market.Sell) || (q < 0 && o.Side == market.Buy)
}

// insideClass selects the orders of one class of phase 4.
type insideClass struct{ stops, exitsOnly bool }

// inside fills orders that the candle reached after its open.
func (e *Engine) inside() error {
	var classes []insideClass
	switch e.opt.Intrabar {
	case "ohlc_color":
		for sym := range e.symbols {
			if e.symbols[sym].closed {
				if err := e.walk(sym); err != nil {
					return err
				}
			}
		}
		return nil
	case "target_first":
		classes = []insideClass{{false, true}, {true, true}, {true, false}, {false, false}}
	default:
		classes = []insideClass{{true, true}, {true, false}, {false, false}}
	}
	for _, class := range classes {
		if err := e.insidePass(class); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) insidePass(class insideClass) error {
	for sym := range e.symbols {
		for i := 0; i < len(e.live); i++ {
			o := e.live[i]
			if o.sym != sym || !o.active || o.done || o.tested || o.isStop() != class.stops || (class.exitsOnly && !e.isExit(o)) {
				continue
			}
			o.tested = true
			if err := e.tryInside(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOfCandle is phase 5 for orders: expiry and trailing levels. It drops closed orders.
func (e *Engine) endOfCandle() error {
	for _, o := range e.live {
		if o.done {
			continue
		}
		s := &e.symbols[o.sym]
		if o.Type == market.TrailingStop && (o.active || o.bornAt == s.index) && s.closed {
			if err := e.trail(o, s); err != nil {
				return err
			}
		}
		if !o.active {
			continue
		}
		o.arrived = !o.justTriggered
		o.justTriggered = false
		switch o.TimeInForce {
		case market.IOC:
			e.finish(o, market.StatusExpired, market.ReasonIOC, e.now)
		case market.GTD:
			if o.expireLeft--; o.expireLeft <= 0 {
				e.finish(o, market.StatusExpired, market.ReasonGTD, e.now)
			}
		}
	}
	e.compact()
	return nil
}

func (e *Engine) compact() {
	if e.openings == len(e.live) {
		return
	}
	kept := e.live[:0]
	for _, o := range e.live {
		if !o.done {
			kept = append(kept, o)
		}
	}
	clear(e.live[len(kept):])
	e.live = kept
}

// Finish ends the run: open orders are canceled (end_of_data), and positions are
// closed at their last close when close_at_end is set.
func (e *Engine) Finish() error {
	for _, o := range e.live {
		if !o.done {
			e.finish(o, market.StatusCanceled, market.ReasonEndOfData, e.now)
		}
	}
	e.forget(market.ReasonEndOfData)
	e.compact()
	if e.opt.CloseAtEnd && e.step >= 0 {
		if closed, err := e.closeAll(market.RoleEndOfData); err != nil {
			return e.ledgerError("matching", err)
		} else if closed {
			e.updateMark()
			e.recordMark()
		}
	}
	return nil
}

// liquidate closes everything at a close at which equity is gone.
func (e *Engine) liquidate() error {
	for _, o := range e.live {
		if !o.done {
			e.finish(o, market.StatusCanceled, market.ReasonLiquidation, e.now)
		}
	}
	e.forget(market.ReasonLiquidation)
	e.compact()
	e.bankrupt = true
	_, err := e.closeAll(market.RoleLiquidation)
	e.updateMark()
	return err
}

func (e *Engine) closeAll(role market.Role) (bool, error) {
	any := false
	for i := range e.symbols {
		book := &e.ledger.books[i]
		if book.quantity.IsZero() {
			continue
		}
		any = true
		side := market.Sell
		if book.quantity.IsNeg() {
			side = market.Buy
		}
		o := e.newOrder(i, &market.Intent{Side: side, Type: market.Market, ReduceOnly: true}, e.now)
		o.Role = role
		e.enqueue(o)
		ref, err := toDecimal(e.symbols[i].candle.Close)
		if err != nil {
			return any, err
		}
		if err := e.fill(o, ref, market.Taker, execution{at: e.now, end: true}); err != nil {
			return any, err
		}
	}
	e.compact()
	return any, nil
}
