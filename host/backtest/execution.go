package backtest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/assay-run/assay/host/backtest/link"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Mode is how a strategy is driven.
type Mode int

// The modes. Auto is co-simulation where the plugin has the host's simulator, else
// lockstep.
const (
	Auto Mode = iota
	CoSimulation
	Lockstep
)

// Execution is one backtest whose plugin has been launched and has accepted its
// parameters. It implements runner.Execution, runner.Described and
// runner.Watched.
type Execution struct {
	log       hclog.Logger
	clock     func() time.Time
	mode      Mode
	proc      *catalog.Process
	stream    *link.Stream
	chunked   bool
	candles   *link.Candles           // of a chunked co-simulation
	cancel    context.CancelCauseFunc // of the stream's context
	stopWatch func() bool
	stepLimit time.Duration
	sources   []*source
	layout    layout
	manifest  artifact.Manifest
	timeframe market.Timeframe
	killed    bool
	endless   bool // the plugin is not told how many steps there are, as in a live run
	splits    artifact.Splits
	window    result.Window
	missing   int // candles inside the window
	dataHash  string
	feed      *feed
	decider   sim.Decider
	data      dataGuard

	// The rest is guarded by the gate.

	gate           *link.Gate
	engine         *sim.Engine
	rec            *recorder
	phase          string
	over           bool // every step has been decided
	assumptions    []result.Note
	warnings       []result.Note
	started, ended time.Time
	said           said
}

var _ interface {
	runner.Execution
	runner.Described
	runner.Watched
} = (*Execution)(nil)

// Manifest implements runner.Described.
func (x *Execution) Manifest() artifact.Manifest { return x.manifest }

// WarmupShort is how many candles of the window were used as warm-up because there
// were none before it.
func (x *Execution) WarmupShort() int { return x.layout.short }

// WindowStep is how many candles of warm-up lie before the window: its first step.
func (x *Execution) WindowStep() int64 { return x.layout.window }

// WriteDecisions implements runner.Described.
func (x *Execution) WriteDecisions(w io.Writer) error {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.rec.lines.WriteLines(w)
}

// Close releases data and files. The results stay.
func (x *Execution) Close() error {
	x.proc.Kill("the run is over")
	x.data.close()
	err := x.rec.lines.Close()
	for _, s := range x.sources {
		if e := s.release(); err == nil {
			err = e
		}
	}
	return err
}

// Progress implements runner.Execution.
func (x *Execution) Progress() runner.Progress {
	x.gate.Lock()
	defer x.gate.Unlock()
	stats := x.engine.Stats()
	p := runner.Progress{
		Phase: x.phaseLocked(), CandlesDone: x.rec.candles, CandlesTotal: x.layout.candles,
		SimulatedTime: x.lastCandle(), Cash: x.engine.Cash(), Equity: x.engine.Equity(),
		InitialCash: x.initialCash(), TradeCount: stats.Trades, Orders: stats.Orders, Fills: stats.Fills,
		UpdatedAt: x.clock(),
	}
	if x.engine.Step() < 0 {
		p.Equity = p.Cash
	}
	if x.started.IsZero() {
		return p
	}
	end := x.ended
	if end.IsZero() {
		end = p.UpdatedAt
	}
	if took := end.Sub(x.started).Seconds(); took > 0 {
		p.CandlesPerSecond = float64(p.CandlesDone) / took
	}
	if p.CandlesPerSecond > 0 && x.ended.IsZero() {
		p.ETASeconds = float64(p.CandlesTotal-p.CandlesDone) / p.CandlesPerSecond
	}
	return p
}

func (x *Execution) initialCash() float64 {
	f, _ := x.engine.InitialCash().Float64()
	return f
}

// Results implements runner.Execution.
func (x *Execution) Results() *result.Results {
	r, input := x.picture()
	x.data.mu.RLock() // the open times of one symbol are mapped
	defer x.data.mu.RUnlock()
	if x.data.closed {
		return r
	}
	report, err := metric.Compute(input)
	if err != nil {
		x.log.Error("metrics cannot be computed", "error", err)
		return r
	}
	r.Metrics = &report
	return r
}

// Input is what the metrics of the run are computed from, for a series that is
// stitched from several runs. It shares nothing with the candles, which Close gives
// back. Call it before.
func (x *Execution) Input() metric.Input {
	_, in := x.picture()
	x.data.mu.RLock()
	defer x.data.mu.RUnlock()
	if x.data.closed {
		return metric.Input{}
	}
	in.Curves[0].OpenTime = slices.Clone(in.Curves[0].OpenTime)
	return in
}

// picture copies what may still change and shares what is only appended to.
func (x *Execution) picture() (*result.Results, metric.Input) {
	x.gate.Lock()
	defer x.gate.Unlock()
	rec, c := x.rec, x.settledCurve()
	r := &result.Results{
		Orders: append([]market.Order{}, rec.orders...), Fills: rec.fills[:len(rec.fills):len(rec.fills)],
		Trades: rec.trades[:len(rec.trades):len(rec.trades)], Equity: c,
		InitialCash: x.engine.InitialCash().Trim(0).String(),
		Assumptions: append([]result.Note{}, x.assumptions...), Warnings: append([]result.Note{}, x.warnings...),
		DecisionHash: rec.lines.Sum(), DataHash: x.dataHash, Window: x.window,
		Log: append([]result.LogLine{}, x.said.lines...), Annotations: x.said.annotations(),
	}
	r.Positions, r.FinalValue = x.positionsLocked()
	totals := rec.totals
	for i := range rec.orders {
		totals.AddOrder(&rec.orders[i])
	}
	totals.OpenTrades = len(r.Positions)
	return r, metric.Input{
		Timeframe: x.timeframe, Calendar: x.calendar(), Trades: r.Trades, Totals: totals,
		Curves: []metric.Curve{{
			OpenTime: rec.openTime[:len(c.Time)], CloseTime: c.Time, Equity: c.Equity, Exposure: c.Exposure,
			Closes: rec.seenCloses(),
		}},
	}
}

func (x *Execution) positionsLocked() ([]market.Position, string) {
	positions, err := x.engine.Positions()
	if err != nil {
		x.log.Error("positions cannot be valued", "error", err)
	}
	value, err := x.engine.FinalValue()
	if err != nil {
		x.log.Error("the account cannot be valued", "error", err)
		value = x.engine.CashExact()
	}
	return positions, value.Trim(0).String()
}

// calendar is weekdays only when all datasets are.
func (x *Execution) calendar() string {
	for _, s := range x.sources {
		if s.calendar != metric.CalendarWeekdays {
			return metric.Calendar24x7
		}
	}
	return metric.CalendarWeekdays
}

// PID is the number of the plugin's process.
func (x *Execution) PID() int { return x.proc.PID() }

// Digest is the hash of everything in the books so far, in hex.
func (x *Execution) Digest() string {
	x.gate.Lock()
	defer x.gate.Unlock()
	return fmt.Sprintf("%x", x.engine.Digest())
}
