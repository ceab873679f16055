package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Profile is one format of files: how to recognise it and how its rows are laid out.
type Profile struct {
	// Name is what --profile takes and the report shows.
	Name string
	// Doc is one line for help texts.
	Doc string
	// Layout looks at the beginning of a file. ok is false when it is another format;
	// the error is a refusal of a file that is this format.
	Layout func(h Head) (l Layout, ok bool, err error)
}

// Head is the beginning of a file.
type Head struct {
	// Name of the file without folder.
	Name string
	// Comma is the delimiter that the first line uses.
	Comma byte
	// Lines are the first few, without line ends; blank ones before the first are left out.
	Lines []string
	// blank is how many were left out.
	blank int
}

// Cells of one line, unquoted and without blanks around them.
func (h Head) Cells(line int) []string {
	if line >= len(h.Lines) {
		return nil
	}
	cells := split(nil, []byte(h.Lines[line]), h.Comma, maxColumns)
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = string(bytes.TrimSpace(c))
	}
	return out
}

// Layout says which cell of a row is what, counted from 0.
type Layout struct {
	// Skip is how many of the head's lines come before the first row.
	Skip                   int
	Time                   int
	Open, High, Low, Close int
	// Volume is -1 where the format has none.
	Volume int
}

// last is the highest cell that matters.
func (l Layout) last() int {
	return max(l.Time, l.Open, l.High, l.Low, l.Close, l.Volume)
}

const (
	headLines  = 16
	maxColumns = 1024
)

// profiles in the order in which they are asked: the general one comes last.
func (o Options) profiles() []Profile {
	return append(slices.Clone(o.Profiles), byName())
}

// layout finds the profile of a file.
func (o Options) layout(h Head) (name string, l Layout, err error) {
	if o.Columns != nil {
		l, err := columnLayout(o.Columns)
		if err == nil && !looksLikeRow(h.Cells(0), l) {
			l.Skip = 1
		}
		return "columns", l, err
	}
	for _, p := range o.profiles() {
		if o.Profile != "" && o.Profile != p.Name {
			continue
		}
		l, ok, err := p.Layout(h)
		if ok || err != nil {
			return p.Name, l, err
		}
	}
	e := refuse(ColumnsRequired, "no header names the columns and no known format fits: give --columns, for example --columns time,open,high,low,close,volume")
	if o.Profile != "" {
		e = refuse(ColumnsMissing, "this is not a file of the profile %s", o.Profile)
	}
	e.add(h.Name, 1+h.blank, firstOf(h.Lines))
	return "", l, e
}

func firstOf(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// columnLayout reads a list of column names by position.
func columnLayout(names []string) (Layout, error) {
	at := map[string]int{}
	for i, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		switch n {
		case "time", "open", "high", "low", "close", "volume":
			if _, twice := at[n]; twice {
				return Layout{}, &OptionError{Flag: "--columns", Message: n + " is named twice"}
			}
			at[n] = i
		}
	}
	for _, n := range []string{"time", "open", "high", "low", "close"} {
		if _, ok := at[n]; !ok {
			return Layout{}, &OptionError{Flag: "--columns", Message: fmt.Sprintf("%s is missing: name the position of time, open, high, low, close and, if there is one, volume", n)}
		}
	}
	if len(names) > maxColumns {
		return Layout{}, &OptionError{Flag: "--columns", Message: fmt.Sprintf("more than %d columns", maxColumns)}
	}
	l := Layout{Time: at["time"], Open: at["open"], High: at["high"], Low: at["low"], Close: at["close"], Volume: -1}
	if i, ok := at["volume"]; ok {
		l.Volume = i
	}
	return l, nil
}

// looksLikeRow says whether the cells could be a row and not a header: a price that is
// a number, or missing.
func looksLikeRow(cells []string, l Layout) bool {
	for _, i := range []int{l.Open, l.High, l.Low, l.Close} {
		if i >= len(cells) {
			return false
		}
		if _, state := parseNumber([]byte(cells[i])); state == bad {
			return false
		}
	}
	return true
}

// byName is the general format: a header that names the columns.
func byName() Profile {
	return Profile{
		Name: "by_name",
		Doc:  "a header with time|timestamp|date|datetime|unix|open_time|time_ms, open, high, low, close and a name that begins with vol",
		Layout: func(h Head) (Layout, bool, error) {
			cells := h.Cells(0)
			if numbers(cells) > len(cells)/2 {
				return Layout{}, false, nil
			}
			return nameLayout(h, cells)
		},
	}
}

// nameLayout maps a header. The first column of a name counts, the others are ignored.
func nameLayout(h Head, names []string) (Layout, bool, error) {
	l := Layout{Skip: 1, Time: -1, Open: -1, High: -1, Low: -1, Close: -1, Volume: -1}
	var times []int
	for i, n := range names {
		switch n = plainName(n); {
		case isTimeName(n):
			times = append(times, i)
		case n == "open":
			first(&l.Open, i)
		case n == "high":
			first(&l.High, i)
		case n == "low":
			first(&l.Low, i)
		case n == "close":
			first(&l.Close, i)
		case strings.HasPrefix(n, "vol"):
			first(&l.Volume, i)
		}
	}
	if len(times) > 0 {
		l.Time = times[0]
	}
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
		e := refuse(ColumnsMissing, "the header does not name %s: give --columns, or rename the columns", strings.Join(missing, ", "))
		e.add(h.Name, 1+h.blank, h.Lines[0])
		return l, false, e
	}
	if err := namesFit(h, len(names)); err != nil {
		return l, true, err
	}
	return l, true, dateBesideClock(h, times)
}

// namesFit refuses rows with more cells than the header has names: nobody can tell
// where the nameless one belongs. An empty cell behind the last comma is none.
func namesFit(h Head, names int) error {
	row := h.Cells(1)
	for len(row) > names && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	if len(row) <= names {
		return nil
	}
	e := refuse(ColumnsRequired, "the header has %d names and the rows have %d columns: give --columns", names, len(row))
	e.add(h.Name, 2+h.blank, h.Lines[1])
	return e
}

// dateBesideClock refuses a header that splits the time into a date and a clock: one
// of them alone would be another time.
func dateBesideClock(h Head, times []int) error {
	row := h.Cells(1)
	for _, i := range times[1:] {
		if i < len(row) && len(row[i]) < 13 && strings.Count(row[i], ":") > 0 {
			e := refuse(ColumnsRequired, "the columns %d and %d are a date and a time of day: join them into one column", times[0]+1, i+1)
			e.add(h.Name, 2+h.blank, h.Lines[1])
			return e
		}
	}
	return nil
}

func isTimeName(n string) bool {
	switch n {
	case "time", "timestamp", "date", "datetime", "unix", "opentime", "timems":
		return true
	}
	return false
}

// plainName is a name without what exporters put around it: case, blanks,
// underscores, angle brackets.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t_<>\u00a0", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

func first(at *int, i int) {
	if *at < 0 {
		*at = i
	}
}

// numbers counts the cells that are numbers.
func numbers(cells []string) int {
	n := 0
	for _, c := range cells {
		if _, state := parseNumber([]byte(c)); state == good {
			n++
		}
	}
	return n
}
