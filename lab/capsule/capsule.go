// Package capsule makes and replays failure capsules: one file that has how a run failed and
// what is needed to see it fail again. docs/lab.md describes the format.
//
// A [Capsule] is plain data. Kinds sort the failures, [Fingerprint] names what failed whatever
// the candle, the id names the place, too. Sealing removes secrets and binds the body to a
// hash; [Decode] is strict, because a capsule may come from anybody. [Add] keeps the
// capsules of a run few.
//
// A [Stage] runs one plugin over one window in a fresh process. It captures a play that has
// failed: it finds the exact candle, keeps the candles that led there, and looks for the
// smallest play that fails alike. [Host.Replay] repeats a capsule on a machine that may lack
// the plugin or the candles. The search is bounded in plays and in time, and no result of a
// run depends on it.
package capsule

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Schema is what this package reads and writes.
const Schema = "failure-capsule/v1"

// Bounds of a capsule and of what is kept of a run.
const (
	MaxBytes       = 4 << 20 // of the file
	MaxPerRun      = 20
	MaxEvents      = 200
	MaxCandles     = 2000 // inline, of all symbols together
	MaxStderrBytes = 64 << 10
	MaxFrames      = 64
	// SliceLead is how many candles before the failing one and its warm-up are kept.
	SliceLead = 50
)

// Capsule is one failure. What a kind does not have is null or empty.
type Capsule struct {
	Schema string `json:"schema"`
	// ID is fc_ and 16 hex digits, see ID.
	ID       string   `json:"capsule_id"`
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Claim is one sentence: what was expected and what happened.
	Claim string `json:"claim"`
	// Count is how often the fingerprint was seen in this run, over all its attempts.
	Count       int                   `json:"count"`
	Where       Where                 `json:"where"`
	Error       Fault                 `json:"error"`
	Fingerprint string                `json:"fingerprint"`
	Inputs      Inputs                `json:"inputs"`
	Environment *artifact.Environment `json:"environment"`
	State       *State                `json:"state"`
	// LastEvents are the newest candles and decision lines, oldest first. Their "candle"
	// counts steps from 0 with the warm-up, as in the decision lines. DroppedBefore is how
	// many there were before them.
	LastEvents    []json.RawMessage `json:"last_events"`
	DroppedBefore int64             `json:"dropped_before"`
	DataSlice     *Slice            `json:"data_slice"`
	Minimal       *Minimal          `json:"minimal"`
	Replay        Replay            `json:"replay"`
	Integrity     Integrity         `json:"integrity"`
}

// Where is the place of a failure.
type Where struct {
	SplitID string `json:"split_id"`
	Phase   Phase  `json:"phase"`
	// Symbol is null where several symbols, or none, are concerned.
	Symbol *string `json:"symbol"`
	// CandleIndex counts candles from the first of the split, which is 0; the warm-up
	// before it is negative. Null before the first candle and where no candle matters.
	CandleIndex *int64 `json:"candle_index"`
	// CandleTime is the close time of that candle.
	CandleTime market.Time `json:"candle_time"`
	// EventSeq is the seq that the next decision line would have had.
	EventSeq *int64 `json:"event_seq"`
}

// Phase is what the run was doing.
type Phase string

// The phases.
const (
	PhaseInit     Phase = "init"
	PhaseWarmup   Phase = "warmup"
	PhaseCandle   Phase = "candle"
	PhaseFill     Phase = "fill"
	PhaseFinalize Phase = "finalize"
)

// Fault is the error itself.
type Fault struct {
	// Code is one of api.md 7.2, or the lab's own for what no plugin did.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Type is the Go type of a panic or error, or how a process ended.
	Type string `json:"type"`
	// FieldPath is the value of an intent that is none, such as intents[0].quantity.
	FieldPath *string `json:"field_path"`
	ExitCode  *int    `json:"exit_code"`
	// Signal is the name of the signal that ended the process, such as SIGKILL.
	Signal *string `json:"signal"`
	Stack  []Frame `json:"stack"`
	// StderrTail is the newest 64 KiB of what the process printed.
	StderrTail string `json:"stderr_tail"`
}

// Inputs are the request and the exact bytes that it was asked about.
type Inputs struct {
	RequestHash   string             `json:"request_hash"`
	RunID         string             `json:"run_id"`
	Request       json.RawMessage    `json:"request"`
	Data          []artifact.Dataset `json:"data"`
	Plugin        *artifact.Plugin   `json:"plugin"`
	Engine        *artifact.Engine   `json:"engine"`
	ProfileSHA256 *string            `json:"profile_sha256"`
}

// State is the account at the failure. Money and quantities are plain decimals, cash
// and equity in quote currency.
type State struct {
	Cash       string     `json:"cash"`
	Equity     string     `json:"equity"`
	Positions  []Position `json:"positions"`
	OpenOrders []Order    `json:"open_orders"`
}

// Position is one open position.
type Position struct {
	Symbol            string `json:"symbol"`
	Direction         string `json:"direction"`
	Quantity          string `json:"quantity"`
	AverageEntryPrice string `json:"average_entry_price"`
	MarkPrice         string `json:"mark_price"`
	UnrealizedPnL     string `json:"unrealized_pnl"`
}

// Order is one open order. Prices that its type does not have are null.
type Order struct {
	OrderID       string      `json:"order_id"`
	ParentOrderID *string     `json:"parent_order_id"`
	Symbol        string      `json:"symbol"`
	Side          string      `json:"side"`
	Type          string      `json:"type"`
	Role          string      `json:"role"`
	Status        string      `json:"status"`
	Quantity      string      `json:"quantity"`
	LimitPrice    *string     `json:"limit_price"`
	StopPrice     *string     `json:"stop_price"`
	ReduceOnly    bool        `json:"reduce_only"`
	Tag           string      `json:"tag"`
	CreatedAt     market.Time `json:"created_at"`
}

// Minimal is the smallest play that was found to fail in the same way.
type Minimal struct {
	// StartIndex is the latest first candle, counted as in Where, StartTime its open time.
	StartIndex int64       `json:"start_index"`
	StartTime  market.Time `json:"start_time"`
	// Params are those that differ from the strategy's defaults.
	Params json.RawMessage `json:"params"`
	// Replays is how many plays it took; Complete reports that neither their number nor the
	// time ended the search.
	Replays  int  `json:"replays"`
	Complete bool `json:"complete"`
}

// Replay is how to see it again.
type Replay struct {
	// Argv repeats it when it is called in the state directory.
	Argv                []string `json:"argv"`
	ExpectedFingerprint string   `json:"expected_fingerprint"`
	// Take is the play that failed; null where there was none.
	Take *Take `json:"take"`
}

// Take is one play of a plugin over one window: what a request leaves out because it
// asks about all splits.
type Take struct {
	SplitID string `json:"split_id"`
	// StressID names the stress, "" without one.
	StressID string `json:"stress_id"`
	// Start and End are the window [Start, End) by open time; null is open.
	Start *string `json:"start"`
	End   *string `json:"end"`
	// Params and Execution are complete, stress included.
	Params    json.RawMessage `json:"params"`
	Execution json.RawMessage `json:"execution"`
	// Seed is a decimal number as text.
	Seed         string `json:"seed"`
	DelayCandles int    `json:"delay_candles"`
	WorstPrice   bool   `json:"worst_price"`
	// StepLimitMS is how long the plugin had for one answer, in milliseconds.
	StepLimitMS int64 `json:"step_limit_ms"`
}

// Integrity binds the capsule to its bytes.
type Integrity struct {
	// BodySHA256 is of the canonical JSON of everything but this object.
	BodySHA256 string      `json:"body_sha256"`
	Redactions []Redaction `json:"redactions"`
}

// Redaction is a value that was taken out.
type Redaction struct {
	// Path is the JSON pointer of the text, Reason secret_name, secret_value,
	// credential or home_folder.
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Note is what a report has of a capsule.
type Note struct {
	CapsuleID string `json:"capsule_id"`
	// Path is relative to the folder of the run.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Kind   Kind   `json:"kind"`
	Where  Where  `json:"where"`
	Claim  string `json:"claim"`
}

// Kind is what sort of failure a capsule is about.
type Kind string

// The kinds.
const (
	// PluginPanic: the author's code panicked or returned an error.
	PluginPanic Kind = "plugin_panic"
	// PluginExit: the process ended.
	PluginExit    Kind = "plugin_exit"
	PluginTimeout Kind = "plugin_timeout"
	// PluginProtocol: what it said is not what the protocol allows.
	PluginProtocol Kind = "plugin_protocol"
	PluginDiverged Kind = "plugin_diverged"
	// InvalidOutput: an intent is none, as with a quantity that is not a number.
	InvalidOutput Kind = "invalid_output"
	HostInvariant Kind = "host_invariant"
	DataError     Kind = "data_error"
	// Nondeterminism: the same play decided differently.
	Nondeterminism Kind = "nondeterminism"
	// Lookahead: decisions depend on candles that had not closed.
	Lookahead Kind = "lookahead"
	// ResourceLimit: the process ran out of memory or processor time.
	ResourceLimit    Kind = "resource_limit"
	ArtifactMismatch Kind = "artifact_mismatch"
	Cancelled        Kind = "cancelled"
)

// Severity reports how bad a kind is.
type Severity string

// The severities: it did not work; it worked against the rules; it does not always do
// the same.
const (
	SeverityError          Severity = "error"
	SeverityViolation      Severity = "violation"
	SeverityNondeterminism Severity = "nondeterminism"
)

var severities = map[Kind]Severity{
	PluginPanic: SeverityError, PluginExit: SeverityError, PluginTimeout: SeverityError,
	DataError:     SeverityError,
	ResourceLimit: SeverityError, Cancelled: SeverityError,
	PluginProtocol: SeverityViolation, PluginDiverged: SeverityViolation, InvalidOutput: SeverityViolation,
	HostInvariant: SeverityViolation, Lookahead: SeverityViolation, ArtifactMismatch: SeverityViolation,
	Nondeterminism: SeverityNondeterminism,
}

// Severity is that of the kind; "" for an unknown one.
func (k Kind) Severity() Severity { return severities[k] }

// OfPlugin reports that playing the plugin once shows the failure or does not.
func (k Kind) OfPlugin() bool {
	switch k {
	case Nondeterminism, Lookahead, ArtifactMismatch, Cancelled:
		return false
	}
	return true
}

// Classify sorts the failure of a play. trace is what ParseStack found in its stack or,
// where the process has ended, in what it printed.
func Classify(f *artifact.Failure, trace Trace) Kind {
	switch f.Code {
	case wire.StrategyError:
		if kind := text(f, "type"); kind == wire.FailureLimit || kind == wire.FailureIntent {
			return InvalidOutput
		}
		return PluginPanic
	case run.CodePluginCrashed:
		switch {
		case outOfResources(f, trace):
			return ResourceLimit
		case trace.Cause != "":
			return PluginPanic
		}
		return PluginExit
	case run.CodePluginTimeout:
		return PluginTimeout
	case run.CodePluginDiverged:
		return PluginDiverged
	case run.CodePluginProtocol:
		if strings.HasPrefix(text(f, "field_path"), "intents[") {
			return InvalidOutput
		}
		return PluginProtocol
	case run.CodeData:
		return DataError
	}
	return HostInvariant
}

// outOfResources recognises the ends that the limits of the sandbox bring about.
func outOfResources(f *artifact.Failure, trace Trace) bool {
	if s := SignalOf(f.PluginExitCode); s == "SIGXCPU" || s == "SIGXFSZ" {
		return true
	}
	for _, words := range []string{"out of memory", "cannot allocate memory",
		"failed to create new OS thread"} {
		if strings.Contains(trace.Cause, words) {
			return true
		}
	}
	return false
}

// TypeOf is the type of a failure: what is behind its code and does not depend on the
// candle.
func TypeOf(f *artifact.Failure, trace Trace) string {
	switch {
	case text(f, "type") != "":
		return text(f, "type")
	case trace.Cause != "":
		return trace.Type()
	case SignalOf(f.PluginExitCode) != "":
		return "signal " + SignalOf(f.PluginExitCode)
	case f.PluginExitCode != nil:
		return "exit status " + strconv.Itoa(*f.PluginExitCode)
	case text(f, "reason") != "":
		return text(f, "reason")
	}
	return types[f.Code]
}

// types are those of failures that only the host has a word for.
var types = map[string]string{
	run.CodePluginTimeout: "deadline", run.CodePluginProtocol: "protocol",
	run.CodePluginDiverged: "ledger_digest", runner.CodeInternal: "host", "INTERRUPTED": "interrupted",
}

// text is a detail of a failure.
func text(f *artifact.Failure, key string) string {
	s, _ := f.Data[key].(string)
	return s
}

var phases = []Phase{PhaseInit, PhaseWarmup, PhaseCandle, PhaseFill, PhaseFinalize}

func (p Phase) known() bool { return slices.Contains(phases, p) }

// topFrames is how many frames distinguish failures.
const topFrames = 5

// Fingerprint names what has failed, whatever the candle: the SHA-256 of the canonical
// JSON of kind, type, code and the names of the innermost five functions of the
// author's module, in hex.
func Fingerprint(k Kind, f *Fault, module string) (string, error) {
	frames := []string{}
	for _, call := range f.Stack {
		if InModule(call.Func, module) && len(frames) < topFrames {
			frames = append(frames, call.Func)
		}
	}
	return digest.Of(map[string]any{"kind": k, "type": f.Type, "code": f.Code, "frames": frames})
}

// MakeID is fc_ and the first 16 hex digits of the SHA-256 of the canonical JSON of kind,
// fingerprint, request_hash, split_id and candle_index.
func MakeID(k Kind, fingerprint, requestHash string, w Where) (string, error) {
	sum, err := digest.Of(map[string]any{
		"kind": k, "fingerprint": fingerprint, "request_hash": requestHash, "split_id": w.SplitID,
		"candle_index": w.CandleIndex,
	})
	if err != nil {
		return "", err
	}
	return idPrefix + sum[:16], nil
}

const idPrefix = "fc_"

func isID(s string) bool {
	digits, ok := strings.CutPrefix(s, idPrefix)
	return ok && len(digits) == 16 && isHex(digits)
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && s == strings.ToLower(s)
}

// Name fills in fingerprint, id and argv from what the capsule has already. module is the
// import path of the program's main module.
func (c *Capsule) Name(module string) (err error) {
	if c.Fingerprint, err = Fingerprint(c.Kind, &c.Error, module); err != nil {
		return err
	}
	c.Replay.ExpectedFingerprint = c.Fingerprint
	c.ID, err = MakeID(c.Kind, c.Fingerprint, c.Inputs.RequestHash, c.Where)
	c.Replay.Argv = []string{
		"lab", "replay", "runs/" + c.Inputs.RunID + "/" + Folder + "/" + c.FileName(), "--state-dir", ".",
	}
	return err
}

// signals are the names of the numbers that end a process on Linux.
var signals = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9:  "SIGKILL",
	10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU",
	25: "SIGXFSZ", 31: "SIGSYS",
}

// SignalOf is the name of the signal that an exit code of 128 and more stands for; ""
// if the process ended by itself or not at all.
func SignalOf(exitCode *int) string {
	if exitCode == nil || *exitCode <= 128 {
		return ""
	}
	n := *exitCode - 128
	if name, known := signals[n]; known {
		return name
	}
	return "SIG" + strconv.Itoa(n)
}
