package importer_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// expectation is what an importer must make of a sample file.
type expectation struct {
	Rows        int
	First, Last []float64
	Options     struct{ Columns string }
}

// TestImportSamples reads the quirky files that a header or --columns is enough for.
func TestImportSamples(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "import_samples")
	raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the shared reference data is not beside this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]expectation
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"binance_futures_header.csv", "ninjabot_header.csv", "ccxt_ninjabot_oclh.csv", "bitfinex_ochl_crlf.csv", "tradingview_epoch.csv",
		"tradingview_iso_offset.csv", "tradingview_equity_dst.csv", "yahoo_legacy.csv", "kaggle_bitstamp_nan.csv",
	} {
		t.Run(name, func(t *testing.T) {
			want, ok := all[name]
			if !ok {
				t.Fatal("no expectation")
			}
			r, err := readSample(t, filepath.Join(dir, name), want.Options.Columns)
			if err != nil {
				t.Fatal(err)
			}
			if r.Series.Len() != want.Rows {
				t.Errorf("%d rows, want %d", r.Series.Len(), want.Rows)
			}
			checkRow(t, r.Series, 0, want.First)
			checkRow(t, r.Series, r.Series.Len()-1, want.Last)
		})
	}
}

func readSample(t *testing.T, path, columns string) (*importer.Result, error) {
	t.Helper()
	in, err := importer.File(path)
	if err != nil {
		t.Fatal(err)
	}
	names, err := importer.ParseColumns(columns)
	if err != nil {
		t.Fatal(err)
	}
	o := importer.Options{Symbol: "X/USD", Columns: names}
	r, err := importer.Read(context.Background(), []importer.Input{in}, o)
	var e *importer.Error
	if errors.As(err, &e) && e.Code == importer.TimeframeMismatch { // a single row
		o.Timeframe = market.MustTimeframe("1m")
		return importer.Read(context.Background(), []importer.Input{in}, o)
	}
	return r, err
}

func refused(t *testing.T, err error, code importer.Code) {
	t.Helper()
	var e *importer.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func checkRow(t *testing.T, s *market.Series, i int, want []float64) {
	t.Helper()
	if want == nil {
		return
	}
	c := s.At(i)
	if got := []float64{float64(c.OpenTime), c.Open, c.High, c.Low, c.Close, c.Volume}; !slices.Equal(got, want) {
		t.Errorf("row %d: %v, want %v", i, got, want)
	}
}

// TestRefusedSamples are files that must not become candles.
func TestRefusedSamples(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "import_samples")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared reference data is not beside this checkout")
	}
	for name, c := range map[string]struct {
		columns string
		code    importer.Code
	}{
		"binance_excel_mangled.csv": {"", importer.TimeNotInteger},
		"gct_bad_ohlc.csv":          {"time,volume,open,high,low,close", importer.OHLCViolations},
		"ccxt_ninjabot_oclh.csv":    {"", importer.ColumnsRequired},
		"nasdaq_com.csv":            {"", importer.ColumnsMissing},
		"polygon_flatfile.csv":      {"", importer.ColumnsMissing},
		"backtrader_date_time.csv":  {"", importer.ColumnsRequired},
	} {
		_, err := readSample(t, filepath.Join(dir, name), c.columns)
		t.Logf("%s: %v", name, err)
		refused(t, err, c.code)
	}
}
