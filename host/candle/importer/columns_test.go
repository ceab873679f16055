package importer_test

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/candle/importer"
)

// columnFile is a file of columns in memory, read in batches of so many rows.
type columnFile struct {
	names   []string
	columns []importer.Column
	says    int64 // rows that the file says it has
	batch   int
	bytes   int // that a batch takes

	picked []int
	at     int
	closed bool
}

func (f *columnFile) Names() []string           { return f.names }
func (f *columnFile) Rows() int64               { return f.says }
func (f *columnFile) Select(picked []int) error { f.picked = picked; return nil }
func (f *columnFile) Close() error              { f.closed = true; return nil }

func (f *columnFile) rows() int {
	c := f.columns[0]
	return max(len(c.Ints), len(c.Floats), len(c.Texts))
}

func (f *columnFile) Next() (importer.Batch, error) {
	total := f.rows()
	if f.at >= total {
		return importer.Batch{}, io.EOF
	}
	n := total - f.at
	if f.batch > 0 {
		n = min(n, f.batch)
	}
	b := importer.Batch{Rows: n, Unpacked: f.bytes, Done: float64(f.at+n) / float64(total)}
	for _, i := range f.picked {
		c, to := f.columns[i], f.at+n
		c.Ints, c.Floats, c.Texts = part(c.Ints, f.at, to), part(c.Floats, f.at, to), part(c.Texts, f.at, to)
		c.Valid = part(c.Valid, f.at, to)
		b.Columns = append(b.Columns, c)
	}
	f.at += n
	return b, nil
}

func part[T any](s []T, from, to int) []T {
	if s == nil {
		return nil
	}
	return s[from:to]
}

const columnMagic = "COLS"

// readColumns imports a file of columns.
func readColumns(f *columnFile, o importer.Options) (*importer.Result, error) {
	o.Formats = []importer.Format{{Name: "cols", Magic: columnMagic,
		Open: func(string, io.ReaderAt, int64) (importer.Columnar, error) { return f, nil }}}
	if o.Symbol == "" {
		o.Symbol = "BTC/USD"
	}
	return importer.Read(context.Background(),
		[]importer.Input{importer.Bytes("x.cols", []byte(columnMagic))}, o)
}

func floats(x ...float64) importer.Column { return importer.Column{Kind: importer.Floats, Floats: x} }
func ints(x ...int64) importer.Column     { return importer.Column{Kind: importer.Integers, Ints: x} }
func texts(x ...string) importer.Column   { return importer.Column{Kind: importer.Texts, Texts: x} }

// threeColumns are the candles of three with a time column of one's own.
func threeColumns(at importer.Column) *columnFile {
	return &columnFile{
		names: []string{"note", "volume", "close", "low", "high", "open", "date"},
		columns: []importer.Column{texts("a", "b", "c"), floats(10, 20, 30), floats(2, 3, 4), floats(1, 2, 3),
			floats(3, 4, 5), floats(1, 2, 3), at},
	}
}

func hoursFrom(unit importer.Unit, per int64) importer.Column {
	return importer.Column{Kind: importer.Times, Ints: []int64{3600 * per, 7200 * per, 10800 * per},
		Unit: unit, Zoned: true}
}

// However the times are kept, the candles are the same, and columns that nobody wants are
// not read.
func TestTimesOfColumns(t *testing.T) {
	local := hoursFrom(importer.Milliseconds, 1e3)
	local.Zoned = false
	for name, c := range map[string]struct {
		at   importer.Column
		zone *time.Location
	}{
		"s": {hoursFrom(importer.Seconds, 1), nil}, "ms": {hoursFrom(importer.Milliseconds, 1e3), nil},
		"us": {hoursFrom(importer.Microseconds, 1e6), nil},
		"ns": {hoursFrom(importer.Nanoseconds, 1e9), nil}, "ints": {ints(3600, 7200, 10800), nil},
		"floats": {floats(3600, 7200, 10800), nil},
		"texts":  {texts("1970-01-01T01:00:00Z", "1970-01-01T02:00:00Z", "1970-01-01T03:00:00Z"), nil},
		"clock":  {local, time.UTC},
	} {
		for _, batch := range []int{0, 1, 2} {
			f := threeColumns(c.at)
			f.batch = batch
			r, err := readColumns(f, importer.Options{Zone: c.zone})
			if err != nil || rows(r.Series) != want3 || !f.closed || slices.Contains(f.picked, 0) ||
				len(f.picked) != 6 {
				t.Errorf("%s by %d: %v, picked %v, closed %v\n%+v", name, batch, err, f.picked, f.closed, r)
			}
		}
	}
	days := importer.Column{Kind: importer.Dates, Ints: []int64{1, 2, 3}}
	if r, err := readColumns(threeColumns(days), importer.Options{}); err != nil ||
		r.Series.Timeframe.String() != "1d" || r.Series.Time[0] != 86400000 {
		t.Errorf("dates: %v", err)
	}
}

func TestColumnsThatAreRefused(t *testing.T) {
	unzoned := hoursFrom(importer.Milliseconds, 1e3)
	unzoned.Zoned = false
	missing := hoursFrom(importer.Milliseconds, 1e3)
	missing.Valid = []bool{true, false, true}
	for name, c := range map[string]struct {
		change func(*columnFile)
		code   importer.Code
		text   string
	}{
		"no zone": {func(f *columnFile) { f.columns[6] = unzoned }, importer.TimezoneRequired, "--tz"},
		"no time": {func(f *columnFile) { f.columns[6] = missing }, importer.BadNumber, ""},
		"half seconds": {func(f *columnFile) {
			f.columns[6] = floats(3600, 7200.5, 10800)
		}, importer.TimeNotInteger, "7200.5"},
		"a time of NaN": {func(f *columnFile) {
			f.columns[6] = floats(3600, math.NaN(), 10800)
		}, importer.BadNumber, ""},
		"far away": {func(f *columnFile) {
			f.columns[6] = hoursFrom(importer.Seconds, 1e9)
		}, importer.TimeOutOfRange, ""},
		"infinite": {func(f *columnFile) {
			f.columns[5] = floats(1, math.Inf(1), 3)
		}, importer.BadNumber, "+Inf"},
		"negative": {func(f *columnFile) { f.columns[3] = floats(1, -2, 3) }, importer.BadNumber, ""},
		"words": {func(f *columnFile) {
			f.columns[2] = texts("2", "three", "4")
		}, importer.BadNumber, "three"},
		"disorder": {func(f *columnFile) { f.columns[4] = floats(3, 1, 5) }, importer.OHLCViolations, ""},
		"names":    {func(f *columnFile) { f.names[5] = "first" }, importer.ColumnsMissing, "open"},
		"too many": {func(f *columnFile) {
			f.says = 1 << 40
		}, importer.TooLarge, "more than 100000000 rows"},
		"too large": {func(f *columnFile) { f.bytes = 9 << 30 }, importer.TooLarge, "--merge"},
	} {
		f := threeColumns(hoursFrom(importer.Seconds, 1))
		c.change(f)
		_, err := readColumns(f, importer.Options{})
		var refused *importer.Error
		if !errors.As(err, &refused) || refused.Code != c.code ||
			!strings.Contains(refused.Message+cases(refused), c.text) || !f.closed {
			t.Errorf("%s: %v, closed %v", name, err, f.closed)
		}
	}
}

func cases(e *importer.Error) string {
	var b strings.Builder
	for _, c := range e.Cases {
		b.WriteString(" " + c.Text)
	}
	return b.String()
}

// A row without a price says nothing and is left out; one of another ticker is somebody
// else's.
func TestRowsOfColumnsThatAreLeftOut(t *testing.T) {
	f := threeColumns(hoursFrom(importer.Seconds, 1))
	f.columns[5] = floats(1, math.NaN(), 3)
	r, err := readColumns(f, importer.Options{})
	if err != nil || r.Series.Len() != 2 || r.Report.Skipped != 1 || r.Report.RowsRead != 3 {
		t.Errorf("%v, %+v", err, r)
	}
	single := threeColumns(hoursFrom(importer.Seconds, 1))
	single.columns[2].Single = true
	if r, err := readColumns(single, importer.Options{}); err != nil || len(r.Report.Warnings) != 1 ||
		r.Report.Warnings[0].Code != "FLOAT32" {
		t.Errorf("%v, %+v", err, r)
	}
}

// A table of columns and a text of the same candles are the same import.
func TestColumnsEqualText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "rows")
		f := &columnFile{names: []string{"time", "open", "high", "low", "close", "volume"},
			columns: make([]importer.Column, 6), batch: rapid.IntRange(0, 7).Draw(t, "batch")}
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			cells := []float64{float64(3600 * (i + 1)), 50, 60, 40, 55,
				float64(rapid.IntRange(0, 9).Draw(t, "volume"))}
			cells[1] = float64(rapid.IntRange(400, 600).Draw(t, "open")) / 10
			cells[4] = float64(rapid.IntRange(400, 600).Draw(t, "close")) / 10
			for k, x := range cells {
				f.columns[k].Kind = importer.Floats
				f.columns[k].Floats = append(f.columns[k].Floats, x)
				if k > 0 {
					b.WriteByte(',')
				}
				b.WriteString(strconv.FormatFloat(x, 'f', -1, 64))
			}
			b.WriteByte('\n')
		}
		fromColumns, err := readColumns(f, importer.Options{})
		fromText, textErr := read(b.String(), importer.Options{})
		if err != nil || textErr != nil || rows(fromColumns.Series) != rows(fromText.Series) ||
			fromColumns.Report.RowsKept != fromText.Report.RowsKept {
			t.Fatalf("%v, %v\n%s", err, textErr, b.String())
		}
	})
}
