package metric

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// oracle opens a reference file of the shared folder beside the checkout.
func oracle(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "oracles", name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs the folder shared, with the reference results, beside the checkout: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func oracleCurve(t *testing.T, name string) Curve {
	t.Helper()
	rows, err := csv.NewReader(oracle(t, name)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var c Curve
	for _, row := range rows[1:] {
		ms, err := strconv.ParseInt(row[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		e, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		c.OpenTime = append(c.OpenTime, market.Time(ms))
		c.CloseTime = append(c.CloseTime, market.Time(ms).Add(time.Hour))
		c.Equity = append(c.Equity, e)
		c.Exposure = append(c.Exposure, 0)
	}
	return c
}

func oracleTrades(t *testing.T, name string) []market.Trade {
	t.Helper()
	var doc struct {
		Trades []struct {
			PnL json.Number `json:"pnl"`
		} `json:"trades"`
	}
	if err := json.NewDecoder(oracle(t, name)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var out []market.Trade
	for _, x := range doc.Trades {
		pnl, err := decimal.Parse(x.PnL.String())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, market.Trade{PnL: pnl})
	}
	return out
}

// The values that metrics-v1 publishes for the reference curves, and those that the
// reference backtests state about themselves.
func TestReferenceCurves(t *testing.T) {
	for _, c := range []struct {
		name                   string
		sharpe, candle, sortin float64
		total, drawdown, wins  float64
	}{
		{"sma_cross", -0.1413241284, -0.1808046372, -0.2239590710, -0.2566550622690369, 0.5821096231151792,
			0.3145780051150895},
		{"buy_hold", 0.9888383893, 1.0414592046, 1.4621017874, 1.471831753149631, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{
				Timeframe: market.MustTimeframe("1h"), Calendar: Calendar24x7,
				Curves: []Curve{oracleCurve(t, "equity/equity__"+c.name+"__SYNTH42_1h.csv")},
				Trades: oracleTrades(t, c.name+"__SYNTH42_1h.json"),
			}
			r := compute(t, in)
			for key, want := range map[string]float64{
				"sharpe_ratio": c.sharpe, "sharpe_ratio_candle": c.candle, "sortino_ratio": c.sortin,
				"total_return": c.total,
			} {
				if got, _ := r.Metrics.Get(key); !near(got, want, 1e-9) {
					t.Errorf("%s = %.12g, want %.12g", key, got, want)
				}
			}
			if c.wins != 0 {
				wantValue(t, r, "max_drawdown", c.drawdown)
				wantValue(t, r, "win_rate", c.wins)
				wantValue(t, r, "total_trades", 391)
			} else {
				wantReason(t, r, "win_rate", NoTrades)
			}
			m := r.Meta
			if m.Sample != SampleDay || m.NReturns != 847 || m.PeriodsPerYear != 365 ||
				m.CandlePeriodsPerYear != 8760 {
				t.Errorf("meta = %+v", m)
			}
		})
	}
}
