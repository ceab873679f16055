package apitest

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Run is a scripted execution: it runs until End, Crash or a stop.
type Run struct {
	ID      string
	Request runner.StartRequest
	// Picture is what Results shows; it must not be changed once the run has begun.
	Picture *artifact.Results
	// Hang makes the run ignore a stop.
	Hang bool

	end  chan runner.Outcome
	once sync.Once
}

// NewRun is what a launch returns.
func NewRun(id string, req runner.StartRequest) *Run {
	return &Run{ID: id, Request: req, Picture: Picture(3000), end: make(chan runner.Outcome, 1)}
}

// End lets the data of the run end.
func (r *Run) End() { r.finish(runner.Outcome{}) }

// Crash lets the run fail.
func (r *Run) Crash(f artifact.Failure) { r.finish(runner.Outcome{Failure: &f}) }

func (r *Run) finish(o runner.Outcome) { r.once.Do(func() { r.end <- o }) }

// Run implements runner.Execution.
func (r *Run) Run(ctx context.Context) runner.Outcome {
	done := ctx.Done()
	if r.Hang {
		done = nil
	}
	select {
	case o := <-r.end:
		return o
	case <-done:
		return runner.Outcome{Stopped: true, Message: "The run was stopped"}
	}
}

// Progress implements runner.Execution.
func (r *Run) Progress() runner.Progress {
	return runner.Progress{
		Phase: "trading", CandlesDone: 640, CandlesTotal: 1000, SimulatedTime: epoch.Add(640 * time.Hour),
		Cash: 1834.2, Equity: 14617.56, InitialCash: 10000, TradeCount: 1, Orders: 2, Fills: 2,
		CandlesPerSecond: 911610.4, ETASeconds: 1.0444, UpdatedAt: time.Now(),
	}
}

// Results implements runner.Execution.
func (r *Run) Results() *artifact.Results { return r.Picture }

// Manifest implements runner.Described.
func (r *Run) Manifest() artifact.Manifest {
	return artifact.Manifest{
		Request: artifact.Request{
			StrategyParams: []byte(`{"fast":10,"slow":30}`), InitialCash: []byte("10000"), Exchange: "sample",
			Execution: []byte(`{"profile":"bar-v1","fee_maker":0.001,"fee_taker":0.001,"slippage_bps":5,"protect_from":"entry_candle","intrabar":"stop_first",` +
				`"resting_gap":"limit","limit_touch":"touch","quantity_step":0.00000001,"allow_short":false,"close_at_end":false}`),
		},
		Strategy: artifact.Strategy{Version: "1.0.0"}, Plugin: artifact.Plugin{SHA256: "ab"}, Engine: artifact.Engine{Version: "1.0.0"},
	}
}

// WriteDecisions implements runner.Described.
func (r *Run) WriteDecisions(io.Writer) error { return nil }

const epoch = market.Time(1704067200000)

// Picture is a result with one entry of each kind and so many equity points.
func Picture(points int) *artifact.Results {
	d := decimal.MustParse
	r := &artifact.Results{
		InitialCash: "10000", FinalValue: "14617.560000", RequestHash: "aa", ResultHash: "bb", DataHash: "cc",
		Window: artifact.Window{Start: epoch, End: epoch.Add(1000 * time.Hour), Candles: 1000},
	}
	r.Orders = []market.Order{{ID: 1, Symbol: "BTC/USDT", Quantity: d("0.15"), FilledQuantity: d("0.15"), AveragePrice: d("61975"),
		Fee: d("9.29625"), Status: market.StatusFilled, CreatedAt: epoch, UpdatedAt: epoch, FilledAt: epoch, Tag: "a<b"},
		{ID: 2, Symbol: "BTC/USDT", Side: market.Sell, Type: market.StopLimit, LimitPrice: d("1"), StopPrice: d("2"), ParentID: 1,
			Status: market.StatusRejected, Reason: "invalid_price", CreatedAt: epoch, UpdatedAt: epoch}}
	r.Fills = []market.Fill{{ID: 1, OrderID: 1, Symbol: "BTC/USDT", Quantity: d("0.15"), Price: d("61975"), ReferencePrice: d("61944.03"),
		Slippage: d("4.6455"), Fee: d("9.29625"), Time: epoch, PositionAfter: d("0.15")}}
	r.Trades = []market.Trade{{ID: 1, Symbol: "BTC/USDT", Quantity: d("0.15"), EntryTime: epoch, EntryPrice: d("61975"),
		ExitTime: epoch.Add(14 * time.Hour), ExitPrice: d("62890"), GrossPnL: d("137.25"), Fees: d("18.72975"), Slippage: d("4.6455"),
		PnL: d("118.52025"), Return: 0.01274925, ExitReason: "take_profit", CandlesHeld: 14, MAE: d("-41.2"), MFE: d("137.25"), OrderIDs: []market.OrderID{1}}}
	r.Positions = []market.Position{{Symbol: "BTC/USDT", Quantity: d("0.15"), AverageEntryPrice: d("61975"), MarkPrice: d("62140"),
		MarketValue: d("9321"), UnrealizedPnL: d("24.75"), StopLoss: d("60735.5"), OpenedAt: epoch, UpdatedAt: epoch}}
	e := &r.Equity
	for i := range points {
		e.Time = append(e.Time, epoch.Add(time.Duration(i)*time.Hour))
		e.Equity, e.Cash = append(e.Equity, 10000+float64(i%97)/3), append(e.Cash, 5296.56)
		e.PositionValue, e.Drawdown, e.Exposure = append(e.PositionValue, 9321), append(e.Drawdown, 0.0123), append(e.Exposure, 1e-7)
	}
	return r
}
