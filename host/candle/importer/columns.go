package importer

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Format is a kind of file that has columns instead of lines. The program that links
// the library for it hands it in, so that the others need not.
type Format struct {
	Name string
	// Magic is how a file of this kind begins.
	Magic string
	// Open reads the description in the file.
	Open func(name string, f io.ReaderAt, size int64) (Columnar, error)
}

// Columnar is an open file of columns. A file that cannot be read is a *Error
// of any of its methods.
type Columnar interface {
	Names() []string
	// Rows is how many the file claims to have, 0 if it does not.
	Rows() int64
	// Select picks the columns that Next reads.
	Select(columns []int) error
	// Next is the next rows; the error is io.EOF behind the last ones.
	Next() (Batch, error)
	Close() error
}

// Batch is some rows of the selected columns.
type Batch struct {
	Rows    int
	Columns []Column
	// Unpacked is how many bytes they took.
	Unpacked int
	// Done is which share of the file is read with them, 0 to 1.
	Done float64
}

// Kind is what a column holds.
type Kind uint8

// The kinds. Nothing holds no value at all.
const (
	Nothing  Kind = iota
	Integers      // Ints
	Floats        // Floats, NaN where there is none
	Texts         // Texts
	Times         // Ints, counted in Unit since 1970
	Dates         // Ints, days since 1970
)

// Column is the values of one column; which slice holds them depends on the kind.
type Column struct {
	Kind   Kind
	Ints   []int64
	Floats []float64
	Texts  []string
	// Valid reports by row whether there is a value; nil: there always is one.
	Valid []bool
	// Unit of Times, and whether they are moments or what a clock showed somewhere.
	Unit  Unit
	Zoned bool
	// Single reports whether the floats were kept in 32 bits.
	Single bool
}

// columnar reads a file of columns into the table.
func (r *run) columnar(ctx context.Context, in Input, format Format, f io.ReaderAt) error {
	r.startSource(in.Name)
	r.line = 1
	c, err := format.Open(in.Name, f, in.Size)
	if err != nil {
		return err
	}
	return errors.Join(r.endSource(r.readBatches(ctx, in, c)), c.Close())
}

func (r *run) readBatches(ctx context.Context, in Input, c Columnar) error {
	if c.Rows() > int64(r.opts.maxRows()) {
		return r.opts.tooManyRows()
	}
	if err := r.recognise(Head{Name: in.Name, Names: c.Names()}); err != nil {
		return err
	}
	s := newSelection(r.layout)
	if err := c.Select(s.columns); err != nil {
		return err
	}
	for {
		b, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.countUnpacked(b.Unpacked); err != nil {
			return err
		}
		if err := r.readBatch(s, b); err != nil {
			return err
		}
		if r.report.RowsRead > r.opts.maxRows() {
			return r.opts.tooManyRows()
		}
		r.progress(int64(float64(in.Size) * b.Done))
	}
}

// selection is the columns that a layout needs, and where each of them is in a batch.
type selection struct {
	layout  Layout
	columns []int
}

func newSelection(l Layout) selection {
	s := selection{layout: l}
	for _, at := range l.At[:clockCell] {
		if at >= 0 && !slices.Contains(s.columns, at) {
			s.columns = append(s.columns, at)
		}
	}
	return s
}

// of returns the column of a batch with a role; nil for none.
func (s selection) of(b Batch, is role) *Column {
	if i := slices.Index(s.columns, s.layout.At[is]); i >= 0 {
		return &b.Columns[i]
	}
	return nil
}

// readBatch reads the rows of a batch into the table.
func (r *run) readBatch(s selection, b Batch) error {
	l := s.layout
	at, volume, tick, ticker := s.of(b, timeCell), s.of(b, volumeCell), s.of(b, tickCell), s.of(b, tickerCell)
	var prices [4]*Column
	for k := range prices {
		prices[k] = s.of(b, openCell+role(k))
		if prices[k].Single {
			r.report.warn(warnSingle,
				"prices are kept in 32 bits: they have some 7 digits, the rest is what is left of rounding")
		}
	}
	r.table.grow(b.Rows)
	for i := range b.Rows {
		r.report.RowsRead++
		if ticker != nil {
			mine, fault := r.isWanted([]byte(ticker.text(i)))
			if fault != "" {
				if err := r.addFault(MultipleTickers, s.row(b, i), fault); err != nil {
					return err
				}
			}
			if !mine {
				r.line++
				continue
			}
		}
		var q quote
		for k, c := range prices {
			var s State
			q.price[k], s = c.number(i, l.Numbers, l.Places)
			q.prices = max(q.prices, s)
		}
		if volume != nil {
			q.volume, q.amount = volume.number(i, l.Numbers, 0)
		}
		if tick != nil {
			q.tick, _ = tick.number(i, l.Numbers, 0)
		}
		if err := r.keepTyped(q, at, s, b, i); err != nil {
			return err
		}
		r.line++
	}
	return nil
}

// keepTyped takes a row of numbers and its time.
func (r *run) keepTyped(q quote, at *Column, s selection, b Batch, i int) error {
	switch {
	case q.prices == Bad || q.amount == Bad:
		return r.addFault(BadNumber, s.row(b, i), "a price or volume is not a number")
	case q.prices == Missing:
		r.report.Skipped++
		return nil
	}
	m := at.moment(i, r.clock)
	if m.Code != "" {
		return r.addFault(m.Code, s.row(b, i), r.timeMessage(m.Code, at.text(i)))
	}
	if !q.possible() {
		return r.addFault(BadNumber, s.row(b, i), impossible)
	}
	r.take(q, m)
	return nil
}

// row returns a row for a message.
func (s selection) row(b Batch, i int) string {
	text := ""
	for k := range b.Columns {
		if k > 0 {
			text += ","
		}
		text += b.Columns[k].text(i)
	}
	return text
}

func (c *Column) valid(i int) bool {
	return c.Kind != Nothing && (c.Valid == nil || c.Valid[i])
}

// text returns a value for a message, and the name of a ticker.
func (c *Column) text(i int) string {
	if !c.valid(i) {
		return ""
	}
	switch c.Kind {
	case Floats:
		return strconv.FormatFloat(c.Floats[i], 'g', -1, 64)
	case Texts:
		return c.Texts[i]
	case Times:
		if t, ok := c.instant(i); ok {
			return t.Format("2006-01-02 15:04:05.999999999")
		}
	case Dates:
		if n := c.Ints[i]; n > -1e6 && n < 1e6 {
			return time.Unix(n*86400, 0).UTC().Format("2006-01-02")
		}
	}
	return strconv.FormatInt(c.Ints[i], 10)
}

// number returns a value as a price or volume.
func (c *Column) number(i int, style Style, places int) (float64, State) {
	if !c.valid(i) {
		return 0, Missing
	}
	switch c.Kind {
	case Floats:
		x := c.Floats[i]
		switch {
		case math.IsNaN(x):
			return 0, Missing
		case math.IsInf(x, 0):
			return 0, Bad
		}
		return x, Good
	case Integers:
		if places > 0 {
			return Whole(strconv.AppendInt(nil, c.Ints[i], 10), places)
		}
		return float64(c.Ints[i]), Good
	case Texts:
		if places > 0 {
			return Whole([]byte(c.Texts[i]), places)
		}
		return style.Number([]byte(c.Texts[i]))
	}
	return 0, Bad
}

// moment returns a value as a time.
func (c *Column) moment(i int, clock *Clock) Reading {
	if !c.valid(i) {
		return Reading{Code: BadNumber}
	}
	switch c.Kind {
	case Integers:
		t, u, code := Integer(c.Ints[i])
		return Reading{Time: t, Unit: u, Code: code}
	case Floats:
		return wholeMoment(c.Floats[i])
	case Texts:
		return clock.Read([]byte(c.Texts[i]))
	case Dates:
		return within(time.Unix(min(max(c.Ints[i], -1e6), 1e6)*86400, 0), Date)
	}
	t, ok := c.instant(i)
	if !ok {
		return Reading{Unit: c.Unit, Code: TimeOutOfRange}
	}
	if c.Zoned {
		return within(t, c.Unit)
	}
	zone := clock.zone
	if zone == nil {
		return Reading{Unit: c.Unit, Code: TimezoneRequired}
	}
	if t, ok = Local(t, zone); !ok {
		return Reading{Unit: c.Unit, Code: BadNumber}
	}
	return within(t, c.Unit)
}

// instant returns a count of units since 1970 as a time; not ok: too far away for any.
func (c *Column) instant(i int) (t time.Time, ok bool) {
	n := c.Ints[i]
	switch c.Unit {
	case Seconds:
		return time.Unix(n, 0).UTC(), n > -1e12 && n < 1e12
	case Milliseconds:
		return time.UnixMilli(n).UTC(), true
	case Microseconds:
		return time.UnixMicro(n).UTC(), true
	}
	return time.Unix(0, n).UTC(), true
}

func within(t time.Time, u Unit) Reading {
	r := Reading{Time: market.FromTime(t), Unit: u}
	if !InRange(r.Time) {
		r.Code = TimeOutOfRange
	}
	return r
}

// wholeMoment reads a time that is kept as a float: only whole ones below 2^53 are
// sure to be what was meant.
func wholeMoment(x float64) Reading {
	switch {
	case math.IsNaN(x):
		return Reading{Code: BadNumber}
	case x != math.Trunc(x) || math.Abs(x) >= 1<<53:
		return Reading{Code: TimeNotInteger}
	}
	t, u, code := Integer(int64(x))
	return Reading{Time: t, Unit: u, Code: code}
}
