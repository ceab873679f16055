package stream_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const epoch = market.Time(1704067200000)

// script is a runner.Watched execution that does what the test asks for.
type script struct {
	series *market.Series
	end    chan runner.Outcome

	mu     sync.Mutex
	r      artifact.Results
	change []int32
	log    int64
	phase  string // trading if empty
	alarms []alarm.Alarm
}

func newScript() *script {
	return &script{end: make(chan runner.Outcome, 1), series: randomSeries(20_000),
		r: artifact.Results{InitialCash: "10000", FinalValue: "10000"}}
}

func randomSeries(n int) *market.Series {
	r := rand.New(rand.NewPCG(1, 2))
	s := &market.Series{Symbol: "BTC/USDT", Timeframe: market.MustTimeframe("1h")}
	for i := range n {
		o := 100 + 50*r.Float64()
		s.Append(market.Candle{OpenTime: epoch.Add(time.Duration(i) * time.Hour), Open: o,
			High: o + r.Float64(), Low: o - r.Float64(), Close: o + r.Float64() - 0.5,
			Volume: float64(r.IntN(1000))})
	}
	return s
}

// trade adds n round trips: two orders, two fills, a trade and an equity point each.
// The entry order is made first and changed later.
func (s *script) trade(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.r
	for range n {
		i := len(r.Trades)
		at := epoch.Add(time.Duration(i) * time.Hour)
		for _, side := range []market.Side{market.Buy, market.Sell} {
			o := market.Order{ID: market.OrderID(len(r.Orders) + 1), Symbol: "BTC/USDT", Side: side,
				Quantity: decimal.One, Status: market.StatusOpen, CreatedAt: at, UpdatedAt: at}
			r.Orders = append(r.Orders, o)
			s.change = append(s.change, int32(o.ID)-1)
			filled := &r.Orders[len(r.Orders)-1]
			filled.Status, filled.FilledQuantity = market.StatusFilled, decimal.One
			s.change = append(s.change, int32(o.ID)-1)
			r.Fills = append(r.Fills,
				market.Fill{ID: market.FillID(len(r.Fills) + 1), OrderID: o.ID, Symbol: "BTC/USDT",
					Side: side, Quantity: decimal.One, Price: decimal.Hundred, Time: at})
		}
		r.Trades = append(r.Trades,
			market.Trade{ID: market.TradeID(i + 1), Symbol: "BTC/USDT", Quantity: decimal.One, EntryTime: at,
				ExitTime: at, ExitReason: "signal"})
		s.point(at, 10000+float64(i%17))
	}
}

func (s *script) point(at market.Time, equity float64) {
	e := &s.r.Equity
	e.Time, e.Equity, e.Cash = append(e.Time, at), append(e.Equity, equity), append(e.Cash, 5000)
	e.PositionValue, e.Drawdown, e.Exposure = append(e.PositionValue, equity-5000), append(e.Drawdown, 0.01),
		append(e.Exposure, 0.5)
}

// say adds a line to the log and a point to an annotation.
func (s *script) say(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r.Log = append(s.r.Log, artifact.LogLine{Level: "info", Source: "plugin", Message: message})
	s.log++
	if len(s.r.Annotations) == 0 {
		s.r.Annotations = []artifact.Annotation{{Name: "fast"}}
	}
	a := s.r.Annotations[0]
	a.Time, a.Values = append(a.Time, epoch.Add(time.Duration(len(a.Time))*time.Hour)),
		append(a.Values, float64(len(a.Values)%13))
	s.r.Annotations = []artifact.Annotation{a}
}

// hold sets the open position.
func (s *script) hold(quantity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r.Positions = nil
	if quantity != "" {
		s.r.Positions = []market.Position{{Symbol: "BTC/USDT", Quantity: decimal.MustParse(quantity),
			OpenedAt: epoch, UpdatedAt: epoch}}
	}
}

// alarm has these alarms open and no others.
func (s *script) alarm(list ...alarm.Alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarms = list
}

// enter begins a phase.
func (s *script) enter(phase string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = phase
}

// Run implements runner.Execution.
func (s *script) Run(ctx context.Context) runner.Outcome {
	select {
	case o := <-s.end:
		return o
	case <-ctx.Done():
		return runner.Outcome{Stopped: true}
	}
}

// Progress implements runner.Execution.
func (s *script) Progress() runner.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return runner.Progress{
		Phase: cmp.Or(s.phase, "trading"), CandlesDone: int64(len(s.r.Equity.Time)), CandlesTotal: 20_000,
		Cash: 5000, Equity: 10_000, InitialCash: 10_000,
		TradeCount: int64(len(s.r.Trades)), CandlesPerSecond: 1000, ETASeconds: 1, UpdatedAt: time.Now(),
		Alarms: s.alarms,
	}
}

// Results implements runner.Execution.
func (s *script) Results() *artifact.Results {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.r
	r.Orders = append([]market.Order{}, r.Orders...)
	return &r
}

// Look implements runner.Watched.
func (s *script) Look() runner.Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.r
	return runner.Look{
		Orders: len(r.Orders), Changes: s.change, Fills: r.Fills, Trades: r.Trades, Positions: r.Positions,
		Equity: r.Equity, Annotations: r.Annotations, Log: r.Log, LogTotal: s.log,
	}
}

// OrdersAt implements runner.Watched.
func (s *script) OrdersAt(indexes []int) []market.Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []market.Order
	for _, i := range indexes {
		out = append(out, s.r.Orders[i])
	}
	return out
}

// Candles implements runner.Watched.
func (s *script) Candles(symbol market.Symbol, use func(*market.Series)) bool {
	if symbol != s.series.Symbol {
		return false
	}
	use(s.series)
	return true
}

// mode starts the script as a run of a mode, beside the API.
func (s *script) mode(t testing.TB, on *service, mode string) {
	t.Helper()
	_, err := on.Runner.Start(context.Background(),
		runner.StartRequest{Mode: mode, Symbols: []string{"BTC/USDT"}, Timeframe: "1h"},
		func(context.Context, string) (runner.Execution, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
}
