package live

import (
	"context"
	"errors"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// paperRun is the part of a run that trades on paper: the loop of a backtest over candles that are still to come. Its
// fields are guarded by the gate of the run.
type paperRun struct {
	run        *Execution
	venueClock exchange.SteadyClock // where the venue has no time of its own
	engine     *sim.Engine          // nil until the warm-up is here
	recorder   *journalRecorder
}

// runSteps is a paper run from its warm-up to its end: the loop of a backtest, over candles
// that are still to come.
func (pp *paperRun) runSteps(ctx context.Context, l *line, markets []exchange.Market) error {
	src := pp.newSource(l)
	defer src.Close()
	warm, err := src.Warmup(ctx, pp.run.setup.warmup)
	if err != nil {
		return err
	}
	if err := pp.prepareBooks(src, warm, markets); err != nil {
		return err
	}
	if err := pp.writeMarkets(markets); err != nil {
		return err
	}
	begin := &strategypb.Begin{WarmupSteps: pp.run.chart.layout.warmup, WindowStep: pp.run.chart.layout.window}
	if err := pp.run.plugin.Stream.Send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Begin{Begin: begin}}); err != nil {
		return err
	}
	arriving := &arriving{x: pp.run, ctx: ctx, src: src, warm: warm}
	pp.recorder.asks = run.NewLockstep(pp.run.plugin.Stream, pp.run.gate, pp.run.setup.plan.Symbols, pp.run.opts.StepLimit)
	if err := pp.runLoop(arriving); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return pp.stopPlugin(cause)
		}
		if fault, ok := errors.AsType[*engine.Fault](err); ok && fault.Code == engine.CodeRiskKill {
			return errors.Join(err, pp.endBooks())
		}
		return err
	}
	return pp.run.plugin.Finish(pp.run.opts.StepLimit)
}

// runLoop is the loop, with the gate held while it does not wait.
func (pp *paperRun) runLoop(f sim.Feed) error {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	err := sim.Run(pp.engine, &run.Feed{Feed: f, Record: pp.run.chart.rec}, pp.recorder)
	return errors.Join(err, pp.recorder.commitBatch())
}

// prepareBooks makes engine and record once it is known how much warm-up there is.
func (pp *paperRun) prepareBooks(src *source, warm []*feed.Step, markets []exchange.Market) error {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	have := make([]int, len(pp.run.setup.plan.Symbols))
	for _, b := range warm {
		for i := range b.Closed {
			if b.Closed[i] {
				have[i]++
			}
		}
	}
	short := 0
	for _, n := range have {
		short = max(short, pp.run.setup.warmup-n)
	}
	pp.run.chart.layout.window = int64(len(warm))
	pp.run.chart.layout.warmup = pp.run.chart.layout.window + int64(short)
	cfg := sim.Config{
		Symbols: pp.run.setup.plan.Symbols, Timeframe: pp.run.setup.plan.Timeframe, InitialCash: pp.run.setup.plan.Cash, Options: pp.run.setup.plan.Execution,
		WarmupSteps: pp.run.chart.layout.warmup, WindowStep: pp.run.chart.layout.window, PriceSteps: make([]decimal.Decimal, len(markets)),
	}
	for i, m := range markets {
		cfg.PriceSteps[i] = m.PriceTick
		pp.run.chart.candles = append(pp.run.chart.candles, &market.Series{Symbol: m.Symbol, Timeframe: pp.run.setup.plan.Timeframe})
	}
	pp.run.chart.rec = run.NewRecord(run.RecordOptions{Symbols: pp.run.setup.plan.Symbols, Lines: pp.run.lines, Window: pp.run.chart.layout.window, NoMemoryLimit: true})
	watch, err := pp.newShadow(src.clock.Now())
	if err != nil {
		return err
	}
	pp.recorder = &journalRecorder{Recorder: pp.run.chart.rec, x: pp.run, src: src, run: pp.run.journal, watch: watch}
	cfg.Judge = pp.recorder.judgeOrder
	if pp.engine, err = sim.NewEngine(cfg, pp.recorder); err != nil {
		return err
	}
	pp.recorder.batch.Entries = append(pp.recorder.batch.Entries, journal.Entry{
		Kind: logLayout, Data: map[string]any{"window": pp.run.chart.layout.window, "warmup": pp.run.chart.layout.warmup},
	})
	pp.run.addAssumptions(short)
	return nil
}

// arriving is the feed of a run: the warm-up, then whatever closes. It waits with the gate open.
type arriving struct {
	x    *Execution
	ctx  context.Context
	src  *source
	warm []*feed.Step
	step int64
}

// Next implements sim.Feed.
func (a *arriving) Next(b *sim.Batch) (bool, error) {
	x := a.x
	if len(a.warm) > 0 {
		*b = a.warm[0].Batch
		x.paper.recorder.takeStep(a.warm[0], a.step)
		a.warm = a.warm[1:]
		a.step++
		return true, nil
	}
	var next *feed.Step
	err := x.paper.recorder.commitBatch() // the orders of the step before
	if err != nil {
		return false, err
	}
	if a.step >= x.chart.layout.warmup && x.phase == phaseWarming {
		x.gate.Outside(func() { x.enterPhase(phaseTrading) })
	}
	for next == nil && err == nil {
		x.gate.Outside(func() { next, err = a.src.Next(a.ctx) })
		if next == nil && err == nil {
			err = x.paper.recorder.onIdle()
		}
	}
	switch {
	case errors.Is(err, errEnded):
		return false, nil
	case err != nil:
		return false, err
	}
	*b = next.Batch
	x.link.LastMessage = x.clock()
	x.paper.recorder.takeStep(next, a.step)
	a.step++
	x.note(b)
	return true, nil
}

// note keeps the candles of the window for those who look at them.
func (x *Execution) note(b *sim.Batch) {
	for i := range b.Closed {
		if !b.Closed[i] {
			continue
		}
		c := b.Candles[i]
		x.chart.lastCandle = x.clock()
		x.chart.candles[i].Append(c)
		if x.chart.window.Start == 0 {
			x.chart.window.Start = c.OpenTime
		}
		x.chart.window.End = max(x.chart.window.End, c.CloseTime)
		x.chart.window.Candles++
	}
}

// writeMarkets completes the run's row: paper has an account of its own.
func (pp *paperRun) writeMarkets(markets []exchange.Market) error {
	text, err := engine.EncodeMarkets(markets)
	if err != nil {
		return err
	}
	return pp.run.journal.Connected(context.Background(), journal.Connected{
		AccountID: pp.run.runID, Markets: text, StartCash: decimal.NullDecimal{Decimal: pp.run.setup.plan.Cash, Valid: true},
	})
}
