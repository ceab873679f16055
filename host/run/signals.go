package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// How much of a strategy of signals is replayed: at most so many steps with intents, and as many drawn from
// all. A long run has fewer, as many as add up to replayRows rows that the strategy computes, but
// minReplays.
const (
	maxReplays = 200
	minReplays = 20
	replayRows = 40_000_000
)

// signalled is the Decider that has the intents of all steps before the first: the plugin has been given all
// candles at once. Whether it has used later ones is found by replay.
type signalled struct {
	stream    *Stream
	gate      *Gate
	signals   *wire.Signals
	stepLimit time.Duration
	// replay asks the strategy again; nil: it is not asked.
	replay func(ctx context.Context, s *wire.Signals, last int64) error
}

// Decide implements sim.Decider.
func (d *signalled) Decide(e *sim.Engine) (_ []market.Intent, err error) {
	d.gate.Pass()
	if !d.signals.IsWhole() {
		d.gate.Outside(func() { err = d.fetch() })
		if err != nil {
			return nil, err
		}
	}
	if d.gate.steps == 0 && d.stream.ctx.Err() != nil {
		return nil, context.Cause(d.stream.ctx)
	}
	return d.signals.Take(e.Step()), nil
}

// fetch waits for the intents of all steps, which may come in several messages.
func (d *signalled) fetch() error {
	for !d.signals.IsWhole() {
		timer := time.NewTimer(d.stepLimit)
		m, err := d.stream.Recv(timer.C, fmt.Sprintf("the signals did not come within %s", d.stepLimit))
		timer.Stop()
		if err == nil {
			err = Answer(m)
		}
		if err != nil {
			return err
		}
		if m.GetSignals() == nil {
			return Failf(CodePluginProtocol, nil, "the plugin sent %T where signals were due", m.GetMessage())
		}
		if err := d.signals.Add(m.GetSignals()); err != nil {
			return Failf(CodePluginProtocol, nil, "%w", err)
		}
	}
	return nil
}

// replayer asks a strategy of signals anew, in another process that is given no candle after the step that it
// is asked about.
type replayer struct {
	launcher *Launcher
	plan     *plan
	start    wire.Start
	x        *Execution
}

// replay compares what the strategy answers without later candles with what it answered with all of them.
func (r *replayer) replay(ctx context.Context, s *wire.Signals, last int64) error {
	o := catalog.LaunchOptions{Lockstep: true, Plain: r.launcher.Many, Procs: r.plan.split.Drive.Procs,
		Cores: r.plan.split.Drive.Cores}
	started, cancel := r.launcher.limitStart(ctx)
	defer cancel()
	p, err := Launch(started, r.launcher.Catalog, r.plan.Strategy, o)
	if err != nil {
		return err
	}
	defer p.Close("the replay is over")
	r.start.Mode = strategypb.DriveMode_DRIVE_MODE_LOCKSTEP
	ignore := func(*strategypb.PluginMessage) error { return nil }
	if _, err := p.Introduce(started, &r.start, ignore); err != nil {
		return err
	}
	defer p.Watch(ctx)()
	layout := r.x.data.layout
	begin := &strategypb.Begin{WarmupSteps: layout.warmup, WindowStep: layout.window}
	if err := p.Stream.Send(&strategypb.HostMessage{
		Message: &strategypb.HostMessage_Begin{Begin: begin}}); err != nil {
		return err
	}
	s.Rewind()
	return r.ask(p, s, r.drawSteps(s, last))
}

// drawSteps chooses the steps to replay, ascending: some with intents and some of all. The draw depends on
// the request alone.
func (r *replayer) drawSteps(s *wire.Signals, last int64) []int64 {
	layout := r.x.data.layout
	n := min(maxReplays, max(minReplays, replayRows/max(1, int(layout.total))))
	seed, err := json.Marshal(r.x.manifest.Request)
	if err != nil {
		seed = []byte(r.start.Params)
	}
	draw := rand.New(rand.NewChaCha8(sha256.Sum256(seed)))
	var list []int64
	for step := range s.Steps {
		if step <= last {
			list = append(list, step)
		}
	}
	draw.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	list = list[:min(n, len(list))]
	for first := layout.warmup; n > 0 && last >= first; n-- {
		list = append(list, first+draw.Int64N(last-first+1))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ask plays the candles and asks at each of the steps.
func (r *replayer) ask(p *Plugin, s *wire.Signals, wanted []int64) error {
	series := mapSources(r.x.data.sources, (*source).run)
	lockstep := NewLockstep(p.Stream, r.x.gate, r.plan.Symbols, r.x.stepLimit)
	size := ChunkSteps(len(series))
	w, index, first := wire.CandlesWriter{Steps: size}, int64(-1), int64(0)
	send := func() error {
		if w.Len() == 0 {
			return nil
		}
		m := w.Message(false)
		m.FirstStep, first = first, first+int64(len(m.CloseTimes))
		return p.Stream.Send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Candles{Candles: m}})
	}
	for b := range steps(series) {
		if index++; len(wanted) == 0 {
			return nil
		}
		if index < wanted[0] {
			if w.Add(b.CloseTime, b.Candles, b.Closed); w.Len() == size {
				if err := send(); err != nil {
					return err
				}
			}
			continue
		}
		wanted = wanted[1:]
		if err := send(); err != nil {
			return err
		}
		first++
		lockstep.step.Index, lockstep.step.CloseTime = index, b.CloseTime
		lockstep.step.Warmup = index < r.x.data.layout.warmup
		lockstep.step.Cash, lockstep.step.Equity = sim.Float(r.plan.Cash), sim.Float(r.plan.Cash)
		copy(lockstep.step.Candles, b.Candles)
		copy(lockstep.step.Closed, b.Closed)
		now, err := lockstep.Ask(&lockstep.step)
		if err != nil {
			return err
		}
		if err := notCausal(s.Take(index), now, index, b.CloseTime); err != nil {
			return err
		}
	}
	return nil
}

// notCausal names the column in which intents that were given with all candles differ from those without the
// later ones.
func notCausal(all, now []market.Intent, step int64, at market.Time) error {
	column := differingColumn(all, now)
	if column == "" {
		return nil
	}
	return Failf(CodeNotCausal, map[string]any{"step": step, "candle_time": at.String(), "column": column},
		"signals look ahead: the column %s at step %d (candle closed %s) differs without the candles "+
			"after it. Use only rows up to each row's own: no shift by a negative number, no mean or "+
			"maximum of a whole column", column, step, at)
}

// differingColumn returns the first column of signals in which two decisions differ; "" if they are equal.
func differingColumn(a, b []market.Intent) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return askingColumn(&b[i])
		case i >= len(b) || askingColumn(&a[i]) != askingColumn(&b[i]):
			return askingColumn(&a[i])
		}
		x, y := reflect.ValueOf(a[i]), reflect.ValueOf(b[i])
		for k := range x.NumField() {
			if !reflect.DeepEqual(x.Field(k).Interface(), y.Field(k).Interface()) {
				if a[i].Action == market.SetLeg {
					return askingColumn(&a[i])
				}
				name := x.Type().Field(k).Name
				return cmp.Or(columnNames[name], name)
			}
		}
	}
	return ""
}

// columnNames are the columns of signals by the field of an intent that they set.
var columnNames = map[string]string{
	"Action": "entry", "Symbol": "entry", "Side": "entry", "Type": "limit", "Size": "size",
	"LimitPrice": "limit",
	"StopPrice":  "limit", "TrailPercent": "limit", "TrailAmount": "limit", "TimeInForce": "expire_after",
	"ExpireAfter": "expire_after", "ReduceOnly": "exit", "PostOnly": "limit", "StopLoss": "stop_loss",
	"TakeProfit": "take_profit", "Targets": "take_profit", "OCO": "entry", "Guard": "entry", "Tag": "tag",
	"ClientRef": "tag", "Ref": "tag",
}

// askingColumn names the column that an intent of signals comes from.
func askingColumn(in *market.Intent) string {
	short := in.Guard != nil && in.Guard.Position&market.StanceShort != 0
	switch {
	case in.Action == market.SetLeg:
		column := "move_stop"
		if in.StopLoss == nil {
			column = "move_target"
		}
		if short {
			column += "_short"
		}
		return column
	case in.Action == market.Close && short:
		return "exit_short"
	case in.Action == market.Close:
		return "exit"
	case in.Side == market.Sell:
		return "entry_short"
	}
	return "entry"
}
