package market

import (
	"cmp"
	"slices"
	"time"
)

// InputRow is one value of an input, a series beside the candles.
type InputRow struct {
	Time  Time // what the value is of
	Known Time // when it became known: no strategy sees it before
	Value float64
}

// ValidInputName reports whether an input may have the name: ^[a-z][a-z0-9_-]{0,62}$.
func ValidInputName(name string) bool {
	for i, c := range []byte(name) {
		if letter := c >= 'a' && c <= 'z'; !letter &&
			(i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 63
}

// CompareInputRows orders rows by when they became known, then by time.
func CompareInputRows(a, b InputRow) int {
	return cmp.Or(cmp.Compare(a.Known, b.Known), cmp.Compare(a.Time, b.Time))
}

// MaxInputHistory is how many values of an input a strategy sees at most: those of the newest times.
const MaxInputHistory = 10_000

// InputHistory is what is visible of an input: of each time the value that became known last,
// ascending by time.
type InputHistory struct{ rows []InputRow }

// See adds a row that has become known.
func (h *InputHistory) See(row InputRow) {
	at, found := slices.BinarySearchFunc(h.rows, row.Time, func(r InputRow, t Time) int {
		return cmp.Compare(r.Time, t)
	})
	switch {
	case found && h.rows[at].Known <= row.Known:
		h.rows[at] = row
	case !found:
		h.rows = slices.Insert(h.rows, at, row)
	}
	if n := len(h.rows); n >= 2*MaxInputHistory { // now and then, not for every row
		h.rows = h.rows[:copy(h.rows, h.rows[n-MaxInputHistory:])]
	}
}

// Last are the newest n rows, or all there are. The slice is valid until the next See.
func (h *InputHistory) Last(n int) []InputRow {
	to := len(h.rows)
	return h.rows[to-min(n, to, MaxInputHistory) : to : to]
}

// InputAge follows how old the newest value of an input is, by which entries are held back.
type InputAge struct {
	Name string
	// Max is the age up to which entries pass; 0: any age.
	Max    time.Duration
	newest InputRow
	seen   bool
}

// See takes rows that have become known.
func (a *InputAge) See(rows []InputRow) {
	for _, r := range rows {
		if !a.seen || r.Time > a.newest.Time || r.Time == a.newest.Time && r.Known >= a.newest.Known {
			a.newest, a.seen = r, true
		}
	}
}

// At is the age of the newest value, counted from when it became known; ok is false before the first.
func (a *InputAge) At(t Time) (age time.Duration, ok bool) {
	return t.Time().Sub(a.newest.Known.Time()), a.seen
}

// Stale reports whether no entry passes at a time: the newest value is too old, or there is none.
func (a *InputAge) Stale(t Time) bool {
	age, ok := a.At(t)
	return a.Max > 0 && (!ok || age > a.Max)
}

// InputReader hands out the rows of an input as they become known.
type InputReader struct {
	rows []InputRow // ascending, see CompareInputRows
	next int
}

// NewInputReader reads rows that ascend by CompareInputRows.
func NewInputReader(rows []InputRow) *InputReader { return &InputReader{rows: rows} }

// Until are the rows that became known at or before a time and were not handed out yet. Of more
// than a strategy can see at once only those are handed out that it can.
func (r *InputReader) Until(t Time) []InputRow {
	from := r.next
	for r.next < len(r.rows) && r.rows[r.next].Known <= t {
		r.next++
	}
	rows := r.rows[from:r.next:r.next]
	if len(rows) <= MaxInputHistory {
		return rows
	}
	var h InputHistory
	for _, row := range rows {
		h.See(row)
	}
	return h.Last(MaxInputHistory)
}
