package metric

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs, got:\n%s", name, got)
	}
}

func sampleInput() Input {
	in := Input{
		Timeframe: market.MustTimeframe("1h"), Calendar: Calendar24x7,
		Curves: []Curve{walk(42, 2000, time.Hour)},
		Trades: tradesOf("118.52025", "-40.1", "-7.25", "63"),
	}
	in.Curves[0].Closes = []Closes{{"BTC/USDT", 8000, 9000}}
	in.Totals = Totals{Fills: 9, Orders: 12, RejectedOrders: 1, OpenTrades: 1}
	in.Totals.FillNotional.Add(dec("61234.5"))
	in.Totals.FeesPaid.Add(dec("61.2345"))
	in.Totals.SlippagePaid.Add(dec("30.61"))
	return in
}

func TestGoldenReports(t *testing.T) {
	r := compute(t, sampleInput())
	golden(t, "report.json", r)
	golden(t, "http.json", r.HTTP())
	golden(t, "insufficient.json", r.Insufficient())
	golden(t, "idle.json", Idle())
	golden(t, "http_no_trades.json", compute(t, inputOf("1d", 100, 100, 100)).HTTP())
}

func TestMetaJSON(t *testing.T) {
	b, err := json.Marshal(Meta{
		Semantics: Semantics, Sample: SampleDay, NReturns: 847, PeriodsPerYear: 365,
		CandlePeriodsPerYear: 8760,
		Calendar:             Calendar24x7, DDOF: 1, Undefined: map[string]Reason{},
	})
	want := `{"semantics":"metrics-v1","sample":"day","n_returns":847,"periods_per_year":365,"candle_periods_per_year":8760,"calendar":"24x7","ddof":1,"risk_free":0,"undefined":{}}`
	if err != nil || string(b) != want {
		t.Errorf("got %s (%v)", b, err)
	}
}

func TestHTTPKeepsContractKeysNumbers(t *testing.T) {
	for name, h := range map[string]HTTP{
		"idle":     Idle(),
		"empty":    Report{}.HTTP(),
		"no trade": compute(t, inputOf("1d", 100, 100, 100)).HTTP(),
	} {
		want := []string{"sharpe_ratio", "win_rate"}
		if name != "no trade" {
			want = ContractKeys()
		}
		if !slices.Equal(h.Undefined, want) {
			t.Errorf("%s: undefined %v, want %v", name, h.Undefined, want)
		}
		for _, v := range h.Metrics {
			if slices.Contains(h.Undefined, v.Key) && (v.Reason != "" || v.Number != 0) {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	h := compute(t, sampleInput()).HTTP()
	if h.Undefined == nil || len(h.Undefined) != 0 {
		t.Errorf("undefined = %#v, want an empty list", h.Undefined)
	}
}

func TestHTTPLeavesReportAlone(t *testing.T) {
	r := compute(t, inputOf("1d", 100, 100))
	r.HTTP()
	r.Insufficient()
	wantReason(t, r, "sharpe_ratio", TooFewReturns)
}

func TestPortable(t *testing.T) {
	var left []string
	r := compute(t, sampleInput())
	for _, v := range r.Metrics {
		if _, ok := r.Portable().Get(v.Key); !ok {
			left = append(left, v.Key)
		}
	}
	want := []string{"psr", "cagr", "cagr_candle", "calmar_ratio", "calmar_ratio_candle"}
	if !slices.Equal(left, want) {
		t.Errorf("left out %v, want %v", left, want)
	}
}

// The keys of the published table, each once, each documented in one sentence.
func TestRegistry(t *testing.T) {
	want := strings.Fields(
		`sharpe_ratio sharpe_ratio_candle sortino_ratio sortino_ratio_candle volatility volatility_candle
		total_return max_drawdown max_drawdown_day max_drawdown_duration_seconds cagr cagr_candle calmar_ratio calmar_ratio_candle
		sharpe_stderr psr total_trades win_rate profit_factor expectancy average_win average_loss best_trade worst_trade
		average_trade_return average_candles_held sqn exposure time_in_market turnover buy_hold_return fees_paid slippage_paid
		fill_count order_count rejected_orders rejected_intents ambiguous_fills open_trades`)
	var got []string
	for _, m := range All() {
		got = append(got, m.Key)
		if m.Doc == "" || !strings.HasSuffix(m.Doc, ".") || m.Unit == "" || m.eval == nil {
			t.Errorf("%+v is incomplete", m)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

// A reader needs no type of this package.
func TestValuesReadBack(t *testing.T) {
	r := compute(t, inputOf("1d", 100, 110, 99))
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Metrics map[string]*float64 `json:"metrics"`
		Meta    Meta                `json:"metrics_meta"`
	}
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Metrics) != len(r.Metrics) || *back.Metrics["total_return"] != -0.01 ||
		back.Metrics["win_rate"] != nil {
		t.Errorf("read back %v", back.Metrics)
	}
	if back.Meta.Undefined["win_rate"] != NoTrades {
		t.Errorf("meta %+v", back.Meta)
	}
}

func BenchmarkCompute(b *testing.B) {
	in := Input{Timeframe: market.MustTimeframe("1m"), Calendar: Calendar24x7,
		Curves: []Curve{walk(1, 1_500_000, time.Minute)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compute(in); err != nil {
			b.Fatal(err)
		}
	}
}
