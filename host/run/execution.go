// Package run is one run of a strategy: the plugin's process and the conversation with
// it, the record of the books, its other output, and the errors that refuse
// a start or name a failure. Package trade drives paper and live runs with these parts;
// the rest of this package is the backtest.
//
// A backtest goes through four steps. Launcher.Launch resolves a request into strategy,
// data and rules and refuses what can be refused before a run counts as active. The
// Execution that it returns is driven by package runner over the candles. A candle goes
// candle -> strategy -> Intent -> sim.Engine -> Record. At the end the Record becomes
// artifact.Results.
//
// The books are always the host's own. In co-simulation the plugin runs the same
// simulator over the same candles and streams only its intents, which the host feeds
// into its own engine, comparing ledger digests on the way. In lockstep the host sends
// each step and waits for the answer; in advance it tells the plugin what many steps
// bring if nothing is asked for. A strategy of signals is asked once for all steps.
// All give the same result. The Gate lets others
// look at a run while it computes.
package run

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/govalues/decimal"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Mode is how a strategy is driven.
type Mode int

// The modes. Auto is co-simulation where the plugin has the host's simulator, signals or advance where it
// can, else lockstep.
const (
	ModeAuto Mode = iota
	ModeCoSimulation
	ModeLockstep
	// ModeSignals is for a strategy of signals: it gets all candles at once and gives the intents of all
	// steps.
	ModeSignals
	// ModeAdvance has the plugin play many steps by itself, up to the first with intents.
	ModeAdvance
)

// Execution is one backtest whose plugin has been launched and has accepted its
// parameters. It implements runner.Execution, runner.Described and
// runner.Watched.
type Execution struct {
	log       hclog.Logger
	mode      Mode
	plugin    *Plugin
	chunked   bool
	candles   *Candles // of a chunked co-simulation
	stepLimit time.Duration
	manifest  artifact.Manifest
	feed      *Feed
	decider   sim.Decider
	data      *runData

	// The rest is guarded by the gate.

	gate           *Gate
	engine         *sim.Engine
	rec            *Record
	phase          string
	over           bool // every step has been decided
	assumptions    []artifact.Note
	warnings       []artifact.Note
	started, ended time.Time
	output         PluginOutput
}

var _ interface {
	runner.Execution
	runner.Described
	runner.Watched
} = (*Execution)(nil)

// Manifest implements runner.Described.
func (x *Execution) Manifest() artifact.Manifest { return x.manifest }

// WarmupShort returns how many candles of the window were used as warm-up because there
// were none before it.
func (x *Execution) WarmupShort() int { return x.data.layout.short }

// WindowStep returns how many candles of warm-up lie before the window: its first step.
func (x *Execution) WindowStep() int64 { return x.data.layout.window }

// InSession reports whether other plays ran in the process before, or may run in it after this one.
func (x *Execution) InSession() bool { return x.plugin.kept }

// WriteDecisions implements runner.Described. Whoever asks for the status does not wait for the disk.
func (x *Execution) WriteDecisions(w io.Writer) error {
	x.gate.Lock()
	write := x.rec.Lines().Settled()
	x.gate.Unlock()
	return write(w)
}

// Close releases data and files. The results stay.
func (x *Execution) Close() error {
	x.plugin.Close("the run is over")
	return errors.Join(x.rec.Lines().Close(), x.data.close())
}

// Progress implements runner.Execution.
func (x *Execution) Progress() runner.Progress {
	x.gate.Lock()
	defer x.gate.Unlock()
	stats := x.engine.Stats()
	initialCash, _ := x.engine.InitialCash().Float64()
	p := runner.Progress{
		Phase: x.phaseLocked(), CandlesDone: x.rec.Candles(), CandlesTotal: x.data.layout.candles,
		SimulatedTime: x.lastCandle(), Cash: x.engine.Cash(), Equity: x.engine.Equity(),
		InitialCash: initialCash, TradeCount: stats.Trades, Orders: stats.Orders, Fills: stats.Fills,
		UpdatedAt: time.Now(),
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

// Results implements runner.Execution.
func (x *Execution) Results() *artifact.Results {
	r, input := x.currentResults()
	x.data.read(func() { // the open times of one symbol are mapped
		report, err := metric.Compute(input)
		if err != nil {
			x.log.Error("metrics cannot be computed", "error", err)
			return
		}
		r.Metrics = &report
	})
	return r
}

// Input returns what the metrics of the run are computed from, for a series that is
// stitched from several runs. It shares nothing with the candles, which Close gives
// back. Call it before.
func (x *Execution) Input() (in metric.Input) {
	_, all := x.currentResults()
	x.data.read(func() {
		in = all
		in.Curves[0].OpenTime = slices.Clone(in.Curves[0].OpenTime)
	})
	return in
}

// currentResults is everything so far, and what the metrics are computed from.
func (x *Execution) currentResults() (*artifact.Results, metric.Input) {
	x.gate.Lock()
	defer x.gate.Unlock()
	r, in, bad := x.rec.Snapshot(x.engine, &x.output, !x.ended.IsZero())
	for _, err := range bad {
		x.log.Error("the account cannot be valued", "error", err)
	}
	r.Assumptions, r.Warnings = append([]artifact.Note{}, x.assumptions...),
		append([]artifact.Note{}, x.warnings...)
	r.Warnings = append(append(r.Warnings, x.rec.Warnings()...), x.output.Warnings()...)
	r.DataHash, r.Window = x.data.hash, x.data.window
	r.LateMessages = x.engine.Stats().LateMessages
	in.Timeframe, in.Calendar = x.data.timeframe, x.data.calendar()
	return r, in
}

// PID returns the number of the plugin's process.
func (x *Execution) PID() int { return x.plugin.Proc.PID() }

// Digest returns the hash of everything in the books so far, in hex.
func (x *Execution) Digest() string {
	x.gate.Lock()
	defer x.gate.Unlock()
	return fmt.Sprintf("%x", x.engine.Digest())
}

// Look implements runner.Watched. It shares what is only appended to, so that its
// cost does not grow with the run.
func (x *Execution) Look() runner.Look {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.rec.Look(x.engine, &x.output, !x.ended.IsZero())
}

// OrdersAt implements runner.Watched.
func (x *Execution) OrdersAt(indexes []int) []market.Order {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.rec.OrdersAt(indexes)
}

// Candles implements runner.Watched.
func (x *Execution) Candles(symbol market.Symbol, use func(*market.Series)) (known bool) {
	x.data.read(func() {
		for _, s := range x.data.sources {
			if s.Symbol == symbol && !known {
				known = true
				use(s.window())
			}
		}
	})
	return known
}

// Published returns what the strategy published inside the window. It stays after Close.
func (x *Execution) Published() Published {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.output.Published(x.data.window.Start)
}

// Snapshot is where a run stands: what is needed to understand how it failed.
type Snapshot struct {
	// Step is the newest step in the host's books, counted from 0 with the warm-up; -1
	// before the first. In co-simulation the plugin may have been ahead of it.
	Step int64
	// Window is the first step of the window, Warmup the first at which orders count.
	Window, Warmup int64
	// Over reports whether every step was decided: what failed is the end.
	Over bool
	// Time is the close time of the step, 0 before the first.
	Time market.Time
	// Cash and Equity are in quote currency.
	Cash, Equity decimal.Decimal
	Positions    []market.Position
	OpenOrders   []market.Order
	// Candles are the newest ones, oldest first; CandlesTotal counts all up to Step.
	Candles      []SnapshotCandle
	CandlesTotal int64
	// Lines are the newest decision lines, oldest first; LinesTotal counts all.
	Lines      [][]byte
	LinesTotal int64
}

// SnapshotCandle is a candle that closed at a step.
type SnapshotCandle struct {
	Step   int64
	Symbol market.Symbol
	market.Candle
}

// Snapshot looks at a run that has ended or failed, with at most so many events of each
// kind. Call it before Close. It reads the candles up to the step again, so that a
// run which does not fail pays nothing.
func (x *Execution) Snapshot(events int) (Snapshot, error) {
	x.gate.Lock()
	defer x.gate.Unlock()
	s := Snapshot{
		Step: x.engine.Step(), Window: x.data.layout.window, Warmup: x.data.layout.warmup, Over: x.over,
		Time: x.lastCandle(),
		Cash: x.engine.CashExact(), OpenOrders: x.engine.OpenOrders(),
	}
	var err error
	if s.Equity, err = x.engine.FinalValue(); err != nil {
		s.Equity = s.Cash // the ledger has overflowed, which may be why it failed
	}
	if s.Positions, err = x.engine.Positions(); err != nil {
		s.Positions = nil
	}
	if s.Lines, s.LinesTotal, err = x.rec.Lines().Tail(events); err != nil {
		return s, err
	}
	x.data.read(func() { x.data.newestCandles(&s, events) })
	return s, nil
}
