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
	// Judge may refuse, by a code, an order that would be accepted, or the change of one: limits of whoever
	// runs the simulator. Its order is as it would be accepted. Nil: the simulator alone refuses.
	Judge func(*market.Order, *market.Intent) market.Reason
	// Stale reports whether an input is too old at a close, so that no entry is accepted (INPUT_STALE). Times
	// never go back. Nil: never.
	Stale func(market.Time) bool
}

// Stats counts what happened.
type Stats struct {
	Orders, Fills, Trades           int64
	RejectedOrders, RejectedIntents int64
	Guarded                         int64 // intents dropped by their guards
	AmbiguousFills                  int64
	// LateMessages counts cancels and replaces whose order had ended when they arrived, under DelayCandles.
	LateMessages   int64
	Fees, Slippage decimal.Decimal // quote currency
	Notional       decimal.Decimal // of all fills, quote currency
}

// Engine is the simulator of one run: a venue, and what takes in intents, matches orders
// and executes fills there. It is not safe for concurrent use.
type Engine struct {
	venue    venue
	intake   intake
	matcher  matcher
	exec     executor
	seen     int // updates that the last Decide has seen
	bankrupt bool
}

// venue is what all parts of the simulator share: the clock, the candles, the queue of
// orders, the books and the recorder of changes.
type venue struct {
	cfg      Config
	opt      Options
	rec      Recorder
	ledger   *ledger
	symbols  []symbolState
	live     []*order // by sequence number
	openings int      // orders in live that are not done
	step     int64
	now      market.Time // close time of the step
	stats    Stats
	mark     Mark
	digest   digest
	updates  []market.Order
}

// intake turns intents into orders and changes of orders.
type intake struct {
	*venue
	transit []message // in the order of decisions
}

// matcher decides which orders a candle reaches, and in which order.
type matcher struct {
	*venue
	exec *executor
}

// executor fills orders at a price and books what follows.
type executor struct {
	*venue
	taker [2]dec // slippage factor by side
	slips bool
	fills []market.Fill // of this step
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
			return nil, fmt.Errorf("sim: %s and %s have different quote currencies; a run needs one",
				cfg.Symbols[0], s)
		}
	}
	if !cfg.Options.QuantityStep.IsPos() {
		return nil, errors.New("sim: options are not resolved: use ResolveOptions")
	}
	l, err := newLedger(cfg.InitialCash, len(cfg.Symbols))
	if err != nil {
		return nil, err
	}
	e := &Engine{venue: venue{cfg: cfg, opt: cfg.Options, rec: rec, ledger: l, step: -1, digest: newDigest()}}
	v := &e.venue
	e.intake.venue, e.matcher.venue, e.exec.venue, e.matcher.exec = v, v, v, &e.exec
	v.opt.QuantityStep = v.opt.QuantityStep.Trim(0)
	v.symbols = make([]symbolState, len(cfg.Symbols))
	for i := range v.symbols {
		v.symbols[i].index, v.symbols[i].tick = -1, defaultTick
		if i < len(cfg.PriceSteps) && cfg.PriceSteps[i].IsPos() {
			v.symbols[i].tick = cfg.PriceSteps[i]
		}
	}
	bps, err := v.opt.SlippageBps.Quo(decTenThou)
	if err != nil {
		return nil, err
	}
	var sum adder
	e.exec.taker = [2]dec{market.Buy: sum.add(decOne, bps), market.Sell: sum.sub(decOne, bps)}
	e.exec.slips = !bps.IsZero()
	return e, sum.err
}

// Match runs phases 1 to 5 of one step: the candles that just closed against the
// resting orders, expiry, trailing levels and the mark to close; then what is due
// under DelayCandles arrives. An error, a *LedgerError, ends the run.
func (e *Engine) Match(b *Batch) error {
	v := &e.venue
	v.step++
	v.now = b.CloseTime
	e.exec.fills = e.exec.fills[:0]
	if len(v.updates) > 0 {
		v.updates = append(v.updates[:0], v.updates[e.seen:]...)
	}
	for i := range v.symbols {
		s := &v.symbols[i]
		if s.closed = b.Closed[i]; s.closed {
			s.candle = b.Candles[i]
			s.index++
			if s.trade.active {
				s.trade.track(s.candle.Open)
				s.trade.whole = true
			}
		}
	}
	if len(v.live) > 0 {
		if err := e.matcher.matchOrders(); err != nil {
			return v.ledgerError("matching", err)
		}
	}
	if err := e.markToClose(); err != nil {
		return v.ledgerError("matching", err)
	}
	if len(e.intake.transit) > 0 {
		if err := e.intake.arrive(); err != nil {
			return v.ledgerError("matching", err)
		}
	}
	e.seen = len(v.updates)
	return nil
}

// nearLimit is the share of what the books can hold from which an account is too large for
// them: collateral and sums of a few amounts reach the limit before it does.
const nearLimit = 0.1

func (v *venue) ledgerError(what string, err error) error {
	digits := decimal.MaxPrec - v.ledger.scale
	worth := v.ledger.cashF
	for i := range v.symbols {
		worth += float64(v.ledger.books[i].quantityF * v.symbols[i].candle.Close)
	}
	return &LedgerError{
		Step: v.step, Time: v.now, What: what, Limit: fmt.Sprintf("10^%d %s", digits,
			v.cfg.Symbols[0].Quote()),
		Outgrown: worth >= nearLimit*math.Pow10(digits), Err: err,
	}
}

func (e *Engine) markToClose() error {
	for i := range e.venue.symbols {
		if s := &e.venue.symbols[i]; s.closed && s.trade.active {
			s.trade.endCandle(&s.candle)
		}
	}
	e.venue.updateMark()
	if e.venue.mark.Equity <= 0 {
		if err := e.liquidate(); err != nil {
			return err
		}
	}
	e.venue.recordMark()
	return nil
}

func (v *venue) updateMark() {
	value, notional := 0.0, 0.0
	for i := range v.symbols {
		if q := v.ledger.books[i].quantityF; q != 0 {
			worth := float64(q * v.symbols[i].candle.Close)
			value += worth
			notional += math.Abs(worth)
		}
	}
	m := &v.mark // field by field: a literal would be built and copied at every step
	m.Time, m.Equity, m.Cash = v.now, v.ledger.cashF+value, v.ledger.cashF
	m.PositionValue, m.Notional = value, notional
}

func (v *venue) recordMark() {
	if v.rec != nil && v.step >= v.cfg.WindowStep {
		v.rec.Equity(v.step, &v.mark)
	}
}

// matchOrders runs phases 1 to 5 for the resting orders.
func (m *matcher) matchOrders() error {
	n, reached := len(m.live), false
	for _, o := range m.live {
		if m.prepare(o) {
			reached = true
		}
	}
	if !reached {
		return m.endOfCandle()
	}
	// First the exits of all symbols, so that no cash is used before it is freed; at last
	// the children that parents have made at the open.
	for _, pass := range [...]struct {
		from, to int
		exits    bool
	}{{0, n, true}, {0, n, false}, {n, math.MaxInt, false}} {
		if err := m.openPass(pass.from, pass.to, pass.exits); err != nil {
			return err
		}
	}
	if err := m.trailInside(); err != nil {
		return err
	}
	if err := m.inside(); err != nil {
		return err
	}
	return m.endOfCandle()
}

// prepare decides whether an order takes part in this step's candle of its symbol,
// and reports whether the candle can do anything to it before its end.
func (m *matcher) prepare(o *order) bool {
	s := &m.symbols[o.sym]
	o.opened, o.tested, o.held, o.raised = false, false, false, false
	o.active = s.closed && o.liveFrom <= s.index && o.since <= s.candle.OpenTime
	return o.active && (o.inRange(&s.candle) || o.Type == market.TrailingStop && m.opt.trailsInside())
}

// openPass fills the orders [from, to) of the queue at the open, or only the exits among
// them. Symbol by symbol.
func (m *matcher) openPass(from, to int, exits bool) error {
	for sym := range m.symbols {
		for i := from; i < min(to, len(m.live)); i++ {
			o := m.live[i]
			if o.sym != sym || !o.active || o.done || o.opened || (exits && !m.isExit(o)) {
				continue
			}
			o.opened = true
			if err := m.tryOpen(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// isExit reports whether an order can only reduce, or would reduce the position held now.
func (v *venue) isExit(o *order) bool {
	if o.ReduceOnly {
		return true
	}
	q := v.ledger.books[o.sym].quantityF
	return (q > 0 && o.Side == market.Sell) || (q < 0 && o.Side == market.Buy)
}

// insideClass selects the orders of one class of phase 4.
type insideClass struct{ stops, exitsOnly, moved bool }

// inside fills orders that the candle reached after its open.
func (m *matcher) inside() error {
	var classes []insideClass
	switch m.opt.Intrabar {
	case "ohlc_color":
		for sym := range m.symbols {
			if m.symbols[sym].closed {
				if err := m.walk(sym); err != nil {
					return err
				}
			}
		}
		return nil
	case "target_first":
		classes = []insideClass{{exitsOnly: true}, {stops: true, exitsOnly: true}, {stops: true}, {}}
	default:
		classes = []insideClass{{stops: true, exitsOnly: true}, {stops: true}, {}}
	}
	if m.opt.trailsInside() {
		classes = append(classes, insideClass{stops: true, moved: true})
	}
	for _, class := range classes {
		if err := m.insidePass(class); err != nil {
			return err
		}
	}
	return nil
}

func (m *matcher) insidePass(class insideClass) error {
	for sym := range m.symbols {
		for i := 0; i < len(m.live); i++ {
			o := m.live[i]
			if o.sym != sym || !o.active || o.done || o.tested || o.isStop() != class.stops ||
				o.moved != class.moved || (class.exitsOnly && !m.isExit(o)) {
				continue
			}
			o.tested = true
			if err := m.tryInside(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOfCandle is phase 5 for orders: expiry and trailing levels. It drops closed orders.
func (m *matcher) endOfCandle() error {
	for _, o := range m.live {
		if o.done {
			continue
		}
		s := &m.symbols[o.sym]
		if o.Type == market.TrailingStop && (o.active || o.bornAt == s.index) && s.closed {
			if err := m.moveTrail(o, s); err != nil {
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
			m.finish(o, market.StatusExpired, market.ReasonIOC, m.now)
		case market.GTD:
			if o.expireLeft--; o.expireLeft <= 0 {
				m.finish(o, market.StatusExpired, market.ReasonGTD, m.now)
			}
		}
	}
	m.compact()
	return nil
}

func (v *venue) compact() {
	if v.openings == len(v.live) {
		return
	}
	kept := v.live[:0]
	for _, o := range v.live {
		if !o.done {
			kept = append(kept, o)
		}
	}
	clear(v.live[len(kept):])
	v.live = kept
}

// Finish ends the run: open orders are canceled (end_of_data), and positions are
// closed at their last close when close_at_end is set.
func (e *Engine) Finish() error {
	e.intake.cancelEverything(market.ReasonEndOfData)
	if e.venue.opt.CloseAtEnd && e.venue.step >= 0 {
		if closed, err := e.closeAll(market.RoleEndOfData); err != nil {
			return e.venue.ledgerError("matching", err)
		} else if closed {
			e.venue.updateMark()
			e.venue.recordMark()
		}
	}
	return nil
}

// liquidate closes everything at a close at which equity is gone.
func (e *Engine) liquidate() error {
	e.intake.cancelEverything(market.ReasonLiquidation)
	e.bankrupt = true
	_, err := e.closeAll(market.RoleLiquidation)
	e.venue.updateMark()
	return err
}

func (e *Engine) closeAll(role market.Role) (bool, error) {
	any := false
	for i := range e.venue.symbols {
		book := &e.venue.ledger.books[i]
		if book.quantity.IsZero() {
			continue
		}
		any = true
		side := market.Sell
		if book.quantity.IsNeg() {
			side = market.Buy
		}
		o := e.venue.newOrder(i, &market.Intent{Side: side, Type: market.Market, ReduceOnly: true},
			e.venue.now)
		o.Role = role
		e.venue.enqueue(o)
		ref, err := Decimal(e.venue.symbols[i].candle.Close)
		if err != nil {
			return any, err
		}
		if err := e.exec.fill(o, ref, market.Taker, execution{at: e.venue.now, end: true}); err != nil {
			return any, err
		}
	}
	e.venue.compact()
	return any, nil
}
