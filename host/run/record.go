package run

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"unsafe"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run/decision"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Record is what a run has produced: the books as they were written. It is a
// sim.Recorder, written under the run's gate; what it has appended is never written
// again, so that a reader may keep a slice of it.
type Record struct {
	memory   *memoryLimit
	lines    *decision.Log
	orders   []market.Order // by id; an open order changes in place
	changes  []int32        // index of an order, each time it is made or changed
	fills    []market.Fill
	trades   []market.Trade
	curve    artifact.EquityCurve
	openTime []market.Time // of each step of the window; aliases the data in a run of one symbol
	totals   metric.Totals
	peak     float64 // highest equity before the newest point
	last     float64 // equity of the newest point
	now      market.Time
	closes   []metric.Closes
	window   int64 // first step of the window
	steps    int   // points of equity to expect, 0 if unknown
	rejected int64 // orders, those of the warm-up left out
	clamped  int64 // orders
	guarded  int64 // intents that their guards have dropped
	candles  int64 // of the window, done
	over     bool  // nothing is recorded any more
}

// RecordOptions are what a Record is made for.
type RecordOptions struct {
	Symbols []market.Symbol
	// Lines get the decisions.
	Lines *decision.Log
	// Steps is how many points of equity to expect, 0 if unknown; Window the first step that counts.
	Steps, Window int64
	// NoMemoryLimit leaves the memory of the process alone: for runs side by side and runs without an end.
	NoMemoryLimit bool
}

// NewRecord returns an empty one.
func NewRecord(o RecordOptions) *Record {
	n := int(o.Steps)
	column := func() []float64 { return make([]float64, 0, n) }
	r := &Record{
		memory: newMemoryLimit(o.NoMemoryLimit), lines: o.Lines, window: o.Window, steps: n,
		closes: make([]metric.Closes, len(o.Symbols)),
		curve: artifact.EquityCurve{
			Time: make([]market.Time, 0, n), Equity: column(), Cash: column(), PositionValue: column(),
			Drawdown: column(), Exposure: column(),
		},
	}
	for i, s := range o.Symbols {
		r.closes[i].Symbol = s
	}
	r.memory.add(int64(n) * 6 * 8)
	return r
}

// Lines are the decisions.
func (r *Record) Lines() *decision.Log { return r.lines }

// Candles counts those of the window.
func (r *Record) Candles() int64 { return r.candles }

// Rejected counts the orders that were rejected, those of the warm-up left out.
func (r *Record) Rejected() int64 { return r.rejected }

// Warnings counts the orders that were cut to what the cash paid for, and the intents that were dropped.
func (r *Record) Warnings() (list []artifact.Note) {
	if r.clamped > 0 {
		list = append(list, artifact.Note{Code: "CLAMPED", Message: fmt.Sprintf("%d orders sized by equity "+
			"were cut to what the free cash paid for: they bought less than the strategy asked for",
			r.clamped)})
	}
	if r.guarded > 0 {
		list = append(list, artifact.Note{Code: "GUARDED", Message: fmt.Sprintf("intents dropped because "+
			"their guards did not hold: %d", r.guarded)})
	}
	return list
}

// Lift ends the limit of memory: nothing is recorded any more.
func (r *Record) Lift() {
	r.memory.lift()
	r.over = true
}

// roomy returns a list with room for one more. A full one gets room for what a run of known length adds at
// the rate so far, else for as much again: append would grow a large one by a quarter, and copy it several
// times over in a long run.
func roomy[T any](r *Record, size int64, list []T) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	capacity := max(1024, 2*n)
	if done := len(r.curve.Time); done > 0 && done <= r.steps && n > 0 {
		whole := n * r.steps / done
		capacity = min(max(n+n/4, whole+whole/16), mostGrowth*n)
	}
	r.memory.add(size * int64(capacity-cap(list)))
	return append(make([]T, 0, capacity), list...)
}

// mostGrowth bounds what a burst of orders takes.
const mostGrowth = 8

// Intent implements sim.Recorder. What a guard has dropped is counted only.
func (r *Record) Intent(step int64, in *market.Intent, reason market.Reason) {
	if reason == market.ReasonGuarded {
		r.guarded++
		return
	}
	if reason != "" {
		r.totals.RejectedIntents++
	}
	r.lines.Intent(step, r.now, in, reason)
}

// Order implements sim.Recorder.
func (r *Record) Order(step int64, o *market.Order) {
	known, cut := false, false
	if i := int(o.ID) - 1; i < len(r.orders) {
		known, cut = r.orders[i].Status == market.StatusRejected, r.orders[i].Clamped
		r.orders[i] = *o
	} else {
		r.orders = append(roomy(r, orderBytes, r.orders), *o)
	}
	if !known && o.Status == market.StatusRejected && o.Reason != "warmup" {
		r.rejected++
	}
	if o.Clamped && !cut {
		r.clamped++
	}
	r.changes = append(r.changes, int32(o.ID)-1)
	r.lines.Order(step, o.UpdatedAt, o)
}

// Fill implements sim.Recorder.
func (r *Record) Fill(step int64, f *market.Fill) {
	r.fills = append(roomy(r, fillBytes, r.fills), *f)
	r.totals.AddFill(f)
	r.lines.Fill(step, f.Time, f)
}

// Trade implements sim.Recorder.
func (r *Record) Trade(_ int64, t *market.Trade) {
	r.trades = append(roomy(r, tradeBytes, r.trades), *t)
}

// Equity implements sim.Recorder. A second call for the same step replaces the
// first: positions were closed at the end of the run.
func (r *Record) Equity(_ int64, m *sim.Mark) {
	c := &r.curve
	if n := len(c.Time); n > 0 && c.Time[n-1] == m.Time {
		c.Time, c.Equity, c.Cash = c.Time[:n-1], c.Equity[:n-1], c.Cash[:n-1]
		c.PositionValue, c.Drawdown, c.Exposure = c.PositionValue[:n-1], c.Drawdown[:n-1], c.Exposure[:n-1]
	} else {
		r.peak = max(r.peak, r.last)
	}
	r.last = m.Equity
	peak := max(r.peak, m.Equity)
	drawdown := 0.0
	if peak > 0 {
		drawdown = (peak - m.Equity) / peak
	}
	c.Time = append(c.Time, m.Time)
	c.Equity = append(c.Equity, m.Equity)
	c.Cash = append(c.Cash, m.Cash)
	c.PositionValue = append(c.PositionValue, m.PositionValue)
	c.Drawdown = append(c.Drawdown, drawdown)
	c.Exposure = append(c.Exposure, m.Exposure())
}

// Feed wraps the feed of a run to note what the record needs of each step: the open
// time, the closes for buy_hold_return and the count of candles.
type Feed struct {
	sim.Feed
	Record *Record
	// Single are the open times of all steps of a run of one symbol, where they are known: they are shared
	// then.
	Single []market.Time
	step   int64
}

// Next implements sim.Feed.
func (f *Feed) Next(b *sim.Batch) (bool, error) {
	more, err := f.Feed.Next(b)
	if !more || err != nil {
		return more, err
	}
	r := f.Record
	r.now = b.CloseTime
	if f.step >= r.window {
		f.note(b)
	}
	f.step++
	return true, nil
}

func (f *Feed) note(b *sim.Batch) {
	r := f.Record
	if f.Single != nil {
		r.candles++
		r.openTime = f.Single[r.window : f.step+1]
		c := &r.closes[0]
		if c.First == 0 {
			c.First = b.Candles[0].Close
		}
		c.Last = b.Candles[0].Close
		return
	}
	open := b.CloseTime
	for i := range b.Closed {
		if !b.Closed[i] {
			continue
		}
		r.candles++
		open = min(open, b.Candles[i].OpenTime)
		c := &r.closes[i]
		if c.First == 0 {
			c.First = b.Candles[i].Close
		}
		c.Last = b.Candles[i].Close
	}
	r.openTime = append(r.openTime, open)
}

// seenCloses leaves out symbols that have had no candle in the window yet.
func (r *Record) seenCloses() []metric.Closes {
	var seen []metric.Closes
	for _, c := range r.closes {
		if c.First > 0 {
			seen = append(seen, c)
		}
	}
	return seen
}

// Books are the account of a run: the simulator's, or those of live orders.
type Books interface {
	InitialCash() decimal.Decimal
	CashExact() decimal.Decimal
	// Positions are the open ones, in request order.
	Positions() ([]market.Position, error)
	// FinalValue is cash plus every position at its last close.
	FinalValue() (decimal.Decimal, error)
}

// Look returns what runner.Watched shows. It shares what is only appended to, so that its
// cost does not grow with the run. Settled leaves nothing out; else the newest point of
// equity is, because the end of the data may replace it.
func (r *Record) Look(b Books, s *PluginOutput, settled bool) runner.Look {
	positions, err := b.Positions()
	if err != nil {
		positions = nil // Snapshot reports it
	}
	return runner.Look{
		Orders: len(r.orders), Changes: r.changes[:len(r.changes):len(r.changes)],
		Fills: r.fills[:len(r.fills):len(r.fills)], Trades: r.trades[:len(r.trades):len(r.trades)],
		Positions: positions, Equity: r.Curve(settled), Annotations: s.Annotations(),
		Log: s.lines[:len(s.lines):len(s.lines)], LogTotal: s.total,
	}
}

// OrdersAt copies orders by their index.
func (r *Record) OrdersAt(indexes []int) []market.Order {
	out := make([]market.Order, len(indexes))
	for i, at := range indexes {
		out[i] = r.orders[at]
	}
	return out
}

// Curve returns the equity so far, without the newest point unless it is settled.
func (r *Record) Curve(settled bool) artifact.EquityCurve {
	c := r.curve
	n := len(c.Time)
	if n > 0 && !settled {
		n--
	}
	return artifact.EquityCurve{
		Time: c.Time[:n:n], Equity: c.Equity[:n:n], Cash: c.Cash[:n:n],
		PositionValue: c.PositionValue[:n:n], Drawdown: c.Drawdown[:n:n], Exposure: c.Exposure[:n:n],
	}
}

// Snapshot copies what may still change and shares what is only appended to, after Lift everything. The
// errors name what could not be valued; the rest stands.
func (r *Record) Snapshot(b Books, s *PluginOutput, settled bool) (*artifact.Results, metric.Input, []error) {
	c := r.Curve(settled)
	orders := r.orders
	if !r.over || orders == nil { // an open one changes in place
		orders = append([]market.Order{}, orders...)
	}
	out := &artifact.Results{
		Orders: slices.Clip(orders), Fills: r.fills[:len(r.fills):len(r.fills)],
		Trades: r.trades[:len(r.trades):len(r.trades)], Equity: c,
		InitialCash: b.InitialCash().Trim(0).String(), DecisionHash: r.lines.Sum(),
		Log: append([]artifact.LogLine{}, s.lines...), LogFile: s.file.file(),
		Published: artifact.Published{Annotations: s.Annotations(), LeftOut: s.lost},
	}
	var bad []error
	var err error
	if out.Positions, err = b.Positions(); err != nil {
		bad = append(bad, err)
	}
	value, err := b.FinalValue()
	if err != nil {
		bad = append(bad, err)
		value = b.CashExact()
	}
	out.FinalValue = value.Trim(0).String()
	totals := r.totals
	for i := range r.orders {
		totals.AddOrder(&r.orders[i])
	}
	totals.OpenTrades = len(out.Positions)
	return out, metric.Input{
		Trades: out.Trades, Totals: totals,
		Curves: []metric.Curve{{
			OpenTime: r.openTime[:len(c.Time)], CloseTime: c.Time, Equity: c.Equity, Exposure: c.Exposure,
			Closes: r.seenCloses(),
		}},
	}, bad
}

// The garbage that a run may leave until it is collected: about as much as memorySlack, and in a large run
// this share of what is kept, in percent. To collect more often costs more than it saves.
const (
	memorySlack  = 16 << 20
	leastPercent = 5
)

// memoryLimit keeps the collector from letting garbage grow to the size of what a run keeps, which is mostly
// columns of numbers. It is relative to what is there: under a limit in bytes that leaves out what others
// keep the collector would run without end. It is set for the whole process, for as long as a run records: a
// host that plays several runs side by side or keeps results must not set it. GOGC and GOMEMLIMIT win.
type memoryLimit struct {
	off    bool
	held   int64
	set    int // percent, 0 before the first
	before int // percent
}

func newMemoryLimit(off bool) *memoryLimit {
	return &memoryLimit{off: off || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != ""}
}

// add counts so many bytes more as kept. A new percentage stops the world, so that only one that differs by
// much is set.
func (m *memoryLimit) add(bytes int64) {
	m.held += bytes
	if m.off || m.held <= memorySlack {
		return
	}
	percent := max(leastPercent, int(100*memorySlack/m.held))
	if m.set != 0 && percent > m.set-m.set/4 {
		return
	}
	before := debug.SetGCPercent(percent)
	if m.set == 0 {
		m.before = before
	}
	m.set = percent
}

// lift ends the limit.
func (m *memoryLimit) lift() {
	if m.set != 0 {
		debug.SetGCPercent(m.before)
		m.set = 0
	}
}

// The sizes of what is kept, without the little that strings and lists add.
const (
	orderBytes = int64(unsafe.Sizeof(market.Order{}))
	fillBytes  = int64(unsafe.Sizeof(market.Fill{}))
	tradeBytes = int64(unsafe.Sizeof(market.Trade{})) + 64
)
