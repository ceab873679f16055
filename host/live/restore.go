package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/live/engine"
	"github.com/assay-run/assay/host/live/journal"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/play"
	"github.com/assay-run/assay/host/play/decision"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Interrupted is the newest run that a crash of the service cut short, as the runner shows it until it
// is reset; nil when there is none. Cleared, called at the reset, writes its end. Older ones are ended
// here: nobody can look at them any more.
func (l *Launcher) Interrupted(ctx context.Context) (rep *runner.Report, cleared func() error, err error) {
	runs, err := l.opts.Journal.Interrupted(ctx)
	if err != nil || len(runs) == 0 {
		return nil, nil, err
	}
	end := func(info journal.Info) error {
		run, err := l.opts.Journal.Resume(context.WithoutCancel(ctx), info.RunID)
		if err != nil {
			return err
		}
		text, _ := json.Marshal(map[string]string{"code": runner.CodeRunInterrupted}) // a map of strings has no error
		return run.End(context.WithoutCancel(ctx), journal.End{Status: journal.Failed, StopReason: runner.StopError, Error: text, At: l.lastWord(context.WithoutCancel(ctx), info)})
	}
	for _, old := range runs[:len(runs)-1] {
		if err := end(old); err != nil {
			return nil, nil, err
		}
	}
	info := runs[len(runs)-1]
	rep, err = l.readBack(ctx, info)
	if err != nil {
		return nil, nil, err
	}
	return rep, func() error { return end(info) }, nil
}

// readBack is what the journal knows of a run.
func (l *Launcher) readBack(ctx context.Context, info journal.Info) (*runner.Report, error) {
	rep := &runner.Report{Results: &result.Results{}}
	if err := json.Unmarshal(info.Request, &rep.Request); err != nil {
		return nil, fmt.Errorf("journal: request of %s: %w", info.RunID, err)
	}
	failure := &result.Failure{Code: runner.CodeRunInterrupted, Message: "The service ended without warning while the run was on.", Data: map[string]any{}}
	s := &rep.Snapshot
	s.RunID, s.Mode, s.Failure = info.RunID, info.Mode, failure
	s.StartTime, s.EndTime = info.StartedAt.Time(), info.StartedAt.Time()
	failure.Phase = l.lastPhase(ctx, info.RunID)
	open, err := l.opts.Journal.OpenOrders(ctx, info.RunID)
	if err != nil {
		return nil, err
	}
	failure.Data["open_orders"], failure.Data["unknown_orders"] = ordersOf(open)
	read := l.replay
	if info.Mode == journal.Live {
		read = l.replayLive
		failure.Data["lease"] = l.lease(info.RunID)
	}
	if err := read(ctx, info, rep); err != nil {
		l.opts.Logger.Warn("the results of an interrupted run cannot be read back", "run_id", info.RunID, "error", err)
	}
	rep.Results.Risk = shownLimits(info.Risk)
	positions := map[string]string{}
	for _, p := range rep.Results.Positions {
		positions[string(p.Symbol)] = p.Quantity.Trim(0).String()
	}
	failure.Data["positions"] = positions
	failure.CandleTime = s.Progress.SimulatedTime
	s.EndTime = l.lastWord(ctx, info).Time()
	s.UpdatedAt, s.Runtime = s.EndTime, max(s.EndTime.Sub(s.StartTime), 0)
	return rep, nil
}

// lastWord is when the journal last heard of a run.
func (l *Launcher) lastWord(ctx context.Context, info journal.Info) market.Time {
	last := info.StartedAt
	for _, kind := range []string{logPhase, logAlarm, logIntents, logLayout, engine.LogOrders} {
		if e, ok, err := l.opts.Journal.LastLog(ctx, info.RunID, kind); err == nil && ok {
			last = max(last, e.At)
		}
	}
	return last
}

func (l *Launcher) lastPhase(ctx context.Context, runID string) string {
	e, ok, err := l.opts.Journal.LastLog(ctx, runID, logPhase)
	var body struct {
		Phase string `json:"phase"`
	}
	if raw, is := e.Data.(json.RawMessage); err == nil && ok && is && json.Unmarshal(raw, &body) == nil {
		return body.Phase
	}
	return play.PhaseStarting
}

// ordersOf are the client order ids of those that may stand and of those nobody knows of.
func ordersOf(orders []journal.Order) (open, unknown []string) {
	open, unknown = []string{}, []string{}
	for _, o := range orders {
		switch o.State {
		case journal.StateOpen, journal.StatePartial:
			open = append(open, o.ClientOrderID)
		default:
			unknown = append(unknown, o.ClientOrderID)
		}
	}
	return open, unknown
}

// replay plays the candles and intents of a paper run through the simulator again: the books that it had.
func (l *Launcher) replay(ctx context.Context, info journal.Info, rep *runner.Report) error {
	var plan play.Plan
	plan.Symbols, plan.Timeframe = info.Symbols, info.Timeframe
	if err := plan.ReadRules(rep.Request); err != nil {
		return err
	}
	recorded, err := l.recorded(ctx, info)
	if err != nil || len(recorded.steps) == 0 {
		return err
	}
	lines, err := decision.New(l.opts.SpoolDir, "full")
	if err != nil {
		return err
	}
	defer lines.Close()
	rec := play.NewRecord(play.RecordOptions{Symbols: plan.Symbols, Lines: lines, Window: recorded.layout.window, Free: true})
	cfg := sim.Config{
		Symbols: plan.Symbols, Timeframe: plan.Timeframe, InitialCash: plan.Cash, Options: plan.Execution,
		WarmupSteps: recorded.layout.warmup, WindowStep: recorded.layout.window, PriceSteps: recorded.ticks,
	}
	engine, err := sim.NewEngine(cfg, rec)
	if err != nil {
		return err
	}
	// The end of the record is a stop in the middle, not the end of the data: nothing is closed there.
	if err := sim.Run(engine, &play.Feed{Feed: &recorded.feed, Record: rec}, recorded); err != nil && !errors.Is(err, errRecordEnds) {
		return err
	}
	results, in, _ := rec.Picture(engine, &play.Said{}, true)
	in.Timeframe, in.Calendar = plan.Timeframe, metric.Calendar24x7
	if report, err := metric.Compute(in); err == nil {
		results.Metrics = &report
	}
	results.Window = recorded.window
	rep.Results = results
	p := &rep.Snapshot.Progress
	stats := engine.Stats()
	cash, _ := plan.Cash.Float64()
	*p = runner.Progress{
		Phase: rep.Snapshot.Failure.Phase, CandlesDone: rec.Candles(), SimulatedTime: engine.Time(), Cash: engine.Cash(), Equity: engine.Equity(),
		InitialCash: cash, TradeCount: stats.Trades, Orders: stats.Orders, Fills: stats.Fills, UpdatedAt: rep.Snapshot.EndTime,
	}
	return nil
}

// replayLive reads back what a live run had: its books are those of the fills.
func (l *Launcher) replayLive(ctx context.Context, info journal.Info, rep *runner.Report) error {
	recorded, err := l.recorded(ctx, info)
	if err != nil {
		return err
	}
	lines, err := decision.New(l.opts.SpoolDir, "full")
	if err != nil {
		return err
	}
	defer lines.Close()
	rec := play.NewRecord(play.RecordOptions{Symbols: info.Symbols, Lines: lines, Window: recorded.layout.window, Free: true})
	next := &oneStep{}
	notes := &play.Feed{Feed: next, Record: rec}
	books, err := engine.ReadBack(ctx, l.opts.Journal, info, recorded.layout.window, recorded.steps, rec, func(_ int64, b *sim.Batch) {
		next.batch = b
		_, _ = notes.Next(new(sim.Batch)) // oneStep always has one
	})
	if err != nil || books == nil {
		return err
	}
	results, in, _ := rec.Picture(books, &play.Said{}, true)
	in.Timeframe, in.Calendar = info.Timeframe, metric.Calendar24x7
	if report, err := metric.Compute(in); err == nil {
		results.Metrics = &report
	}
	results.Window = recorded.window
	rep.Results = results
	cash, _ := books.CashExact().Float64()
	value, _ := books.FinalValue()
	equity, _ := value.Float64()
	initial, _ := books.InitialCash().Float64()
	rep.Snapshot.Progress = runner.Progress{
		Phase: rep.Snapshot.Failure.Phase, CandlesDone: rec.Candles(), SimulatedTime: recorded.window.End, Cash: cash, Equity: equity, InitialCash: initial,
		TradeCount: int64(len(results.Trades)), Orders: int64(len(results.Orders)), Fills: int64(len(results.Fills)), UpdatedAt: rep.Snapshot.EndTime,
	}
	return nil
}

// lease is what the connector wrote when it lost its host; nil when it wrote nothing.
func (l *Launcher) lease(runID string) json.RawMessage {
	text, err := os.ReadFile(l.leaseFile(runID))
	if err != nil || !json.Valid(text) {
		return nil
	}
	return text
}

// leaseFile is where a connector writes what it did when it lost its host.
func (l *Launcher) leaseFile(runID string) string { return leaseFile(l.opts.LiveDir, runID) }

func leaseFile(dir, runID string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, runID, "lease.json")
}

// errRecordEnds is where the journal ends.
var errRecordEnds = errors.New("the journal ends here")

// recording is what the journal has of a paper run, as the feed and the decisions that it was.
type recording struct {
	layout  layout
	ticks   []decimal.Decimal
	steps   []sim.Batch
	intents map[int64][]market.Intent
	window  result.Window
	feed    recordFeed
}

type recordFeed struct{ left []sim.Batch }

// Next implements sim.Feed.
func (f *recordFeed) Next(b *sim.Batch) (bool, error) {
	if len(f.left) == 0 {
		return false, errRecordEnds
	}
	*b, f.left = f.left[0], f.left[1:]
	return true, nil
}

// Decide implements sim.Decider.
func (r *recording) Decide(e *sim.Engine) ([]market.Intent, error) { return r.intents[e.Step()], nil }

func (l *Launcher) recorded(ctx context.Context, info journal.Info) (*recording, error) {
	r := &recording{intents: map[int64][]market.Intent{}, ticks: make([]decimal.Decimal, len(info.Symbols))}
	var markets []exchange.Market
	if info.Markets != nil {
		if err := json.Unmarshal(info.Markets, &markets); err != nil {
			return nil, err
		}
	}
	for i, m := range markets {
		if i < len(r.ticks) {
			r.ticks[i] = m.PriceTick
		}
	}
	if err := l.recordedLog(ctx, info.RunID, r); err != nil {
		return nil, err
	}
	for i, symbol := range info.Symbols {
		for page := (journal.Page{}); ; {
			rows, err := l.opts.Journal.Candles(ctx, info.RunID, symbol, page)
			if err != nil {
				return nil, err
			}
			for _, c := range rows.Items {
				r.add(i, len(info.Symbols), c)
			}
			if page.After = rows.Next; rows.Next == 0 {
				break
			}
		}
	}
	r.feed.left = r.steps
	return r, nil
}

// add puts a candle into its step.
func (r *recording) add(i, symbols int, c journal.Candle) {
	for int64(len(r.steps)) <= c.Step {
		r.steps = append(r.steps, sim.Batch{Candles: make([]market.Candle, symbols), Closed: make([]bool, symbols)})
	}
	b := &r.steps[c.Step]
	b.Candles[i], b.Closed[i], b.CloseTime = c.Candle, true, max(b.CloseTime, c.Candle.CloseTime)
	if c.Step < r.layout.window {
		return
	}
	if r.window.Start == 0 || c.Candle.OpenTime < r.window.Start {
		r.window.Start = c.Candle.OpenTime
	}
	r.window.End = max(r.window.End, c.Candle.CloseTime)
	r.window.Candles++
}

func (l *Launcher) recordedLog(ctx context.Context, runID string, r *recording) error {
	for page := (journal.Page{}); ; {
		rows, err := l.opts.Journal.Log(ctx, runID, page, logLayout, logIntents)
		if err != nil {
			return err
		}
		for _, e := range rows.Items {
			raw, _ := e.Data.(json.RawMessage)
			var body struct {
				Window  int64             `json:"window"`
				Warmup  int64             `json:"warmup"`
				Step    int64             `json:"step"`
				Intents []json.RawMessage `json:"intents"`
			}
			if err := json.Unmarshal(raw, &body); err != nil {
				return err
			}
			if e.Kind == logLayout {
				r.layout = layout{window: body.Window, warmup: body.Warmup}
				continue
			}
			for _, text := range body.Intents {
				in, err := fromText(text)
				if err != nil {
					return err
				}
				r.intents[body.Step] = append(r.intents[body.Step], in)
			}
		}
		if page.After = rows.Next; rows.Next == 0 {
			return nil
		}
	}
}
