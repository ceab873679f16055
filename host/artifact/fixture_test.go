package artifact

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	hour      = market.Time(time.Hour / time.Millisecond)
	fixtureT0 = market.Time(1704067200000) // 2024-01-01
)

func dec(s string) decimal.Decimal { return decimal.MustParse(s) }

// fixtureResults returns a run of n hourly candles with one winning and one losing trade.
func fixtureResults(tb testing.TB, n int) *Results {
	tb.Helper()
	res := &Results{InitialCash: "10000", FinalValue: "10012.5"}
	in := metric.Input{Timeframe: market.MustTimeframe("1h"), Calendar: metric.Calendar24x7}
	curve := metric.Curve{Closes: []metric.Closes{{Symbol: "BTC/USDT", First: 42000, Last: 43000}}}
	peak := 0.0
	for i := range n {
		at := fixtureT0 + market.Time(i+1)*hour
		equity := 10000 + float64(i%7)*12.5 - float64(i%3)/3
		peak = max(peak, equity)
		curve.OpenTime, curve.CloseTime = append(curve.OpenTime, at-hour), append(curve.CloseTime, at)
		curve.Equity, curve.Exposure = append(curve.Equity, equity), append(curve.Exposure, float64(i%2)/3)
		res.Equity.PositionValue = append(res.Equity.PositionValue, float64(i%2)*equity/3)
		res.Equity.Cash = append(res.Equity.Cash, equity-float64(i%2)*equity/3)
		res.Equity.Drawdown = append(res.Equity.Drawdown, (peak-equity)/peak)
	}
	res.Equity.Time, res.Equity.Equity, res.Equity.Exposure = curve.CloseTime, curve.Equity, curve.Exposure
	res.Trades = []market.Trade{
		{
			ID: 1, Symbol: "BTC/USDT", Quantity: dec("0.1500"), EntryTime: fixtureT0 + 2*hour,
			EntryPrice: dec("61975"),
			ExitTime:   fixtureT0 + 16*hour, ExitPrice: dec("62890"), GrossPnL: dec("137.25"),
			Fees:     dec("18.72975"),
			Slippage: dec("4.6455"), PnL: dec("118.52025"), Return: 0.012749253731343284,
			ExitReason:  "take_profit",
			CandlesHeld: 14, MAE: dec("-41.2"), MFE: dec("137.25"), EntryTag: "breakout",
			OrderIDs: []market.OrderID{143, 145},
		},
		{
			ID: 2, Symbol: "BTC/USDT", Direction: market.Short, Quantity: dec("1"),
			EntryTime: fixtureT0 + 20*hour, EntryPrice: dec("100"),
			ExitTime: fixtureT0 + 20*hour, ExitPrice: dec("101"), GrossPnL: dec("-1"), Fees: dec("0.201"),
			Slippage: dec("0"),
			PnL:      dec("-1.201"), Return: -0.01201, ExitReason: "signal", MAE: dec("-1"), MFE: dec("0"),
			EntryTag: `he said "now", then`, ExitTag: "two\nlines", OrderIDs: []market.OrderID{150, 151},
			Ambiguous: true,
		},
	}
	res.Fills = []market.Fill{{ID: 1, Ambiguous: true}, {ID: 2}}
	res.Positions = []market.Position{
		{Symbol: "BTC/USDT", Quantity: dec("0.150"), AverageEntryPrice: dec("61975"),
			MarkPrice: dec("62140.0"), UnrealizedPnL: dec("24.75")},
		{Symbol: "ETH/USDT"},
	}
	res.Assumptions = []Note{{Code: "GAPS", Message: "28 candles are missing."}}
	res.Warnings = []Note{{Code: "WINDOW_CLIPPED", Message: "The data begin later & <end> earlier."}}
	in.Curves, in.Trades = []metric.Curve{curve}, res.Trades
	rep, err := metric.Compute(in)
	if err != nil {
		tb.Fatal(err)
	}
	res.Metrics = &rep
	return res
}

func fixtureManifest(closes []market.Time) Manifest {
	sha := strings.Repeat("ab", 32)
	return Manifest{
		Request: Request{
			StrategyParams: json.RawMessage(`{"slow": 30, "fast": 1e1}`), Symbols: []string{"BTC/USDT"},
			Timeframe: "1h", Exchange: "sample",
			StartDate: fixtureT0, EndDate: fixtureT0 + 300*hour, InitialCash: json.RawMessage("1e4"),
			Execution: json.RawMessage(`{"profile":"bar-v1","slippage_bps":5}`),
		},
		Splits:   FullSplit(slices.Values(closes)),
		Strategy: Strategy{Name: "sma_cross", Version: "1.2.0"},
		Plugin: Plugin{SHA256: strings.Repeat("cd", 32), Size: 9123456, OS: "linux", Arch: "amd64",
			ProtocolVersion: 1, SDKVersion: "1.0.0"},
		Engine: Engine{Name: "assay", Version: "1.0.0", Commit: "abcdef0", SHA256: strings.Repeat("ef", 32)},
		Data: []Dataset{{Symbol: "BTC/USDT", Timeframe: "1h", SHA256: sha, Rows: 58419, Start: fixtureT0,
			End: fixtureT0 + 300*hour}},
		Sandbox: "full",
	}
}

// fixtureRun returns a completed run of the service with n candles.
func fixtureRun(tb testing.TB, n int) *Run {
	tb.Helper()
	res := fixtureResults(tb, n)
	m, err := fixtureManifest(res.Equity.Time).Complete()
	if err != nil {
		tb.Fatal(err)
	}
	begun := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return &Run{
		ID: "svc_01jd2q7z9v8k3m6t4r1x5c0wbn", Manifest: m, Status: StatusCompleted,
		Service:   &ServiceNote{Mode: "backtest", StopReason: "finished"},
		StartedAt: begun, CompletedAt: begun.Add(1845 * time.Millisecond), Origin: OriginService,
		Environment: Environment{GOOS: "linux", GOARCH: "amd64", GOAMD64: "v1", Go: "go1.26", CPUFMA: true,
			GOMAXPROCS: 2},
		Splits: []Split{{
			ID: FullSplitID, Results: res,
			Decisions: func(w io.Writer) error {
				for i := range 3 {
					if _, err := fmt.Fprintf(w, `{"candle":%d,"kind":"intent","seq":%d,"split":"full"}`+"\n",
						i, i); err != nil {
						return err
					}
				}
				return nil
			},
		}},
	}
}
