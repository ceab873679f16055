package importer

import (
	"bytes"
	"cmp"
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
	price          [4]float64 // open, high, low, close
	volume, tick   float64    // tick is the other volume
	prices, amount State      // the worst of the prices, that of the volume
}

// row reads one line.
func (r *run) row(line []byte) error {
	l := &r.layout
	want := l.lastCell() + 1
	cells := Split(r.cells[:0], line, r.comma, want)
	if len(cells) < want {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		r.report.RowsRead++
		return r.addFault(BadNumber, string(line),
			fmt.Sprintf("the row has %d columns, %d are needed", len(cells), want))
	}
	r.report.RowsRead++
	if at := l.At[tickerCell]; at >= 0 {
		mine, fault := r.isWanted(cells[at])
		if fault != "" {
			return r.addFault(MultipleTickers, string(line), fault)
		}
		if !mine {
			return nil
		}
	}
	q := r.numbers(cells)
	if q.prices == Bad || q.amount == Bad {
		return r.addFault(BadNumber, string(line), badNumber(l, cells))
	}
	if q.prices == Missing {
		r.report.Skipped++
		return nil
	}
	at := cells[l.At[timeCell]]
	if l.At[clockCell] >= 0 {
		r.joined = append(append(append(r.joined[:0], at...), ' '), cells[l.At[clockCell]]...)
		at = r.joined
	}
	m := r.clock.Read(at)
	if m.Code != "" {
		return r.addFault(m.Code, string(line), r.timeMessage(m.Code, string(at)))
	}
	if !q.possible() {
		return r.addFault(BadNumber, string(line), impossible)
	}
	r.take(q, m)
	return nil
}

const impossible = "prices must be above zero and volumes not below"

func (q quote) possible() bool {
	return min(q.price[0], q.price[1], q.price[2], q.price[3]) > 0 && q.volume >= 0 && q.tick >= 0
}

// numbers reads the prices and the volume.
func (r *run) numbers(cells [][]byte) (q quote) {
	l := &r.layout
	for i, at := range l.prices() {
		var s State
		if l.Places > 0 {
			q.price[i], s = Whole(cells[at], l.Places)
		} else {
			q.price[i], s = l.Numbers.Number(cells[at])
		}
		q.prices = max(q.prices, s)
	}
	if at := l.At[volumeCell]; at >= 0 {
		q.volume, q.amount = l.Numbers.Number(cells[at])
	}
	if at := l.At[tickCell]; at >= 0 {
		var s State
		if q.tick, s = l.Numbers.Number(cells[at]); s == Bad {
			q.amount = Bad
		}
	}
	return q
}

// badNumber is why a row has none.
func badNumber(l *Layout, cells [][]byte) string {
	for _, i := range l.prices() {
		if l.Places > 0 && bytes.ContainsAny(cells[i], ".") {
			return fmt.Sprintf(
				"the prices are integers of 1e-%d so far, this one has a decimal point: give --columns to "+
					"read them as they are", l.Places)
		}
	}
	return "a price or volume is not a number"
}

// take keeps a good row.
func (r *run) take(q quote, m Reading) {
	if q.amount == Missing {
		r.noVolume++
	}
	r.counts[m.Unit]++
	if r.layout.At[tickCell] >= 0 || r.tick != nil {
		r.tick = append(r.tick, r.table.Volume[len(r.tick):]...) // of files that had one volume
		tick := q.tick
		if r.layout.At[tickCell] < 0 {
			tick = q.volume
		}
		r.tick = append(r.tick, tick+0)
	}
	r.table.add(m.Time, &q, originOf(r.index, r.line))
	if m.Ambiguous {
		r.pending = append(r.pending,
			pendingDate{row: r.table.Len() - 1, line: r.line, monthFirst: m.Time, dayFirst: m.Other})
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

// checkDates refuses a file whose dates could all be two.
func (r *run) checkDates() error {
	if len(r.pending) == 0 {
		return nil
	}
	e := Refuse(DateOrderAmbiguous,
		"no date has a part above 12, so none says whether the month or the day comes first: give "+
			"--date-order mdy or dmy")
	for _, p := range r.pending {
		text := fmt.Sprintf("%s or %s", p.monthFirst.Time().Format("2006-01-02"),
			p.dayFirst.Time().Format("2006-01-02"))
		if e.Add(r.sources[r.index], p.line, text) {
			break
		}
	}
	return e
}

// addFault keeps a fault of the current line. The first fault decides the code; the file
// is read on for more of that kind only until there are enough.
func (r *run) addFault(code Code, line, message string) error {
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
		return fmt.Sprintf(
			"the time %s is not an integer: digits are lost, export the file again with whole numbers", text)
	case TimeOutOfRange:
		return fmt.Sprintf(
			"the time %s is not in the years 1970 to 2100 (integers are s, ms, us or ns since 1970; write "+
				"dates as 2024-01-31)", text)
	case TimezoneRequired:
		return fmt.Sprintf("the time %s has no offset: give --tz, for example --tz UTC", text)
	default:
		if zone := r.clock.zone; zone != nil && zone != time.UTC {
			return fmt.Sprintf("%q is not a time, or one that daylight saving skips in %s", text, zone)
		}
		return fmt.Sprintf("%q is not a time", text)
	}
}

// tickers keeps apart what the rows of a file are about.
type tickers struct {
	used bool // a file distinguishes them
	only string
	seen []string // other ones
	left int      // rows of those
}

// isWanted reports whether a row is about the series: the ticker asked for, else the only one.
// A second one that was not asked for is a fault, once.
func (r *run) isWanted(name []byte) (ok bool, fault string) {
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
	return false,
		fmt.Sprintf("the rows are about %s, %s and maybe more: give --ticker with one of them", t.only, name)
}

// checkTicker refuses a ticker that is in none of the files.
func (r *run) checkTicker() error {
	t := &r.tickers
	switch {
	case r.opts.Ticker == "":
		return nil
	case !t.used:
		return &OptionError{Flag: "--ticker",
			Message: "does not apply: the files have no column that names one"}
	case t.left > 0 && r.table.Len() == 0:
		return Refuse(NoRows, "no row is about the ticker %s; there are %s", r.opts.Ticker,
			strings.Join(t.seen, ", "))
	case t.left > 0:
		r.report.warn(warnTickers, "%d rows about other tickers were left out (--ticker %s)", t.left,
			r.opts.Ticker)
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

// columns are the numbers of a series.
func columns(s *market.Series) [5]*[]float64 {
	return [...]*[]float64{&s.Open, &s.High, &s.Low, &s.Close, &s.Volume}
}

// grow makes room for n more rows, so that add needs no check of its own.
func (t *table) grow(n int) {
	t.Time = slices.Grow(t.Time, n)
	for _, c := range columns(&t.Series) {
		*c = slices.Grow(*c, n)
	}
	t.origins = slices.Grow(t.origins, n)
}

func (t *table) add(at market.Time, q *quote, from origin) {
	t.Time = append(t.Time, at)
	t.Open = append(t.Open, q.price[0])
	t.High = append(t.High, q.price[1])
	t.Low = append(t.Low, q.price[2])
	t.Close = append(t.Close, q.price[3])
	t.Volume = append(t.Volume, q.volume+0) // + 0 makes -0 a plain zero
	t.origins = append(t.origins, from)
}

// move copies row from to row to.
func (t *table) move(to, from int) {
	t.Time[to], t.origins[to] = t.Time[from], t.origins[from]
	for _, c := range columns(&t.Series) {
		(*c)[to] = (*c)[from]
	}
}

// cut keeps the first n rows.
func (t *table) cut(n int) {
	t.Series = *t.Slice(0, n)
	t.origins = t.origins[:n]
}

// sameCandle compares everything but the time.
func sameCandle(a *market.Series, i int, b *market.Series, j int) bool {
	theirs := columns(b)
	for k, c := range columns(a) {
		if (*c)[i] != (*theirs[k])[j] {
			return false
		}
	}
	return true
}

// sort brings the rows in the order of time; rows of one time keep theirs.
func (t *table) sort() {
	if descending(t.Time) {
		slices.Reverse(t.Time)
		for _, c := range columns(&t.Series) {
			slices.Reverse(*c)
		}
		slices.Reverse(t.origins)
		return
	}
	order := make([]int, t.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Time[a], t.Time[b]) })
	t.Time, t.origins = permuted(t.Time, order), permuted(t.origins, order)
	for _, c := range columns(&t.Series) {
		*c = permuted(*c, order)
	}
}

// descending reports whether every row is earlier than the one above it, as in the files
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
