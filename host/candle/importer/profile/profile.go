// Package profile knows the formats in which candles come: how to recognise a file and
// which of its cells is what. A format is one Profile, a function of the head of a file;
// the engine of package importer reads the rows of all of them.
//
// A profile that maps a header by name is safe by itself. One that goes by position
// needs a mark that no other format has: a wrong order of columns would be other
// candles. What could be two things is refused with a code, and the refusal says which
// option decides.
//
// It imports the cell readers and refusals of the importer, and market. A format is added
// as one function, listed in All.
package profile

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Profile is one format of files.
type Profile struct {
	// Name is what --profile takes and the report shows.
	Name string
	// Doc is one line for help texts.
	Doc string
	// Layout looks at the beginning of a file. ok is false when it is another format;
	// the error is a refusal of a file that is this format.
	Layout func(h Head) (l Layout, ok bool, err error)
}

// All profiles in the order in which they are asked: the general one comes last.
func All() []Profile {
	return []Profile{
		freqtrade(), yfinance(), cryptoDataDownload(), stooq(), metaTrader(), dukascopy(), histData(), lean(), nasdaq(), investing(),
		coinMarketCap(), polygon(), databento(), backtrader(), binance(), binanceHeader(), kraken(), yahoo(), tradingView(), byName(),
	}
}

// Current is the present name of a profile that was renamed, else the name itself.
func Current(name string) string {
	if name == "binance-futures" {
		return "binance-header"
	}
	return name
}

// Recognise finds the profile of a file; a name asks that one only.
func Recognise(h Head, name string) (string, Layout, error) {
	name = Current(name)
	h.Forced = name != ""
	for _, p := range All() {
		if h.Forced && name != p.Name {
			continue
		}
		l, ok, err := p.Layout(h)
		if ok || err != nil {
			return p.Name, l, err
		}
	}
	if h.Forced {
		return "", Layout{}, h.refuse(refusal.ColumnsMissing, 0, "this is not a file of the profile %s", name)
	}
	return "", Layout{}, h.refuse(refusal.ColumnsRequired, 0,
		"no header names the columns and no known format fits: give --columns, for example --columns time,open,high,low,close,volume")
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
	// Forced says that the user names this profile: marks that only tell it from others
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
		h.Comma = cell.Comma(h.Lines[0])
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
	cells := cell.Split(nil, []byte(h.Lines[line]), h.Comma, MaxColumns)
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = string(bytes.TrimSpace(c))
	}
	return out
}

// refuse refuses the file for what a line of the head says.
func (h Head) refuse(code refusal.Code, line int, format string, args ...any) *refusal.Error {
	text := ""
	switch {
	case h.Names != nil:
		text = strings.Join(h.Names, ",")
	case line < len(h.Lines):
		text = h.Lines[line]
	}
	return refusal.New(code, format, args...).At(h.Name, 1+h.Blank+line, text)
}

// Layout says which cell of a row is what, counted from 0, and how it is written.
type Layout struct {
	// Skip is how many of the head's lines come before the first row.
	Skip int
	Time int
	// Clock is the cell with the time of day where Time has the date only, else -1.
	Clock                  int
	Open, High, Low, Close int
	// Volume is -1 where the format has none.
	Volume int
	// TickVolume counts price changes; it is the volume where Volume is 0 in every row.
	// -1: none.
	TickVolume int
	// Ticker names what a row is about, -1: every row is about the same.
	Ticker int
	// Times are layouts of package time that are tried before numbers and ISO.
	Times []string
	// DateOrder of dates with slashes, empty if the format has no rule.
	DateOrder cell.Order
	// Zone is where times without offset belong, nil if the format does not say.
	Zone *time.Location
	// Numbers is how prices and volumes are written.
	Numbers cell.Style
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
	// Chosen says that the columns are those of the ticker asked for.
	Chosen bool
	// EndStamps says that the format is known for times at which candles end.
	EndStamps bool
	// Notes are warnings for the report.
	Notes []Note
}

// Note is something that the user should know about how a file is read.
type Note struct{ Code, Message string }

// none is a layout of which nothing is known.
func none() Layout {
	return Layout{Time: -1, Clock: -1, Open: -1, High: -1, Low: -1, Close: -1, Volume: -1, TickVolume: -1, Ticker: -1}
}

// byPosition is a layout of the first six cells.
func byPosition() Layout {
	l := none()
	l.Time, l.Open, l.High, l.Low, l.Close, l.Volume = 0, 1, 2, 3, 4, 5
	return l
}

// Last is the highest cell that matters.
func (l Layout) Last() int {
	return max(l.Time, l.Clock, l.Open, l.High, l.Low, l.Close, l.Volume, l.TickVolume, l.Ticker)
}

// numbers counts the cells that are numbers.
func numbers(cells []string) int {
	n := 0
	for _, c := range cells {
		if _, state := cell.Number([]byte(c)); state == cell.Good {
			n++
		}
	}
	return n
}

// isRow says that the first line is no header: most cells are numbers.
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
