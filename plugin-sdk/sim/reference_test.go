package sim_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

var synthStart = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

func synth42() *market.Series { return sdktest.Synth(42, 20000, synthStart, time.Hour) }

// journal is a Recorder that keeps everything.
type journal struct {
	fills  []market.Fill
	trades []market.Trade
	orders []market.Order
	marks  []sim.Mark
	refuse []market.Reason
}

func (j *journal) Intent(_ int64, _ *market.Intent, reason market.Reason) {
	if reason != "" {
		j.refuse = append(j.refuse, reason)
	}
}
func (j *journal) Order(_ int64, o *market.Order) { j.orders = append(j.orders, *o) }
func (j *journal) Fill(_ int64, f *market.Fill)   { j.fills = append(j.fills, *f) }
func (j *journal) Trade(_ int64, t *market.Trade) { j.trades = append(j.trades, *t) }
func (j *journal) Equity(_ int64, m *sim.Mark)    { j.marks = append(j.marks, *m) }

func options(t testing.TB, text string) sim.Options {
	t.Helper()
	o, err := sim.ResolveOptions([]byte(text), sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// runSeries runs a decider over one series and checks the books at the end.
func runSeries(t testing.TB, s *market.Series, cash int64, o sim.Options, d sim.Decider,
	rec sim.Recorder) *sim.Engine {
	t.Helper()
	e, err := sim.NewEngine(sim.Config{
		Symbols: []market.Symbol{s.Symbol}, Timeframe: s.Timeframe, InitialCash: decimal.MustNew(cash, 0),
		Options: o,
	}, rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{s}), d); err != nil {
		t.Fatal(err)
	}
	if err := e.CheckBalance(); err != nil {
		t.Fatal(err)
	}
	return e
}

func bundled(name string) sim.Decider {
	switch name {
	case "sma_cross":
		return &smaCross{fast: 10, slow: 30}
	case "buy_hold":
		return &buyHold{}
	case "rsi_bracket":
		return newRSIBracket()
	case "limit_entry":
		return &limitEntry{}
	}
	return &breakout{}
}

type oracle struct {
	Config struct {
		Strategy string  `json:"strategy"`
		Step     float64 `json:"qty_step"`
		Entry    bool    `json:"entry_bar_protect"`
	} `json:"config"`
	Summary struct {
		FinalEquity float64 `json:"final_equity"`
		Fees        float64 `json:"fees"`
		OpenQty     float64 `json:"open_qty"`
	} `json:"summary"`
	Trades []struct {
		EntryIndex int     `json:"entry_bar"`
		ExitIndex  int     `json:"exit_bar"`
		Size       float64 `json:"size"`
		EntryPrice float64 `json:"entry_price"`
		ExitPrice  float64 `json:"exit_price"`
		Fee        float64 `json:"fee"`
		PnL        float64 `json:"pnl"`
		Reason     string  `json:"reason"`
	} `json:"trades"`
}

// TestOracles reproduces complete backtests of two public engines, trade by trade.
func TestOracles(t *testing.T) {
	files, err := filepath.Glob("../../../shared/oracles/*__SYNTH42_1h*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no shared/oracles beside the repository")
	}
	series := synth42()
	index := map[int64]int{}
	for i, at := range series.Time {
		index[int64(at)] = i
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var want oracle
			text, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("no oracle")
			}
			if err := errors.Join(err, json.Unmarshal(text, &want)); err != nil {
				t.Fatal(err)
			}
			profiles := []string{sim.ProfileBacktestingPy, sim.ProfileBacktrader}
			if want.Config.Strategy == "rsi_bracket" {
				profiles = profiles[:1]
				if !want.Config.Entry {
					profiles = []string{sim.ProfileBacktrader}
				}
			}
			for _, profile := range profiles {
				o := options(t, fmt.Sprintf(`{"profile":%q,"quantity_step":%v}`, profile, want.Config.Step))
				var j journal
				e := runSeries(t, series, 10000, o, bundled(want.Config.Strategy), &j)
				compareOracle(t, &want, e, &j, index)
			}
		})
	}
}

func compareOracle(t *testing.T, want *oracle, e *sim.Engine, j *journal, index map[int64]int) {
	t.Helper()
	near(t, "final equity", e.Equity(), want.Summary.FinalEquity)
	fees, _ := e.Stats().Fees.Float64()
	near(t, "fees", fees, want.Summary.Fees)
	q, _, _ := e.Holding(0)
	near(t, "open quantity", q, want.Summary.OpenQty)
	if len(j.trades) != len(want.Trades) {
		t.Fatalf("%d trades, want %d", len(j.trades), len(want.Trades))
	}
	reasons := map[string]market.ExitReason{"stop": "stop_loss", "take_profit": "take_profit",
		"signal": "signal"}
	for i := range j.trades {
		got, w := &j.trades[i], &want.Trades[i]
		at := fmt.Sprintf("trade %d ", i)
		if in, out := index[int64(got.EntryTime)], index[int64(got.ExitTime)]; in != w.EntryIndex ||
			out != w.ExitIndex {
			t.Fatalf("%sfrom candle %d to %d, want %d to %d", at, in, out, w.EntryIndex, w.ExitIndex)
		}
		if got.ExitReason != reasons[w.Reason] {
			t.Errorf("%sreason %s, want %s", at, got.ExitReason, w.Reason)
		}
		for _, v := range []struct {
			what string
			got  decimal.Decimal
			want float64
		}{
			{"quantity", got.Quantity, w.Size}, {"entry price", got.EntryPrice, w.EntryPrice},
			{"exit price", got.ExitPrice, w.ExitPrice}, {"fees", got.Fees, w.Fee}, {"pnl", got.PnL, w.PnL},
		} {
			f, _ := v.got.Float64()
			near(t, at+v.what, f, v.want)
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(math.Abs(want), 1) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// TestReferenceResults is the table of reference results on the synthetic candles.
func TestReferenceResults(t *testing.T) {
	series := synth42()
	for _, row := range []struct {
		profile, strategy string
		trades            int64
		final             float64
		digest            string // the same on every machine
	}{
		{"bar-v1", "sma_cross", 391, 5025.324824216, "74fee46763448517"},
		{"bar-v1", "buy_hold", 0, 24705.9645484, "66c7844011525154"},
		{"bar-v1", "rsi_bracket", 205, 6380.6589242517, "03db34c27faa9a00"},
		{"bar-v1", "limit_entry", 453, 6482.4692142312, "e00cc862b9f1cf50"},
		{"bar-v1", "breakout", 685, 6103.9476436, "e5f1f658905cc1c9"},
		{"compat:backtesting.py", "sma_cross", 391, 7433.449377309631, "1ff58d8ff2771d5d"},
		{"compat:backtesting.py", "buy_hold", 0, 24718.31753149631, "bdebdf7c4c186f4b"},
		{"compat:backtesting.py", "rsi_bracket", 205, 7757.100693909631, "b55b7d3b0a19cb5e"},
		{"compat:backtesting.py", "limit_entry", 453, 8026.433537732146, "8cde0e6bb60dd1e6"},
		{"compat:backtesting.py", "breakout", 685, 8615.595586321411, "22ca5eef901036ec"},
		{"compat:backtrader", "sma_cross", 391, 7433.449377309631, "1ff58d8ff2771d5d"},
		{"compat:backtrader", "buy_hold", 0, 24718.31753149631, "bdebdf7c4c186f4b"},
		{"compat:backtrader", "rsi_bracket", 204, 7934.997966501577, "40ddbcdac3254df4"},
		{"compat:backtrader", "limit_entry", 453, 8026.433537732146, "8cde0e6bb60dd1e6"},
		{"compat:backtrader", "breakout", 685, 8615.595586321411, "22ca5eef901036ec"},
	} {
		t.Run(row.profile+"/"+row.strategy, func(t *testing.T) {
			e := runSeries(t, series, 10000, options(t, fmt.Sprintf(`{"profile":%q}`, row.profile)),
				bundled(row.strategy), nil)
			if got := e.Stats().Trades; got != row.trades {
				t.Errorf("%d trades, want %d", got, row.trades)
			}
			v, err := e.FinalValue()
			if err != nil {
				t.Fatal(err)
			}
			final, _ := v.Float64()
			near(t, "final value", final, row.final)
			sum := e.Digest()
			if got := hex.EncodeToString(sum[:8]); got != row.digest {
				t.Errorf("digest %s, want %s", got, row.digest)
			}
		})
	}
}
