package importer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Result is the candles of an import with the Report of how they came about.
type Result struct {
	Series *market.Series
	Report Report

	origins []origin // of the candles, for Merge
}

// Read reads the files, together one series, and tidies what they hold. A refusal is
// an *Error, an impossible option an *OptionError.
func Read(ctx context.Context, files []Input, opts Options) (*Result, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if opts.Symbol == "" {
		return nil, refuse(SymbolRequired, "the file does not name what was traded: give --symbol, for example --symbol BTC/USDT")
	}
	if len(files) == 0 {
		return nil, refuse(NoRows, "no file given")
	}
	r := &run{opts: opts, report: Report{Importer: importerID, TimeUnits: map[string]int{}, Options: map[string]string{}, Warnings: []Warning{}}}
	for _, f := range files {
		r.total += f.Size
	}
	for i, f := range files {
		if err := r.file(ctx, i, f); err != nil {
			return nil, err
		}
	}
	if err := r.tidy(); err != nil {
		return nil, err
	}
	return &Result{Series: &r.table.Series, Report: r.report, origins: r.table.origins}, nil
}

// run is one import under way.
type run struct {
	opts   Options
	report Report
	table  table
	// of the file being read
	src         *source
	index       int
	layout      Layout
	comma       byte
	cells       [][]byte
	refusal     *Error
	counts      [units]int
	noVolume    int
	done, total int64
}

// errEnough ends the reading of a file that has shown enough faults.
var errEnough = errors.New("enough cases")

// file reads one file into the table.
func (r *run) file(ctx context.Context, index int, in Input) error {
	src, err := openSource(in)
	if err != nil {
		return err
	}
	r.src, r.index, r.refusal = src, index, nil
	err = r.blocks(ctx)
	if errors.Is(err, errEnough) || err == nil && r.refusal != nil {
		err = r.refusal
	}
	done, ferr := src.finish()
	r.report.Files = append(r.report.Files, done)
	r.done += in.Size
	if err != nil {
		return err
	}
	return ferr
}

// blocks reads the file block by block.
func (r *run) blocks(ctx context.Context) error {
	begun := false
	for {
		block, err := r.src.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !begun {
			if block, begun, err = r.begin(block); err != nil {
				return err
			}
		}
		if err := r.rows(block); err != nil {
			return err
		}
		if r.table.Len() > maxRows {
			return refuse(TooLarge, "more than %d rows: import them in parts", maxRows)
		}
		if r.opts.Progress != nil {
			r.opts.Progress(r.done+r.src.raw.read, r.total)
		}
	}
}

// begin recognises the format from the first block that is not blank and returns the
// block behind the header.
func (r *run) begin(block []byte) (rest []byte, begun bool, err error) {
	h := Head{Name: r.src.name}
	for l := range bytes.Lines(block) {
		l = bytes.TrimRight(l, "\r\n")
		if len(h.Lines) == 0 && len(bytes.TrimSpace(l)) == 0 {
			h.blank++
			continue
		}
		if h.Lines = append(h.Lines, string(l)); len(h.Lines) == headLines {
			break
		}
	}
	if len(h.Lines) == 0 {
		r.src.line += h.blank
		return nil, false, nil
	}
	h.Comma = sniffComma(h.Lines[0])
	name, layout, err := r.opts.layout(h)
	if err != nil {
		return nil, true, err
	}
	r.layout, r.comma, r.cells = layout, h.Comma, make([][]byte, 0, layout.last()+1)
	if layout.Volume < 0 {
		r.report.warn(warnNoVolume, "%s has no volume: it is stored as 0", h.Name)
	}
	if !strings.Contains(","+r.report.Profile+",", ","+name+",") {
		r.report.Profile = strings.TrimPrefix(r.report.Profile+","+name, ",")
	}
	for range h.blank + layout.Skip {
		_, block, _ = bytes.Cut(block, []byte("\n"))
		r.src.line++
	}
	r.reserve(block)
	return block, true, nil
}

// reserve makes room for the whole file, estimated from the first block.
func (r *run) reserve(block []byte) {
	lines := bytes.Count(block, []byte("\n"))
	if lines == 0 || r.src.raw.read != r.src.read {
		return // packed: the size says little
	}
	size := r.total - r.done
	rows := int64(float64(size) / float64(len(block)) * float64(lines) * 1.1)
	r.table.grow(int(min(rows, maxRows)))
}

// sniffComma is the delimiter that the line uses most.
func sniffComma(line string) byte {
	best, most := byte(','), 0
	quoted := false
	counts := map[byte]int{}
	for i := range len(line) {
		if line[i] == '"' {
			quoted = !quoted
		}
		if !quoted {
			counts[line[i]]++
		}
	}
	for _, c := range []byte{',', ';', '\t'} {
		if counts[c] > most {
			best, most = c, counts[c]
		}
	}
	return best
}
