package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/profile"
	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Input is one file to read.
type Input struct {
	// Name for messages and the report, without folder.
	Name string
	// Size in bytes; only the progress of plain text does without.
	Size int64
	// Open gives the content. Archives and tables of columns also want it to be an
	// io.ReaderAt.
	Open func() (io.ReadCloser, error)
}

// File is the Input at a path.
func File(path string) (Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Input{}, err
	}
	if info.IsDir() {
		return Input{}, &os.PathError{Op: "import", Path: path, Err: errors.New("is a folder")}
	}
	return Input{
		Name: filepath.Base(path), Size: info.Size(),
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}, nil
}

// Bytes is an Input in memory.
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
// *refusal.Error, an impossible option a *refusal.OptionError.
func Read(ctx context.Context, files []Input, opts Options) (*Result, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, refusal.New(refusal.NoRows, "no file given")
	}
	r := &run{opts: opts, report: Report{Importer: importerID, TimeUnits: map[string]int{}, Options: map[string]string{}, Warnings: []Warning{}}}
	for _, f := range files {
		r.total += f.Size
	}
	for _, f := range files {
		if err := r.input(ctx, f); err != nil {
			return nil, err
		}
	}
	if err := r.tidy(); err != nil {
		return nil, err
	}
	return &Result{Series: &r.table.Series, Report: r.report, VolumeUnit: r.volumeUnit, sources: r.sources, origins: r.table.origins}, nil
}

// run is one import under way.
type run struct {
	opts    Options
	report  Report
	table   table
	sources []string // files, and members of archives; an origin names one
	// done of total bytes are read; so many have been unpacked.
	done, total, unpacked int64
	counts                [cell.Units]int
	noVolume              int
	tick                  []float64 // beside the table where a format has two volumes
	tickers               tickers
	// as the files name them
	symbol     market.Symbol
	timeframe  market.Timeframe
	volumeUnit string
	named      bool // volumeUnit is known

	// of the file being read
	src     *source
	line    int // being read; a row where there are no lines
	index   int
	layout  profile.Layout
	comma   byte
	clock   *cell.Clock
	cells   [][]byte
	joined  []byte // date and clock of a row
	pending []pendingDate
	refusal *refusal.Error
}

// errEnough ends the reading of a file that has shown enough faults.
var errEnough = errors.New("enough cases")

// start begins a source.
func (r *run) start(name string) {
	r.index = len(r.sources)
	r.sources = append(r.sources, name)
	r.refusal, r.pending = nil, nil
}

// end ends it: the faults that were found are the error.
func (r *run) end(err error) error {
	switch {
	case errors.Is(err, errEnough), err == nil && r.refusal != nil:
		return r.refusal
	case err == nil:
		return r.datesDecided()
	}
	return err
}

func (r *run) progress(read int64) {
	if r.opts.Progress != nil {
		r.opts.Progress(r.done+read, r.total)
	}
}

// recognise finds out what the cells of a source are and what it says about itself.
func (r *run) recognise(h profile.Head) error {
	name, l, err := r.opts.layout(h)
	if err != nil {
		return err
	}
	r.layout, r.comma, r.cells = l, h.Comma, make([][]byte, 0, l.Last()+1)
	zone := r.opts.Zone
	if zone == nil {
		zone = l.Zone
	}
	r.clock = cell.NewClock(l.Times, zone, cmp.Or(cell.Order(r.opts.DateOrder), l.DateOrder))
	if l.Volume < 0 {
		r.report.warn(warnNoVolume, "%s has no volume: it is stored as 0", h.Name)
	}
	if l.EndStamps && r.opts.Stamp == "" {
		r.report.warn(warnEndStamps, "files of this format often say when a candle ends: give --stamp close if these do, --stamp open if not")
	}
	for _, n := range l.Notes {
		r.report.warn(n.Code, "%s", n.Message)
	}
	if !strings.Contains(","+r.report.Profile+",", ","+name+",") {
		r.report.Profile = strings.TrimPrefix(r.report.Profile+","+name, ",")
	}
	r.tickers.used = r.tickers.used || l.Ticker >= 0 || l.Chosen
	r.nameUnit()
	if err := r.nameTimeframe(h.Name); err != nil {
		return err
	}
	return r.nameSymbol(h.Name)
}

// nameUnit takes the unit of the first file.
func (r *run) nameUnit() {
	if r.named && r.volumeUnit != r.layout.VolumeUnit {
		r.report.warn(warnUnits, "the files count volume in different units: the first one's is stored, --volume-unit names another")
		return
	}
	r.volumeUnit, r.named = r.layout.VolumeUnit, true
}

// nameSymbol is what was traded: as the user says, else as the file does.
func (r *run) nameSymbol(file string) error {
	symbol := r.opts.Symbol
	if symbol == "" {
		symbol = r.layout.Symbol
	}
	if symbol == "" {
		return refusal.New(refusal.SymbolRequired, "%s does not name what was traded: give --symbol, for example --symbol BTC/USDT", file)
	}
	if ours := renamed(symbol, r.layout.Alias); ours != symbol {
		r.report.warn(warnRenamed, "%s is stored as %s", symbol, ours)
		symbol = ours
	}
	if r.symbol != "" && r.symbol != symbol {
		return refusal.New(refusal.MultipleTickers, "the files are about %s and %s by their names: import them one by one, or give --symbol if they are one series", r.symbol, symbol).
			At(file, 1, "")
	}
	r.symbol = symbol
	return nil
}

// renamed is a symbol with the names of currencies that are ours.
func renamed(s market.Symbol, alias map[string]string) market.Symbol {
	base, quote, ok := strings.Cut(string(s), "/")
	if !ok {
		return s
	}
	for theirs, ours := range alias {
		if base == theirs {
			base = ours
		}
		if quote == theirs {
			quote = ours
		}
	}
	return market.Symbol(base + "/" + quote)
}

// nameTimeframe keeps what the files say; two that differ are two series.
func (r *run) nameTimeframe(file string) error {
	none := market.Timeframe{}
	switch named := r.layout.Timeframe; {
	case named == none || r.opts.Timeframe != none:
	case r.timeframe != none && r.timeframe != named:
		return refusal.New(refusal.TimeframeMismatch, "the files have candles of %s and %s: import them one by one", r.timeframe, named).At(file, 1, "")
	default:
		r.timeframe = named
	}
	return nil
}
