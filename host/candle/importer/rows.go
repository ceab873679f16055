package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/refusal"
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
	tick                           float64    // the other volume
	prices, amount                 cell.State // the worst of the prices, that of the volume
}

// row reads one line.
func (r *run) row(line []byte) error {
	l := &r.layout
	want := l.Last() + 1
	cells := cell.Split(r.cells[:0], line, r.comma, want)
	if len(cells) < want {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		r.report.RowsRead++
		return r.fail(refusal.BadNumber, string(line), fmt.Sprintf("the row has %d columns, %d are needed", len(cells), want))
	}
	r.report.RowsRead++
	if l.Ticker >= 0 {
		mine, fault := r.mine(cells[l.Ticker])
		if fault != "" {
			return r.fail(refusal.MultipleTickers, string(line), fault)
		}
		if !mine {
			return nil
		}
	}
	q := r.numbers(cells)
	if q.prices == cell.Bad || q.amount == cell.Bad {
		return r.fail(refusal.BadNumber, string(line), r.badNumber(cells))
	}
	if q.prices == cell.Missing {
		r.report.Skipped++
		return nil
	}
	m := r.moment(cells)
	if m.Code != "" {
		return r.fail(m.Code, string(line), r.timeMessage(m.Code, r.timeText(cells)))
	}
	if !q.possible() {
		return r.fail(refusal.BadNumber, string(line), impossible)
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
	var o, h, w, c cell.State
	switch {
	case l.Places > 0:
		q.open, o = cell.Whole(cells[l.Open], l.Places)
		q.high, h = cell.Whole(cells[l.High], l.Places)
		q.low, w = cell.Whole(cells[l.Low], l.Places)
		q.close, c = cell.Whole(cells[l.Close], l.Places)
	case l.Numbers != cell.Plain:
		q.open, o = l.Numbers.Number(cells[l.Open])
		q.high, h = l.Numbers.Number(cells[l.High])
		q.low, w = l.Numbers.Number(cells[l.Low])
		q.close, c = l.Numbers.Number(cells[l.Close])
	default:
		q.open, o = cell.Number(cells[l.Open])
		q.high, h = cell.Number(cells[l.High])
		q.low, w = cell.Number(cells[l.Low])
		q.close, c = cell.Number(cells[l.Close])
	}
	q.prices = max(o, h, w, c)
	if l.Volume >= 0 {
		q.volume, q.amount = l.Numbers.Number(cells[l.Volume])
	}
	if l.TickVolume >= 0 {
		var s cell.State
		if q.tick, s = l.Numbers.Number(cells[l.TickVolume]); s == cell.Bad {
			q.amount = cell.Bad
		}
	}
	return q
}

// badNumber says why a row has none.
func (r *run) badNumber(cells [][]byte) string {
	l := &r.layout
	for _, i := range []int{l.Open, l.High, l.Low, l.Close} {
		if l.Places > 0 && bytes.ContainsAny(cells[i], ".") {
			return fmt.Sprintf("the prices are integers of 1e-%d so far, this one has a decimal point: give --columns to read them as they are", l.Places)
		}
	}
	return "a price or volume is not a number"
}

// moment reads the time of a row.
func (r *run) moment(cells [][]byte) cell.Reading {
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
func (r *run) take(q quote, m cell.Reading) {
	if q.amount == cell.Missing {
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
	} else if len(r.pending) > 0 && r.clock.Order != cell.UnknownOrder {
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
		if r.clock.Order == cell.DayFirst {
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
	e := refusal.New(refusal.DateOrderAmbiguous, "no date has a part above 12, so none says whether the month or the day comes first: give --date-order mdy or dmy")
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
func (r *run) fail(code refusal.Code, line, message string) error {
	if r.refusal == nil {
		r.refusal = refusal.New(code, "%s", message)
	}
	if r.refusal.Code == code && r.refusal.Add(r.sources[r.index], r.line, line) {
		return errEnough
	}
	return nil
}

func (r *run) timeMessage(code refusal.Code, text string) string {
	switch text = refusal.Shorten(text); code {
	case refusal.TimeNotInteger:
		return fmt.Sprintf("the time %s is not an integer: digits are lost, export the file again with whole numbers", text)
	case refusal.TimeOutOfRange:
		return fmt.Sprintf("the time %s is not in the years 1970 to 2100 (integers are s, ms, us or ns since 1970; write dates as 2024-01-31)", text)
	case refusal.TimezoneRequired:
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
		return &refusal.OptionError{Flag: "--ticker", Message: "is of no use: the files have no column that names one"}
	case t.left > 0 && r.table.Len() == 0:
		return refusal.New(refusal.NoRows, "no row is about the ticker %s; there are %s", r.opts.Ticker, strings.Join(t.seen, ", "))
	case t.left > 0:
		r.report.warn(warnTickers, "%d rows about other tickers were left out (--ticker %s)", t.left, r.opts.Ticker)
	}
	return nil
}
