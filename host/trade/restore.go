package trade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/run/decision"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Interrupted returns the newest run that a crash of the service cut short, as the runner shows it until it
// is reset; nil when there is none. Cleared, called at the reset, writes its end. Older ones are ended
// here: they are not shown any more.
func (l *Launcher) Interrupted(ctx context.Context) (rep *runner.Report, cleared func() error, err error) {
	if l.opts.Journal == nil {
		return nil, nil, nil
	}
	runs, err := l.opts.Journal.Interrupted(ctx)
	if err != nil || len(runs) == 0 {
		return nil, nil, err
	}
	end := func(info journal.Info, code string) error {
		run, err := l.opts.Journal.Resume(context.WithoutCancel(ctx), info.RunID)
		if err != nil {
			return err
		}
		text, _ := json.Marshal(map[string]string{"code": code}) // a map of strings has no error
		return run.End(context.WithoutCancel(ctx),
			journal.End{Status: journal.Failed, StopReason: runner.StopError, Error: text,
				At: l.lastWord(context.WithoutCancel(ctx), info)})
	}
	for _, old := range runs[:len(runs)-1] {
		if err := end(old, runner.CodeRunInterrupted); err != nil {
			l.opts.Logger.Error("the end of an interrupted run cannot be written", "run_id", old.RunID,
				"error", err)
		}
	}
	info := runs[len(runs)-1]
	rep, err = l.readBack(ctx, info)
	if err != nil {
		return nil, nil, err
	}
	return rep, func() error { return end(info, rep.Snapshot.Failure.Code) }, nil
}

// logQuarantined is the entry of a run whose journal was damaged, in the new one.
const logQuarantined = "quarantined"

// Quarantined writes into the new journal of which interrupted runs the damaged one was, so that they are
// shown until they are reset, through any restart. Rows are the registry's of runs that were cut short: what
// the damaged journal does not tell any more is taken from there.
func (l *Launcher) Quarantined(ctx context.Context, q *journal.Quarantined, rows []*artifact.Metadata) error {
	left := slices.Clone(q.Left)
	for _, m := range rows {
		if slices.ContainsFunc(left, func(i journal.Info) bool {
			return i.RunID == m.RunID
		}) || m.Service == nil || m.Service.Mode == runner.ModeBacktest {
			continue
		}
		info, err := infoOf(m)
		if err != nil {
			return err
		}
		left = append(left, info)
	}
	slices.SortFunc(left, func(a, b journal.Info) int { return cmp.Compare(a.RunID, b.RunID) })
	for _, info := range left {
		_, err := l.opts.Journal.Begin(ctx, info,
			journal.Entry{Kind: logQuarantined,
				Data: map[string]any{"file": filepath.Base(q.Path), "reason": q.Reason}})
		if err != nil && !errors.Is(err, journal.ErrExists) {
			return err
		}
	}
	return nil
}

// infoOf returns the row of a run as far as the registry knows it.
func infoOf(m *artifact.Metadata) (info journal.Info, err error) {
	req := runner.StartRequest{
		Mode: m.Service.Mode, StrategyName: m.Slug, StrategyParams: m.Params, Symbols: m.Symbols,
		Timeframe: m.Timeframe, InitialCash: "0",
		Exchange: m.Exchange, Execution: m.Execution,
	}
	info = journal.Info{
		RunID: m.RunID, RunTag: order.Tag(m.RunID), Mode: req.Mode, Exchange: m.Exchange,
		StrategySHA256: m.Plugin.SHA256, StartedAt: m.Volatile.StartedAt,
	}
	for _, s := range m.Symbols {
		info.Symbols = append(info.Symbols, market.Symbol(s))
	}
	if info.Timeframe, err = market.ParseTimeframe(m.Timeframe); err != nil {
		return info, err
	}
	info.Request, err = json.Marshal(req)
	return info, err
}

// quarantined reports whether the journal of a run was damaged: nothing is known of it but that it was.
func (l *Launcher) quarantined(ctx context.Context, info journal.Info, f *artifact.Failure) bool {
	e, ok, err := l.opts.Journal.LastLog(ctx, info.RunID, logQuarantined)
	raw, is := e.Data.(json.RawMessage)
	var body struct{ File, Reason string }
	if err != nil || !ok || !is || json.Unmarshal(raw, &body) != nil {
		return false
	}
	f.Code, f.Phase = runner.CodeJournalQuarantined, ""
	f.Message = "The journal of the run was damaged and set aside as " + body.File +
		": what the run did, and which orders it left open, is not known here."
	if info.Mode == journal.Live {
		f.Message += " Look at its orders at " + info.Exchange + " before you trade again."
		f.Data["lease"] = l.lease(info.RunID)
	}
	f.Data["file"], f.Data["reason"] = body.File, body.Reason
	return true
}

// readBack returns what the journal knows of a run.
func (l *Launcher) readBack(ctx context.Context, info journal.Info) (*runner.Report, error) {
	rep := &runner.Report{Results: &artifact.Results{}}
	if err := json.Unmarshal(info.Request, &rep.Request); err != nil {
		return nil, fmt.Errorf("journal: request of %s: %w", info.RunID, err)
	}
	failure := &artifact.Failure{Code: runner.CodeRunInterrupted,
		Message: "The service ended without warning while the run was on.", Data: map[string]any{}}
	s := &rep.Snapshot
	s.RunID, s.Mode, s.Failure = info.RunID, info.Mode, failure
	s.StartTime, s.EndTime, s.UpdatedAt = info.StartedAt.Time(), info.StartedAt.Time(), info.StartedAt.Time()
	if l.quarantined(ctx, info, failure) {
		rep.Results.Risk = shownLimits(info.Risk)
		return rep, nil
	}
	failure.Phase = l.lastPhase(ctx, info.RunID)
	alarms, err := l.alarmsLeft(ctx, info.RunID)
	if err != nil {
		l.opts.Logger.Warn("the alarms of an interrupted run cannot be read back", "run_id", info.RunID,
			"error", err)
	}
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
		l.opts.Logger.Warn("the results of an interrupted run cannot be read back", "run_id", info.RunID,
			"error", err)
	}
	s.Progress.Alarms = alarms
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
	return run.PhaseStarting
}

// ordersOf are the client order ids of those that may stand and of those of unknown fate.
func ordersOf(orders []journal.Order) (open, unknown []string) {
	open, unknown = []string{}, []string{}
	for _, o := range orders {
		switch o.State {
		case order.Open, order.Partial:
			open = append(open, o.ClientOrderID)
		default:
			unknown = append(unknown, o.ClientOrderID)
		}
	}
	return open, unknown
}

// replay plays the candles and intents of a paper run through the simulator again: the books that it had.
func (l *Launcher) replay(ctx context.Context, info journal.Info, rep *runner.Report) error {
	var plan run.Plan
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
	rec := run.NewRecord(run.RecordOptions{Symbols: plan.Symbols, Lines: lines,
		Window: recorded.layout.window, NoMemoryLimit: true})
	cfg := sim.Config{
		Symbols: plan.Symbols, Timeframe: plan.Timeframe, InitialCash: plan.Cash, Options: plan.Execution,
		WarmupSteps: recorded.layout.warmup, WindowStep: recorded.layout.window, PriceSteps: recorded.ticks,
	}
	var engine *sim.Engine
	cfg.Judge = func(o *market.Order, _ *market.Intent) market.Reason {
		return market.Reason(recorded.denied[denial{o.ID.String(), engine.Step()}])
	}
	if engine, err = sim.NewEngine(cfg, rec); err != nil {
		return err
	}
	// The end of the record is a stop in the middle, not the end of the data: nothing is closed there.
	if err := sim.Run(engine, &run.Feed{Feed: &recorded.feed, Record: rec}, recorded); err != nil &&
		!errors.Is(err, errRecordEnds) {
		return err
	}
	rep.Results = recorded.results(rec, engine, info.Timeframe)
	stats := engine.Stats()
	cash, _ := plan.Cash.Float64()
	rep.Snapshot.Progress = runner.Progress{
		Phase: rep.Snapshot.Failure.Phase, CandlesDone: rec.Candles(), SimulatedTime: engine.Time(),
		Cash: engine.Cash(), Equity: engine.Equity(),
		InitialCash: cash, TradeCount: stats.Trades, Orders: stats.Orders, Fills: stats.Fills,
		UpdatedAt: rep.Snapshot.EndTime,
	}
	return nil
}

// results are those of the books of a run that was read back.
func (r *recording) results(rec *run.Record, books run.Books, tf market.Timeframe) *artifact.Results {
	results, in, _ := rec.Snapshot(books, &run.PluginOutput{}, true)
	in.Timeframe, in.Calendar = tf, metric.Calendar24x7
	if report, err := metric.Compute(in); err == nil {
		results.Metrics = &report
	}
	results.Window = r.window
	return results
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
	rec := run.NewRecord(run.RecordOptions{Symbols: info.Symbols, Lines: lines,
		Window: recorded.layout.window, NoMemoryLimit: true})
	next := &oneStep{}
	notes := &run.Feed{Feed: next, Record: rec}
	books, err := engine.ReadBack(ctx, l.opts.Journal, info, recorded.layout.window, recorded.steps, rec,
		func(_ int64, b *sim.Batch) {
			next.batch = b
			_, _ = notes.Next(new(sim.Batch)) // oneStep always has one
		})
	if err != nil || books == nil {
		return err
	}
	results := recorded.results(rec, books, info.Timeframe)
	rep.Results = results
	cash, _ := books.CashExact().Float64()
	value, _ := books.FinalValue()
	equity, _ := value.Float64()
	initial, _ := books.InitialCash().Float64()
	rep.Snapshot.Progress = runner.Progress{
		Phase: rep.Snapshot.Failure.Phase, CandlesDone: rec.Candles(), SimulatedTime: recorded.window.End,
		Cash: cash, Equity: equity, InitialCash: initial,
		TradeCount: int64(len(results.Trades)), Orders: int64(len(results.Orders)),
		Fills: int64(len(results.Fills)), UpdatedAt: rep.Snapshot.EndTime,
	}
	return nil
}

// lease returns what the connector wrote when it lost its host; nil when it wrote nothing.
func (l *Launcher) lease(runID string) json.RawMessage {
	text, err := os.ReadFile(leaseFile(l.opts.LiveDir, runID))
	if err != nil || !json.Valid(text) {
		return nil
	}
	return text
}

// leaseFile returns where a connector writes what it did when it lost its host; "" for nowhere.
func leaseFile(dir, runID string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(runFolder(dir, runID), "lease.json")
}

// runFolder returns the folder that the connector of a run may write to; "" for none.
func runFolder(dir, runID string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, runID)
}

// errRecordEnds is where the journal ends.
var errRecordEnds = errors.New("the journal ends here")

// recording is what the journal has of a paper run, as the feed and the decisions that it was.
type recording struct {
	layout  layout
	ticks   []decimal.Decimal
	steps   []sim.Batch
	intents map[int64][]market.Intent
	denied  map[denial]string // by which code limits refused an order, or the change of one
	window  artifact.Window
	feed    recordFeed
}

// denial is an order that was refused at a step.
type denial struct {
	order string
	step  int64
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
	r := &recording{intents: map[int64][]market.Intent{}, denied: map[denial]string{},
		ticks: make([]decimal.Decimal, len(info.Symbols))}
	markets, err := engine.DecodeMarkets(info.Markets)
	if err != nil {
		return nil, fmt.Errorf("journal: markets of %s: %w", info.RunID, err)
	}
	for i, m := range markets {
		if i < len(r.ticks) {
			r.ticks[i] = m.PriceTick
		}
	}
	err = journal.Each(func(p journal.Page) (journal.Rows[journal.Entry], error) {
		return l.opts.Journal.Log(ctx, info.RunID, p, logLayout, logIntents, engine.LogRisk)
	}, r.entry)
	if err != nil {
		return nil, err
	}
	for i, symbol := range info.Symbols {
		err := journal.Each(func(p journal.Page) (journal.Rows[journal.Candle], error) {
			return l.opts.Journal.Candles(ctx, info.RunID, symbol, p)
		}, func(c journal.Candle) error {
			r.add(i, len(info.Symbols), c)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	r.feed.left = r.steps
	return r, nil
}

// add puts a candle into its step.
func (r *recording) add(i, symbols int, c journal.Candle) {
	for int64(len(r.steps)) <= c.Step {
		r.steps = append(r.steps,
			sim.Batch{Candles: make([]market.Candle, symbols), Closed: make([]bool, symbols)})
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

// entry takes a line of the log.
func (r *recording) entry(e journal.Entry) error {
	raw, _ := e.Data.(json.RawMessage)
	var body struct {
		intentsRow
		Window  int64  `json:"window"`
		Warmup  int64  `json:"warmup"`
		Code    string `json:"code"`
		Shadow  bool   `json:"shadow"`
		Passed  bool   `json:"passed"`
		OrderID string `json:"order_id"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	switch e.Kind {
	case logLayout:
		r.layout = layout{window: body.Window, warmup: body.Warmup}
	case engine.LogRisk:
		if at := (denial{body.OrderID, body.Step}); !body.Shadow && !body.Passed && body.OrderID != "" &&
			r.denied[at] == "" {
			r.denied[at] = body.Code
		}
	default:
		intents, err := decodeIntents(e.Version, cmp.Or(body.Text, string(body.Intents)))
		if err != nil {
			return fmt.Errorf("journal: intents of step %d: %w", body.Step, err)
		}
		r.intents[body.Step] = append(r.intents[body.Step], intents...)
	}
	return nil
}

// decodeIntents reads what a strategy wanted at one step, as the journal of a paper run keeps it.
func decodeIntents(version int, text string) ([]market.Intent, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if version > 1 {
		var intents []market.Intent
		err := d.Decode(&intents)
		return intents, err
	}
	var old []intentV1
	if err := d.Decode(&old); err != nil {
		return nil, err
	}
	intents := make([]market.Intent, len(old))
	for i := range old {
		intents[i] = old[i].intent()
	}
	return intents, nil
}

// intentV1 is an intent as version 1 stored it. It had no size for the whole position and no word for the
// cancel of all orders.
type intentV1 struct {
	market.Intent
	SizeKind market.SizeKind `json:"size_kind"`
	Size     float64         `json:"size"`
}

// intent is t as it is today.
func (t *intentV1) intent() market.Intent {
	in := t.Intent
	in.Size = market.Size{Kind: t.SizeKind, Value: t.Size}
	switch {
	case in.Action == market.Cancel && in.Ref == "":
		in.Action = market.CancelAll
	case in.Action == market.Submit && in.Size.Kind == market.SizeNone && in.ReduceOnly:
		in.Size.Kind = market.SizePosition
	}
	return in
}
