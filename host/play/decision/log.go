// Package decision writes the decision lines of a run: every intent, order and fill
// as one line of canonical JSON, and the hash over them that names what a strategy
// decided.
package decision

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"syscall"

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
		current: &batch{}, full: make(chan *batch, batches), empty: make(chan *batch, batches), ended: make(chan struct{}),
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

// Sum is the hash of the lines so far.
func (l *Log) Sum() string {
	l.settle()
	return hex.EncodeToString(l.writer.hash.Sum(nil))
}

// WriteLines copies the lines so far, each ended by a newline. It is an error after Close.
func (l *Log) WriteLines(w io.Writer) error { return l.Settled()(w) }

// Settled waits until every event so far is written and returns what copies the lines as WriteLines does. As long as
// no further event is noted the copy needs no lock: nobody who asks for the sum waits for a disk.
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

// Tail is the newest n lines so far, oldest first, without newlines, and how many
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
