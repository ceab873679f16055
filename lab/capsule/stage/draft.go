package stage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Context is what a capsule says besides the failure.
type Context struct {
	Inputs      capsule.Inputs
	Environment artifact.Environment
	Take        capsule.Take
}

// draft makes a capsule of a failure: everything but candles and the minimal play.
func (s *Stage) draft(c Context, p Played) (*capsule.Capsule, error) {
	trace := traceOf(p.Failure)
	return draft(c, p, capsule.Classify(p.Failure, trace), trace, s.Module)
}

// Draft makes a finished capsule of a failure of a kind that needs no plugin.
func Draft(c Context, p Played, kind capsule.Kind) (*capsule.Capsule, error) {
	out, err := draft(c, p, kind, capsule.Trace{}, "")
	if err == nil {
		Finish(out)
	}
	return out, err
}

func draft(c Context, p Played, kind capsule.Kind, trace capsule.Trace, module string) (*capsule.Capsule, error) {
	out := Blank(c, kind)
	out.Error = faultOf(p.Failure, trace)
	out.Where = whereOf(c, p, trace)
	out.Claim = claimOf(kind, out.Where, out.Error.Message)
	if p.Scene != nil {
		out.State = stateOf(p.Scene)
		var err error
		if out.LastEvents, out.DroppedBefore, err = events(p.Scene, c.Take.SplitID); err != nil {
			return nil, err
		}
	}
	return out, out.Name(module)
}

// Blank is a capsule of a kind that nothing has been found out about yet.
func Blank(c Context, kind capsule.Kind) *capsule.Capsule {
	take := c.Take
	out := &capsule.Capsule{
		Schema: capsule.Schema, Kind: kind, Severity: kind.Severity(), Count: 1, Inputs: c.Inputs, Environment: &c.Environment,
		Error: capsule.Fault{Stack: []capsule.Frame{}}, LastEvents: []json.RawMessage{},
		Replay: capsule.Replay{Argv: []string{}},
	}
	if take.SplitID != "" {
		out.Replay.Take, out.Where.SplitID = &take, take.SplitID
	}
	return out
}

// Finish gives a capsule its argv, which needs the id.
func Finish(c *capsule.Capsule) {
	c.Replay.Argv = []string{"lab", "replay", "runs/" + c.Inputs.RunID + "/" + capsule.Folder + "/" + c.FileName(), "--state-dir", "."}
}

// traceOf finds the trace of a panic: in the failure if the SDK has caught it, else in
// what the process said last.
func traceOf(f *artifact.Failure) capsule.Trace {
	if stack, ok := f.Data["stack"].(string); ok {
		t := capsule.ParseStack(strings.Split(stack, "\n"))
		t.Cause = ""
		return t
	}
	if f.Code == "PLUGIN_CRASHED" {
		return capsule.ParseStack(f.LogTail)
	}
	return capsule.Trace{}
}

func faultOf(f *artifact.Failure, trace capsule.Trace) capsule.Fault {
	out := capsule.Fault{
		Code: f.Code, Message: capsule.Cut(f.Message, maxMessage), Type: capsule.TypeOf(f, trace), Stack: trace.Frames,
		StderrTail: tail(strings.Join(f.LogTail, "\n"), capsule.MaxStderrBytes),
	}
	if out.Stack == nil {
		out.Stack = []capsule.Frame{}
	}
	if trace.Cause != "" {
		out.Message = capsule.Cut(trace.Cause+": "+f.Message, maxMessage)
	}
	if path, ok := f.Data["field_path"].(string); ok {
		out.FieldPath = &path
	}
	if name := capsule.SignalOf(f.PluginExitCode); name != "" {
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

func whereOf(c Context, p Played, trace capsule.Trace) capsule.Where {
	w := capsule.Where{SplitID: c.Take.SplitID, Phase: phaseOf(p, trace)}
	if len(c.Inputs.Data) == 1 {
		w.Symbol = &c.Inputs.Data[0].Symbol
	}
	if p.Scene != nil {
		w.EventSeq = &p.Scene.LinesTotal
		if p.Scene.Step >= 0 {
			index := p.Scene.Step - p.Scene.Window
			w.CandleIndex, w.CandleTime = &index, p.Scene.Time
		}
	}
	return w
}

func phaseOf(p Played, trace capsule.Trace) capsule.Phase {
	s, hook := p.Scene, trace.Hook()
	switch {
	case s == nil || s.Step < 0 || hook == "OnStart":
		return capsule.PhaseInit
	case s.Over || hook == "OnStop":
		return capsule.PhaseFinalize
	case hook == "OnFill" || p.Failure.Data["reason"] == "ledger_overflow":
		return capsule.PhaseFill
	case s.Step < s.Warmup:
		return capsule.PhaseWarmup
	}
	return capsule.PhaseCandle
}

// claimOf is one sentence: what was due, and what came.
func claimOf(k capsule.Kind, w capsule.Where, message string) string {
	due := "an answer"
	switch k {
	case capsule.Cancelled:
		due = "to go on"
	case capsule.InvalidOutput:
		due = "valid intents"
	case capsule.PluginProtocol:
		due = "an answer as the protocol has it"
	case capsule.PluginDiverged:
		due = "the plugin's books to be the host's"
	case capsule.DataError:
		due = "usable candles"
	case capsule.HostInvariant:
		due = "the host to carry on"
	}
	at := "at the start of split " + w.SplitID
	switch {
	case w.Phase == capsule.PhaseFinalize:
		at = "after the last candle of split " + w.SplitID
	case w.CandleIndex != nil:
		at = fmt.Sprintf("at candle %d of split %s", *w.CandleIndex, w.SplitID)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return capsule.Cut(fmt.Sprintf("Expected %s %s; %s: %s", due, at, happened[k], strings.TrimRight(line, ".")), capsule.MaxClaim-1) + "."
}

var happened = map[capsule.Kind]string{
	capsule.PluginPanic: "the strategy failed", capsule.PluginExit: "the process was gone", capsule.PluginTimeout: "none came in time",
	capsule.PluginProtocol: "something else came", capsule.PluginDiverged: "they differ", capsule.InvalidOutput: "one is invalid",
	capsule.HostInvariant: "it could not", capsule.Cancelled: "it was cancelled", capsule.DataError: "they are not", capsule.ResourceLimit: "the process ran out of what it may use",
}

func stateOf(s *run.Scene) *capsule.State {
	out := &capsule.State{Cash: plain(s.Cash), Equity: plain(s.Equity), Positions: []capsule.Position{}, OpenOrders: []capsule.Order{}}
	for _, p := range s.Positions {
		if p.Quantity.IsZero() {
			continue
		}
		out.Positions = append(out.Positions, capsule.Position{
			Symbol: string(p.Symbol), Direction: p.Direction.String(), Quantity: plain(p.Quantity),
			AverageEntryPrice: plain(p.AverageEntryPrice), MarkPrice: plain(p.MarkPrice), UnrealizedPnL: plain(p.UnrealizedPnL),
		})
	}
	for _, o := range s.OpenOrders {
		out.OpenOrders = append(out.OpenOrders, orderOf(&o))
	}
	return out
}

func orderOf(o *market.Order) capsule.Order {
	out := capsule.Order{
		OrderID: o.ID.String(), Symbol: string(o.Symbol), Side: o.Side.String(), Type: o.Type.String(), Role: o.Role.String(), Status: o.Status.String(),
		Quantity: plain(o.Quantity), LimitPrice: optional(o.LimitPrice), StopPrice: optional(o.StopPrice), ReduceOnly: o.ReduceOnly, Tag: o.Tag,
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
func events(s *run.Scene, splitID string) (list []json.RawMessage, before int64, err error) {
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
	list = slices.Clone(list[max(0, len(list)-capsule.MaxEvents):])
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
func candleEvent(c run.SceneCandle, splitID string) ([]byte, error) {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return digest.JCS(map[string]any{
		"kind": "candle", "split": splitID, "candle": c.Step, "time": c.CloseTime, "symbol": c.Symbol,
		"open": number(c.Open), "high": number(c.High), "low": number(c.Low), "close": number(c.Close), "volume": number(c.Volume),
	})
}
