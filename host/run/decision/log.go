// Package decision writes the decision lines of a run: every intent, order and fill
// as one line of canonical JSON, and the hash over them that names what a strategy
// decided.
package decision

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"math"
	"os"
	"strconv"
	"syscall"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Log writes the decision lines of a split: one event each, as canonical JSON
// (RFC 8785), to a spool and into a hash of the lines joined by newlines.
//
// Lines are formatted by a goroutine of the Log, in the order of the calls, so that
// the loop of a run does not wait for them. The methods are for one goroutine at a
// time.
type Log struct {
	writer  *writer
	current *batch
	full    chan *batch
	empty   chan *batch
	ended   chan struct{}
	closed  bool
}

const (
	batchEvents = 512
	batches     = 4
)

// kind of an event.
type kind uint8

const (
	kindIntent kind = iota
	kindOrder
	kindFill
)

// batch is events on their way to the writer. Each kind has its own list.
type batch struct {
	events  []event
	intents []intent
	orders  []market.Order
	fills   []market.Fill
	settled chan<- struct{} // closed when everything up to here is written
}

type event struct {
	kind kind
	step int64
	at   market.Time
}

type intent struct {
	market.Intent
	reason market.Reason
}

// New makes the log of a split, whose spool file comes into an existing folder when the
// lines no longer fit into memory. Close ends it.
func New(dir, split string) (*Log, error) {
	switch info, err := os.Stat(dir); {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &os.PathError{Op: "spool to", Path: dir, Err: syscall.ENOTDIR}
	}
	l := &Log{
		writer:  &writer{split: split, hash: sha256.New(), spool: spool{dir: dir}},
		current: &batch{}, full: make(chan *batch, batches), empty: make(chan *batch, batches),
		ended: make(chan struct{}),
	}
	for range batches {
		l.empty <- &batch{}
	}
	go l.run()
	return l, nil
}

// run writes batches until the channel is closed.
func (l *Log) run() {
	defer close(l.ended)
	for b := range l.full {
		b.write(l.writer)
		if b.settled != nil {
			close(b.settled)
		}
		b.reset()
		l.empty <- b
	}
}

func (b *batch) write(w *writer) {
	intents, orders, fills := b.intents, b.orders, b.fills
	for _, e := range b.events {
		switch e.kind {
		case kindIntent:
			w.intent(e.step, e.at, &intents[0].Intent, intents[0].reason)
			intents = intents[1:]
		case kindOrder:
			w.order(e.step, e.at, &orders[0])
			orders = orders[1:]
		case kindFill:
			w.fill(e.step, e.at, &fills[0])
			fills = fills[1:]
		}
	}
	w.put()
}

func (b *batch) reset() {
	clear(b.intents) // they hold pointers
	*b = batch{events: b.events[:0], intents: b.intents[:0], orders: b.orders[:0], fills: b.fills[:0]}
}

func (l *Log) add(k kind, step int64, at market.Time) {
	l.current.events = append(l.current.events, event{k, step, at})
}

// handOver gives the batch to the writer when it is full.
func (l *Log) handOver() {
	if len(l.current.events) >= batchEvents {
		l.full <- l.current
		l.current = <-l.empty
	}
}

// Intent notes what a strategy asked for; reason is set when it was refused without
// an order. What it points to must not change any more.
func (l *Log) Intent(step int64, at market.Time, in *market.Intent, reason market.Reason) {
	l.add(kindIntent, step, at)
	l.current.intents = append(l.current.intents, intent{*in, reason})
	l.handOver()
}

// Order notes the new state of an order.
func (l *Log) Order(step int64, at market.Time, o *market.Order) {
	l.add(kindOrder, step, at)
	l.current.orders = append(l.current.orders, *o)
	l.handOver()
}

// Fill notes one execution. At is its time.
func (l *Log) Fill(step int64, at market.Time, f *market.Fill) {
	l.add(kindFill, step, at)
	l.current.fills = append(l.current.fills, *f)
	l.handOver()
}

// settle waits until every event so far is written. After Close it all is.
func (l *Log) settle() {
	if l.closed {
		return
	}
	settled := make(chan struct{})
	l.current.settled = settled
	l.full <- l.current
	l.current = <-l.empty
	<-settled
}

// Sum returns the hash of the lines so far.
func (l *Log) Sum() string {
	l.settle()
	return hex.EncodeToString(l.writer.hash.Sum(nil))
}

// WriteLines copies the lines so far, each ended by a newline. It is an error after Close.
func (l *Log) WriteLines(w io.Writer) error { return l.Settled()(w) }

// Settled waits until every event so far is written and returns what copies the lines as WriteLines does. As
// long as no further event is noted the copy needs no lock: a reader of the sum does not wait for a disk.
func (l *Log) Settled() func(io.Writer) error {
	l.settle()
	return l.writer.copy
}

func (d *writer) copy(w io.Writer) error {
	if d.err != nil {
		return d.err
	}
	if err := d.spool.copy(w); err != nil || d.seq == 0 {
		return err
	}
	_, err := w.Write([]byte{'\n'})
	return err
}

// tailBlock is how much of the end of the spool is read at first.
const tailBlock = 1 << 16

// Tail returns the newest n lines so far, oldest first, without newlines, and how many
// lines there are in all. It is an error after Close.
func (l *Log) Tail(n int) (lines [][]byte, total int64, err error) {
	l.settle()
	d := l.writer
	size, err := d.spool.size, d.err
	if err != nil || d.spool.closed {
		return nil, 0, cmp.Or(err, os.ErrClosed)
	}
	if size == 0 || n <= 0 {
		return nil, d.seq, nil
	}
	for block := int64(tailBlock); ; block *= 4 {
		block = min(block, size)
		text := make([]byte, block)
		if err := d.spool.readAt(text, size-block); err != nil {
			return nil, 0, err
		}
		lines = bytes.Split(text, []byte{'\n'})
		if block < size {
			lines = lines[1:] // it may have begun before the block
		}
		if len(lines) >= n || block == size {
			return lines[max(0, len(lines)-n):], d.seq, nil
		}
	}
}

// Close ends the writer and frees the spool. The hash stays.
func (l *Log) Close() error {
	if l.closed {
		return nil
	}
	l.settle()
	l.closed = true
	close(l.full)
	<-l.ended
	return l.writer.spool.close()
}

// writer formats lines one after the other into a file and a hash.
type writer struct {
	split string
	seq   int64
	hash  hash.Hash
	spool spool
	buf   []byte // lines of the batch
	err   error

	at     market.Time // of the newest line
	atText []byte
}

func (d *writer) begin() {
	if d.seq > 0 {
		d.buf = append(d.buf, '\n')
	}
	d.buf = append(d.buf, '{')
}

func (d *writer) end() {
	d.buf = append(d.buf, '}')
	d.seq++
}

// put hashes and stores the lines of a batch.
func (d *writer) put() {
	d.hash.Write(d.buf)
	if err := d.spool.write(d.buf); err != nil && d.err == nil {
		d.err = err
	}
	d.buf = d.buf[:0]
}

func (d *writer) key(k string) {
	if d.buf[len(d.buf)-1] != '{' {
		d.buf = append(d.buf, ',')
	}
	d.buf = append(append(append(d.buf, '"'), k...), '"', ':')
}

func (d *writer) text(k, v string) {
	d.key(k)
	// Strings of this product are valid UTF-8: the wire refuses others.
	d.buf, _ = jsontext.AppendQuote(d.buf, v)
}

// number writes a number that is there.
func (d *writer) number(k string, v float64) {
	if v != 0 {
		d.signed(k, v)
	}
}

// signed writes a number, zero too.
func (d *writer) signed(k string, v float64) {
	d.key(k)
	d.buf = append(d.buf, '"')
	format := byte('f')
	if a := math.Abs(v); a < 1e-6 || a >= 1e21 {
		format = 'g'
	}
	d.buf = append(strconv.AppendFloat(d.buf, v, format, -1, 64), '"')
}

func (d *writer) decimal(k string, v decimal.Decimal) {
	d.key(k)
	d.buf = append(d.buf, '"')
	d.buf = append(market.AppendDecimal(d.buf, v), '"')
}

func (d *writer) optional(k string, v decimal.Decimal) {
	if !v.IsZero() {
		d.decimal(k, v)
	}
}

func (d *writer) flag(k string, v bool) {
	if v {
		d.key(k)
		d.buf = append(d.buf, "true"...)
	}
}

// moment writes a time; those of one step are formatted once.
func (d *writer) moment(at market.Time) {
	if at != d.at || len(d.atText) == 0 {
		d.at, d.atText = at, at.AppendFormat(d.atText[:0])
	}
	d.key("time")
	d.buf = append(append(append(d.buf, '"'), d.atText...), '"')
}

func (d *writer) integer(k string, v int64) {
	d.key(k)
	d.buf = strconv.AppendInt(d.buf, v, 10)
}

// sequence writes the number of the line.
func (d *writer) sequence() {
	d.integer("seq", d.seq)
}

func (d *writer) fill(step int64, at market.Time, f *market.Fill) {
	d.begin()
	d.flag("ambiguous", f.Ambiguous)
	d.integer("candle", step)
	d.decimal("fee", f.Fee)
	d.text("fill_id", f.ID.String())
	d.text("kind", "fill")
	d.text("liquidity", f.Liquidity.String())
	d.text("order_id", f.OrderID.String())
	d.decimal("price", f.Price)
	d.decimal("quantity", f.Quantity)
	d.text("role", f.Role.String())
	d.sequence()
	d.text("side", f.Side.String())
	d.decimal("slippage", f.Slippage)
	d.text("split", d.split)
	d.text("symbol", string(f.Symbol))
	d.moment(at)
	d.end()
}

func (d *writer) order(step int64, at market.Time, o *market.Order) {
	d.begin()
	d.integer("candle", step)
	if o.Clamped {
		d.flag("clamped", true)
	}
	d.text("kind", "order")
	d.optional("limit_price", o.LimitPrice)
	d.text("order_id", o.ID.String())
	if o.ParentID != 0 {
		d.text("parent_order_id", o.ParentID.String())
	}
	d.optional("quantity", o.Quantity)
	if o.Reason != "" {
		d.text("reason", string(o.Reason))
	}
	d.text("role", o.Role.String())
	d.sequence()
	d.text("side", o.Side.String())
	d.text("split", d.split)
	d.text("status", o.Status.String())
	d.optional("stop_price", o.StopPrice)
	d.text("symbol", string(o.Symbol))
	d.moment(at)
	d.text("type", o.Type.String())
	d.end()
}

func (d *writer) intent(step int64, at market.Time, in *market.Intent, reason market.Reason) {
	d.begin()
	action := in.Action
	if action == market.CancelAll {
		action = market.Cancel // its line has no ref
	}
	d.text("action", action.String())
	d.integer("candle", step)
	if in.Size.Kind == market.SizeCashFraction {
		d.number("cash_fraction", in.Size.Value)
	}
	if in.ClientRef != "" {
		d.text("client_ref", in.ClientRef)
	}
	if in.Size.Kind == market.SizeEquityFraction {
		d.number("equity_fraction", in.Size.Value)
	}
	if in.ExpireAfter != 0 {
		d.integer("expire_after", int64(in.ExpireAfter))
	}
	kind := "intent"
	if reason != "" {
		kind = "reject"
	}
	d.text("kind", kind)
	d.number("limit_price", in.LimitPrice)
	if in.OCO != 0 {
		d.integer("oco", int64(in.OCO))
	}
	if in.PostOnly {
		d.flag("post_only", true)
	}
	if in.Size.Kind == market.SizeQuantity {
		d.number("quantity", in.Size.Value)
	}
	if in.Size.Kind == market.SizeQuoteAmount {
		d.number("quote_amount", in.Size.Value)
	}
	if reason != "" {
		d.text("reason", string(reason))
	}
	d.flag("reduce_only", in.Reduces())
	if in.Ref != "" {
		d.text("ref", in.Ref)
	}
	if in.Size.Kind == market.SizeRiskFraction {
		d.number("risk_fraction", in.Size.Value)
	}
	d.sequence()
	submit, target := in.Action == market.Submit, in.Size.Kind == market.SizeTargetFraction
	if submit && !target { // it has no side
		d.text("side", in.Side.String())
	}
	d.text("split", d.split)
	d.child("stop_loss", in.StopLoss)
	d.number("stop_price", in.StopPrice)
	if in.Symbol != "" {
		d.text("symbol", string(in.Symbol))
	}
	if in.Tag != "" {
		d.text("tag", in.Tag)
	}
	d.child("take_profit", in.TakeProfit)
	if target {
		d.signed("target_fraction", in.Size.Value)
	}
	d.targets(in.Targets)
	d.moment(at)
	if submit {
		d.text("time_in_force", in.TimeInForce.String())
	}
	d.number("trail_amount", in.TrailAmount)
	d.number("trail_percent", in.TrailPercent)
	if submit {
		d.text("type", in.Type.String())
	}
	d.end()
}

func (d *writer) child(k string, c *market.Child) {
	if c == nil {
		return
	}
	d.key(k)
	d.level(c, 0)
}

// level writes where a leg of a bracket sits, and of one of several targets its share.
func (d *writer) level(c *market.Child, share float64) {
	d.buf = append(d.buf, '{')
	d.number("percent", c.Percent)
	d.number("price", c.Price)
	d.number("share", share)
	d.number("tighten_after", c.TightenAfter)
	d.number("tighten_to", c.TightenTo)
	d.number("trail_amount", c.TrailAmount)
	d.number("trail_percent", c.TrailPercent)
	d.buf = append(d.buf, '}')
}

func (d *writer) targets(list []market.TakeProfit) {
	if len(list) == 0 {
		return
	}
	d.key("targets")
	for i := range list {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		d.buf = append(d.buf, separator)
		d.level(&list[i].Level, list[i].Share)
	}
	d.buf = append(d.buf, ']')
}

// spoolMemory is how many bytes of lines are held in memory: those of a short run never
// see a file.
const spoolMemory = 1 << 20

// spool is bytes that were written one after the other, in memory as long as they are
// few and then in a file. The file has no name once it is open, so that nothing is left
// behind by a crash.
type spool struct {
	dir    string
	file   *os.File
	memory []byte // what is not in the file
	stored int64  // bytes in the file
	size   int64  // bytes in all
	closed bool
}

func (s *spool) write(b []byte) error {
	s.memory = append(s.memory, b...)
	s.size += int64(len(b))
	if len(s.memory) < spoolMemory {
		return nil
	}
	return s.store()
}

// store moves what is in memory to the file.
func (s *spool) store() error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, ".decisions-*")
		if err != nil {
			return err
		}
		if err := os.Remove(f.Name()); err != nil {
			return errors.Join(err, f.Close())
		}
		s.file = f
	}
	n, err := s.file.Write(s.memory)
	s.stored += int64(n)
	s.memory = s.memory[:0]
	return err
}

// copy writes everything so far.
func (s *spool) copy(w io.Writer) error {
	if s.closed {
		return os.ErrClosed
	}
	if s.file != nil {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.stored)); err != nil {
			return err
		}
	}
	_, err := w.Write(s.memory)
	return err
}

// readAt fills b with the bytes from at on, which must be there.
func (s *spool) readAt(b []byte, at int64) error {
	if at < s.stored {
		n := min(int64(len(b)), s.stored-at)
		if _, err := s.file.ReadAt(b[:n], at); err != nil {
			return err
		}
		b, at = b[n:], s.stored
	}
	copy(b, s.memory[at-s.stored:])
	return nil
}

func (s *spool) close() error {
	s.closed, s.memory = true, nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
