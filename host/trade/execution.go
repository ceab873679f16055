package live

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/govalues/decimal"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/run/decision"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// Execution is one paper or live run whose plugin has accepted its parameters. It
// implements runner.Execution, runner.Described and runner.Watched.
type Execution struct {
	log      hclog.Logger
	clock    func() time.Time
	opts     *Options
	runID    string
	req      runner.StartRequest
	plan     run.Plan
	venue    Venue
	config   exchange.Config
	plugin   *run.Plugin
	warmup   int // candles that the strategy wants first
	lines    *decision.Log
	manifest artifact.Manifest
	started  time.Time
	// admission is what the deployment policy said; its zero value where no real money is traded.
	admission deploy.Admission
	// bounds are the limits that hold, risk is how they are shown.
	bounds risk.Limits
	risk   map[string]any

	venueClock exchange.SteadyClock // of paper, where the venue has no time of its own

	journal *journal.Run // from Run on
	ending  error        // what ended the run
	// policyAlarm is what the deployment policy said last; of the goroutine that watches it.
	policyAlarm string

	// The rest is guarded by the gate.

	gate        *run.Gate
	phase       string
	said        run.Said
	assumptions []artifact.Note
	warnings    []artifact.Note
	alarms      alarms
	lastCandle  time.Time // when one closed
	window      artifact.Window
	candles     []*market.Series // by symbol, of the window
	layout      layout
	engine      *sim.Engine    // of paper; nil until the warm-up is here
	trading     *engine.Engine // of live
	diary       *diary
	rec         *run.Record
	ended       time.Time
	trades      time.Time     // since when the phase is trading; zero in another one
	traded      time.Duration // before that
	link        runner.Link
	killed      bool
}

// layout is where in the steps of a run what begins.
type layout struct {
	window, warmup int64 // steps: recorded from, rejected below
}

var _ interface {
	runner.Execution
	runner.Described
	runner.Watched
	runner.Linked
	runner.Controlled
	io.Closer
} = (*Execution)(nil)

// take reads one message of annotations or log lines.
func (x *Execution) take(m *strategypb.PluginMessage) error { return x.said.Take(m, x.gate, x.log) }

// Manifest implements runner.Described.
func (x *Execution) Manifest() artifact.Manifest {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.manifest
}

// WriteDecisions implements runner.Described. Whoever asks for the status does not wait for the disk.
func (x *Execution) WriteDecisions(w io.Writer) error {
	x.gate.Lock()
	write := x.lines.Settled()
	x.gate.Unlock()
	return write(w)
}

// Link implements runner.Linked.
func (x *Execution) Link() runner.Link {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.link
}

// linkUp notes how the connection of a paper run stands.
func (x *Execution) linkUp(up bool) {
	x.gate.Lock()
	defer x.gate.Unlock()
	x.link.Up, x.link.LastMessage = up, x.clock()
}

// Close releases files. The results stay.
func (x *Execution) Close() error {
	x.plugin.Proc.Kill("the run is over")
	return x.lines.Close()
}

// unopened are the books before the first candle.
type unopened struct{ cash decimal.Decimal }

func (u unopened) InitialCash() decimal.Decimal          { return u.cash }
func (u unopened) CashExact() decimal.Decimal            { return u.cash }
func (u unopened) Positions() ([]market.Position, error) { return []market.Position{}, nil }
func (u unopened) FinalValue() (decimal.Decimal, error)  { return u.cash, nil }

// books are the account, with the record of it.
func (x *Execution) booksLocked() (run.Books, *run.Record) {
	if x.rec != nil && x.trading != nil {
		if books, ok := x.trading.Books(); ok {
			return books, x.rec
		}
	}
	if x.engine == nil {
		cash := x.plan.Cash
		if x.req.Mode == runner.ModeLive {
			cash = decimal.Zero // it is the account's, and not known yet
		}
		return unopened{cash}, run.NewRecord(run.RecordOptions{Symbols: x.plan.Symbols, Lines: x.lines, NoMemoryLimit: true})
	}
	return x.engine, x.rec
}

// Progress implements runner.Execution.
func (x *Execution) Progress() runner.Progress {
	x.gate.Lock()
	defer x.gate.Unlock()
	cash, _ := x.plan.Cash.Float64()
	p := runner.Progress{Phase: x.phase, Cash: cash, Equity: cash, InitialCash: cash, UpdatedAt: x.clock(), Alarms: x.alarms.set.Open()}
	if x.trading != nil {
		x.liveProgress(&p)
		return p
	}
	if x.engine == nil || x.engine.Step() < 0 {
		return p
	}
	stats := x.engine.Stats()
	p.CandlesDone, p.SimulatedTime = x.rec.Candles(), x.engine.Time()
	p.Cash, p.Equity = x.engine.Cash(), x.engine.Equity()
	p.TradeCount, p.Orders, p.Fills = stats.Trades, stats.Orders, stats.Fills
	p.Rejects, p.LastCandle = x.rec.Rejected(), x.lastCandle
	return p
}

// Results implements runner.Execution.
func (x *Execution) Results() *artifact.Results {
	x.gate.Lock()
	books, rec := x.booksLocked()
	r, in, bad := rec.Picture(books, &x.said, true)
	r.Assumptions, r.Warnings = slices.Clone(x.assumptions), append(slices.Clone(x.warnings), x.said.Warnings()...)
	r.Window, r.Risk = x.window, x.risk
	x.gate.Unlock()
	for _, err := range bad {
		x.log.Error("the account cannot be valued", "error", err)
	}
	in.Timeframe, in.Calendar = x.plan.Timeframe, metric.Calendar24x7
	report, err := metric.Compute(in)
	if err != nil {
		x.log.Error("metrics cannot be computed", "error", err)
		return r
	}
	r.Metrics = &report
	return r
}

// Look implements runner.Watched.
func (x *Execution) Look() runner.Look {
	x.gate.Lock()
	defer x.gate.Unlock()
	books, rec := x.booksLocked()
	return rec.Look(books, &x.said, true)
}

// OrdersAt implements runner.Watched.
func (x *Execution) OrdersAt(indexes []int) []market.Order {
	x.gate.Lock()
	defer x.gate.Unlock()
	_, rec := x.booksLocked()
	return rec.OrdersAt(indexes)
}

// Candles implements runner.Watched. The columns are only appended to.
func (x *Execution) Candles(symbol market.Symbol, use func(*market.Series)) bool {
	x.gate.Lock()
	i := slices.Index(x.plan.Symbols, symbol)
	if i < 0 || x.candles == nil {
		x.gate.Unlock()
		return false
	}
	s := x.candles[i].Slice(0, x.candles[i].Len())
	x.gate.Unlock()
	use(s)
	return true
}

// Served implements runner.Measured: the time in phase trading counts.
func (x *Execution) Served() (stage string, covered time.Duration) {
	x.gate.Lock()
	defer x.gate.Unlock()
	if covered = x.traded; !x.trades.IsZero() {
		covered += x.clock().Sub(x.trades)
	}
	return x.admission.Stage, covered
}

// enter begins a phase. The journal has it too, so that a crash is known by its phase.
func (x *Execution) enter(phase string) {
	x.gate.Lock()
	x.phase = phase
	now := x.clock()
	if !x.trades.IsZero() {
		x.traded, x.trades = x.traded+now.Sub(x.trades), time.Time{}
	}
	if phase == phaseTrading {
		x.trades = now
	}
	x.gate.Unlock()
	x.tell(logPhase, map[string]any{"phase": phase})
	x.log.Info("phase", "phase", phase)
}

// tell writes a line of the journal. That it cannot be written shows when the next step cannot.
func (x *Execution) tell(kind string, data any) {
	if x.journal == nil {
		return
	}
	if err := x.journal.Log(context.Background(), kind, data); err != nil {
		x.log.Error("the journal cannot be written", "error", err)
	}
}

// assume says what the run assumes.
func (x *Execution) assume(short int) {
	note := func(code, message string) {
		x.assumptions = append(x.assumptions, artifact.Note{Code: code, Message: message})
	}
	if x.trading == nil {
		note("FULL_FILLS", "Every order fills whole, whatever the volume of the candle.")
	}
	if x.trading == nil && x.plan.Execution.AllowShort {
		note("NO_BORROW_COST", "Short positions pay no interest for what they borrow.")
	}
	if short > 0 {
		note("WARMUP_SHORT", fmt.Sprintf("%d warm-up candles are not there before the start; the first live ones are used, on which orders are rejected.", short))
	}
}
