package backtest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/assay-run/assay/host/play/link"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/play"
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
	plugin    *play.Plugin
	chunked   bool
	candles   *link.Candles // of a chunked co-simulation
	stopWatch func() bool
	stepLimit time.Duration
	sources   []*source
	folder    *candle.Folder // of the files that the plugin may read; nil if it gets none
	layout    layout
	manifest  artifact.Manifest
	timeframe market.Timeframe
	killed    bool
	endless   bool // the plugin is not told how many steps there are, as in a live run
	splits    artifact.Splits
	window    result.Window
	missing   int // candles inside the window
	dataHash  string
	feed      *play.Feed
	decider   sim.Decider
	data      dataGuard

	// The rest is guarded by the gate.

	gate           *link.Gate
	engine         *sim.Engine
	rec            *play.Record
	phase          string
	over           bool // every step has been decided
	assumptions    []result.Note
	warnings       []result.Note
	started, ended time.Time
	said           play.Said
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

// WriteDecisions implements runner.Described. Whoever asks for the status does not wait for the disk.
func (x *Execution) WriteDecisions(w io.Writer) error {
	x.gate.Lock()
	write := x.rec.Lines().Settled()
	x.gate.Unlock()
	return write(w)
}

// Close releases data and files. The results stay.
func (x *Execution) Close() error {
	x.plugin.Proc.Kill("the run is over")
	x.data.close()
	err := errors.Join(x.rec.Lines().Close(), x.closeFolder())
	for _, s := range x.sources {
		err = errors.Join(err, s.release())
	}
	return err
}

// closeFolder removes what the plugin could read.
func (x *Execution) closeFolder() error {
	if x.folder == nil {
		return nil
	}
	return x.folder.Close()
}

// Progress implements runner.Execution.
func (x *Execution) Progress() runner.Progress {
	x.gate.Lock()
	defer x.gate.Unlock()
	stats := x.engine.Stats()
	p := runner.Progress{
		Phase: x.phaseLocked(), CandlesDone: x.rec.Candles(), CandlesTotal: x.layout.candles,
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

// picture is everything so far, and what the metrics are computed from.
func (x *Execution) picture() (*result.Results, metric.Input) {
	x.gate.Lock()
	defer x.gate.Unlock()
	r, in, bad := x.rec.Picture(x.engine, &x.said, !x.ended.IsZero())
	for _, err := range bad {
		x.log.Error("the account cannot be valued", "error", err)
	}
	r.Assumptions, r.Warnings = append([]result.Note{}, x.assumptions...), append([]result.Note{}, x.warnings...)
	if x.said.Limits == play.SeriesLimits() { // else nobody looks at the points
		r.Warnings = append(r.Warnings, x.said.Warnings()...)
	}
	r.DataHash, r.Window = x.dataHash, x.window
	r.LateMessages = x.engine.Stats().LateMessages
	in.Timeframe, in.Calendar = x.timeframe, x.calendar()
	return r, in
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
func (x *Execution) PID() int { return x.plugin.Proc.PID() }

// Digest is the hash of everything in the books so far, in hex.
func (x *Execution) Digest() string {
	x.gate.Lock()
	defer x.gate.Unlock()
	return fmt.Sprintf("%x", x.engine.Digest())
}
