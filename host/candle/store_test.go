package candle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

const (
	btcHash = "ad153fb1070403bf43c4f69de680"
	ethHash = "85f2085ddcb9f7662f4a4d35d8e5"
	child   = "ASSAY_CANDLE_TEST_CHILD"
	y2020   = market.Time(1577836800000)
)

// TestMain lets the test binary be one of several processes that open one store.
func TestMain(m *testing.M) {
	if dir := os.Getenv(child); dir != "" {
		if err := useStore(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// useStore opens the store, resamples and imports.
func useStore(dir string) error {
	ctx := context.Background()
	s, err := candle.Open(ctx, dir)
	if err != nil {
		return err
	}
	d, err := s.Lookup(ctx, "sample", "BTC/USDT", market.MustTimeframe("4h"))
	if err != nil {
		return errors.Join(err, s.Close())
	}
	f, err := s.OpenSeries(d)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	_, err = s.Put(ctx,
		candle.PutRequest{Exchange: "test", Series: sdktest.Synth(1, 100, y2020.Time(), time.Hour)})
	return errors.Join(err, f.Close(), s.Close())
}

func open(t *testing.T, dir string) *candle.Store {
	t.Helper()
	s, err := candle.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func tf(s string) market.Timeframe { return market.MustTimeframe(s) }

func put(t *testing.T, s *candle.Store, exchange string, c *market.Series) candle.Dataset {
	t.Helper()
	d, err := s.Put(t.Context(), candle.PutRequest{Exchange: exchange, Series: c})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func lookup(t *testing.T, s *candle.Store, exchange string, symbol market.Symbol,
	timeframe string) candle.Dataset {
	t.Helper()
	d, err := s.Lookup(t.Context(), exchange, symbol, tf(timeframe))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func series(t *testing.T, s *candle.Store, d candle.Dataset) *market.Series {
	t.Helper()
	f, err := s.OpenSeries(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f.Series()
}

func TestSampleIsInstalledOnce(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	btc := lookup(t, first, "sample", "BTC/USDT", "1h")
	if !strings.HasPrefix(btc.SHA256, btcHash) || btc.Rows != 58419 || btc.Calendar != candle.AllDays ||
		btc.PriceStep.String() != "0.01" {
		t.Errorf("BTC/USDT: %+v", btc)
	}
	if btc.Start().String() != "2017-08-17T04:00:00.000Z" ||
		btc.End().String() != "2024-04-21T15:00:00.000Z" {
		t.Errorf("window %s to %s", btc.Start(), btc.End())
	}
	if btc.ID != "sample-btc-usdt-1h-"+btc.SHA256[:12] || btc.Report.DatasetSHA256 != btc.SHA256 ||
		btc.Report.Gaps.GapCount != 28 {
		t.Errorf("%s, report %+v", btc.ID, btc.Report.Report)
	}
	eth := lookup(t, first, "sample", "ETH/USDT", "1d")
	if !strings.HasPrefix(eth.SHA256, ethHash) || eth.Rows != 1991 || eth.Report.Gaps.Missing != 0 {
		t.Errorf("ETH/USDT: %+v", eth)
	}
	if got, err := digest.File(first.Path(btc.SHA256)); got != btc.SHA256 || err != nil {
		t.Errorf("file hash %s, %v", got, err)
	}
	second := open(t, dir)
	if again := lookup(t, second, "sample", "BTC/USDT", "1h"); again.CreatedAt != btc.CreatedAt {
		t.Error("installed again")
	}
	info, err := os.Stat(first.Path(btc.SHA256))
	if err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestDamagedSampleIsHealed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	eth := lookup(t, s, "sample", "ETH/USDT", "1d")
	if err := os.Remove(s.Path(eth.SHA256)); err != nil {
		t.Fatal(err)
	}
	var corrupt *candlefile.CorruptError
	if _, err := s.OpenSeries(eth); !errors.As(err, &corrupt) {
		t.Errorf("a missing file: %v", err)
	}
	if n := series(t, open(t, dir), eth).Len(); n != 1991 {
		t.Errorf("%d rows", n)
	}
}

func TestProcessesShareAStore(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), child+"="+dir)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	list, err := open(t, dir).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%s %s %s %v", d.Exchange, d.Symbol, d.Timeframe, d.Current))
	}
	want := []string{"sample BTC/USDT 1h true", "sample BTC/USDT 4h true", "sample ETH/USDT 1d true",
		"test SYNTH/USD 1h true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestTwoStoresOnOneFolder(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	var wg sync.WaitGroup
	for i, s := range []*candle.Store{a, b, a, b} {
		wg.Go(func() {
			for k := range 5 {
				c := sdktest.Synth(uint64(10*i+k), 50, y2020.Time(), time.Hour)
				if _, err := s.Put(context.Background(),
					candle.PutRequest{Exchange: "test", Series: c}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	current := 0
	for _, d := range list {
		if d.Exchange == "test" && d.Current {
			current++
		}
	}
	if len(list) != 22 || current != 1 {
		t.Errorf("%d datasets, %d current", len(list), current)
	}
	put(t, a, "late", sdktest.Synth(1, 10, y2020.Time(), time.Hour))
	lookup(t, b, "late", "SYNTH/USD", "1h") // read per request: b needs no restart
}

func TestNewestIsCurrentAndOldIsPinned(t *testing.T) {
	s := open(t, t.TempDir())
	old := put(t, s, "test", sdktest.Synth(1, 100, y2020.Time(), time.Hour))
	fresh := put(t, s, "test", sdktest.Synth(2, 100, y2020.Time(), time.Hour))
	if got := lookup(t, s, "test", "SYNTH/USD", "1h"); got.SHA256 != fresh.SHA256 || !got.Current {
		t.Errorf("current is %s", got.ID)
	}
	pinned, err := s.Pinned(t.Context(), "test", "SYNTH/USD", tf("1h"), old.SHA256)
	if err != nil || pinned.Current || series(t, s, pinned).Len() != 100 {
		t.Errorf("%+v, %v", pinned, err)
	}
	var missing *candle.NotFoundError
	if _, err := s.Pinned(t.Context(), "test", "SYNTH/USD", tf("1h"), "00"); !errors.As(err, &missing) ||
		missing.What != "dataset" {
		t.Errorf("got %v", err)
	}
	put(t, s, "test", sdktest.Synth(1, 100, y2020.Time(), time.Hour))
	if got := lookup(t, s, "test", "SYNTH/USD", "1h"); got.SHA256 != old.SHA256 {
		t.Errorf("storing the old candles again makes them current, not %s", got.ID)
	}
}

func TestFlippedBytesAreRefused(t *testing.T) {
	s := open(t, t.TempDir())
	d := put(t, s, "test", sdktest.Synth(3, 3, y2020.Time(), time.Hour))
	series(t, s, d) // its hash is known from here on
	path := s.Path(d.SHA256)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x10
		replace(t, path, bad)
		var corrupt *candlefile.CorruptError
		if f, err := s.OpenSeries(d); !errors.As(err, &corrupt) || corrupt.Path != path {
			t.Fatalf("byte %d: %v, %v", i, f, err)
		}
	}
	checked, err := s.Check(t.Context(), d)
	if err != nil || checked.Problem == "" {
		t.Errorf("check: %+v, %v", checked, err)
	}
	replace(t, path, good)
	if checked, err = s.Check(t.Context(), d); err != nil || checked.Problem != "" || checked.Gaps.Rows != 3 {
		t.Errorf("check of the healed file: %+v, %v", checked, err)
	}
}

func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A sound file with other candles under the name of a dataset has right checksums.
func TestExchangedFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	d := put(t, s, "test", sdktest.Synth(1, 50, y2020.Time(), time.Hour))
	other := sdktest.Synth(1, 50, y2020.Time(), time.Hour)
	other.Close[7] += 0.01
	raw, err := candlefile.Encode(other)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, s.Path(d.SHA256), raw)
	var corrupt *candlefile.CorruptError
	if _, err := open(t, dir).OpenSeries(d); !errors.As(err, &corrupt) ||
		!strings.Contains(corrupt.Reason, "SHA-256") {
		t.Errorf("other candles: %v", err)
	}
	raw, err = candlefile.Encode(sdktest.Synth(1, 51, y2020.Time(), time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	replace(t, s.Path(d.SHA256), raw)
	if _, err := s.OpenSeries(d); !errors.As(err, &corrupt) ||
		!strings.Contains(corrupt.Reason, "catalogue") {
		t.Errorf("one candle more: %v", err)
	}
}

func TestLeftoversGo(t *testing.T) {
	dir := t.TempDir()
	files := filepath.Join(dir, "data", "candles")
	open(t, dir)
	for name, age := range map[string]time.Duration{".tmp-old": 2 * time.Hour, ".tmp-new": 0} {
		path := filepath.Join(files, name)
		when := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	left, err := filepath.Glob(filepath.Join(files, ".tmp-*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".tmp-new" {
		t.Errorf("left %v, %v", left, err)
	}
}

func input(name, content string) importer.Input {
	return importer.Input{Name: name, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

func request(content string) candle.ImportRequest {
	return candle.ImportRequest{
		Exchange: "test", Files: []importer.Input{input("x.csv", content)},
		Options: importer.Options{Symbol: "BTC/USD"},
	}
}

func TestImport(t *testing.T) {
	s := open(t, t.TempDir())
	c := sdktest.Synth(42, 500, y2020.Time(), time.Hour)
	req := request(string(csvOf(c)))
	req.VolumeUnit = "contracts"
	req.DryRun = true
	dry, err := s.Import(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(t.Context(), "test", "BTC/USD", tf("1h")); err == nil {
		t.Error("a dry run stored something")
	}
	req.DryRun = false
	d, err := s.Import(t.Context(), req)
	if err != nil || d.SHA256 != dry.SHA256 || d.ID != dry.ID {
		t.Fatalf("%s, dry run %s, %v", d.ID, dry.ID, err)
	}
	d = lookup(t, s, "test", "BTC/USD", "1h")
	r := d.Report
	if d.VolumeUnit != "contracts" || r.Importer != "import-v1" || r.Profile != "by_name" ||
		r.RowsKept != 500 || r.Gaps.Rows != 500 ||
		r.TimeUnits["ms"] != 500 || r.Options["volume_unit"] != "contracts" ||
		r.Options["symbol"] != "BTC/USD" || r.Files[0].Name != "x.csv" {
		t.Errorf("stored report %+v", r)
	}
	if got := series(t, s, d); !slices.Equal(got.Close, c.Close) || !slices.Equal(got.Time, c.Time) {
		t.Error("candles differ")
	}
}

func TestImportRefusals(t *testing.T) {
	s := open(t, t.TempDir())
	good := string(csvOf(sdktest.Synth(1, 10, y2020.Time(), time.Hour)))
	cases := map[string]func(*candle.ImportRequest){
		"RESERVED_EXCHANGE": func(r *candle.ImportRequest) { r.Exchange = "sample" },
		"SYMBOL_REQUIRED":   func(r *candle.ImportRequest) { r.Options.Symbol = "" },
		"NO_ROWS":           func(r *candle.ImportRequest) { r.Files = nil },
		"--exchange":        func(r *candle.ImportRequest) { r.Exchange = "" },
		"--exchange ":       func(r *candle.ImportRequest) { r.Exchange = "Binance Futures" },
		"--symbol":          func(r *candle.ImportRequest) { r.Options.Symbol = "BTCUSD" },
		"--calendar":        func(r *candle.ImportRequest) { r.Calendar = "nyse" },
		"--volume-unit":     func(r *candle.ImportRequest) { r.VolumeUnit = "lots" },
	}
	for want, spoil := range cases {
		req := request(good)
		spoil(&req)
		_, err := s.Import(t.Context(), req)
		var refused *importer.Error
		var option *importer.OptionError
		switch {
		case errors.As(err, &refused) && string(refused.Code) == want:
		case errors.As(err, &option) && option.Flag == strings.TrimSpace(want):
		default:
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := s.Put(t.Context(),
		candle.PutRequest{Exchange: "sample",
			Series: sdktest.Synth(1, 3, y2020.Time(), time.Hour)}); err == nil {
		t.Error("Put under the reserved exchange")
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("%d datasets after refusals, %v", len(list), err)
	}
}

func TestImportMerges(t *testing.T) {
	s := open(t, t.TempDir())
	c := sdktest.Synth(42, 300, y2020.Time(), time.Hour)
	for _, part := range []*market.Series{c.Slice(0, 200), c.Slice(150, 300)} {
		req := request(string(csvOf(part)))
		req.Merge = true
		if _, err := s.Import(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	d := lookup(t, s, "test", "BTC/USD", "1h")
	if d.Rows != 300 || d.Report.Merged != 200 || d.Report.RowsRead != 150 ||
		d.Report.Options["merge"] != "true" {
		t.Errorf("%d rows, report %+v", d.Rows, d.Report)
	}
	whole := put(t, s, "whole", c)
	if whole.SHA256 != d.SHA256 {
		t.Error("merged parts differ from the whole")
	}
	other := c.Slice(299, 300)
	other.Close = []float64{other.High[0]}
	other.Open = []float64{other.High[0]}
	req := request(string(csvOf(other)))
	req.Merge, req.Options.Timeframe = true, tf("1h")
	var refused *importer.Error
	if _, err := s.Import(t.Context(), req); !errors.As(err, &refused) ||
		refused.Code != importer.ConflictingDuplicates {
		t.Errorf("got %v", err)
	}
}

func TestExchanges(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "alpha", sdktest.Synth(1, 10, y2020.Time(), 24*time.Hour))
	put(t, s, "alpha", sdktest.Synth(1, 10, y2020.Time(), time.Minute))
	lookup(t, s, "sample", "BTC/USDT", "1d") // resampled, not listed
	got, err := s.Exchanges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].ID != "alpha" || fmt.Sprint(got[0].Timeframes) != "[1m 1d]" ||
		got[1].ID != "sample" {
		t.Fatalf("%+v", got)
	}
	sample := got[1]
	if fmt.Sprint(sample.Symbols, sample.Timeframes) != "[BTC/USDT ETH/USDT] [1h 1d]" {
		t.Errorf("%v %v", sample.Symbols, sample.Timeframes)
	}
	r := sample.DateRange["BTC/USDT"]["1h"]
	if len(sample.DateRange["BTC/USDT"]) != 1 || r.Candles != 58419 ||
		r.End.String() != "2024-04-21T15:00:00.000Z" {
		t.Errorf("%+v", sample.DateRange)
	}
}

func TestNotFoundSaysWhatThereIs(t *testing.T) {
	s := open(t, t.TempDir())
	cases := []struct {
		exchange  string
		symbol    market.Symbol
		timeframe string
		what      string
		have      string
	}{
		{"nowhere", "BTC/USDT", "1h", "exchange", "[sample]"},
		{"sample", "DOGE/USDT", "1h", "symbol", "[BTC/USDT ETH/USDT]"},
		{"sample", "BTC/USDT", "30m", "timeframe", "[1h]"},
		{"sample", "ETH/USDT", "36h", "timeframe", "[1d]"},
	}
	for _, c := range cases {
		_, err := s.Lookup(t.Context(), c.exchange, c.symbol, tf(c.timeframe))
		var missing *candle.NotFoundError
		if !errors.As(err, &missing) || missing.What != c.what || fmt.Sprint(missing.Have) != c.have {
			t.Errorf("%+v: %v", c, err)
		}
		if err := s.Offers(t.Context(), c.exchange, c.symbol, tf(c.timeframe)); err == nil {
			t.Errorf("%+v is offered", c)
		}
	}
	if err := s.Offers(t.Context(), "sample", "BTC/USDT", tf("4h")); err != nil {
		t.Error(err)
	}
}

func TestDataHash(t *testing.T) {
	windows := []candle.Window{
		{Symbol: "BTC/USDT", Timeframe: tf("1h"), SHA256: "ab", Start: 1502942400000, End: 1713711600000},
		{Symbol: "ETH/USDT", Timeframe: tf("1h"), SHA256: "cd", Start: 1, End: 2},
	}
	got, err := candle.DataHash(windows)
	want := digest.SHA256Hex(
		[]byte(`[{"end":1713711600000,"sha256":"ab","start":1502942400000,"symbol":"BTC/USDT","timeframe":"1h"},` +
			`{"end":2,"sha256":"cd","start":1,"symbol":"ETH/USDT","timeframe":"1h"}]`))
	if err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestCanonicalFilesImport(t *testing.T) {
	s := open(t, t.TempDir())
	for name, want := range map[string]struct {
		hash, timeframe string
		calendar        candle.Calendar
	}{
		"BTCUSDT_1h.csv": {btcHash, "1h", candle.AllDays},
		"ETHUSDT_1d.csv": {ethHash, "1d", candle.AllDays},
		"GOOG_1d.csv":    {"", "1d", candle.Weekdays},
		"SYNTH42_1h.csv": {"b0916e0de819254d58afabe0fb19", "1h", candle.AllDays},
	} {
		in, err := importer.File(filepath.Join("..", "..", "..", "shared", "data", "canonical", name))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("needs the folder shared, with the reference data, beside the checkout")
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Import(t.Context(),
			candle.ImportRequest{Exchange: "test", Files: []importer.Input{in},
				Options: importer.Options{Symbol: "X/USD"}})
		if err != nil || !strings.HasPrefix(d.SHA256, want.hash) || d.Timeframe.String() != want.timeframe ||
			d.Calendar != want.calendar {
			t.Errorf("%s: %s %s, %v", name, d.ID, d.Calendar, err)
		}
	}
}

func TestAPartKeepsTheTickOfTheWhole(t *testing.T) {
	s := open(t, t.TempDir())
	part := sdktest.Synth(1, 100, y2020.Time(), time.Hour)
	part.Symbol, part.Timeframe = "PART/USD", tf("1h")
	step := decimal.MustParse("0.00001")
	d, err := s.Put(t.Context(), candle.PutRequest{Exchange: "test", Series: part, PriceStep: step})
	if err != nil || d.PriceStep.Cmp(step) != 0 {
		t.Errorf("%s, %v", d.PriceStep, err)
	}
	if got := lookup(t, s, "test", "PART/USD", "1h"); got.PriceStep.Cmp(step) != 0 {
		t.Errorf("read back as %s", got.PriceStep)
	}
}
