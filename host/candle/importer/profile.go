package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Profile is one format of files.
type Profile struct {
	// Name is what --profile takes and the report shows.
	Name string
	// Doc is one line for help texts.
	Doc string
	// Layout looks at the beginning of a file. ok reports whether it is of this format;
	// the error is a refusal of a file that is this format.
	Layout func(h Head) (l Layout, ok bool, err error)
}

// CurrentProfile returns the present name of a profile that was renamed, else the name itself.
func CurrentProfile(name string) string {
	if name == "binance-futures" {
		return "binance-header"
	}
	return name
}

// Recognise finds the profile of a file; a name asks that one only.
func Recognise(h Head, name string) (string, Layout, error) {
	name = CurrentProfile(name)
	h.Forced = name != ""
	for _, p := range Profiles() {
		if h.Forced && name != p.Name {
			continue
		}
		l, ok, err := p.Layout(h)
		if ok || err != nil {
			return p.Name, l, err
		}
	}
	if h.Forced {
		return "", Layout{}, h.refuse(ColumnsMissing, 0, "this is not a file of the profile %s", name)
	}
	return "", Layout{}, h.refuse(ColumnsRequired, 0,
		"no header names the columns and no known format fits: give --columns, for example --columns "+
			"time,open,high,low,close,volume (--profile ccxt for rows of its fetch_ohlcv)")
}

// headLines is how many lines a Head has at most: enough to see how a file writes its
// numbers.
const headLines = 1024

// MaxColumns is how many cells of a row are looked at.
const MaxColumns = 1024

// Head is the beginning of a file.
type Head struct {
	// Name of the file without folder.
	Name string
	// Comma is the delimiter that the first line uses.
	Comma byte
	// Lines are the first ones, without line ends; blank ones before the first are left out.
	Lines []string
	// Blank is how many were left out.
	Blank int
	// Names are the columns of a file that has no lines.
	Names []string
	// JSON files are arrays of arrays, one a line.
	JSON bool
	// Ticker is the one asked for.
	Ticker string
	// Forced reports whether the user names this profile: marks that only distinguish it from others
	// may be missing.
	Forced bool
}

// NewHead takes the head off the first block of a text file.
func NewHead(name string, block []byte) Head {
	h := Head{Name: name}
	for l := range bytes.Lines(block) {
		l = bytes.TrimRight(l, "\r\n")
		if len(h.Lines) == 0 && len(bytes.TrimSpace(l)) == 0 {
			h.Blank++
			continue
		}
		if h.Lines = append(h.Lines, string(l)); len(h.Lines) == headLines {
			break
		}
	}
	if len(h.Lines) > 0 {
		h.Comma = Comma(h.Lines[0])
	}
	return h
}

// Cells of one line, unquoted and without blanks around them. Line 0 of a file without
// lines is its names.
func (h Head) Cells(line int) []string {
	if h.Names != nil {
		if line == 0 {
			return h.Names
		}
		return nil
	}
	if line >= len(h.Lines) {
		return nil
	}
	var out []string
	for _, c := range Split(nil, []byte(h.Lines[line]), h.Comma, MaxColumns) {
		out = append(out, string(bytes.TrimSpace(c)))
	}
	return out
}

// refuse refuses the file for a line of the head.
func (h Head) refuse(code Code, line int, format string, args ...any) *Error {
	text := ""
	switch {
	case h.Names != nil:
		text = strings.Join(h.Names, ",")
	case line < len(h.Lines):
		text = h.Lines[line]
	}
	return Refuse(code, format, args...).At(h.Name, 1+h.Blank+line, text)
}

// role is what a cell of a row is.
type role int

// The roles. Prices stand together.
const (
	timeCell role = iota
	openCell
	highCell
	lowCell
	closeCell
	volumeCell
	tickCell   // counts price changes; it is the volume where that is 0 in every row
	tickerCell // names what a row is about; without it every row is about the same
	clockCell  // the time of day where timeCell has the date only
	roles
)

// roleNames are the names that a header and --columns must and, for volume, may have.
var roleNames = [...]string{"time", "open", "high", "low", "close", "volume"}

// Layout is which cell of a row is what, counted from 0, and how it is written.
type Layout struct {
	// Skip is how many of the head's lines come before the first row.
	Skip int
	// At is the cell of each role, -1 where the format has none.
	At [roles]int
	// Times are layouts of package time that are tried before numbers and ISO.
	Times []string
	// DateOrder of dates with slashes, empty if the format has no rule.
	DateOrder Order
	// Zone is where times without offset belong, nil if the format leaves it open.
	Zone *time.Location
	// Numbers is how prices and volumes are written.
	Numbers Style
	// Places is how many decimals the prices have when they are written as integers; 0:
	// as they are.
	Places int
	// VolumeUnit is what volumes count; empty: base.
	VolumeUnit string
	// Symbol and Timeframe as the file names them.
	Symbol    market.Symbol
	Timeframe market.Timeframe
	// Alias maps names of currencies to ours.
	Alias map[string]string
	// Chosen reports whether the columns are those of the ticker asked for.
	Chosen bool
	// EndStamps reports whether the format is known for times at which candles end.
	EndStamps bool
	// Notes are warnings for the report.
	Notes []Note
}

// Note is something that the user should know about how a file is read.
type Note struct{ Code, Message string }

// none returns a layout of which nothing is known.
func none() Layout {
	l := Layout{}
	for i := range l.At {
		l.At[i] = -1
	}
	return l
}

// byPosition returns a layout of the first six cells.
func byPosition() Layout {
	l := none()
	for i := range roleNames {
		l.At[i] = i
	}
	return l
}

// prices are the cells of open, high, low and close.
func (l *Layout) prices() []int { return l.At[openCell:volumeCell] }

// lastCell returns the highest cell that matters.
func (l *Layout) lastCell() int { return slices.Max(l.At[:]) }

// numbers counts the cells that are numbers.
func numbers(cells []string) int {
	n := 0
	for _, c := range cells {
		if _, state := Number([]byte(c)); state == Good {
			n++
		}
	}
	return n
}

// isRow reports whether the first line is no header: most cells are numbers.
func (h Head) isRow() bool {
	cells := h.Cells(0)
	return h.Names == nil && numbers(cells) > len(cells)/2
}

// quoteList is names for a message.
func quoteList(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// nameLayout maps the header in a line of the head. The first column of a name counts,
// the others are ignored.
func nameLayout(h Head, line int) (Layout, bool, error) {
	l := named(h.Cells(line))
	l.Skip = line + 1
	if l.At[timeCell] < 0 && h.indexIsTime(line) {
		l.At[timeCell] = 0
		l.Notes = append(l.Notes,
			Note{UnnamedTime,
				"the first column has no name and its cells are times, as pandas writes an index: it is " +
					"read as the time"})
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

// indexIsTime reports whether the first column has no name and each of its cells in the head is a time that
// cannot be the number of a row: a date, or seconds since 1970 of ten digits at least.
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
		_, unit, code := Moment([]byte(cells[0]), time.UTC)
		if code != "" || unit < Text && len(cells[0]) < 10 {
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
	for i, name := range roleNames[:volumeCell] {
		l.At[i] = find(names, name)
	}
	l.At[timeCell], l.At[tickerCell] = find(names, timeNames...), find(names, "ticker", "symbol")
	l.At[volumeCell] = slices.IndexFunc(names, func(n string) bool {
		return strings.HasPrefix(plain(n), "vol")
	})
	return l
}

// find returns the first column with one of the names, -1 if there is none.
func find(names []string, wanted ...string) int {
	return slices.IndexFunc(names, func(n string) bool { return slices.Contains(wanted, plain(n)) })
}

// plain returns a name without what exporters put around it: case, blanks, underscores,
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
// names: it is unknown where the nameless one belongs.
func complete(h Head, line int, l Layout) error {
	var missing []string
	for i, name := range roleNames[:volumeCell] {
		if l.At[i] < 0 {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return h.refuse(ColumnsMissing, line, "the header does not name %s: %s", strings.Join(missing, ", "),
			remedy(h.Cells(line)))
	}
	names, cells := len(h.Cells(line)), filled(h.Cells(line+1))
	if cells > names {
		return h.refuse(ColumnsRequired, line+1,
			"the header has %d names and the rows have %d columns: give --columns", names, cells)
	}
	return nil
}

// remedy returns the value of --columns that reads a header whose first name is empty, as
// that of an index is; else how it is made.
func remedy(names []string) string {
	l := named(names)
	if l.At[timeCell] >= 0 || slices.Min(l.prices()) < 0 || names[0] != "" {
		return "rename the columns, or give --columns with a name for each position, for example " +
			"--columns time,open,high,low,close,volume"
	}
	l.At[timeCell] = 0
	list := slices.Repeat([]string{"-"}, 1+slices.Max(l.At[:tickCell]))
	for i, name := range roleNames {
		if at := l.At[i]; at >= 0 {
			list[at] = name
		}
	}
	return fmt.Sprintf("if the column without a name has the times, give --columns %s",
		strings.Join(list, ","))
}

// filled returns the number of cells without empty ones behind the last comma.
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
			return h.refuse(ColumnsRequired, line+1,
				"the columns %d and %d are a date and a time of day: join them into one column", first+1, i+1)
		}
	}
	return nil
}

func isTimeName(n string) bool { return find([]string{n}, timeNames...) == 0 }

// isClock reports whether a cell is a time of day without a date.
func isClock(cell string) bool { return len(cell) < 13 && strings.Contains(cell, ":") }

// Columns reads the value of --columns: names by position.
func Columns(names []string) (Layout, error) {
	bad := func(format string, args ...any) (Layout, error) {
		return Layout{}, &OptionError{Flag: "--columns", Message: fmt.Sprintf(format, args...)}
	}
	l := none()
	for i, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		if at := slices.Index(roleNames[:], n); at >= 0 {
			if l.At[at] >= 0 {
				return bad("%s is named twice", n)
			}
			l.At[at] = i
		}
	}
	for i, n := range roleNames[:volumeCell] {
		if l.At[i] < 0 {
			return bad("%s is missing: name the position of time, open, high, low, close and, if there is "+
				"one, volume", n)
		}
	}
	if len(names) > MaxColumns {
		return bad("more than %d columns", MaxColumns)
	}
	return l, nil
}

// ByColumns returns the layout that --columns gives a file: a header is left out.
func ByColumns(h Head, names []string) (Layout, error) {
	l, err := Columns(names)
	if err != nil {
		return l, err
	}
	if h.Names == nil && !looksLikeRow(h.Cells(0), l) {
		l.Skip = 1
	}
	if last := l.lastCell(); h.Names != nil && last >= len(h.Names) {
		return l, h.refuse(ColumnsMissing, 0, "--columns names %d columns, the file has %d", last+1,
			len(h.Names))
	}
	return l, nil
}

// looksLikeRow reports whether the cells could be a row and not a header: a price that is
// a number, or missing.
func looksLikeRow(cells []string, l Layout) bool {
	return !slices.ContainsFunc(l.prices(), func(i int) bool {
		if i >= len(cells) {
			return true
		}
		_, state := Number([]byte(cells[i]))
		return state == Bad
	})
}
