package foreign

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// backtesting is 400 days of a crossover by backtesting.py 0.6.6, which says: 19 trades, a return of
// 20.8645 %, a drawdown of 29.51851 %, commissions of 842.78539.
func backtesting(t testing.TB) *Results {
	t.Helper()
	r, err := Backtesting(sample(t, "trades.csv"), sample(t, "equity.csv"),
		Options{Strategy: "cross", Symbol: "GOOG/USD"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keep stores results in a registry of its own, twice, and returns the first.
func keep(t *testing.T, r *Results) (*Kept, *artifact.Store) {
	t.Helper()
	store := artifact.NewStore(filepath.Join(t.TempDir(), "runs"))
	if err := os.MkdirAll(store.Root(), 0o700); err != nil {
		t.Fatal(err)
	}
	reg, err := registry.Open(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	kept, err := Keep(t.Context(), store, reg, r, "cross", time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Keep(t.Context(), store, reg, r, "cross", time.Unix(1_800_000_000, 0))
	if err != nil || !again.Known || kept.Known || again.Metadata.RunID != kept.Metadata.RunID {
		t.Errorf("again: %+v, %v", again, err)
	}
	row, err := reg.Get(t.Context(), kept.Metadata.RunID)
	if err != nil || row.Kind != artifact.KindImported || row.Status != artifact.StatusCompleted {
		t.Errorf("row %+v, %v", row, err)
	}
	if trials, err := reg.Trials(t.Context()); err != nil || len(trials) != 0 {
		t.Errorf("it counts as a trial: %v, %v", trials, err)
	}
	if _, _, err := artifact.Verify(store.Dir(kept.Metadata.RunID)); err != nil {
		t.Error(err)
	}
	return kept, store
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestBacktesting(t *testing.T) {
	r := backtesting(t)
	r.Source.Files = []artifact.ImportFile{{Name: "trades.csv", SHA256: strings.Repeat("a", 64)}}
	kept, store := keep(t, r)
	m := kept.Metadata
	if m.Volatile.Origin != artifact.OriginImported || m.Timeframe != "1d" || m.Imported.Files[0].Name == "" {
		t.Errorf("%+v", m)
	}
	get := func(key string) float64 {
		x, ok := kept.Report.Splits[0].Metrics.Get(key)
		if !ok {
			t.Errorf("%s is undefined", key)
		}
		return x
	}
	near(t, "return", get("total_return"), 0.208644961)
	near(t, "drawdown", get("max_drawdown"), 0.2951851)
	near(t, "trades", get("total_trades"), 19)
	near(t, "fees", get("fees_paid"), 842.78539)
	if meta := kept.Report.Splits[0].Meta; meta.Calendar != "weekdays" {
		t.Errorf("calendar %s", meta.Calendar)
	}
	text, err := os.ReadFile(filepath.Join(store.Dir(m.RunID), "splits", "full", "equity_curve.csv"))
	if err != nil {
		t.Fatal(err)
	}
	curve, err := artifact.ReadEquity(text)
	if err != nil || len(curve.Time) != 400 {
		t.Errorf("%d points, %v", len(curve.Time), err)
	}
	request, err := os.ReadFile(filepath.Join(store.Dir(m.RunID), "request.json"))
	if err != nil || bytes.Contains(request, []byte("trades.csv")) || !bytes.Contains(request,
		[]byte(strings.Repeat("a", 64))) {
		t.Errorf("request %s, %v", request, err)
	}
}

// The JSON of the same tables is the same results, and closed trades lead to the same end.
func TestBacktestingForms(t *testing.T) {
	csv := backtesting(t)
	records, err := Backtesting(sample(t, "trades.json"), sample(t, "equity.json"),
		Options{Symbol: "GOOG/USD"})
	if err != nil {
		t.Fatal(err)
	}
	if len(records.Trades) != len(csv.Trades) || len(records.Marks) != len(csv.Marks) {
		t.Fatalf("%d trades and %d marks", len(records.Trades), len(records.Marks))
	}
	for i := range csv.Trades {
		a, b := csv.Trades[i], records.Trades[i]
		if a.EntryTime != b.EntryTime || a.Direction != b.Direction || a.EntryTag != b.EntryTag ||
			a.CandlesHeld != b.CandlesHeld || !a.Quantity.Equal(b.Quantity) || a.ExitReason != b.ExitReason {
			t.Errorf("trade %d: %+v, as JSON %+v", i, a, b)
		}
	}
	closed, err := Backtesting(sample(t, "trades.csv"), nil, Options{Symbol: "GOOG/USD", Timeframe: "1d"})
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := keep(t, closed)
	near(t, "return", *kept.Metadata.Summary.TotalReturn, 0.208644961)
}

func TestFreqtrade(t *testing.T) {
	text := sample(t, "freqtrade.json")
	r, err := Freqtrade(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := keep(t, r)
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, f := range []struct{ name, text string }{
		{"backtest-result-x_config.json", "{}"}, {"backtest-result-x.json", string(text)},
	} {
		w, err := z.Create(f.name)
		if err == nil {
			_, err = w.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Freqtrade(packed.Bytes(), Options{Strategy: r.Strategy})
	if err != nil || len(again.Trades) != len(r.Trades) {
		t.Errorf("%v, %v", again, err)
	}
	checkFreqtrade(t, r, kept)
}

func TestRefusals(t *testing.T) {
	trades, equity := string(sample(t, "trades.csv")), string(sample(t, "equity.csv"))
	ft := string(sample(t, "freqtrade.json"))
	replace := func(text, old, with string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in the sample", old)
		}
		return strings.Replace(text, old, with, 1)
	}
	bt := func(trades, equity string, o Options) error {
		var curve []byte
		if equity != "" {
			curve = []byte(equity)
		}
		_, err := Backtesting([]byte(trades), curve, o)
		return err
	}
	freqtrade := func(text string, o Options) error {
		_, err := Freqtrade([]byte(text), o)
		return err
	}
	goog := Options{Symbol: "GOOG/USD"}
	// changed has a change in the trades, curved one in the equity.
	changed := func(old, with string) error { return bt(replace(trades, old, with), equity, goog) }
	curved := func(old, with string) error { return bt(trades, replace(equity, old, with), goog) }
	for name, c := range map[string]struct {
		err  error
		code string
		want string
	}{
		"no symbol":        {bt(trades, equity, Options{}), CodeUnclear, "--symbol"},
		"bad symbol":       {bt(trades, equity, Options{Symbol: "GOOG"}), CodeUnclear, "BASE/QUOTE"},
		"no timeframe":     {bt(trades, "", goog), CodeUnclear, "--timeframe"},
		"no column":        {bt("a,b\n1,2\n", equity, goog), CodeUnreadable, "/Size"},
		"empty":            {bt("", equity, goog), CodeUnreadable, "header"},
		"size 0":           {changed("\n0,-59,", "\n0,0,"), CodeUnreadable, "/0/Size"},
		"NaN":              {changed("169.02", "NaN"), CodeUnreadable, "/0/EntryPrice"},
		"huge":             {changed("169.02", "1e300"), CodeUnreadable, "/0/EntryPrice"},
		"bar numbers":      {changed("2004-11-17", "63"), CodeUnreadable, "index of times"},
		"outside":          {changed("2004-11-17", "2004-01-01"), CodeUnreadable, "outside"},
		"equity backwards": {curved("2004-08-20", "2004-08-19"), CodeUnreadable, "/1/"},
		"equity NaN":       {curved("10000.0", "nan"), CodeUnreadable, "/0/Equity"},
		"columns":          {bt("{\"Size\":{}}", equity, goog), CodeUnreadable, "orient=\"records\""},
		"pickle":           {bt("\x80\x04", equity, goog), CodeUnreadable, "pickle"},
		"records":          {bt("[1]", equity, goog), CodeUnreadable, "/0"},
		"no JSON":          {freqtrade("x", Options{}), CodeUnreadable, "JSON"},
		"no strategy":      {freqtrade("{}", Options{}), CodeUnreadable, "/strategy"},
		"other strategy":   {freqtrade(ft, Options{Strategy: "No"}), CodeUnclear, "it has Cross"},
		"two strategies": {freqtrade(`{"strategy":{"A":{},"B":{}}}`, Options{}), CodeUnclear,
			"--strategy with one of A, B"},
		"no trades": {freqtrade(`{"strategy":{"A":{}}}`, Options{}), CodeUnreadable, "/strategy/A/trades"},
		"text as trades": {freqtrade(`{"strategy":{"A":{"trades":"x"}}}`, Options{}), CodeUnreadable,
			"/strategy/A/trades must not be a string"},
		"bad archive": {freqtrade("PK\x03\x04x", Options{}), CodeUnreadable, "archive"},
		"open trade": {freqtrade(replace(ft, `"is_open": false`, `"is_open": true`), Options{}),
			CodeUnreadable, "/strategy/Cross/trades/0/is_open"},
		"no amount": {freqtrade(replace(ft, `"amount": `, `"amount": -`), Options{}), CodeUnreadable,
			"/strategy/Cross/trades/0/amount"},
	} {
		var e *Error
		if !errors.As(c.err, &e) || e.Code != c.code || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %v, want %s with %q", name, c.err, c.code, c.want)
		}
	}
}

// A bomb is refused when it has unpacked to the limit.
func TestArchiveLimits(t *testing.T) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for i := range maxMember + 1 {
		if _, err := z.Create(strings.Repeat("x", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := Freqtrade(packed.Bytes(), Options{}); !errors.As(err, &e) || e.Code != CodeTooLarge {
		t.Errorf("%v", err)
	}
}

func TestAdjustedPosition(t *testing.T) {
	text := `{"strategy":{"A":{"timeframe":"1h","starting_balance":1000,"final_balance":1009,
		"backtest_start_ts":1704067200000,"backtest_end_ts":1704153600000,"trades":[{"pair":"BTC/USDT:USDT",
		"amount":1,"open_rate":11,"close_rate":14,"profit_abs":5,"open_timestamp":1704067200000,
		"close_timestamp":1704074400000,"is_short":true,"exit_reason":"liquidation","orders":[
		{"amount":2,"safe_price":10,"ft_is_entry":true,"order_filled_timestamp":1},
		{"amount":2,"safe_price":12,"ft_is_entry":true,"order_filled_timestamp":1},
		{"amount":9,"safe_price":9,"ft_is_entry":true,"order_filled_timestamp":null},
		{"amount":4,"safe_price":9.5,"ft_is_entry":false,"order_filled_timestamp":1}]}]}}}`
	r, err := Freqtrade([]byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Trades[0]
	if got.Direction != market.Short || got.Symbol != "BTC/USDT" ||
		got.ExitReason != market.ExitLiquidation ||
		got.Quantity.String() != "4" ||
		got.EntryPrice.String() != "11" || got.ExitPrice.String() != "9.5" ||
		got.GrossPnL.String() != "6.0" || got.Fees.String() != "1.0" || got.CandlesHeld != 2 {
		t.Errorf("%+v", got)
	}
	differ := func(n artifact.Note) bool { return n.Code == "TRADES_DO_NOT_ADD_UP" }
	if !slices.ContainsFunc(r.Remarks, differ) {
		t.Errorf("%v", r.Remarks)
	}
}

// sound checks what holds of whatever was read.
func sound(t *testing.T, r *Results, err error) {
	t.Helper()
	var e *Error
	if err != nil {
		if !errors.As(err, &e) || e.Code == "" {
			t.Errorf("%T %v", err, err)
		}
		return
	}
	if r.End.Time().Sub(r.Start.Time()) > 2000*24*time.Hour {
		return // it would be long
	}
	c, err := r.curve()
	if err != nil {
		t.Skip(err)
	}
	if len(c.CloseTime) == 0 {
		t.Fatal("no step")
	}
	if _, err := r.results(c); err != nil {
		t.Errorf("%v", err)
	}
}

func FuzzFreqtrade(f *testing.F) {
	f.Add(sample(f, "freqtrade.json"))
	f.Add([]byte(`{"strategy":{"A":{"trades":[{}],"timeframe":"1h","starting_balance":1}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Freqtrade(text, Options{})
		sound(t, r, err)
	})
}

func FuzzBacktesting(f *testing.F) {
	f.Add(sample(f, "trades.csv")[:900], sample(f, "equity.csv")[:400])
	f.Add(sample(f, "trades.json")[:600], sample(f, "equity.json")[:400])
	f.Fuzz(func(t *testing.T, trades, equity []byte) {
		r, err := Backtesting(trades, equity, Options{Strategy: "x", Symbol: "A/B"})
		sound(t, r, err)
		r, err = Backtesting(trades, nil, Options{Strategy: "x", Symbol: "A/B", Timeframe: "1d"})
		sound(t, r, err)
	})
}

// checkFreqtrade holds our metrics against what freqtrade 2026.9 says of the same trades.
func checkFreqtrade(t *testing.T, r *Results, kept *Kept) {
	t.Helper()
	s := kept.Metadata.Summary
	near(t, "return", *s.TotalReturn, 0.008379692224)
	near(t, "drawdown", *s.MaxDrawdown, 0.014216180392)
	near(t, "trades", *s.TotalTrades, 40)
	near(t, "win rate", *s.WinRate, 0.475)
	fees, _ := kept.Report.Splits[0].Metrics.Get("fees_paid")
	near(t, "fees", fees, 62.93631395)
	if r.Strategy != "Cross" || kept.Metadata.Timeframe != "1h" || len(r.Remarks) != 1 {
		t.Errorf("%s, %s, %v", r.Strategy, kept.Metadata.Timeframe, r.Remarks)
	}
	first := r.Trades[0]
	if first.EntryTag != "cross" || first.ExitTag != "exit_signal" || first.ExitReason != market.ExitSignal ||
		first.CandlesHeld != 5 || first.EntryTime.String() != "2024-01-05T16:00:00.000Z" ||
		!first.MAE.IsNeg() || !first.MFE.IsPos() {
		t.Errorf("%+v", first)
	}
}
