package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// rows reads the lines of a block into the table. Nothing is allocated per row of a
// plain file.
func (r *run) rows(block []byte) error {
	r.table.grow(bytes.Count(block, []byte("\n")) + 1)
	r.line = r.src.line
	for len(block) > 0 {
		line := block
		if end := bytes.IndexByte(block, '\n'); end >= 0 {
			line, block = block[:end], block[end+1:]
		} else {
			block = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if err := r.row(line); err != nil {
			return err
		}
		r.line++
	}
	r.src.line = r.line
	return nil
}

// quote is the numbers of a row.
type quote struct {
	open, high, low, close, volume float64
	tick                           float64 // the other volume
	prices, amount                 State   // the worst of the prices, that of the volume
}

// row reads one line.
func (r *run) row(line []byte) error {
	l := &r.layout
	want := lastCell(l) + 1
	cells := Split(r.cells[:0], line, r.comma, want)
	if len(cells) < want {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		r.report.RowsRead++
		return r.fail(BadNumber, string(line), fmt.Sprintf("the row has %d columns, %d are needed", len(cells), want))
	}
	r.report.RowsRead++
	if l.Ticker >= 0 {
		mine, fault := r.mine(cells[l.Ticker])
		if fault != "" {
			return r.fail(MultipleTickers, string(line), fault)
		}
		if !mine {
			return nil
		}
	}
	q := r.numbers(cells)
	if q.prices == Bad || q.amount == Bad {
		return r.fail(BadNumber, string(line), badNumber(&r.layout, cells))
	}
	if q.prices == Missing {
		r.report.Skipped++
		return nil
	}
	m := r.moment(cells)
	if m.Code != "" {
		return r.fail(m.Code, string(line), r.timeMessage(m.Code, r.timeText(cells)))
	}
	if !q.possible() {
		return r.fail(BadNumber, string(line), impossible)
	}
	r.take(q, m)
	return nil
}

const impossible = "prices must be above zero and volumes not below"

func (q quote) possible() bool {
	return q.open > 0 && q.high > 0 && q.low > 0 && q.close > 0 && q.volume >= 0 && q.tick >= 0
}

// numbers reads the prices and the volume.
func (r *run) numbers(cells [][]byte) (q quote) {
	l := &r.layout
	var o, h, w, c State
	switch {
	case l.Places > 0:
		q.open, o = Whole(cells[l.Open], l.Places)
		q.high, h = Whole(cells[l.High], l.Places)
		q.low, w = Whole(cells[l.Low], l.Places)
		q.close, c = Whole(cells[l.Close], l.Places)
	case l.Numbers != Plain:
		q.open, o = l.Numbers.Number(cells[l.Open])
		q.high, h = l.Numbers.Number(cells[l.High])
		q.low, w = l.Numbers.Number(cells[l.Low])
		q.close, c = l.Numbers.Number(cells[l.Close])
	default:
		q.open, o = Number(cells[l.Open])
		q.high, h = Number(cells[l.High])
		q.low, w = Number(cells[l.Low])
		q.close, c = Number(cells[l.Close])
	}
	q.prices = max(o, h, w, c)
	if l.Volume >= 0 {
		q.volume, q.amount = l.Numbers.Number(cells[l.Volume])
	}
	if l.TickVolume >= 0 {
		var s State
		if q.tick, s = l.Numbers.Number(cells[l.TickVolume]); s == Bad {
			q.amount = Bad
		}
	}
	return q
}

// badNumber says why a row has none.
func badNumber(l *Layout, cells [][]byte) string {
	for _, i := range []int{l.Open, l.High, l.Low, l.Close} {
		if l.Places > 0 && bytes.ContainsAny(cells[i], ".") {
			return fmt.Sprintf("the prices are integers of 1e-%d so far, this one has a decimal point: give --columns to read them as they are", l.Places)
		}
	}
	return "a price or volume is not a number"
}

// moment reads the time of a row.
func (r *run) moment(cells [][]byte) Reading {
	l := &r.layout
	if l.Clock >= 0 {
		r.joined = append(append(append(r.joined[:0], cells[l.Time]...), ' '), cells[l.Clock]...)
		return r.clock.Read(r.joined)
	}
	return r.clock.Read(cells[l.Time])
}

func (r *run) timeText(cells [][]byte) string {
	if r.layout.Clock >= 0 {
		return string(r.joined)
	}
	return string(cells[r.layout.Time])
}

// take keeps a good row.
func (r *run) take(q quote, m Reading) {
	if q.amount == Missing {
		r.noVolume++
	}
	r.counts[m.Unit]++
	if r.layout.TickVolume >= 0 || r.tick != nil {
		r.tick = append(r.tick, r.table.Volume[len(r.tick):]...) // of files that had one volume
		tick := q.tick
		if r.layout.TickVolume < 0 {
			tick = q.volume
		}
		r.tick = append(r.tick, tick+0)
	}
	r.table.add(m.Time, q.open, q.high, q.low, q.close, q.volume+0, originOf(r.index, r.line)) // + 0 makes -0 a plain zero
	if m.Ambiguous {
		r.pending = append(r.pending, pendingDate{row: r.table.Len() - 1, line: r.line, monthFirst: m.Time, dayFirst: m.Other})
	} else if len(r.pending) > 0 && r.clock.Order != UnknownOrder {
		r.decideDates()
	}
}

// pendingDate is a row whose date could be two.
type pendingDate struct {
	row, line            int
	monthFirst, dayFirst market.Time
}

// decideDates goes back to the dates that were read before one showed their order.
func (r *run) decideDates() {
	for _, p := range r.pending {
		r.table.Time[p.row] = p.monthFirst
		if r.clock.Order == DayFirst {
			r.table.Time[p.row] = p.dayFirst
		}
	}
	r.pending = nil
}

// datesDecided refuses a file whose dates could all be two.
func (r *run) datesDecided() error {
	if len(r.pending) == 0 {
		return nil
	}
	e := Refuse(DateOrderAmbiguous, "no date has a part above 12, so none says whether the month or the day comes first: give --date-order mdy or dmy")
	for _, p := range r.pending {
		text := fmt.Sprintf("%s or %s", p.monthFirst.Time().Format("2006-01-02"), p.dayFirst.Time().Format("2006-01-02"))
		if e.Add(r.sources[r.index], p.line, text) {
			break
		}
	}
	return e
}

// fail keeps a fault of the current line. The first fault decides the code; the file
// is read on for more of that kind only until there are enough.
func (r *run) fail(code Code, line, message string) error {
	if r.refusal == nil {
		r.refusal = Refuse(code, "%s", message)
	}
	if r.refusal.Code == code && r.refusal.Add(r.sources[r.index], r.line, line) {
		return errEnough
	}
	return nil
}

func (r *run) timeMessage(code Code, text string) string {
	switch text = Shorten(text); code {
	case TimeNotInteger:
		return fmt.Sprintf("the time %s is not an integer: digits are lost, export the file again with whole numbers", text)
	case TimeOutOfRange:
		return fmt.Sprintf("the time %s is not in the years 1970 to 2100 (integers are s, ms, us or ns since 1970; write dates as 2024-01-31)", text)
	case TimezoneRequired:
		return fmt.Sprintf("the time %s has no offset: give --tz, for example --tz UTC", text)
	default:
		if zone := r.clock.Zone(); zone != nil && zone != time.UTC {
			return fmt.Sprintf("%q is not a time, or one that daylight saving skips in %s", text, zone)
		}
		return fmt.Sprintf("%q is not a time", text)
	}
}

// tickers keeps apart what the rows of a file are about.
type tickers struct {
	used bool // a file tells them apart
	only string
	seen []string // other ones
	left int      // rows of those
}

// mine says whether a row is about the series: the ticker asked for, else the only one.
// A second one that nobody asked for is a fault, once.
func (r *run) mine(name []byte) (ok bool, fault string) {
	t := &r.tickers
	name = bytes.TrimSpace(name)
	want := r.opts.Ticker
	if want == "" && t.only == "" {
		t.only = string(name)
	}
	if want == "" && string(name) == t.only || want != "" && strings.EqualFold(string(name), want) {
		return true, ""
	}
	t.left++
	r.report.Skipped++
	if len(t.seen) >= 8 || slices.Contains(t.seen, string(name)) {
		return false, ""
	}
	t.seen = append(t.seen, string(name))
	if want != "" {
		return false, ""
	}
	return false, fmt.Sprintf("the rows are about %s, %s and maybe more: give --ticker with one of them", t.only, name)
}

// tickerFound refuses a ticker that is in none of the files.
func (r *run) tickerFound() error {
	t := &r.tickers
	switch {
	case r.opts.Ticker == "":
		return nil
	case !t.used:
		return &OptionError{Flag: "--ticker", Message: "is of no use: the files have no column that names one"}
	case t.left > 0 && r.table.Len() == 0:
		return Refuse(NoRows, "no row is about the ticker %s; there are %s", r.opts.Ticker, strings.Join(t.seen, ", "))
	case t.left > 0:
		r.report.warn(warnTickers, "%d rows about other tickers were left out (--ticker %s)", t.left, r.opts.Ticker)
	}
	return nil
}

// origin is where a row comes from: file and line in one number.
type origin int64

const lineBits = 40

func originOf(file, line int) origin { return origin(file)<<lineBits | origin(line) }

func (o origin) file() int { return int(o >> lineBits) }
func (o origin) line() int { return int(o & (1<<lineBits - 1)) }

// table is rows as columns, in the order in which they were read.
type table struct {
	market.Series
	origins []origin
}

// grow makes room for n more rows, so that add needs no check of its own.
func (t *table) grow(n int) {
	t.Time = slices.Grow(t.Time, n)
	t.Open = slices.Grow(t.Open, n)
	t.High = slices.Grow(t.High, n)
	t.Low = slices.Grow(t.Low, n)
	t.Close = slices.Grow(t.Close, n)
	t.Volume = slices.Grow(t.Volume, n)
	t.origins = slices.Grow(t.origins, n)
}

func (t *table) add(at market.Time, o, h, l, c, v float64, from origin) {
	t.Time = append(t.Time, at)
	t.Open = append(t.Open, o)
	t.High = append(t.High, h)
	t.Low = append(t.Low, l)
	t.Close = append(t.Close, c)
	t.Volume = append(t.Volume, v)
	t.origins = append(t.origins, from)
}

// move copies row from to row to.
func (t *table) move(to, from int) {
	t.Time[to] = t.Time[from]
	t.Open[to], t.High[to] = t.Open[from], t.High[from]
	t.Low[to], t.Close[to] = t.Low[from], t.Close[from]
	t.Volume[to] = t.Volume[from]
	t.origins[to] = t.origins[from]
}

// cut keeps the first n rows.
func (t *table) cut(n int) {
	t.Series = *t.Slice(0, n)
	t.origins = t.origins[:n]
}

// sameCandle compares everything but the time.
func sameCandle(a *market.Series, i int, b *market.Series, j int) bool {
	return a.Open[i] == b.Open[j] && a.High[i] == b.High[j] && a.Low[i] == b.Low[j] &&
		a.Close[i] == b.Close[j] && a.Volume[i] == b.Volume[j]
}

// sort brings the rows in the order of time; rows of one time keep theirs.
func (t *table) sort() {
	if descending(t.Time) {
		slices.Reverse(t.Time)
		for _, c := range [][]float64{t.Open, t.High, t.Low, t.Close, t.Volume} {
			slices.Reverse(c)
		}
		slices.Reverse(t.origins)
		return
	}
	order := make([]int, t.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(t.Time[a] - t.Time[b]) })
	t.Time = permuted(t.Time, order)
	t.Open, t.High = permuted(t.Open, order), permuted(t.High, order)
	t.Low, t.Close = permuted(t.Low, order), permuted(t.Close, order)
	t.Volume = permuted(t.Volume, order)
	t.origins = permuted(t.origins, order)
}

// descending says that every row is earlier than the one above it, as in the files
// of sites that show the newest day first.
func descending(t []market.Time) bool {
	for i := 1; i < len(t); i++ {
		if t[i] >= t[i-1] {
			return false
		}
	}
	return true
}

func permuted[T any](column []T, order []int) []T {
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = column[from]
	}
	return out
}
