package candle_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
)

const csvHead = "time,open,high,low,close,volume\n"

func csvRequest(content string, change func(*candle.ImportRequest)) candle.ImportRequest {
	req := request(content)
	if change != nil {
		change(&req)
	}
	return req
}

// What was kept although it is wrong stays marked, whatever is joined with it.
func TestMergeKeepsTheMark(t *testing.T) {
	s := open(t, t.TempDir())
	wrong := csvHead + "2024-01-01,2,1,1,2,1\n2024-01-02,1,2,1,1,1\n"
	if _, err := s.Import(t.Context(),
		csvRequest(wrong, func(r *candle.ImportRequest) { r.Options.Violations = "keep" })); err != nil {
		t.Fatal(err)
	}
	more := csvHead + "2024-01-03,1,2,1,1,1\n2024-01-04,1,2,1,1,1\n"
	for range 2 { // the mark is handed on, and once
		d, err := s.Import(t.Context(), csvRequest(more, func(r *candle.ImportRequest) { r.Merge = true }))
		if err != nil {
			t.Fatal(err)
		}
		if w := d.Report.Warnings; len(w) != 1 || w[0].Code != "OHLC_VIOLATIONS_KEPT" {
			t.Errorf("%+v", w)
		}
	}
	// What is resampled from them is made of the same wrong candles.
	d, err := s.Lookup(t.Context(), "test", "BTC/USD", tf("2d"))
	if err != nil || d.DerivedFrom == "" || len(d.Report.Warnings) != 1 ||
		d.Report.Warnings[0].Code != "OHLC_VIOLATIONS_KEPT" {
		t.Errorf("%+v, %v", d.Report.Warnings, err)
	}
	d, err = s.Import(t.Context(), csvRequest(more, nil))
	if err != nil || len(d.Report.Warnings) != 0 {
		t.Errorf("candles of their own are unmarked: %+v, %v", d.Report.Warnings, err)
	}
}

func TestVolumeUnits(t *testing.T) {
	s := open(t, t.TempDir())
	ticks := "<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\n2024.01.01\t1\t2\t1\t1\t5\t0\n2024.01.02\t1\t2\t1\t1\t6\t0\n"
	d, err := s.Import(t.Context(), csvRequest(ticks, nil))
	if err != nil || d.VolumeUnit != "ticks" {
		t.Errorf("%s, %v", d.VolumeUnit, err)
	}
	// Merging asks for the same unit; who says nothing takes that of the stored ones.
	more := csvHead + "2024-01-03,1,2,1,1,1\n2024-01-04,1,2,1,1,1\n"
	d, err = s.Import(t.Context(), csvRequest(more, func(r *candle.ImportRequest) { r.Merge = true }))
	if err != nil || d.VolumeUnit != "ticks" || d.Rows != 4 || d.Report.Options["volume_unit"] != "" {
		t.Errorf("%s %d rows %v, %v", d.VolumeUnit, d.Rows, d.Report.Options, err)
	}
	var option *importer.OptionError
	_, err = s.Import(t.Context(),
		csvRequest(more, func(r *candle.ImportRequest) { r.Merge, r.VolumeUnit = true, "base" }))
	if !errors.As(err, &option) || option.Flag != "--merge" {
		t.Errorf("%v", err)
	}
	d, err = s.Import(t.Context(),
		csvRequest(ticks, func(r *candle.ImportRequest) { r.VolumeUnit = "contracts" }))
	if err != nil || d.VolumeUnit != "contracts" || d.Report.Options["volume_unit"] != "contracts" {
		t.Errorf("%s, %v", d.VolumeUnit, err)
	}
}

// The report says how the files were read, so that it can be done again.
func TestReportHasTheOptions(t *testing.T) {
	s := open(t, t.TempDir())
	content := "Symbol,date,open,high,low,close\nA,01/02/2024 01:00,1,2,1,3\nA,01/02/2024 " +
		"02:00,1,2,1,1\nB,01/02/2024 02:00,1,2,1,1\n"
	d, err := s.Import(t.Context(), csvRequest(content, func(r *candle.ImportRequest) {
		r.Calendar, r.VolumeUnit, r.Merge = candle.AllDays, "quote", true
		r.Options = importer.Options{
			Symbol: "A/USD", Timeframe: tf("1h"), Profile: "by_name", Zone: time.UTC, Stamp: "close",
			DateOrder: "dmy", Ticker: "A",
			Violations: "widen", Duplicates: "first",
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"exchange": "test", "symbol": "A/USD", "timeframe": "1h", "profile": "by_name", "tz": "UTC",
		"stamp": "close", "date_order": "dmy", "ticker": "A",
		"ohlc_violations": "widen", "duplicates": "first", "calendar": "24x7", "volume_unit": "quote",
		"merge": "true",
	}
	for name, value := range want {
		if d.Report.Options[name] != value {
			t.Errorf("%s is %q, want %q", name, d.Report.Options[name], value)
		}
	}
	if len(d.Report.Options) != len(want) || d.First.String() != "2024-02-01T00:00:00.000Z" ||
		d.Report.Skipped != 1 || d.Report.OHLCViolations != 1 {
		t.Errorf("%+v", d)
	}
	columns := csvRequest("2024-01-01,1,2,1,1\n2024-01-02,1,2,1,1\n", func(r *candle.ImportRequest) {
		r.Options.Columns = []string{"time", "open", "high", "low", "close"}
	})
	if d, err = s.Import(t.Context(), columns); err != nil ||
		d.Report.Options["columns"] != "time,open,high,low,close" || d.Report.Profile != "columns" {
		t.Errorf("%+v, %v", d.Report, err)
	}
}

// A refusal at whatever stage leaves nothing behind.
func TestNothingIsStoredOnRefusal(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	entries := func() (names []string) {
		t.Helper()
		list, err := os.ReadDir(filepath.Join(dir, "data", "candles"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names = append(names, e.Name())
		}
		return names
	}
	before := entries()
	good := csvHead + "2024-01-01,1,2,1,1,1\n2024-01-02,1,2,1,1,1\n"
	for code, content := range map[importer.Code]string{
		importer.TimeNotInteger:     csvHead + "1.5,1,2,1,1,1\n",
		importer.TimeOutOfRange:     csvHead + "2200-01-01,1,2,1,1,1\n",
		importer.TimezoneRequired:   csvHead + "2024-01-01 00:00,1,2,1,1,1\n",
		importer.DateOrderAmbiguous: csvHead + "01/02/2024,1,2,1,1,1\n",
		importer.ColumnsRequired:    "1,2,3,4,5,6\n", importer.ColumnsMissing: "time,open\n1,1\n",
		importer.BadNumber: good + "2024-01-03,x,2,1,1,1\n",
		importer.MultipleTickers: "symbol," + csvHead +
			"A,2024-01-01,1,2,1,1,1\nB,2024-01-02,1,2,1,1,1\n",
		importer.TimeframeMismatch:     csvHead + "2024-01-01,1,2,1,1,1\n",
		importer.ConflictingDuplicates: good + "2024-01-02,1,3,1,1,1\n",
		importer.OHLCViolations:        good + "2024-01-03,3,2,1,1,1\n",
		importer.Encoding:              good + "\xff\n", importer.NoRows: csvHead,
	} {
		_, err := s.Import(t.Context(), request(content))
		var e *importer.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	if after := entries(); !slices.Equal(after, before) {
		t.Errorf("%v, before %v", after, before)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != len(before) {
		t.Errorf("%d datasets, %v", len(list), err)
	}
}

func TestSymbolOfTheFile(t *testing.T) {
	s := open(t, t.TempDir())
	in := importer.Bytes("ETH_BTC-1d.json", []byte("[[1700006400000,1,2,1,1,1],[1700092800000,1,2,1,1,1]]"))
	d, err := s.Import(t.Context(), candle.ImportRequest{Exchange: "test", Files: []importer.Input{in}})
	if err != nil || d.Symbol != "ETH/BTC" || d.Timeframe != tf("1d") || d.Report.Options["symbol"] != "" {
		t.Errorf("%+v, %v", d, err)
	}
}
