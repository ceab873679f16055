package sdktest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Load reads candles from a CSV file as lab data export writes it (of the lab's store, with
// --no-holdout: what a test tries on held out candles is not counted) and lab data import reads it: a
// header with time, open, high, low, close and volume in any order (other columns are ignored, a
// volume may be missing), or no header and the columns of ccxt (6), Kraken (7) or Binance Vision (12),
// which begin with these. Times are whole numbers of s, ms, us or ns, ISO 8601 with an offset, or
// dates. Candles ascend. The timeframe is the commonest step between them, and the symbol is
// SynthSymbol; callers may set others. A file that cannot be read ends the test with the file, the
// line and the column.
func Load(t testing.TB, path string) *market.Series {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the candles: %v", err)
	}
	s, err := decodeCSV(filepath.Base(path), text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The columns of a candle, and the names that a header may give to the first; every name that
// begins with vol is a volume.
const (
	columnTime = iota
	columnOpen
	columnHigh
	columnLow
	columnClose
	columnVolume
	columnCount
)

var (
	columnNames = [columnCount]string{"time", "open", "high", "low", "close", "volume"}
	timeNames   = []string{"time", "timestamp", "date", "datetime", "unix", "opentime"}
)

// columnOrder is a header, and the order without one.
const columnOrder = "time,open,high,low,close,volume"

// sheet is a CSV file that is being read.
type sheet struct {
	name string
	in   *csv.Reader
	at   [columnCount]int // of each column; -1 where there is none
	s    *market.Series
}

// decodeCSV reads the candles of a file; its name is for the errors.
func decodeCSV(name string, text []byte) (*market.Series, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f := &sheet{name: name, in: csv.NewReader(bytes.NewReader(text)), s: &market.Series{Symbol: SynthSymbol}}
	header, _, _ := bytes.Cut(text, []byte("\n"))
	for _, separator := range ";\t" {
		if bytes.ContainsRune(header, separator) && !bytes.ContainsRune(header, ',') {
			f.in.Comma = separator
		}
	}
	f.in.ReuseRecord, f.in.TrimLeadingSpace = true, true
	row, err := f.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1:1: the file is empty: write a header %s", name, columnOrder)
	}
	if err == nil && !f.byPosition(row) {
		if err := f.readHeader(row); err != nil {
			return nil, err
		}
		row, err = f.in.Read()
	}
	for ; !errors.Is(err, io.EOF); row, err = f.in.Read() {
		if err != nil {
			return nil, f.broken(err)
		}
		if err := f.add(row); err != nil {
			return nil, err
		}
	}
	return f.finish()
}

// byPosition reports whether the first row is a candle in one of the layouts that have no header, and then
// takes the columns by their order.
func (f *sheet) byPosition(row []string) bool {
	switch len(row) {
	case 6, 7: // ccxt; Kraken, with trades
	case 12: // Binance Vision: the seventh is the close time
		opens, err := strconv.ParseInt(strings.TrimSpace(row[0]), 10, 64)
		closes, err2 := strconv.ParseInt(strings.TrimSpace(row[6]), 10, 64)
		if err != nil || err2 != nil || closes <= opens {
			return false
		}
	default:
		return false
	}
	if _, ok := moment(strings.TrimSpace(row[columnTime])); !ok {
		return false
	}
	for column := range f.at {
		f.at[column] = column
	}
	return true
}

// wrong is an error at a field of the newest row.
func (f *sheet) wrong(field int, format string, args ...any) error {
	line, column := f.in.FieldPos(field)
	return fmt.Errorf("%s:%d:%d: %s", f.name, line, column, fmt.Sprintf(format, args...))
}

// broken is an error of the text itself.
func (f *sheet) broken(err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return fmt.Errorf("%s:%d:%d: %w", f.name, p.Line, p.Column, p.Err)
	}
	return fmt.Errorf("%s: %w", f.name, err)
}

func (f *sheet) readHeader(row []string) error {
	for i := range f.at {
		f.at[i] = -1
	}
	clean := strings.NewReplacer(" ", "", "_", "", "<", "", ">", "")
	for i, cell := range row {
		name := strings.ToLower(clean.Replace(cell))
		at := slices.Index(columnNames[:], name)
		switch {
		case slices.Contains(timeNames, name):
			at = columnTime
		case strings.HasPrefix(name, "vol"):
			at = columnVolume
		}
		if at >= 0 && f.at[at] < 0 {
			f.at[at] = i
		}
	}
	for column, at := range f.at {
		if at < 0 && column != columnVolume {
			return f.wrong(0, "the header has no column %s: write %s", columnNames[column], columnOrder)
		}
	}
	return nil
}

func (f *sheet) add(row []string) error {
	at, err := parseMoment(strings.TrimSpace(row[f.at[columnTime]]))
	if err != nil {
		return f.wrong(f.at[columnTime], "%v", err)
	}
	n := f.s.Len()
	if n > 0 && at <= f.s.Time[n-1] {
		return f.wrong(f.at[columnTime], "opens at %s, not after the candle before it: sort the rows and "+
			"leave out what is there twice", at)
	}
	var values [columnCount]float64
	for column := columnOpen; column < columnCount; column++ {
		field := f.at[column]
		if field < 0 {
			continue // no volume
		}
		cell := strings.TrimSpace(row[field])
		v, err := strconv.ParseFloat(cell, 64)
		low := v > 0 || v == 0 && column == columnVolume && !math.Signbit(v)
		if err != nil || math.IsInf(v, 0) || !low {
			return f.wrong(field, "the %s %.40q is not a number above zero", columnNames[column], cell)
		}
		values[column] = v
	}
	c := market.Candle{OpenTime: at, Open: values[columnOpen], High: values[columnHigh],
		Low: values[columnLow], Close: values[columnClose], Volume: values[columnVolume]}
	if c.High < max(c.Open, c.Close) {
		return f.wrong(f.at[columnHigh], "the high %v is below the open or the close", c.High)
	}
	if c.Low > min(c.Open, c.Close) {
		return f.wrong(f.at[columnLow], "the low %v is above the open or the close", c.Low)
	}
	f.s.Append(c)
	return nil
}

// finish finds the timeframe.
func (f *sheet) finish() (*market.Series, error) {
	if f.s.Len() < 2 {
		return nil, fmt.Errorf("%s: has %d candles, and two at least tell the timeframe", f.name, f.s.Len())
	}
	months := true
	count := map[time.Duration]int{}
	for i, at := range f.s.Time {
		day := at.Time()
		months = months && day.Day() == 1 && day.Equal(day.Truncate(24*time.Hour))
		if i > 0 {
			count[day.Sub(f.s.Time[i-1].Time())]++
		}
	}
	var step time.Duration
	for d, n := range count {
		if n > count[step] || n == count[step] && d < step {
			step = d
		}
	}
	f.s.Timeframe = timeframeOf(step)
	if months {
		f.s.Timeframe = market.Timeframe{Count: 1, Unit: 'M'}
	}
	_, err := market.ParseTimeframe(f.s.Timeframe.String())
	if err != nil || !months && step%time.Second != 0 {
		return nil, fmt.Errorf("%s: the commonest step between candles, %s, is no timeframe", f.name, step)
	}
	for i := 1; i < f.s.Len() && !months; i++ {
		if d := f.s.Time[i].Time().Sub(f.s.Time[i-1].Time()); d%step != 0 {
			return nil, fmt.Errorf("%s: the candle that opens at %s follows after %s, no whole number of "+
				"candles of %s", f.name, f.s.Time[i], d, f.s.Timeframe)
		}
	}
	if err := candlefile.Validate(f.s); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return f.s, nil
}

// parseMoment reads a time by its form.
func parseMoment(text string) (market.Time, error) {
	at, ok := moment(text)
	switch {
	case !ok:
		return 0, fmt.Errorf("%.40q is no time: write 2024-01-31, 2024-01-31T12:00:00Z or a whole number "+
			"of s, ms, us or ns", text)
	case at.UTC().Year() < 1970 || at.UTC().Year() > 2099:
		return 0, fmt.Errorf("%.40q is not in the years 1970 to 2100", text)
	}
	return market.FromTime(at), nil
}

func moment(text string) (time.Time, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch {
		case n < 1e11:
			return time.Unix(n, 0), true
		case n < 1e14:
			return time.UnixMilli(n), true
		case n < 1e17:
			return time.UnixMicro(n), true
		}
		return time.Unix(0, n), true
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02 15:04:05Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
