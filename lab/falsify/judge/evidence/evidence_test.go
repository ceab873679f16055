package evidence_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const y2020 = market.Time(1577836800000)

func f(x float64) *float64 { return &x }

func money(s string) decimal.Decimal { return decimal.MustParse(s) }

// The files byte by byte: columns as statistics.md names them, 12 digits, null empty.
func TestFiles(t *testing.T) {
	third := 1.0 / 3
	diff, err := evidence.FirstDiffs(judge.Determinism, []evidence.Difference{{Variant: "plain", Diff: lines.Diff{
		Want: [][]byte{[]byte(`{"a":"<"}`)}, Got: [][]byte{[]byte(`{"a":2}`)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		got  evidence.File
		path string
		rows int
		text string
	}{
		{evidence.Replays(judge.PriceNoise, []judge.Replay{
			{Variant: "noise", Status: judge.Completed, Sharpe: &third, TotalReturn: f(-.5), MaxDrawdown: f(1e-9), Trades: 3, NetPnL: "-12.50", DecisionHash: "ab"},
			{Variant: "noise", Replica: 1, Status: judge.Failed, Trades: 9},
		}), "falsify/price_noise/replays.csv", 2, "variant,replica,status,sharpe_ratio,total_return,max_drawdown,total_trades,net_pnl,decision_hash\n" +
			"noise,0,completed,0.333333333333,-0.5,0.000000001,3,-12.50,ab\nnoise,1,failed,,,,,,\n"},
		{diff, "falsify/determinism/first_diff.jsonl", 2, `{"variant":"plain","side":"base","line":{"a":"<"}}` + "\n" + `{"variant":"plain","side":"replay","line":{"a":2}}` + "\n"},
		{evidence.Drifts([]judge.Drift{{Multiple: 1, Differing: 2, Series: []judge.SeriesDrift{{Name: "a,b", MaxRelative: third}}}, {Multiple: 4}}),
			"falsify/warmup_recursive/drift.csv", 2, "variant,series,max_relative,decisions_differing\n1x,\"a,b\",0.333333333333,2\n4x,,,0\n"},
		{evidence.Symbols([]judge.LeftOut{{Symbol: null.Symbol{Symbol: "A/Q", PnL: money("1.500"), Share: &third}}}),
			"falsify/symbol_holdout/symbols.csv", 1, "symbol,pnl,share,sharpe_ratio_without\nA/Q,1.5,0.333333333333,\n"},
		{evidence.Drawdowns(&null.Drawdowns{P50: .1, P95: .2, P99: third}), "falsify/trade_shuffle/drawdowns.csv", 3, "quantile,max_drawdown\n0.5,0.1\n0.95,0.2\n0.99,0.333333333333\n"},
		{evidence.Regimes(&null.Regimes{Terciles: []null.Regime{{Name: "volatility_low", Days: 3, PnL: 2e15}}, Years: []null.Regime{{Name: "2020", Sharpe: f(1)}}}),
			"falsify/regime/regimes.csv", 2, "regime,days,pnl,sharpe_ratio\nvolatility_low,3,2000000000000000,\n2020,0,0,1\n"},
		{evidence.Capacity(&null.Capacity{Fills: []null.Participation{{Time: y2020, Symbol: "A/Q", Quantity: 2, Volume: 0}}}),
			"falsify/capacity/capacity.csv", 1, "time,symbol,quantity,volume,participation\n2020-01-01T00:00:00.000Z,A/Q,2,0,\n"},
		{evidence.Benchmark(&null.Benchmark{Time: []market.Time{y2020, y2020 + 1}, Strategy: []float64{1, 2}, Holding: []float64{0, 1}, Difference: []float64{1, 1}}),
			"falsify/buy_and_hold/benchmark.csv", 2, "date,strategy,benchmark,difference\n2020-01-01,1,0,1\n2020-01-01T00:00:00.001Z,2,1,1\n"},
		{evidence.Costs([]null.Cost{{Multiplier: 1.5, Gross: money("10.0"), Costs: money("4"), Net: money("6"), Turnover: 400, BreakEvenBps: f(250)}, {Multiplier: 2}}),
			"falsify/cost_stress/costs.csv", 2, "multiplier,gross_pnl,costs,net_pnl,turnover,break_even_bps\n1.5,10,4,6,400,250\n2,0,0,0,0,\n"},
	} {
		if c.got.Path != c.path || c.got.Rows != c.rows || string(c.got.Content) != c.text {
			t.Errorf("%s, %d rows:\n%s\nwant %s, %d rows:\n%s", c.got.Path, c.got.Rows, c.got.Content, c.path, c.rows, c.text)
		}
	}
	test := judge.Skip(judge.CostStress, "")
	evidence.Attach(test, diff)
	if e := test.Evidence[0]; e.Path != diff.Path || e.Rows != 2 || e.SHA256 != digest.SHA256Hex(diff.Content) {
		t.Errorf("%+v", e)
	}
	if _, err := evidence.FirstDiffs("x", []evidence.Difference{{Diff: lines.Diff{Want: [][]byte{[]byte("{")}}}}); err == nil {
		t.Error("half a line is written")
	}
}

// Whatever the numbers and texts, a CSV reader gets them back, rounded to 12 digits.
func TestFilesAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z,"; ]{0,8}`).Draw(t, "name")
		x := rapid.Float64().Draw(t, "x")
		file := evidence.Regimes(&null.Regimes{Years: []null.Regime{{Name: name, PnL: x}, {Name: "b", PnL: math.NaN()}}})
		rows, err := csv.NewReader(strings.NewReader(string(file.Content))).ReadAll()
		if err != nil || len(rows) != 3 || rows[1][0] != name || rows[2][2] != "" {
			t.Fatalf("%q, %v", rows, err)
		}
		var back float64
		if err := json.Unmarshal([]byte(rows[1][2]), &back); err != nil || back != metric.Round(x) || strings.ContainsAny(rows[1][2], "eE\r") {
			t.Fatalf("%v became %s, %v", x, rows[1][2], err)
		}
	})
}
