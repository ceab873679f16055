package capsule

import (
	"encoding/json"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
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
	// counts steps from 0 with the warm-up, as in decisions.jsonl. DroppedBefore is how
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

// Inputs are the question and the exact bytes that it was asked about.
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
	// Replays is how many plays it took; Complete says that neither their number nor the
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

// Take is one play of a plugin over one window: what a request does not say because it
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

// Note is what a report says about a capsule.
type Note struct {
	CapsuleID string `json:"capsule_id"`
	// Path is relative to the folder of the run.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Kind   Kind   `json:"kind"`
	Where  Where  `json:"where"`
	Claim  string `json:"claim"`
}
