// Package importer turns files of candles from elsewhere into one clean Series, or
// refuses precisely.
//
// Read opens every file and recognises it by its first bytes: text, JSON, packed with
// gzip, an archive of such files, or a table of columns whose reader the calling program
// has handed in (Format). A Profile looks at the head and answers with a Layout: which
// cell of a row is what, and how it is written. One engine then reads the rows of all
// formats straight into columns, text a block of lines at a time, columns a batch at a
// time. At the end the rows are put in order, identical duplicates go, and what
// contradicts itself is refused or repaired by the Options.
//
// Nothing is guessed that could turn a file into other numbers: a header is mapped by
// name, a file without one needs a profile that knows it by a mark or --columns, times
// are integers, ISO or as the format has them, and every refusal (Error) is a
// code with up to five cases and their lines. What was skipped, dropped and repaired is
// counted in the Report. Memory is bounded: files are never held as a whole, and what
// they unpack to is counted while it is read.
//
// A profile that maps a header by name is safe by itself. One that goes by position
// needs a mark that no other format has: a wrong order of columns would be other
// candles. What could be two things is refused, and the refusal names the option
// that decides. A format is added as one row of the table in dialects.go.
package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Input is one file to read.
type Input struct {
	// Name for messages and the report, without folder.
	Name string
	// Size in bytes; only the progress of plain text does without.
	Size int64
	// Open gives the content. Archives and tables of columns also need it to be an
	// io.ReaderAt.
	Open func() (io.ReadCloser, error)
}

// File returns the Input at a path.
func File(path string) (Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Input{}, err
	}
	if info.IsDir() {
		return Input{}, &os.PathError{Op: "import", Path: path, Err: errors.New("is a folder")}
	}
	return Input{Name: filepath.Base(path), Size: info.Size(), Open: func() (io.ReadCloser, error) {
		return os.Open(path)
	}}, nil
}

// Bytes returns an Input in memory.
func Bytes(name string, content []byte) Input {
	return Input{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return memory{bytes.NewReader(content)}, nil
	}}
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// Result is the candles of an import with the Report of how they came about.
type Result struct {
	Series *market.Series
	Report Report
	// VolumeUnit as the format knows it; empty: base.
	VolumeUnit string

	sources []string
	origins []origin // of the candles, for Merge
}

// Read reads the files, together one series, and tidies what they hold. A refusal is a
// *Error, an impossible option a *OptionError.
func Read(ctx context.Context, files []Input, opts Options) (*Result, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, Refuse(NoRows, "no file given")
	}
	r := &run{opts: opts,
		report: Report{Importer: importerID, TimeUnits: map[string]int{}, Options: map[string]string{},
			Warnings: []Warning{}}}
	for _, f := range files {
		r.total += f.Size
	}
	for _, f := range files {
		if err := r.readInput(ctx, f); err != nil {
			return nil, err
		}
	}
	if err := r.tidyRows(); err != nil {
		return nil, err
	}
	return &Result{Series: &r.table.Series, Report: r.report, VolumeUnit: r.volumeUnit, sources: r.sources,
		origins: r.table.origins}, nil
}

// run is one import under way.
type run struct {
	opts    Options
	report  Report
	table   table
	sources []string // files, and members of archives; an origin names one
	// done of total bytes are read; so many have been unpacked.
	done, total, unpacked int64
	counts                [Units]int
	noVolume              int
	tick                  []float64 // beside the table where a format has two volumes
	tickers               tickers
	// as the files name them
	symbol     market.Symbol
	timeframe  market.Timeframe
	volumeUnit string
	named      bool // volumeUnit is known

	reading
}

// reading is the file being read.
type reading struct {
	src     *source
	line    int // being read; a row where there are no lines
	index   int
	layout  Layout
	comma   byte
	clock   *Clock
	cells   [][]byte
	joined  []byte // date and clock of a row
	pending []pendingDate
	refusal *Error
}

// errEnough ends the reading of a file that has shown enough faults.
var errEnough = errors.New("enough cases")

// startSource begins a source.
func (r *run) startSource(name string) {
	r.index = len(r.sources)
	r.sources = append(r.sources, name)
	r.refusal, r.pending = nil, nil
}

// endSource ends it: the faults that were found are the error.
func (r *run) endSource(err error) error {
	switch {
	case errors.Is(err, errEnough), err == nil && r.refusal != nil:
		return r.refusal
	case err == nil:
		return r.checkDates()
	}
	return err
}

func (r *run) progress(read int64) {
	if r.opts.Progress != nil {
		r.opts.Progress(r.done+read, r.total)
	}
}

// recognise finds out what the cells of a source are and how it describes itself.
func (r *run) recognise(h Head) error {
	name, l, err := r.opts.layout(h)
	if err != nil {
		return err
	}
	r.layout, r.comma, r.cells = l, h.Comma, make([][]byte, 0, l.lastCell()+1)
	r.clock = NewClock(l.Times, cmp.Or(r.opts.Zone, l.Zone), cmp.Or(Order(r.opts.DateOrder), l.DateOrder))
	if l.At[volumeCell] < 0 {
		r.report.warn(warnNoVolume, "%s has no volume: it is stored as 0", h.Name)
	}
	if l.EndStamps && r.opts.Stamp == "" {
		r.report.warn(warnEndStamps,
			"files of this format often say when a candle ends: give --stamp close if these do, --stamp "+
				"open if not")
	}
	for _, n := range l.Notes {
		r.report.warn(n.Code, "%s", n.Message)
	}
	if !strings.Contains(","+r.report.Profile+",", ","+name+",") {
		r.report.Profile = strings.TrimPrefix(r.report.Profile+","+name, ",")
	}
	r.tickers.used = r.tickers.used || l.At[tickerCell] >= 0 || l.Chosen
	r.nameUnit()
	if err := r.nameTimeframe(h.Name); err != nil {
		return err
	}
	return r.nameSymbol(h.Name)
}

// nameUnit takes the unit of the first file.
func (r *run) nameUnit() {
	if r.named && r.volumeUnit != r.layout.VolumeUnit {
		r.report.warn(warnUnits,
			"the files count volume in different units: the first one's is stored, --volume-unit names "+
				"another")
		return
	}
	r.volumeUnit, r.named = r.layout.VolumeUnit, true
}

// nameSymbol returns what was traded: as the user names it, else as the file does.
func (r *run) nameSymbol(file string) error {
	symbol := cmp.Or(r.opts.Symbol, r.layout.Symbol)
	if symbol == "" {
		return Refuse(SymbolRequired,
			"%s does not name what was traded: give --symbol, for example --symbol BTC/USDT", file)
	}
	if ours := renamed(symbol, r.layout.Alias); ours != symbol {
		r.report.warn(warnRenamed, "%s is stored as %s", symbol, ours)
		symbol = ours
	}
	if r.symbol != "" && r.symbol != symbol {
		return Refuse(MultipleTickers,
			"the files are about %s and %s by their names: import them one by one, or give --symbol if "+
				"they are one series", r.symbol, symbol).
			At(file, 1, "")
	}
	r.symbol = symbol
	return nil
}

// renamed returns a symbol with the names of currencies that are ours.
func renamed(s market.Symbol, alias map[string]string) market.Symbol {
	base, quote, ok := strings.Cut(string(s), "/")
	if !ok {
		return s
	}
	return market.Symbol(cmp.Or(alias[base], base) + "/" + cmp.Or(alias[quote], quote))
}

// nameTimeframe keeps what the files name; two that differ are two series.
func (r *run) nameTimeframe(file string) error {
	none := market.Timeframe{}
	switch named := r.layout.Timeframe; {
	case named == none || r.opts.Timeframe != none:
	case r.timeframe != none && r.timeframe != named:
		return Refuse(TimeframeMismatch, "the files have candles of %s and %s: import them one by one",
			r.timeframe, named).At(file, 1, "")
	default:
		r.timeframe = named
	}
	return nil
}

// What to do with candles whose high or low does not enclose open and close.
const (
	ViolationsRefuse = ""
	ViolationsWiden  = "widen" // move high and low out
	ViolationsDrop   = "drop"  // leave the candle out
	ViolationsKeep   = "keep"  // store it; every run over it shows that
)

// Which of several different candles of one time to take.
const (
	DuplicatesRefuse = ""
	DuplicatesFirst  = "first"
	DuplicatesLast   = "last"
)

// What the times of a file are.
const (
	StampOpen  = "open"  // where a candle begins, as without the option
	StampClose = "close" // where it ends
)

// Options are how to read and what to forgive. The zero value of each is the strict one.
type Options struct {
	// Symbol of the candles; empty: as the file names it.
	Symbol market.Symbol
	// Timeframe of the candles; zero: as the file names it, else the commonest step.
	Timeframe market.Timeframe
	// Profile forces a format by name; empty: recognise it.
	Profile string
	// Columns names the cells of a row by position: time, open, high, low, close and
	// volume; any other name is ignored. It replaces the profiles.
	Columns []string
	// Zone is where times without offset belong; nil: as the format has them, else they are
	// refused.
	Zone *time.Location
	// Stamp, Violations and Duplicates are one of the constants above.
	Stamp, Violations, Duplicates string
	// DateOrder of dates with slashes, mdy or dmy; empty: as they show it.
	DateOrder string
	// Ticker picks the rows of one ticker; empty: there may be only one.
	Ticker string
	// Formats are kinds of files besides text, from the program that links their readers.
	Formats []Format
	// Progress is called now and then with how many bytes of all files are read.
	Progress func(done, total int64)

	limits limits
}

// limits of one import. Zero is the default.
type limits struct {
	bytes int64
	rows  int
}

// The limits of one import: of what the files unpack to, and of their rows.
const (
	maxBytes = 8 << 30
	maxRows  = 100_000_000
)

func (o Options) maxBytes() int64 { return cmp.Or(o.limits.bytes, maxBytes) }
func (o Options) maxRows() int    { return cmp.Or(o.limits.rows, maxRows) }

func (o Options) tooManyBytes(name string) error {
	return Refuse(TooLarge, "the files unpack to more than %s with %s: import them in parts with --merge",
		size(o.maxBytes()), name)
}

func (o Options) tooManyRows() error {
	return Refuse(TooLarge, "more than %d rows: import them in parts, one after the other", o.maxRows())
}

// size returns a number of bytes for a message.
func size(n int64) string {
	if n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d bytes", n)
}

// ParseColumns reads the value of --columns.
func ParseColumns(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if _, err := Columns(names); err != nil {
		return nil, err
	}
	return names, nil
}

func (o Options) validate() error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--ohlc-violations", o.Violations, []string{ViolationsWiden, ViolationsDrop, ViolationsKeep}},
		{"--duplicates", o.Duplicates, []string{DuplicatesFirst, DuplicatesLast}},
		{"--stamp", o.Stamp, []string{StampOpen, StampClose}},
		{"--date-order", o.DateOrder, []string{string(MonthFirst), string(DayFirst)}},
	} {
		if c.value != "" && !slices.Contains(c.allowed, c.value) {
			return &OptionError{Flag: c.flag,
				Message: fmt.Sprintf("%q is not one of %s", c.value, strings.Join(c.allowed, ", "))}
		}
	}
	if o.Profile == "" {
		return nil
	}
	if o.Columns != nil {
		return &OptionError{Flag: "--profile",
			Message: "and --columns both say what the columns are: give one of them"}
	}
	var names []string
	for _, p := range Profiles() {
		if p.Name == CurrentProfile(o.Profile) {
			return nil
		}
		names = append(names, p.Name)
	}
	return &OptionError{Flag: "--profile",
		Message: fmt.Sprintf("%q is not known; there are %s", o.Profile, strings.Join(names, ", "))}
}

// layout finds out what the cells of a file are.
func (o Options) layout(h Head) (name string, l Layout, err error) {
	if o.Columns != nil {
		l, err := ByColumns(h, o.Columns)
		return "columns", l, err
	}
	h.Ticker = o.Ticker
	return Recognise(h, o.Profile)
}
