package live

import (
	"context"
	"errors"
	"sync"

	sdk "github.com/assay-run/assay/plugin-sdk"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// tradeLive is a live run from the connection to its end: the engine trades, and the strategy
// is asked through desk.
func (x *Execution) tradeLive(ctx context.Context) error {
	e := engine.New(engine.Config{
		RunID: x.runID, Symbols: x.setup.plan.Symbols, Timeframe: x.setup.plan.Timeframe, Venue: x.setup.venue.Description,
		Connect: x.setup.venue.Connect, Open: x.openRequest(), Journal: x.opts.Journal, Run: x.journal, Limits: x.permit.bounds,
		Warmup: x.setup.warmup, OnStop: x.opts.OnStop, OnShutdown: x.opts.OnShutdown, Unprotected: x.opts.Unprotected, Resume: engine.Resume(x.setup.req.Resume), Orderly: isStop,
		Shutdown: func(err error) bool { return errors.Is(err, runner.ErrShutdown) }, Gate: x.gate, Host: &liveHost{x: x}, Link: x.onLink, ConnectLimit: x.opts.ConnectLimit,
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
	return x.chart.rec, x.plugin.Stream.Send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Begin{Begin: begin}})
}

// prepare makes the record once it is known how much warm-up there is.
func (h *liveHost) prepare(l engine.Layout) {
	x := h.x
	x.gate.Lock()
	defer x.gate.Unlock()
	x.chart.layout = layout{window: l.Window, warmup: l.Warmup}
	for _, s := range x.setup.plan.Symbols {
		x.chart.candles = append(x.chart.candles, &market.Series{Symbol: s, Timeframe: x.setup.plan.Timeframe})
	}
	x.chart.rec = run.NewRecord(run.RecordOptions{Symbols: x.setup.plan.Symbols, Lines: x.lines, Window: l.Window, NoMemoryLimit: true})
	x.addAssumptions(l.Short)
	h.feed = run.Feed{Feed: &h.next, Record: x.chart.rec}
	h.asks = run.NewLockstep(x.plugin.Stream, x.gate, x.setup.plan.Symbols, x.opts.StepLimit)
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
		Index: v.Step, CloseTime: v.CloseTime, Candles: v.Candles, Closed: v.Closed, Fills: v.Fills, Orders: v.Orders,
		Cash: v.Cash, Equity: v.Equity, Warmup: v.Warmup, Positions: make([]sdk.Position, len(v.Holdings)),
	}
	for i, p := range v.Holdings {
		s.Positions[i] = sdk.Position{Quantity: p.Quantity, EntryPrice: p.EntryPrice, CandlesHeld: p.CandlesHeld}
	}
	return h.asks.Ask(s)
}

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
	look := x.chart.rec.Look(books, &x.notes.said, true)
	p.CandlesDone, p.SimulatedTime = x.chart.rec.Candles(), x.chart.window.End
	p.TradeCount, p.Orders, p.Fills = int64(len(look.Trades)), int64(look.Orders), int64(len(look.Fills))
	p.Rejects, p.LastCandle = x.chart.rec.Rejected(), x.chart.lastCandle
}
