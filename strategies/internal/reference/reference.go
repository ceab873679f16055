// Package reference compares the bundled strategies with reference results, in
// their tests: complete backtests of independent engines, trade by trade, where the
// folder shared/oracles is beside the repository, and the figures that the
// documentation states, everywhere. All are on the same generated candles.
//
// It imports plugin-sdk only.
package reference

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// tolerance of values, relative.
const tolerance = 1e-9

// Candles are the candles of all reference results: 20,000 hours from 2020 on.
func Candles() *market.Series {
	return sdktest.Synth(42, 20_000, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
}

// BarV1 checks number of trades and final value under the default options. The
// documented values are rounded, some to seven decimals.
func BarV1(t *testing.T, strategy sdk.Strategy, trades int, final float64) {
	t.Helper()
	r := sdktest.Backtest(t, strategy, Candles())
	if got, _ := r.FinalValue.Float64(); len(r.Trades) != trades || math.Abs(got-final) > 5e-8 {
		t.Errorf("%d trades and %s, want %d and %v", len(r.Trades), r.FinalValue, trades, final)
	}
}

// Check compares a strategy with every file of the oracle whose name begins so, in
// each profile that the file is for.
func Check(t *testing.T, oracle string, strategy func() sdk.Strategy) {
	t.Helper()
	folder := find("shared/oracles")
	if folder == "" {
		t.Skip("needs the folder shared/oracles beside the checkout")
	}
	files, err := filepath.Glob(filepath.Join(folder, oracle+"__SYNTH42_1h*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of %s in %s: %v", oracle, folder, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, profile := range []string{"compat:backtesting.py", "compat:backtrader"} {
			if strings.HasSuffix(name, "protect_next_bar") && profile != "compat:backtrader" ||
				strings.HasSuffix(name, "protect_entry_bar") && profile == "compat:backtrader" {
				continue
			}
			t.Run(profile+"/"+name, func(t *testing.T) { compare(t, folder, name, profile, strategy()) })
		}
	}
}

// find looks for a folder in this folder and all above.
func find(name string) string {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// oracle is the part of a reference result that is compared.
type oracle struct {
	Config struct {
		InitialCash float64     `json:"initial_cash"`
		FeeRate     json.Number `json:"fee_rate"`
		QtyStep     json.Number `json:"qty_step"`
	} `json:"config"`
	Summary struct {
		FinalEquity float64 `json:"final_equity"`
		MaxDrawdown float64 `json:"max_drawdown"`
		Fees        float64 `json:"fees"`
		OpenQty     float64 `json:"open_qty"`
	} `json:"summary"`
	Trades []struct {
		EntryBar   int     `json:"entry_bar"`
		ExitBar    int     `json:"exit_bar"`
		Size       float64 `json:"size"`
		EntryPrice float64 `json:"entry_price"`
		ExitPrice  float64 `json:"exit_price"`
		Fee        float64 `json:"fee"`
		PnL        float64 `json:"pnl"`
		Reason     string  `json:"reason"`
	} `json:"trades"`
}

func compare(t *testing.T, folder, name, profile string, strategy sdk.Strategy) {
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var want oracle
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	execution := `{"profile":"` + profile + `","quantity_step":` + want.Config.QtyStep.String() +
		`,"fee_maker":` + want.Config.FeeRate.String() + `,"fee_taker":` + want.Config.FeeRate.String() + `}`
	candles := Candles()
	got := sdktest.Backtest(t, strategy, candles, sdktest.Cash(want.Config.InitialCash),
		sdktest.Execution(execution))
	compareTrades(t, candles, got, &want)

	final, _ := got.FinalValue.Float64()
	near(t, "final equity", final, want.Summary.FinalEquity)
	near(t, "equity at the last close", got.Equity[len(got.Equity)-1].Equity, want.Summary.FinalEquity)
	fees, _ := got.Stats.Fees.Float64()
	near(t, "fees", fees, want.Summary.Fees)
	open, drawdown := 0.0, 0.0
	for _, p := range got.Positions {
		open, _ = p.Quantity.Float64()
	}
	near(t, "open quantity", open, want.Summary.OpenQty)
	for _, p := range got.Equity {
		drawdown = max(drawdown, p.Drawdown)
	}
	near(t, "maximum drawdown", drawdown, want.Summary.MaxDrawdown)
	compareEquity(t, filepath.Join(folder, "equity", "equity__"+name+".csv"), candles, got.Equity)
}

func compareTrades(t *testing.T, candles *market.Series, got *sdktest.Result, want *oracle) {
	if len(got.Trades) != len(want.Trades) {
		t.Errorf("%d trades, want %d", len(got.Trades), len(want.Trades))
	}
	for i := range min(len(got.Trades), len(want.Trades)) {
		g, w := &got.Trades[i], &want.Trades[i]
		entry, exit := candles.Search(g.EntryTime), candles.Search(g.ExitTime)
		reason := string(g.ExitReason)
		if reason == "stop_loss" {
			reason = "stop"
		}
		if entry != w.EntryBar || exit != w.ExitBar || reason != w.Reason {
			t.Fatalf("trade %d: candles %d to %d by %s, want %d to %d by %s", i, entry, exit, reason,
				w.EntryBar, w.ExitBar, w.Reason)
		}
		if g.CandlesHeld != exit-entry {
			t.Errorf("trade %d: %d candles held, want %d", i, g.CandlesHeld, exit-entry)
		}
		at := "trade " + strconv.Itoa(i) + ": "
		for _, v := range []struct {
			name string
			got  interface{ Float64() (float64, bool) }
			want float64
		}{
			{"size", g.Quantity, w.Size}, {"entry price", g.EntryPrice, w.EntryPrice},
			{"exit price", g.ExitPrice, w.ExitPrice},
			{"fee", g.Fees, w.Fee}, {"pnl", g.PnL, w.PnL},
		} {
			x, _ := v.got.Float64()
			near(t, at+v.name, x, v.want)
		}
	}
}

// compareEquity does nothing where there is no curve.
func compareEquity(t *testing.T, path string, candles *market.Series, got []market.EquityPoint) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows)-1 != len(got) {
		t.Fatalf("%d points, %s has %d: %v", len(got), path, len(rows)-1, err)
	}
	for i, row := range rows[1:] {
		want, err := strconv.ParseFloat(row[1], 64)
		if err != nil || strconv.FormatInt(int64(candles.Time[i]), 10) != row[0] ||
			got[i].Time != candles.CloseTime(i) {
			t.Fatalf("point %d: %v at %v, want %v: %v", i, got[i].Equity, got[i].Time, row, err)
		}
		near(t, "equity at "+row[0], got[i].Equity, want)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	// A profit may be the small difference of large amounts, which are exact to 1e-10.
	if math.Abs(got-want) > max(tolerance*math.Abs(want), tolerance) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}
