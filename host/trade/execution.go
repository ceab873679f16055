package trade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/govalues/decimal"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/run/decision"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Execution is one paper or live run whose plugin has accepted its parameters. It
// implements runner.Execution, runner.Described and runner.Watched.
type Execution struct {
	log      hclog.Logger
	clock    func() time.Time
	opts     *Options
	runID    string
	setup    setup
	plugin   *run.Plugin
	lines    *decision.Log
	manifest artifact.Manifest
	permit   *permit
	paper    *paperRun
	journal  *journal.Run // from Run on

	// The rest is guarded by the gate.

	gate    *run.Gate
	phase   string
	times   times
	notes   notes
	alarms  *alarms
	chart   chart
	trading *engine.Engine // of live
	link    runner.Link
	end     ending
}

// setup is what was asked for and what was found for it.
type setup struct {
	req    runner.StartRequest
	plan   run.Plan
	venue  Venue
	config exchange.Config
	inputs *inputs       // that the strategy reads
	warmup market.Warmup // what the strategy needs first
}

// times are those of the phases.
type times struct {
	started, ended time.Time
	trades         time.Time     // since when the phase is trading; zero in another one
	traded         time.Duration // before that
}

// notes are what the results show beside the numbers.
type notes struct {
	output      run.PluginOutput
	assumptions []artifact.Note
	warnings    []artifact.Note
}

// chart is what was recorded of candles and books.
type chart struct {
	rec        *run.Record
	layout     layout
	window     artifact.Window
	candles    []*market.Series // by symbol, of the window
	lastCandle time.Time        // when one closed
}

// ending is how the run ended.
type ending struct {
	cause  error // nil: by itself
	killed bool  // the plugin did not end by itself
}

// withParts gives a run its parts.
func (x *Execution) withParts() *Execution {
	x.permit, x.paper, x.alarms = &permit{run: x}, &paperRun{run: x},
		&alarms{run: x, set: alarm.Set{Table: engine.AlarmTable()}}
	return x
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

// takeMessage reads one message of annotations or log lines.
func (x *Execution) takeMessage(m *strategypb.PluginMessage) error {
	return x.notes.output.Take(m, x.gate, x.log)
}

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
func (pp *paperRun) linkUp(up bool) {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	pp.run.link.Up, pp.run.link.LastMessage = up, pp.run.clock()
}

// Close releases files. The results stay.
func (x *Execution) Close() error {
	x.plugin.Close("the run is over")
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
	if x.chart.rec != nil && x.trading != nil {
		if books, ok := x.trading.Books(); ok {
			return books, x.chart.rec
		}
	}
	if x.paper.engine == nil {
		cash := x.setup.plan.Cash
		if x.setup.req.Mode == runner.ModeLive {
			cash = decimal.Zero // it is the account's, and not known yet
		}
		return unopened{cash},
			run.NewRecord(run.RecordOptions{Symbols: x.setup.plan.Symbols, Lines: x.lines,
				NoMemoryLimit: true})
	}
	return x.paper.engine, x.chart.rec
}

// Progress implements runner.Execution.
func (x *Execution) Progress() runner.Progress {
	x.gate.Lock()
	defer x.gate.Unlock()
	cash, _ := x.setup.plan.Cash.Float64()
	p := runner.Progress{Phase: x.phase, Cash: cash, Equity: cash, InitialCash: cash, UpdatedAt: x.clock(),
		Alarms: x.alarms.set.Open()}
	if x.trading != nil {
		x.liveProgress(&p)
		return p
	}
	if x.paper.engine == nil || x.paper.engine.Step() < 0 {
		return p
	}
	stats := x.paper.engine.Stats()
	p.CandlesDone, p.SimulatedTime = x.chart.rec.Candles(), x.paper.engine.Time()
	p.Cash, p.Equity = x.paper.engine.Cash(), x.paper.engine.Equity()
	p.TradeCount, p.Orders, p.Fills = stats.Trades, stats.Orders, stats.Fills
	p.Rejects, p.LastCandle = x.chart.rec.Rejected(), x.chart.lastCandle
	return p
}

// Results implements runner.Execution.
func (x *Execution) Results() *artifact.Results {
	x.gate.Lock()
	books, rec := x.booksLocked()
	r, in, bad := rec.Snapshot(books, &x.notes.output, true)
	r.Assumptions, r.Warnings = slices.Clone(x.notes.assumptions),
		slices.Concat(x.notes.warnings, rec.Warnings(), x.notes.output.Warnings())
	r.Window, r.Risk = x.chart.window, x.permit.risk
	x.gate.Unlock()
	for _, err := range bad {
		x.log.Error("the account cannot be valued", "error", err)
	}
	in.Timeframe, in.Calendar = x.setup.plan.Timeframe, metric.Calendar24x7
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
	return rec.Look(books, &x.notes.output, true)
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
	i := slices.Index(x.setup.plan.Symbols, symbol)
	if i < 0 || x.chart.candles == nil {
		x.gate.Unlock()
		return false
	}
	s := x.chart.candles[i].Slice(0, x.chart.candles[i].Len())
	x.gate.Unlock()
	use(s)
	return true
}

// Served implements runner.Measured: the time in phase trading counts.
func (x *Execution) Served() (stage string, covered time.Duration) {
	x.gate.Lock()
	defer x.gate.Unlock()
	if covered = x.times.traded; !x.times.trades.IsZero() {
		covered += x.clock().Sub(x.times.trades)
	}
	return x.permit.admission.Stage, covered
}

// enterPhase begins a phase. The journal has it too, so that a crash is known by its phase.
func (x *Execution) enterPhase(phase string) {
	x.gate.Lock()
	x.phase = phase
	now := x.clock()
	if !x.times.trades.IsZero() {
		x.times.traded, x.times.trades = x.times.traded+now.Sub(x.times.trades), time.Time{}
	}
	if phase == phaseTrading {
		x.times.trades = now
	}
	x.gate.Unlock()
	x.writeLog(logPhase, map[string]any{"phase": phase})
	x.log.Info("phase", "phase", phase)
}

// writeLog writes a line of the journal. That it cannot be written shows when the next step cannot.
func (x *Execution) writeLog(kind string, data any) {
	if x.journal == nil {
		return
	}
	if err := x.journal.Log(context.Background(), kind, data); err != nil {
		x.log.Error("the journal cannot be written", "error", err)
	}
}

// addAssumptions notes what the run assumes.
func (x *Execution) addAssumptions(short int) {
	note := func(code, message string) {
		x.notes.assumptions = append(x.notes.assumptions, artifact.Note{Code: code, Message: message})
	}
	if x.trading == nil {
		note(run.NoteFullFills, "Every order fills whole, whatever the volume of the candle.")
	}
	if x.trading == nil && x.setup.plan.Execution.AllowShort {
		note(run.NoteNoBorrowCost, "Short positions pay no interest for what they borrow.")
	}
	if short > 0 {
		note(run.NoteWarmupShort,
			fmt.Sprintf(
				"%d warm-up candles are not there before the start; the first live ones are used, on "+
					"which orders are rejected.", short))
	}
}

// tradeLive returns a live run from the connection to its end: the engine trades, and the strategy
// is asked through desk.
func (x *Execution) tradeLive(ctx context.Context) error {
	e := engine.New(engine.Config{
		RunID: x.runID, Symbols: x.setup.plan.Symbols, Timeframe: x.setup.plan.Timeframe,
		Venue:   x.setup.venue.Description,
		Connect: x.setup.venue.Connect, Open: x.openRequest(), Journal: x.opts.Journal, Run: x.journal,
		Limits: x.permit.bounds,
		Warmup: x.setup.warmup, OnStop: x.opts.OnStop, OnShutdown: x.opts.OnShutdown,
		Unprotected: x.opts.Unprotected, Resume: engine.Resume(x.setup.req.Resume), Orderly: isStop,
		Shutdown: func(err error) bool {
			return errors.Is(err, runner.ErrShutdown)
		}, Gate: x.gate, Host: &liveHost{x: x}, Link: x.onLink, ConnectLimit: x.opts.ConnectLimit,
	})
	x.gate.Lock()
	x.trading = e
	x.gate.Unlock()
	watching, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { x.permit.watchDeployment(watching, e) })
	err := e.Run(ctx)
	end()
	watch.Wait()
	if fault, ok := errors.AsType[*engine.Fault](err); ok && fault.Code == engine.CodeRiskKill {
		x.permit.reportKill(fault.Message)
	}
	switch {
	case err == nil:
		return x.plugin.Finish(x.opts.StepLimit)
	case isStop(err):
		x.end.killed = x.plugin.Stop(err.Error())
	}
	return err
}

// onLink notes how the connection of a live run stands.
func (x *Execution) onLink(l engine.Link) {
	x.gate.Lock()
	defer x.gate.Unlock()
	x.link.Up, x.link.Offset, x.link.Synthetic, x.link.LastMessage = l.Up, l.Offset, l.Synthetic, x.clock()
	if l.Latency > 0 {
		x.link.Latency = l.Latency
	}
}

// wipeCredentials overwrites the credentials: nothing needs them any more.
func (x *Execution) wipeCredentials() {
	x.setup.config.APIKey.Wipe()
	x.setup.config.Secret.Wipe()
	x.setup.config.Password.Wipe()
}

// liveHost is what the engine asks of the run: the strategy behind it, and where its numbers
// are shown.
type liveHost struct {
	x    *Execution
	feed run.Feed
	next oneStep
	asks *run.Lockstep
	oco  bool // the strategy has asked for one
}

// oneStep is a feed that has been given its next step.
type oneStep struct{ batch *sim.Batch }

// Next implements sim.Feed.
func (o *oneStep) Next(b *sim.Batch) (bool, error) {
	*b = *o.batch
	return true, nil
}

// Begin implements engine.Host.
func (h *liveHost) Begin(l engine.Layout) (sim.Recorder, error) {
	x := h.x
	h.prepare(l)
	x.writeLog(logLayout, map[string]any{"window": l.Window, "warmup": l.Warmup})
	begin := &strategypb.Begin{WarmupSteps: l.Warmup, WindowStep: l.Window}
	return x.chart.rec,
		x.plugin.Stream.Send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Begin{Begin: begin}})
}

// prepare makes the record once it is known how much warm-up there is.
func (h *liveHost) prepare(l engine.Layout) {
	x := h.x
	x.gate.Lock()
	defer x.gate.Unlock()
	x.chart.layout = layout{window: l.Window, warmup: l.Warmup}
	for _, s := range x.setup.plan.Symbols {
		x.chart.candles = append(x.chart.candles,
			&market.Series{Symbol: s, Timeframe: x.setup.plan.Timeframe})
	}
	x.chart.rec = run.NewRecord(run.RecordOptions{Symbols: x.setup.plan.Symbols, Lines: x.lines,
		Window: l.Window, NoMemoryLimit: true})
	x.addAssumptions(l.Short)
	h.feed = run.Feed{Feed: &h.next, Record: x.chart.rec}
	h.asks = run.NewLockstep(x.plugin.Stream, x.gate, x.setup.plan.Symbols, x.opts.StepLimit)
	h.asks.ReadInputs(x.setup.inputs.shown)
}

// Candles implements engine.Host.
func (h *liveHost) Candles(step int64, b *sim.Batch) {
	h.next.batch = b
	var into sim.Batch
	_, _ = h.feed.Next(&into) // oneStep always has one
	if step >= h.x.chart.layout.window {
		h.x.note(b)
	}
}

// Decide implements engine.Host.
func (h *liveHost) Decide(v *engine.View) ([]market.Intent, error) {
	s := &wire.Step{
		Index: v.Step, CloseTime: v.CloseTime, Candles: v.Candles, Closed: v.Closed, Fills: v.Fills,
		Orders: v.Orders,
		Cash:   v.Cash, Equity: v.Equity, Warmup: v.Warmup, Positions: make([]sdk.Position, len(v.Holdings)),
	}
	for i, p := range v.Holdings {
		s.Positions[i] = sdk.Position{Quantity: p.Quantity, EntryPrice: p.EntryPrice,
			CandlesHeld: p.CandlesHeld}
	}
	h.x.setup.inputs.look()
	for _, e := range h.x.setup.inputs.step(v.Step, v.CloseTime, v.Warmup, h.x) {
		h.x.writeLog(e.Kind, e.Data)
	}
	intents, err := h.asks.Ask(s)
	if !h.oco && slices.ContainsFunc(intents, func(in market.Intent) bool { return in.OCO != 0 }) {
		h.oco = true
		h.x.notes.assumptions = append(h.x.notes.assumptions, artifact.Note{Code: run.NoteOCOEmulated,
			Message: "The others of an OCO are cancelled when a fill is reported: more than one may fill."})
	}
	return intents, err
}

// InputStale implements engine.Host.
func (h *liveHost) InputStale() bool { return h.x.setup.inputs.stale.Load() }

// Phase implements engine.Host.
func (h *liveHost) Phase(phase string) { h.x.enterPhase(phase) }

// Raise implements engine.Host.
func (h *liveHost) Raise(o alarm.Occurrence) { h.x.Raise(o) }

// Clear implements engine.Host.
func (h *liveHost) Clear(code, subject string) { h.x.Clear(code, subject) }

// liveProgress fills in the numbers of the live books.
func (x *Execution) liveProgress(p *runner.Progress) {
	p.Cash, p.Equity, p.InitialCash = 0, 0, 0
	books, ok := x.trading.Books()
	if !ok {
		return
	}
	cash, equity, initial := books.CashExact(), books.Equity(), books.InitialCash()
	p.Cash, _ = cash.Float64()
	p.Equity, _ = equity.Float64()
	p.InitialCash, _ = initial.Float64()
	if x.chart.rec == nil {
		return
	}
	look := x.chart.rec.Look(books, &x.notes.output, true)
	p.CandlesDone, p.SimulatedTime = x.chart.rec.Candles(), x.chart.window.End
	p.TradeCount, p.Orders, p.Fills = int64(len(look.Trades)), int64(look.Orders), int64(len(look.Fills))
	p.Rejects, p.LastCandle = x.chart.rec.Rejected(), x.chart.lastCandle
}
