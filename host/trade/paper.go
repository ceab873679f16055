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

// steps is a paper run from its warm-up to its end: the loop of a backtest, over candles
// that are still to come.
func (x *Execution) steps(ctx context.Context, l *line, markets []exchange.Market) error {
	src := x.listen(l)
	defer src.Close()
	warm, err := src.Warmup(ctx, x.warmup)
	if err != nil {
		return err
	}
	if err := x.prepare(src, warm, markets); err != nil {
		return err
	}
	if err := x.writeMarkets(markets); err != nil {
		return err
	}
	begin := &strategypb.Begin{WarmupSteps: x.layout.warmup, WindowStep: x.layout.window}
	if err := x.plugin.Stream.Send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Begin{Begin: begin}}); err != nil {
		return err
	}
	arriving := &arriving{x: x, ctx: ctx, src: src, warm: warm}
	x.diary.asks = run.NewLockstep(x.plugin.Stream, x.gate, x.plan.Symbols, x.opts.StepLimit)
	if err := x.play(arriving); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return x.stopPlugin(cause)
		}
		if fault, ok := errors.AsType[*engine.Fault](err); ok && fault.Code == engine.CodeRiskKill {
			return errors.Join(err, x.endBooks())
		}
		return err
	}
	return x.plugin.Finish(x.opts.StepLimit)
}

// play is the loop, with the gate held while it does not wait.
func (x *Execution) play(f sim.Feed) error {
	x.gate.Lock()
	defer x.gate.Unlock()
	err := sim.Run(x.engine, &run.Feed{Feed: f, Record: x.rec}, x.diary)
	return errors.Join(err, x.diary.commit())
}

// prepare makes engine and record once it is known how much warm-up there is.
func (x *Execution) prepare(src *source, warm []*feed.Step, markets []exchange.Market) error {
	x.gate.Lock()
	defer x.gate.Unlock()
	have := make([]int, len(x.plan.Symbols))
	for _, b := range warm {
		for i := range b.Closed {
			if b.Closed[i] {
				have[i]++
			}
		}
	}
	short := 0
	for _, n := range have {
		short = max(short, x.warmup-n)
	}
	x.layout.window = int64(len(warm))
	x.layout.warmup = x.layout.window + int64(short)
	cfg := sim.Config{
		Symbols: x.plan.Symbols, Timeframe: x.plan.Timeframe, InitialCash: x.plan.Cash, Options: x.plan.Execution,
		WarmupSteps: x.layout.warmup, WindowStep: x.layout.window, PriceSteps: make([]decimal.Decimal, len(markets)),
	}
	for i, m := range markets {
		cfg.PriceSteps[i] = m.PriceTick
		x.candles = append(x.candles, &market.Series{Symbol: m.Symbol, Timeframe: x.plan.Timeframe})
	}
	x.rec = run.NewRecord(run.RecordOptions{Symbols: x.plan.Symbols, Lines: x.lines, Window: x.layout.window, NoMemoryLimit: true})
	watch, err := x.newShadow(src.clock.Now())
	if err != nil {
		return err
	}
	x.diary = &diary{Recorder: x.rec, x: x, src: src, run: x.journal, watch: watch}
	cfg.Judge = x.diary.judge
	if x.engine, err = sim.NewEngine(cfg, x.diary); err != nil {
		return err
	}
	x.diary.batch.Entries = append(x.diary.batch.Entries, journal.Entry{
		Kind: logLayout, Data: map[string]any{"window": x.layout.window, "warmup": x.layout.warmup},
	})
	x.assume(short)
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
		x.diary.took(a.warm[0], a.step)
		a.warm = a.warm[1:]
		a.step++
		return true, nil
	}
	var next *feed.Step
	err := x.diary.commit() // the orders of the step before
	if err != nil {
		return false, err
	}
	if a.step >= x.layout.warmup && x.phase == phaseWarming {
		x.gate.Outside(func() { x.enter(phaseTrading) })
	}
	for next == nil && err == nil {
		x.gate.Outside(func() { next, err = a.src.Next(a.ctx) })
		if next == nil && err == nil {
			err = x.diary.waits()
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
	x.diary.took(next, a.step)
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
		x.lastCandle = x.clock()
		x.candles[i].Append(c)
		if x.window.Start == 0 {
			x.window.Start = c.OpenTime
		}
		x.window.End = max(x.window.End, c.CloseTime)
		x.window.Candles++
	}
}

// writeMarkets completes the run's row: paper has an account of its own.
func (x *Execution) writeMarkets(markets []exchange.Market) error {
	text, err := engine.EncodeMarkets(markets)
	if err != nil {
		return err
	}
	return x.journal.Connected(context.Background(), journal.Connected{
		AccountID: x.runID, Markets: text, StartCash: decimal.NullDecimal{Decimal: x.plan.Cash, Valid: true},
	})
}
