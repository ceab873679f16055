package capsule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Stage plays one plugin for one request.
type Stage struct {
	// Launcher starts plays in a mode, with a limit for one answer of the plugin.
	Launcher func(run.Mode, time.Duration) *run.Launcher
	// RunID is what the plugin gets.
	RunID string
	// Base has the names and the cash of the request; a take has the rest.
	Base runner.StartRequest
	// Pins are the datasets by symbol.
	Pins map[market.Symbol]string
	// Module is the import path of the plugin's main module, "" if it is not known.
	Module string
}

// Request is what a take asks of package run.
func Request(base runner.StartRequest, t Take) runner.StartRequest {
	base.StartDate, base.EndDate = t.Start, t.End
	base.StrategyParams, base.Execution = t.Params, t.Execution
	return base
}

// Split is the rest of what it asks. The error is about the seed.
func Split(t Take, pins map[market.Symbol]string) (run.Split, error) {
	seed, err := strconv.ParseUint(t.Seed, 10, 64)
	return run.Split{ID: t.SplitID, Seed: seed, Pins: pins, DelayCandles: t.DelayCandles,
		WorstPrice: t.WorstPrice}, err
}

// Played is how a play went.
type Played struct {
	// Failure is nil if it came to the end.
	Failure *artifact.Failure
	// Snapshot is nil if it failed before the first candle.
	Snapshot *run.Snapshot
}

// Play plays a take. The error is a refusal or the end of ctx; a plugin that fails is
// none.
func (s *Stage) Play(ctx context.Context, t Take, mode run.Mode, limit time.Duration) (Played, error) {
	return s.play(ctx, t, mode, limit, nil)
}

func (s *Stage) play(ctx context.Context, t Take, mode run.Mode, limit time.Duration,
	lines io.Writer) (_ Played, err error) {
	split, err := Split(t, s.Pins)
	if err != nil {
		return Played{}, err
	}
	x, err := s.Launcher(mode, limit).LaunchSplit(ctx, s.RunID, Request(s.Base, t), split)
	if ctx.Err() != nil {
		return Played{}, errors.Join(context.Cause(ctx), closeIf(x))
	}
	if f := StartFailure(err); f != nil {
		return Played{Failure: f}, nil
	}
	if err != nil {
		return Played{}, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	outcome := x.Run(ctx)
	if ctx.Err() != nil {
		return Played{}, context.Cause(ctx)
	}
	out := Played{Failure: outcome.Failure}
	snapshot, err := x.Snapshot(MaxEvents)
	if err != nil {
		return out, err
	}
	out.Snapshot = &snapshot
	if lines != nil {
		err = x.WriteDecisions(lines)
	}
	return out, err
}

func closeIf(x *run.Execution) error {
	if x == nil {
		return nil
	}
	return x.Close()
}

// StartFailure is the failure of a plugin that did not come to its first candle; nil
// if the error is none of the plugin's.
func StartFailure(err error) *artifact.Failure {
	var failed *run.StartError
	if !errors.As(err, &failed) {
		return nil
	}
	return &failed.Failure
}

// Limits of time for what is found out after a failure, unless the caller is patient. They
// bound how long a failed run goes on; a capsule without a minimal play is complete all
// the same.
const (
	exactLimit   = 30 * time.Second
	minimalLimit = 30 * time.Second
	// hangingLimit is that of plays each of which may end in waiting.
	hangingLimit = 6 * time.Second
	// patience is how long a plugin that has failed to answer in time is waited for again.
	patience = 2 * time.Second
)

// Captured is a failed play and what is known around it.
type Captured struct {
	Context
	Played
	// Lockstep reports that the play was driven step by step: then it stands where it failed.
	Lockstep bool
	// Brief leaves the minimal play out, which takes up to 30 others.
	Brief bool
	// Patient sets no limit of time: what comes out must not depend on the machine.
	Patient bool
	// Defaults are the strategy's parameters, complete.
	Defaults json.RawMessage
	// Exchange is where the candles are from, Candles the store.
	Exchange string
	Candles  *candle.Store
	// Window is the part of a take's window from one candle to before another; ok is false
	// outside.
	Window func(from, to int64) (start, end *string, ok bool)
	// StartTime is the open time of a candle of the take.
	StartTime func(index int64) market.Time
}

// Capture makes a capsule of a failed play. Only the failure itself can make
// it fail: candles that cannot be read and plays that cannot be repeated are left out.
func (s *Stage) Capture(ctx context.Context, in Captured) (*Capsule, error) {
	c, err := s.draft(in.Context, in.Played)
	if err != nil {
		return nil, err
	}
	if !in.Lockstep && lagging(c) {
		if closer, ok := s.exact(ctx, in, c); ok {
			closer.Error.StderrTail = c.Error.StderrTail // of the run itself
			c = closer
		}
	}
	if in.Snapshot != nil && c.Where.CandleIndex != nil {
		at := spot{index: *c.Where.CandleIndex, warmup: in.Snapshot.Warmup, at: c.Where.CandleTime}
		if slice, err := cut(ctx, in.Candles, in.Exchange, in.Inputs, at); err == nil {
			c.DataSlice = slice
		}
		if !in.Brief {
			c.Minimal = s.minimal(ctx, in, c)
		}
	}
	return c, nil
}

// lagging reports that the plugin may have been ahead of the host's books: in
// co-simulation a process that dies or hangs takes its last decisions with it.
func lagging(c *Capsule) bool {
	return (c.Error.Code == run.CodePluginCrashed || c.Error.Code == run.CodePluginTimeout) &&
		c.Where.Phase != PhaseFinalize
}

// exact plays the take step by step. ok is false if it does not fail in the same way.
func (s *Stage) exact(ctx context.Context, in Captured, c *Capsule) (*Capsule, bool) {
	ctx, cancel := in.limited(ctx, exactLimit)
	defer cancel()
	p, err := s.Play(ctx, in.Take, run.ModeLockstep, limitOf(c))
	if err != nil || p.Failure == nil || p.Snapshot == nil {
		return nil, false
	}
	again, err := s.draft(in.Context, p)
	if err != nil || again.Fingerprint != c.Fingerprint {
		return nil, false
	}
	return again, true
}

// limited is the context of plays after the failure.
func (in *Captured) limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if in.Patient {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// limitOf is how long a plugin has for an answer in a play after the failure.
func limitOf(c *Capsule) time.Duration {
	limit := time.Duration(c.Replay.Take.StepLimitMS) * time.Millisecond
	if c.Kind == PluginTimeout {
		return min(limit, patience)
	}
	return limit
}

// errNoWindow ends a search at a candle that the request does not have.
var errNoWindow = errors.New("there is no such window")

// minimal looks for the smallest play that fails in the same way; nil if there is none,
// as when the failure needs candles behind it.
func (s *Stage) minimal(ctx context.Context, in Captured, c *Capsule) *Minimal {
	index := *c.Where.CandleIndex
	if index < 0 || c.Where.Phase == PhaseFinalize {
		return nil // there is no later start, or the end belongs to it
	}
	limit := minimalLimit
	if c.Kind == PluginTimeout {
		limit = hangingLimit
	}
	ctx, cancel := in.limited(ctx, limit)
	defer cancel()
	try := func(start int64, params json.RawMessage) (bool, error) {
		t := in.Take
		var ok bool
		if t.Start, t.End, ok = in.Window(start, index+1); !ok {
			return false, errNoWindow
		}
		t.Params = params
		p, err := s.Play(ctx, t, run.ModeAuto, limitOf(c))
		var refused *run.RequestError
		switch {
		case errors.As(err, &refused):
			return false, nil // parameters that do not go together
		case err != nil:
			return false, err
		case p.Failure == nil:
			return false, nil
		}
		again, err := s.draft(in.Context, p)
		return err == nil && again.Fingerprint == c.Fingerprint, err
	}
	f, ok, _ := search(index, in.Take.Params, in.Defaults, try)
	if !ok {
		return nil
	}
	params, err := with(json.RawMessage("{}"), f.params)
	if err != nil {
		return nil
	}
	return &Minimal{StartIndex: f.start, StartTime: in.StartTime(f.start), Params: params, Replays: f.replays,
		Complete: f.complete}
}

// Context is what a capsule has besides the failure.
type Context struct {
	Inputs      Inputs
	Environment artifact.Environment
	Take        Take
}

// draft makes a capsule of a failure: everything but candles and the minimal play.
func (s *Stage) draft(c Context, p Played) (*Capsule, error) {
	trace := traceOf(p.Failure)
	return draft(c, p, Classify(p.Failure, trace), trace, s.Module)
}

// Draft makes a capsule of a failure of a kind that needs no plugin.
func Draft(c Context, p Played, kind Kind) (*Capsule, error) {
	return draft(c, p, kind, Trace{}, "")
}

func draft(c Context, p Played, kind Kind, trace Trace, module string) (*Capsule, error) {
	out := Blank(c, kind)
	out.Error = faultOf(p.Failure, trace)
	out.Where = whereOf(c, p, trace)
	out.Claim = claimOf(kind, out.Where, out.Error.Message)
	if p.Snapshot != nil {
		out.State = stateOf(p.Snapshot)
		var err error
		if out.LastEvents, out.DroppedBefore, err = events(p.Snapshot, c.Take.SplitID); err != nil {
			return nil, err
		}
	}
	return out, out.Name(module)
}

// Blank is a capsule of a kind that nothing has been found out about yet.
func Blank(c Context, kind Kind) *Capsule {
	take := c.Take
	out := &Capsule{
		Schema: Schema, Kind: kind, Severity: kind.Severity(), Count: 1, Inputs: c.Inputs,
		Environment: &c.Environment,
		Error:       Fault{Stack: []Frame{}}, LastEvents: []json.RawMessage{},
		Replay: Replay{Argv: []string{}},
	}
	if take.SplitID != "" {
		out.Replay.Take, out.Where.SplitID = &take, take.SplitID
	}
	return out
}

// traceOf finds the trace of a panic: in the failure if the SDK has caught it, else in
// what the process said last.
func traceOf(f *artifact.Failure) Trace {
	if stack, ok := f.Data["stack"].(string); ok {
		t := ParseStack(strings.Split(stack, "\n"))
		t.Cause = ""
		return t
	}
	if f.Code == run.CodePluginCrashed {
		return ParseStack(f.LogTail)
	}
	return Trace{}
}

func faultOf(f *artifact.Failure, trace Trace) Fault {
	out := Fault{
		Code: f.Code, Message: Cut(f.Message, maxMessage), Type: TypeOf(f, trace), Stack: trace.Frames,
		StderrTail: tail(strings.Join(f.LogTail, "\n"), MaxStderrBytes),
	}
	if out.Stack == nil {
		out.Stack = []Frame{}
	}
	if trace.Cause != "" {
		out.Message = Cut(trace.Cause+": "+f.Message, maxMessage)
	}
	if path, ok := f.Data["field_path"].(string); ok {
		out.FieldPath = &path
	}
	if name := SignalOf(f.PluginExitCode); name != "" {
		out.Signal = &name
	} else if f.PluginExitCode != nil && *f.PluginExitCode >= 0 {
		out.ExitCode = f.PluginExitCode
	}
	return out
}

// maxMessage is how much of a message is kept.
const maxMessage = 16 << 10

// tail is the end of a text, without half a character at its beginning.
func tail(s string, limit int) string {
	return strings.ToValidUTF8(s[max(0, len(s)-limit):], "")
}

func whereOf(c Context, p Played, trace Trace) Where {
	w := Where{SplitID: c.Take.SplitID, Phase: phaseOf(p, trace)}
	if len(c.Inputs.Data) == 1 {
		w.Symbol = &c.Inputs.Data[0].Symbol
	}
	if p.Snapshot != nil {
		w.EventSeq = &p.Snapshot.LinesTotal
		if p.Snapshot.Step >= 0 {
			index := p.Snapshot.Step - p.Snapshot.Window
			w.CandleIndex, w.CandleTime = &index, p.Snapshot.Time
		}
	}
	return w
}

func phaseOf(p Played, trace Trace) Phase {
	s, hook := p.Snapshot, trace.Hook()
	switch {
	case s == nil || s.Step < 0 || hook == "OnStart":
		return PhaseInit
	case s.Over || hook == "OnStop":
		return PhaseFinalize
	case hook == "OnFill" || hook == "OnReject" || p.Failure.Data["reason"] == "ledger_overflow":
		return PhaseFill
	case s.Step < s.Warmup:
		return PhaseWarmup
	}
	return PhaseCandle
}

// claimOf is one sentence: what was due, and what came.
func claimOf(k Kind, w Where, message string) string {
	due := "an answer"
	switch k {
	case Cancelled:
		due = "to go on"
	case InvalidOutput:
		due = "valid intents"
	case PluginProtocol:
		due = "an answer as the protocol has it"
	case PluginDiverged:
		due = "the plugin's books to be the host's"
	case DataError:
		due = "usable candles"
	case HostInvariant:
		due = "the host to carry on"
	}
	at := "at the start of split " + w.SplitID
	switch {
	case w.Phase == PhaseFinalize:
		at = "after the last candle of split " + w.SplitID
	case w.CandleIndex != nil:
		at = fmt.Sprintf("at candle %d of split %s", *w.CandleIndex, w.SplitID)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return Cut(fmt.Sprintf("Expected %s %s; %s: %s", due, at, happened[k], strings.TrimRight(line, ".")),
		MaxClaim-1) + "."
}

var happened = map[Kind]string{
	PluginPanic: "the strategy failed", PluginExit: "the process was gone",
	PluginTimeout:  "none came in time",
	PluginProtocol: "something else came", PluginDiverged: "they differ", InvalidOutput: "one is invalid",
	HostInvariant: "it could not", Cancelled: "it was cancelled", DataError: "they are not",
	ResourceLimit: "the process ran out of what it may use",
}

func stateOf(s *run.Snapshot) *State {
	out := &State{Cash: plain(s.Cash), Equity: plain(s.Equity), Positions: []Position{},
		OpenOrders: []Order{}}
	for _, p := range s.Positions {
		if p.Quantity.IsZero() {
			continue
		}
		out.Positions = append(out.Positions, Position{
			Symbol: string(p.Symbol), Direction: p.Direction.String(), Quantity: plain(p.Quantity),
			AverageEntryPrice: plain(p.AverageEntryPrice), MarkPrice: plain(p.MarkPrice),
			UnrealizedPnL: plain(p.UnrealizedPnL),
		})
	}
	for _, o := range s.OpenOrders {
		out.OpenOrders = append(out.OpenOrders, orderOf(&o))
	}
	return out
}

func orderOf(o *market.Order) Order {
	out := Order{
		OrderID: o.ID.String(), Symbol: string(o.Symbol), Side: o.Side.String(), Type: o.Type.String(),
		Role: o.Role.String(), Status: o.Status.String(),
		Quantity: plain(o.Quantity), LimitPrice: optional(o.LimitPrice), StopPrice: optional(o.StopPrice),
		ReduceOnly: o.ReduceOnly, Tag: o.Tag,
		CreatedAt: o.CreatedAt,
	}
	if o.ParentID != 0 {
		parent := o.ParentID.String()
		out.ParentOrderID = &parent
	}
	return out
}

func plain(d decimal.Decimal) string { return d.Trim(0).String() }

func optional(d decimal.Decimal) *string {
	if d.IsZero() {
		return nil
	}
	s := plain(d)
	return &s
}

// events are the newest candles and decision lines in the order in which they came:
// the candle of a step first, then what was decided on it. before counts the others.
func events(s *run.Snapshot, splitID string) (list []json.RawMessage, before int64, err error) {
	lines := s.Lines
	for _, c := range s.Candles {
		for len(lines) > 0 && stepOf(lines[0]) < c.Step {
			list, lines = append(list, lines[0]), lines[1:]
		}
		text, err := candleEvent(c, splitID)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, text)
	}
	for _, line := range lines {
		list = append(list, line)
	}
	list = slices.Clone(list[max(0, len(list)-MaxEvents):])
	return list, s.CandlesTotal + s.LinesTotal - int64(len(list)), nil
}

// decision is what is read back of a decision line.
type decision struct {
	Kind   string      `json:"kind"`
	Candle int64       `json:"candle"`
	Time   market.Time `json:"time"`
}

// read is a decision line; ok is false for what is none.
func read(line []byte) (d decision, ok bool) {
	return d, len(line) > 0 && json.Unmarshal(line, &d) == nil
}

// stepOf is the step of a decision line, -1 if it is none.
func stepOf(line []byte) int64 {
	if d, ok := read(line); ok {
		return d.Candle
	}
	return -1
}

// candleEvent looks like a decision line of the kind candle. Its time is the close.
func candleEvent(c run.SnapshotCandle, splitID string) ([]byte, error) {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return digest.JCS(map[string]any{
		"kind": "candle", "split": splitID, "candle": c.Step, "time": c.CloseTime, "symbol": c.Symbol,
		"open": number(c.Open), "high": number(c.High), "low": number(c.Low), "close": number(c.Close),
		"volume": number(c.Volume),
	})
}
