package importer_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// expectation is what an importer must make of a sample file.
type expectation struct {
	Rows        int
	First, Last []float64
	Options     struct{ Columns string }
}

// samples is the folder of small files, one a quirk.
var samples = filepath.Join("..", "..", "..", "..", "shared", "data", "import_samples")

func expectations(t *testing.T) map[string]expectation {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(samples, "expected.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs the folder shared, with the reference data, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]expectation
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// sample is how to read a file: which profile knows it, and what must be said.
type sample struct {
	profile string
	options importer.Options
	refused importer.Code
}

func sampleOptions() map[string]sample {
	day, minute := market.MustTimeframe("1d"), market.MustTimeframe("1m")
	return map[string]sample{
		"backtrader_date_time.csv":    {profile: "backtrader", options: importer.Options{Zone: time.UTC}},
		"binance_excel_mangled.csv":   {refused: importer.TimeNotInteger},
		"binance_futures_header.csv":  {profile: "binance-header"},
		"binance_spot_ms_to_us.csv":   {profile: "binance"},
		"bitfinex_ochl_crlf.csv":      {profile: "columns"},
		"ccxt_ninjabot_oclh.csv":      {profile: "columns"},
		"coinmarketcap.csv":           {profile: "coinmarketcap", options: importer.Options{Timeframe: day}},
		"cryptodatadownload_2019.csv": {profile: "cryptodatadownload"},
		"cryptodatadownload_2024.csv": {profile: "cryptodatadownload"},
		"dukascopy.csv":               {profile: "dukascopy", options: importer.Options{Timeframe: minute}},
		"freqtrade_json.json":         {profile: "freqtrade"},
		"gct_bad_ohlc.csv": {refused: importer.OHLCViolations,
			options: importer.Options{Timeframe: day}},
		"histdata_ascii.csv":      {profile: "histdata", options: importer.Options{Timeframe: minute}},
		"investing_com.csv":       {profile: "investing", options: importer.Options{Violations: "keep"}},
		"kaggle_bitstamp_nan.csv": {profile: "by_name", options: importer.Options{Timeframe: minute}},
		"kraken_ohlcvt.csv":       {profile: "kraken"},
		"lean_daily_x10000.csv":   {profile: "lean"},
		"metatrader5.csv": {profile: "metatrader5",
			options: importer.Options{Timeframe: minute, Zone: time.UTC}},
		"nasdaq_com.csv":             {profile: "nasdaq"},
		"ninjabot_header.csv":        {profile: "by_name"},
		"polygon_flatfile.csv":       {profile: "polygon"},
		"stooq_bulk.txt":             {profile: "stooq"},
		"tradingview_epoch.csv":      {profile: "tradingview"},
		"tradingview_equity_dst.csv": {profile: "tradingview"},
		"tradingview_iso_offset.csv": {profile: "tradingview"},
		"yahoo_legacy.csv":           {profile: "yahoo"},
		"yfinance_multiheader.csv":   {profile: "yfinance"},
	}
}

func TestEverySampleIsExact(t *testing.T) {
	all := expectations(t)
	how := sampleOptions()
	if len(all) != len(how) {
		t.Errorf("%d expectations, %d ways to read a sample", len(all), len(how))
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			s, ok := how[name]
			if !ok {
				t.Fatal("nobody says how to read it")
			}
			r, err := readSample(t, name, want.Options.Columns, s.options)
			if s.refused != "" {
				refused(t, err, s.refused)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Series.Len() != want.Rows || r.Report.RowsKept != want.Rows ||
				r.Report.Profile != s.profile {
				t.Errorf("%d rows by %s, want %d by %s", r.Series.Len(), r.Report.Profile, want.Rows,
					s.profile)
			}
			checkRow(t, r.Series, 0, want.First)
			checkRow(t, r.Series, r.Series.Len()-1, want.Last)
		})
	}
}

func readSample(t *testing.T, name, columns string, o importer.Options) (*importer.Result, error) {
	t.Helper()
	in, err := importer.File(filepath.Join(samples, name))
	if err != nil {
		t.Fatal(err)
	}
	if o.Columns, err = importer.ParseColumns(columns); err != nil {
		t.Fatal(err)
	}
	o.Symbol = "X/USD"
	return importer.Read(context.Background(), []importer.Input{in}, o)
}

func refused(t *testing.T, err error, code importer.Code) *importer.Error {
	t.Helper()
	var e *importer.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}

func checkRow(t *testing.T, s *market.Series, i int, want []float64) {
	t.Helper()
	if want == nil {
		return
	}
	c := s.At(i)
	if got := []float64{float64(c.OpenTime), c.Open, c.High, c.Low, c.Close, c.Volume}; !slices.Equal(got,
		want) {
		t.Errorf("row %d: %v, want %v", i, got, want)
	}
}

// What the samples must not become without the option that they need.
func TestSamplesAreRefusedWithoutTheirOptions(t *testing.T) {
	expectations(t)
	for _, c := range []struct {
		name, columns string
		code          importer.Code
		line          int
		hint          string
	}{
		{"binance_excel_mangled.csv", "", importer.TimeNotInteger, 2, "export the file again"},
		{"gct_bad_ohlc.csv", "", importer.ColumnsRequired, 1, "--columns"},
		{"gct_bad_ohlc.csv", "time,volume,open,high,low,close", importer.OHLCViolations, 1,
			"--ohlc-violations"},
		{"ccxt_ninjabot_oclh.csv", "", importer.OHLCViolations, 1, "--columns"},
		{"bitfinex_ochl_crlf.csv", "", importer.ColumnsRequired, 1, "--columns"},
		{"bitfinex_ochl_crlf.csv", "time,open,high,low,close,volume", importer.OHLCViolations, 1,
			"--columns"},
		{"backtrader_date_time.csv", "", importer.TimezoneRequired, 2, "--tz"},
		{"metatrader5.csv", "", importer.TimezoneRequired, 2, "--tz"},
		{"investing_com.csv", "", importer.OHLCViolations, 3, "--ohlc-violations"},
	} {
		_, err := readSample(t, c.name, c.columns, importer.Options{})
		e := refused(t, err, c.code)
		if len(e.Cases) == 0 || e.Cases[0].Line != c.line || !strings.Contains(e.Message, c.hint) {
			t.Errorf("%s: %v", c.name, e)
		}
	}
}

func TestWarningsOfSamples(t *testing.T) {
	expectations(t)
	for name, want := range map[string]string{
		"backtrader_date_time.csv": "END_STAMPS",
		"metatrader5.csv":          "TICK_VOLUME",
		"investing_com.csv":        "OHLC_VIOLATIONS_KEPT",
	} {
		r, err := readSample(t, name, "", sampleOptions()[name].options)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Report.Warnings) != 1 || r.Report.Warnings[0].Code != want {
			t.Errorf("%s: %+v", name, r.Report.Warnings)
		}
	}
	// A time at which a candle ends, turned.
	r, err := readSample(t, "backtrader_date_time.csv", "", importer.Options{Zone: time.UTC, Stamp: "close"})
	if err != nil || r.Series.Time[0].String() != "2006-01-02T09:00:00.000Z" || len(r.Report.Warnings) != 0 {
		t.Errorf("%v, %v", r, err)
	}
}
