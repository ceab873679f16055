// Package sim is the deterministic venue with the semantics "bar-v1": it matches
// resting orders against candles, keeps an exact decimal ledger and runs the loop
// that a backtest, a paper run, the test venue and an author's own test share.
//
// It does no I/O, reads no clock, starts no goroutine and ranges over no map, so
// that the same candles and intents give the same bytes everywhere. Every product
// that is added to something is written float64(a*b) + c, because Go may fuse it
// otherwise and amd64 and arm64 would differ.
//
// An Engine is driven step by step: Match runs the candles that closed at one
// moment against the resting orders, then Accept turns the strategy's intents into
// orders. Run is that loop over a Feed and a Decider.
//
// The package imports market only. Comments cite the rules of
// docs/execution-semantics.md by number (R5); the scenarios of package simtest show each
// of them, and ID hashes what they lead to.
package sim

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// ErrStop is what a Decider returns to end the run early without a fault. The
// step that it was asked about counts as delivered.
var ErrStop = errors.New("sim: stop requested")

// Batch is one step's input: the candles that closed at one moment. Slices are
// indexed like Config.Symbols; Candles[i] counts only when Closed[i] is set.
type Batch struct {
	CloseTime market.Time
	Candles   []market.Candle
	Closed    []bool
}

// Feed delivers the steps of a run in time order.
type Feed interface {
	// Next fills in the next step. False means the data have ended.
	Next(*Batch) (bool, error)
}

// Decider answers each step: the author's strategy, or a reader of its intents.
type Decider interface {
	// Decide is called once per step after matching. ErrStop ends the run early.
	Decide(*Engine) ([]market.Intent, error)
}

// Recorder receives everything that happens, in order, during Match, Accept and
// Finish. Pointers are valid during the call only.
type Recorder interface {
	// Intent is every intent, before its order; reason is set when it was refused without one
	// (rejected_intents), and market.ReasonGuarded of one that its guard has dropped.
	Intent(step int64, in *market.Intent, reason market.Reason)
	// Order is an order's state after each change of it. The level of a trailing stop moves without an event.
	Order(step int64, o *market.Order)
	Fill(step int64, f *market.Fill)
	Trade(step int64, t *market.Trade)
	// Equity is the account at the close of each step of the window. A second call for the last step, after
	// close_at_end has closed positions, replaces the first.
	Equity(step int64, m *Mark)
}

// Mark is the account at the close of one step, in quote currency.
type Mark struct {
	Time                        market.Time
	Equity, Cash, PositionValue float64 // PositionValue is signed
	Notional                    float64 // sum of |notional| over all symbols
}

// Exposure is the share of equity that is in positions; all of it where equity is gone.
func (m *Mark) Exposure() float64 {
	switch {
	case m.Notional == 0:
		return 0
	case m.Equity <= 0:
		return 1
	}
	return m.Notional / m.Equity
}

// Run drives the engine over all steps of the feed and finishes it. It returns
// nil at the end of data, ErrStop after a stop, and otherwise the first error of
// feed, decider or engine (an *IntentError or *LedgerError). Except after an
// error, open orders have been canceled (end_of_data).
func Run(e *Engine, feed Feed, d Decider) error {
	b := Batch{Candles: make([]market.Candle, len(e.venue.cfg.Symbols)),
		Closed: make([]bool, len(e.venue.cfg.Symbols))}
	for {
		more, err := feed.Next(&b)
		if err != nil {
			return err
		}
		if !more {
			return e.Finish()
		}
		if err := e.Match(&b); err != nil {
			return err
		}
		if e.bankrupt {
			return nil
		}
		intents, err := d.Decide(e)
		if err != nil {
			return e.stopped(err)
		}
		if len(intents) > 0 {
			if err := e.Accept(intents); err != nil {
				return err
			}
		}
	}
}

// stopped ends the run after an error of the decider.
func (e *Engine) stopped(err error) error {
	if !errors.Is(err, ErrStop) {
		return err
	}
	if err := e.Finish(); err != nil {
		return err
	}
	return ErrStop
}

// Step counts delivered steps from 0, warm-up included; -1 before the first.
func (e *Engine) Step() int64 { return e.venue.step }

// Time is the close time of the step.
func (e *Engine) Time() market.Time { return e.venue.now }

// Warmup reports whether orders would be rejected because the window has not begun.
func (e *Engine) Warmup() bool { return e.venue.warmup() }

func (v *venue) warmup() bool { return v.step < v.cfg.WarmupSteps }

// Symbols of the run, in request order.
func (e *Engine) Symbols() []market.Symbol { return e.venue.cfg.Symbols }

// Options are the resolved execution options.
func (e *Engine) Options() Options { return e.venue.cfg.Options }

// Closed reports whether a candle of symbol i closed at this step.
func (e *Engine) Closed(i int) bool { return e.venue.symbols[i].closed }

// Candle is the newest candle of symbol i. It is valid until the next Match.
func (e *Engine) Candle(i int) *market.Candle { return &e.venue.symbols[i].candle }

// Cash in quote currency.
func (e *Engine) Cash() float64 { return e.venue.ledger.cashF }

// Equity is cash plus positions marked at the last close, in quote currency.
func (e *Engine) Equity() float64 { return e.venue.mark.Equity }

// Mark is the account at the close of the step.
func (e *Engine) Mark() Mark { return e.venue.mark }

// Holding is the position in symbol i: signed quantity, average entry price and
// candles since the opening one.
func (e *Engine) Holding(i int) (quantity, entryPrice float64, candlesHeld int64) {
	b, s := &e.venue.ledger.books[i], &e.venue.symbols[i]
	if b.quantityF == 0 {
		return 0, 0, 0
	}
	return b.quantityF, b.entryF, s.index - s.trade.entryIndex
}

// OpenOrders is a fresh copy of the open orders in order of acceptance, then of those
// on their way.
func (e *Engine) OpenOrders() []market.Order {
	out := make([]market.Order, 0, len(e.venue.live)+len(e.intake.transit))
	for _, o := range e.venue.live {
		if !o.done {
			out = append(out, o.Order)
		}
	}
	for i := range e.intake.transit {
		if m := &e.intake.transit[i]; isSubmit(m.action) {
			out = append(out, m.order.Order)
		}
	}
	return out
}

// Fills of this step, valid until the next Match.
func (e *Engine) Fills() []market.Fill { return e.exec.fills }

// Updates are the states of orders that changed since the previous Decide, in
// order, acceptance included. Valid until the next Match.
func (e *Engine) Updates() []market.Order { return e.venue.updates }

// Digest is the hash of everything in the books so far.
func (e *Engine) Digest() [32]byte { return e.venue.digest.sum }

// Stats are the counts so far.
func (e *Engine) Stats() Stats { return e.venue.stats }

// Bankrupt reports whether the run ended because equity was gone.
func (e *Engine) Bankrupt() bool { return e.bankrupt }

// SeriesFeed merges the series of a run into steps: one step per close time, with
// every symbol whose candle closes then.
type SeriesFeed struct {
	series []*market.Series
	next   []int
	closes []market.Time // close time of each series' next candle
	span   market.Time   // length of a candle of the only series; 0 for months
}

// NewSeriesFeed reads the series, one per symbol of the run in the same order.
func NewSeriesFeed(series []*market.Series) *SeriesFeed {
	f := &SeriesFeed{series: series, next: make([]int, len(series)), closes: make([]market.Time, len(series))}
	for i, s := range series {
		if s.Len() > 0 {
			f.closes[i] = s.CloseTime(0)
		}
	}
	if len(series) == 1 {
		f.span = market.Time(0).Add(series[0].Timeframe.Duration())
	}
	return f
}

// Clone returns a feed of the same series that goes on from where this one is, by itself.
func (f *SeriesFeed) Clone() *SeriesFeed {
	c := *f
	c.next, c.closes = slices.Clone(f.next), slices.Clone(f.closes)
	return &c
}

// Next implements Feed.
func (f *SeriesFeed) Next(b *Batch) (bool, error) {
	if len(f.series) == 1 {
		return f.nextSingle(b), nil
	}
	found := false
	for i, s := range f.series {
		if f.next[i] < s.Len() && (!found || f.closes[i] < b.CloseTime) {
			b.CloseTime, found = f.closes[i], true
		}
	}
	if !found {
		return false, nil
	}
	for i, s := range f.series {
		b.Closed[i] = f.next[i] < s.Len() && f.closes[i] == b.CloseTime
		if b.Closed[i] {
			b.Candles[i] = s.At(f.next[i])
			f.advance(i)
		}
	}
	return true, nil
}

func (f *SeriesFeed) advance(i int) {
	f.next[i]++
	if f.next[i] < f.series[i].Len() {
		f.closes[i] = f.series[i].CloseTime(f.next[i])
	}
}

func (f *SeriesFeed) nextSingle(b *Batch) bool {
	s, n := f.series[0], f.next[0]
	if n >= len(s.Time) {
		return false
	}
	f.next[0]++
	c := &b.Candles[0]
	c.OpenTime = s.Time[n]
	if c.CloseTime = c.OpenTime + f.span; f.span == 0 {
		c.CloseTime = s.CloseTime(n)
	} else if n+1 < len(s.Time) && s.Time[n+1] < c.CloseTime {
		c.CloseTime = s.Time[n+1]
	}
	c.Open, c.High, c.Low, c.Close, c.Volume = s.Open[n], s.High[n], s.Low[n], s.Close[n], s.Volume[n]
	b.CloseTime, b.Closed[0] = c.CloseTime, true
	return true
}

// Steps counts the steps that the series make together.
func Steps(series []*market.Series) int64 {
	if len(series) == 1 {
		return int64(series[0].Len())
	}
	f := NewSeriesFeed(series)
	b := Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
	n := int64(0)
	for more, _ := f.Next(&b); more; more, _ = f.Next(&b) {
		n++
	}
	return n
}

// digest is the running hash of everything that happened in the books:
// h = SHA-256("bar-v1"), then h = SHA-256(h + line) for each event.
type digest struct {
	sum [sha256.Size]byte
	buf []byte
}

func newDigest() digest { return digest{sum: sha256.Sum256([]byte(Semantics))} }

func (d *digest) start(kind string, step int64) {
	d.buf = append(append(d.buf[:0], d.sum[:]...), kind...)
	d.buf = append(d.buf, '|')
	d.buf = strconv.AppendInt(d.buf, step, 10)
}

func (d *digest) text(s string) { d.buf = append(append(d.buf, '|'), s...) }

func (d *digest) number(x dec) { d.buf = market.AppendDecimal(append(d.buf, '|'), x) }

func (d *digest) end() { d.sum = sha256.Sum256(d.buf) }

// order adds order|step|order_id|status|code.
func (d *digest) order(step int64, o *market.Order) {
	d.start("order", step)
	d.buf = o.ID.Append(append(d.buf, '|'))
	d.text(o.Status.String())
	d.text(string(o.Reason))
	d.end()
}

// fill adds fill|step|fill_id|order_id|symbol|side|quantity|price|fee|cash.
func (d *digest) fill(step int64, f *market.Fill, cash dec) {
	d.start("fill", step)
	d.buf = f.ID.Append(append(d.buf, '|'))
	d.buf = f.OrderID.Append(append(d.buf, '|'))
	d.text(string(f.Symbol))
	d.text(f.Side.String())
	d.number(f.Quantity)
	d.number(f.Price)
	d.number(f.Fee)
	d.number(cash)
	d.end()
}
