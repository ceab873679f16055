package profile

import (
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/refusal"
)

// byName is the general format: a header that names the columns.
func byName() Profile {
	return Profile{
		Name: "by_name",
		Doc:  "a header with time|timestamp|date|datetime|unix|open_time, open, high, low, close and a name that begins with vol",
		Layout: func(h Head) (Layout, bool, error) {
			if h.isRow() {
				return Layout{}, false, nil
			}
			return nameLayout(h, 0)
		},
	}
}

// nameLayout maps the header in a line of the head. The first column of a name counts,
// the others are ignored.
func nameLayout(h Head, line int) (Layout, bool, error) {
	l := named(h.Cells(line))
	l.Skip = line + 1
	if l.Time < 0 && h.indexIsTime(line) {
		l.Time = 0
		l.Notes = append(l.Notes, Note{UnnamedTime, "the first column has no name and its cells are times, as pandas writes an index: it is read as the time"})
	}
	if err := complete(h, line, l); err != nil {
		return l, true, err
	}
	return l, true, dateBesideClock(h, line)
}

// UnnamedTime is the code of the note about a column of times without a name.
const UnnamedTime = "UNNAMED_TIME"

// isUnnamed reports whether a column has the name that pandas gives a column, or an index, without one.
func isUnnamed(name string) bool { return plain(name) == "" || plain(name) == "unnamed:0" }

// indexIsTime reports whether the first column has no name and each of its cells in the head is a time that cannot
// be the number of a row: a date, or seconds since 1970 of ten digits at least.
func (h Head) indexIsTime(line int) bool {
	names := h.Cells(line)
	if len(names) == 0 || !isUnnamed(names[0]) || len(h.Lines) < line+2 {
		return false
	}
	for i := line + 1; i < len(h.Lines); i++ {
		cells := h.Cells(i)
		if filled(cells) == 0 {
			continue
		}
		_, unit, code := cell.Moment([]byte(cells[0]), time.UTC)
		if code != "" || unit < cell.Text && len(cells[0]) < 10 {
			return false
		}
	}
	return true
}

// timeNames are what the column of times is called.
var timeNames = []string{"time", "timestamp", "date", "datetime", "unix", "opentime", "timems"}

// named finds the columns of a header.
func named(names []string) Layout {
	l := none()
	l.Time = find(names, timeNames...)
	l.Open, l.High, l.Low, l.Close = find(names, "open"), find(names, "high"), find(names, "low"), find(names, "close")
	l.Ticker = find(names, "ticker", "symbol")
	for i, n := range names {
		if l.Volume < 0 && strings.HasPrefix(plain(n), "vol") {
			l.Volume = i
		}
	}
	return l
}

// find is the first column with one of the names, -1 if there is none.
func find(names []string, wanted ...string) int {
	for i, n := range names {
		n = plain(n)
		for _, w := range wanted {
			if n == w {
				return i
			}
		}
	}
	return -1
}

// plain is a name without what exporters put around it: case, blanks, underscores,
// angle brackets.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t_<>\u00a0\ufeff", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// complete refuses a header that lacks a column, and rows with more cells than it has
// names: nobody can tell where the nameless one belongs.
func complete(h Head, line int, l Layout) error {
	var missing []string
	for _, c := range []struct {
		name string
		at   int
	}{{"time", l.Time}, {"open", l.Open}, {"high", l.High}, {"low", l.Low}, {"close", l.Close}} {
		if c.at < 0 {
			missing = append(missing, c.name)
		}
	}
	if missing != nil {
		return h.refuse(refusal.ColumnsMissing, line, "the header does not name %s: %s", strings.Join(missing, ", "), remedy(h.Cells(line)))
	}
	names, cells := len(h.Cells(line)), filled(h.Cells(line+1))
	if cells > names {
		return h.refuse(refusal.ColumnsRequired, line+1, "the header has %d names and the rows have %d columns: give --columns", names, cells)
	}
	return nil
}

// remedy is the value of --columns that reads a header whose first name is empty, as
// that of an index is; else how it is made.
func remedy(names []string) string {
	l := named(names)
	if l.Time >= 0 || l.Open < 0 || l.High < 0 || l.Low < 0 || l.Close < 0 || names[0] != "" {
		return "rename the columns, or give --columns with a name for each position, for example --columns time,open,high,low,close,volume"
	}
	l.Time = 0
	list := make([]string, 1+max(l.Open, l.High, l.Low, l.Close, l.Volume))
	for i := range list {
		list[i] = "-"
	}
	for name, at := range map[string]int{"time": 0, "open": l.Open, "high": l.High, "low": l.Low, "close": l.Close, "volume": l.Volume} {
		if at >= 0 {
			list[at] = name
		}
	}
	return fmt.Sprintf("if the column without a name has the times, give --columns %s", strings.Join(list, ","))
}

// filled is the number of cells without empty ones behind the last comma.
func filled(row []string) int {
	n := len(row)
	for n > 0 && row[n-1] == "" {
		n--
	}
	return n
}

// dateBesideClock refuses a header that splits the time into a date and a clock: one
// of them alone would be another time.
func dateBesideClock(h Head, line int) error {
	row := h.Cells(line + 1)
	first := -1
	for i, n := range h.Cells(line) {
		if !isTimeName(n) {
			continue
		}
		if first < 0 {
			first = i
			continue
		}
		if i < len(row) && isClock(row[i]) {
			return h.refuse(refusal.ColumnsRequired, line+1, "the columns %d and %d are a date and a time of day: join them into one column", first+1, i+1)
		}
	}
	return nil
}

func isTimeName(n string) bool { return find([]string{n}, timeNames...) == 0 }

// isClock says that a cell is a time of day without a date.
func isClock(cell string) bool { return len(cell) < 13 && strings.Contains(cell, ":") }
