package cmd_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// reference is one complete backtest of an independent simulator.
type reference struct {
	ID     string `json:"id"`
	Config struct {
		Strategy string         `json:"strategy"`
		Params   map[string]any `json:"params"`
		Step     float64        `json:"qty_step"`
		Protect  bool           `json:"entry_bar_protect"`
	} `json:"config"`
	Summary struct {
		FinalEquity  float64 `json:"final_equity"`
		TotalReturn  float64 `json:"total_return"`
		MaxDrawdown  float64 `json:"max_drawdown"`
		ClosedTrades int     `json:"closed_trades"`
		WinRate      float64 `json:"win_rate"`
		Fees         float64 `json:"fees"`
		OpenQty      float64 `json:"open_qty"`
	} `json:"summary"`
	Trades []referenceTrade `json:"trades"`
}

type referenceTrade struct {
	EntryMS int64   `json:"entry_ms"`
	ExitMS  int64   `json:"exit_ms"`
	Size    float64 `json:"size"`
	Entry   float64 `json:"entry_price"`
	Exit    float64 `json:"exit_price"`
	Fee     float64 `json:"fee"`
	PnL     float64 `json:"pnl"`
	Reason  string  `json:"reason"`
}

// The references name parameters in their own way.
var parameterNames = map[string]map[string]string{
	"rsi_bracket": {"n": "period", "lo": "oversold", "hi": "overbought", "sl": "stop_loss",
		"tp": "take_profit"},
	"limit_entry": {"every": "every", "off": "offset", "tp": "take_profit", "sl": "stop_loss", "ttl": "ttl"},
	"stop_entry":  {"look": "lookback", "hold": "hold"},
}

func (r *reference) request(profile string) object {
	name, params := r.Config.Strategy, object{}
	for k, v := range r.Config.Params {
		if to, ok := parameterNames[name][k]; ok {
			k = to
		}
		params[k] = v
	}
	if name == "stop_entry" {
		name = "breakout"
	}
	if name == "buy_hold" {
		params = object{"start_candle": 1}
	}
	return object{
		"strategy_name": name, "strategy_params": params, "symbols": []string{"SYNTH42/USD"},
		"timeframe": "1h", "exchange": "oracle",
		"initial_cash": 10000,
		"execution": object{"profile": profile, "fee_maker": 0.001, "fee_taker": 0.001,
			"quantity_step": r.Config.Step},
	}
}

func TestReferencesThroughTheAPI(t *testing.T) {
	csv := shared(t, "data", "canonical", "SYNTH42_1h.csv")
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(shared(t, "oracles", "README.md")),
		"*__SYNTH42_1h*.json"))
	if len(files) < 10 {
		t.Fatalf("only %d references", len(files))
	}
	state := t.TempDir()
	lab(t, "data", "import", csv, "--exchange", "oracle", "--symbol", "SYNTH42/USD", "--timeframe", "1h",
		"--state-dir", state)
	s := serve(t, state, "--strategies", allStrategies(t))
	// The engine is held to all of them in its own tests.
	for _, file := range files[:ring.Size(3, len(files), len(files))] {
		var ref reference
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &ref); err != nil {
			t.Fatal(err)
		}
		profiles := []string{"compat:backtesting.py", "compat:backtrader"}
		if strings.Contains(ref.ID, "protect_entry") {
			profiles = profiles[:1]
		}
		if strings.Contains(ref.ID, "protect_next") {
			profiles = profiles[1:]
		}
		for _, profile := range profiles {
			t.Run(ref.ID+" "+profile, func(t *testing.T) { ref.compare(t, s.backtest(ref.request(profile))) })
		}
	}
}

func (r *reference) compare(t *testing.T, got object) {
	t.Helper()
	if got["status"] != "completed" {
		t.Fatalf("%v %v", got["status"], got["error"])
	}
	trades := got["trades"].([]any)
	if len(trades) != len(r.Trades) {
		t.Fatalf("%d trades, want %d", len(trades), len(r.Trades))
	}
	reasons := map[string]string{"stop": "stop_loss"}
	for i, want := range r.Trades {
		have := trades[i].(map[string]any)
		if to, ok := reasons[want.Reason]; ok {
			want.Reason = to
		}
		if have["exit_reason"] != want.Reason || have["entry_time"] != stamp(want.EntryMS) ||
			have["exit_time"] != stamp(want.ExitMS) {
			t.Fatalf("trade %d is %v, want %+v", i, have, want)
		}
		near(t, "quantity", have["quantity"], want.Size)
		near(t, "entry", have["entry_price"], want.Entry)
		near(t, "exit", have["exit_price"], want.Exit)
		near(t, "fees", have["fees"], want.Fee)
		near(t, "pnl", have["pnl"], want.PnL)
		if t.Failed() {
			t.Fatalf("trade %d is %v, want %+v", i, have, want)
		}
	}
	near(t, "final_value", got["final_value"], r.Summary.FinalEquity)
	metrics := got["performance_metrics"].(map[string]any)
	near(t, "total_return", metrics["total_return"], r.Summary.TotalReturn)
	near(t, "max_drawdown", metrics["max_drawdown"], r.Summary.MaxDrawdown)
	near(t, "fees_paid", metrics["fees_paid"], r.Summary.Fees)
	if len(r.Trades) > 0 {
		near(t, "win_rate", metrics["win_rate"], r.Summary.WinRate)
	}
	if points := got["equity_curve"].([]any); len(points) != 20000 {
		t.Errorf("%d equity points", len(points))
	}
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// near allows a relative difference of 1e-9.
func near(t *testing.T, what string, got any, want float64) {
	t.Helper()
	have, ok := got.(float64)
	if !ok || math.Abs(have-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %s", what, got, strconv.FormatFloat(want, 'g', -1, 64))
	}
}

// TestBarV1ThroughTheAPI holds the product's own semantics to its published figures.
func TestBarV1ThroughTheAPI(t *testing.T) {
	t.Parallel()
	csv := shared(t, "data", "canonical", "SYNTH42_1h.csv")
	state := t.TempDir()
	lab(t, "data", "import", csv, "--exchange", "oracle", "--symbol", "SYNTH42/USD", "--timeframe", "1h",
		"--state-dir", state)
	s := serve(t, state, "--strategies", allStrategies(t))
	for _, c := range []struct {
		strategy string
		trades   int
		final    float64
	}{
		{"sma_cross", 391, 5025.324824216}, {"buy_hold", 0, 24705.9645484},
		{"rsi_bracket", 205, 6380.6589242517},
		{"limit_entry", 453, 6482.4692142312}, {"breakout", 685, 6103.9476436},
	} {
		body := object{"strategy_name": c.strategy, "symbols": []string{"SYNTH42/USD"}, "timeframe": "1h",
			"exchange": "oracle"}
		first, second := s.backtest(body), s.backtest(body)
		if n := len(first["trades"].([]any)); n != c.trades {
			t.Errorf("%s: %d trades, want %d", c.strategy, n, c.trades)
		}
		near(t, c.strategy, first["final_value"], c.final)
		if first["result_hash"] != second["result_hash"] || first["request_hash"] != second["request_hash"] ||
			first["result_hash"] == "" {
			t.Errorf("%s: two runs of one request: %v %v", c.strategy, first["result_hash"],
				second["result_hash"])
		}
		if first["run_id"] == second["run_id"] {
			t.Errorf("%s: two runs have one id", c.strategy)
		}
	}
}
