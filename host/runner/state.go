package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// state is where the runner stands. Stopping is a run that was asked to end: to
// the outside it is still running.
type state uint8

const (
	idle state = iota
	running
	stopping
	completed
	failed
	numStates
)

// The statuses as they are shown.
const (
	StatusIdle      = "idle"
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
)

// status returns the name that the outside sees.
func (s state) status() string {
	return [numStates]string{StatusIdle, StatusRunning, StatusRunning, StatusCompleted, StatusFailed}[s]
}

// event is what can happen to the runner.
type event uint8

const (
	start        event = iota // a valid request; the plugin is launched and the row is written
	replace                   // the same, in the place of the run that is named and has ended
	launchFailed              // the plugin could not be launched
	stop                      // a client asks for the end of the run
	shutdown                  // the service ends
	reset                     // a client asks to forget the run
	dataEnd                   // the execution came to the end of its data
	stopped                   // the execution ended because it was asked to
	withdrawn                 // the execution ended because it may not go on
	fault                     // the execution failed, or its files could not be written
	interrupted               // a run that a crash of the service cut short is found at the next start
	readResults               // a client asks for the results
	numEvents
)

// transition is the next state, or why there is none.
type transition struct {
	to     state
	refuse Code
}

func to(s state) transition { return transition{to: s} }
func no(c Code) transition  { return transition{refuse: c} }

// transitions is what follows every event in every state: idle, running, stopping,
// completed, failed. In stopping the end of the data may be faster than the stop.
var transitions = [numEvents][numStates]transition{
	start: {to(running), no(RunAlreadyActive), no(RunAlreadyActive), no(RunAlreadyActive),
		no(RunAlreadyActive)},
	replace:      {to(running), no(RunAlreadyActive), no(RunAlreadyActive), to(running), to(running)},
	launchFailed: {no(RunStartFailed), no(Internal), no(Internal), no(RunStartFailed), no(RunStartFailed)},
	stop:         {no(RunNotActive), to(stopping), to(stopping), no(RunNotActive), no(RunNotActive)},
	shutdown:     {to(idle), to(stopping), to(stopping), to(completed), to(failed)},
	reset:        {to(idle), no(RunStillRunning), no(RunStillRunning), to(idle), to(idle)},
	dataEnd:      {no(Internal), to(completed), to(completed), no(Internal), no(Internal)},
	stopped:      {no(Internal), no(Internal), to(completed), no(Internal), no(Internal)},
	withdrawn:    {no(Internal), to(completed), to(completed), no(Internal), no(Internal)},
	fault:        {no(Internal), to(failed), to(failed), no(Internal), no(Internal)},
	interrupted:  {to(failed), no(Internal), no(Internal), no(Internal), no(Internal)},
	readResults:  {no(NoRun), no(ResultsNotReady), no(ResultsNotReady), to(completed), to(failed)},
}

// Code names a refusal.
type Code string

// The codes with which the runner refuses.
const (
	RunAlreadyActive Code = "RUN_ALREADY_ACTIVE"
	RunNotActive     Code = "RUN_NOT_ACTIVE"
	RunStillRunning  Code = "RUN_STILL_RUNNING"
	NoRun            Code = "NO_RUN"
	ResultsNotReady  Code = "RESULTS_NOT_READY"
	RunStartFailed   Code = "RUN_START_FAILED"
	ShuttingDown     Code = "SHUTTING_DOWN"
	// ControlNotSupported: this run takes no such control; NoAlarm: there is no such alarm to acknowledge.
	ControlNotSupported Code = "CONTROL_NOT_SUPPORTED"
	NoAlarm             Code = "NO_ALARM"
	// Internal is an event that cannot happen in the state at hand: a bug.
	Internal Code = edge.CodeInternal
)

// The codes of a failed run that the runner itself gives.
const (
	// CodeInternal: the execution panicked or broke its contract.
	CodeInternal = string(Internal)
	// CodeArtifactWriteFailed: the run's files or row could not be written.
	CodeArtifactWriteFailed = "ARTIFACT_WRITE_FAILED"
	// CodeRunInterrupted: the service ended without warning while the run was on.
	CodeRunInterrupted = registry.CodeRunInterrupted
)

// Codes of failed runs that may have left orders or positions at an exchange.
const (
	// CodeJournalQuarantined is the code of a run whose journal cannot be read.
	CodeJournalQuarantined = "JOURNAL_QUARANTINED"
	// CodeStopUnconfirmed is the code of a run of which it is unknown what its stop has left.
	CodeStopUnconfirmed = "STOP_UNCONFIRMED"
)

// resetOnly reports whether a run may have left orders or positions at an exchange:
// what takes its place must not hide them, so that only a reset clears it.
func resetOnly(s Snapshot) bool {
	if s.Failure == nil || s.Mode == ModeBacktest {
		return false
	}
	open := []string{CodeRunInterrupted, CodeJournalQuarantined, CodeStopUnconfirmed}
	return slices.Contains(open, s.Failure.Code)
}

// Error is a refusal. Status, RunID and Mode are those of the run at hand; RunID and
// Mode are empty when there is none.
type Error struct {
	Code                Code
	Message             string
	Status, RunID, Mode string
	// Hint is in a few words what to do; it may be empty.
	Hint string
	// Cause is why a start failed: whatever the launch function returned.
	Cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause of a failed start, so that errors.As finds it.
func (e *Error) Unwrap() error { return e.Cause }

// newError words a refusal. Cause is nil but for a failed start.
func newError(c Code, now Snapshot, cause error) *Error {
	e := &Error{Code: c, Status: now.Status, RunID: now.RunID, Mode: now.Mode, Cause: cause}
	words := func(hint, format string, args ...any) { e.Message, e.Hint = fmt.Sprintf(format, args...), hint }
	switch c {
	case RunAlreadyActive:
		switch {
		case now.Status == StatusRunning:
			words("stop it, then reset or replace it",
				"A run is already active (status: %s). Stop it first.", now.Status)
		case resetOnly(now):
			words("reset it", "The runner holds a run that may have left orders or positions (status: %s). "+
				"Look at them, then reset it.", now.Status)
		default:
			words("reset it, or replace it with Replace-Run: "+now.RunID,
				"The runner still holds a run (status: %s). "+
					"Reset it, or replace it with the header Replace-Run.", now.Status)
		}
	case RunNotActive:
		words("start a run", "No run is active (status: %s): there is nothing to stop.", now.Status)
		if now.Status != StatusIdle {
			e.Hint = "read its results, then reset"
		}
	case RunStillRunning:
		words("stop it, then reset", "The run is still running. Stop it before resetting it.")
	case NoRun:
		words("start a run", "There is no run. Start one first.")
	case ResultsNotReady:
		words("wait until status is completed or failed",
			"The run is still running: its results are ready once it has ended.")
	case ControlNotSupported:
		words("stop it, or wait for its end", "A backtest takes no controls but stop.")
	case NoAlarm:
		words("", "is no open alarm of the run")
	case RunStartFailed:
		words("", "The run could not be started: %v", cause)
	case ShuttingDown:
		words("", "The service is shutting down and starts no run.")
	default:
		words("", "unexpected event in status %s", now.Status)
	}
	return e
}

// ErrStopRequested and ErrShutdown are the causes with which the context of an
// Execution is cancelled: they distinguish a stop from a fault.
var (
	ErrStopRequested = errors.New("stop requested")
	ErrShutdown      = errors.New("the service is shutting down")
)

// Execution is one run in progress. Run is called once; the other methods may be
// called from any goroutine at any time, also after Run has returned.
type Execution interface {
	// Run blocks until the run has ended and every process and goroutine of it is gone.
	// It ends early, within seconds, when ctx is cancelled.
	Run(ctx context.Context) Outcome
	// Progress is cheap: it is called for every status request.
	Progress() Progress
	// Results is a consistent snapshot of everything up to now. Its slices are not written any more.
	Results() *artifact.Results
}

// Watched is an Execution that can be followed at little cost, while it runs and
// after it has ended. One that is not Watched is followed through its Results.
type Watched interface {
	// Look shows everything up to now; it copies next to nothing.
	Look() Look
	// OrdersAt copies orders by their index, 0 being the oldest.
	OrdersAt(indexes []int) []market.Order
	// Candles lets use read the candles of a symbol inside the run's window. They must
	// not be kept. It reports whether there are any, still.
	Candles(symbol market.Symbol, use func(*market.Series)) bool
}

// Gated is an Execution about real money, which a deployment policy was asked about.
type Gated interface {
	// Ungated is why real money is traded although no policy has let it, for people; ""
	// where one has. It does not change.
	Ungated() string
}

// Linked is an Execution that is connected to an exchange.
type Linked interface {
	// Link is how the connection stands; it is cheap.
	Link() Link
}

// Link is how the connection of a paper or live run stands.
type Link struct {
	Exchange string
	// Up reports whether its streams are connected and have missed nothing, as far as is known.
	Up bool
	// Latency is that of the last request, 0 before the first; LastMessage is when something came.
	Latency     time.Duration
	LastMessage time.Time
	// Offset is the exchange's clock minus ours; Synthetic reports whether it has a time of its own.
	Offset    time.Duration
	Synthetic bool
}

// Look is what a run has produced so far. What its slices hold is not written any more.
type Look struct {
	// Orders counts the orders; OrdersAt has them.
	Orders int
	// Changes has the index of an order for each time that it was made or changed.
	Changes     []int32
	Fills       []market.Fill
	Trades      []market.Trade
	Positions   []market.Position
	Equity      artifact.EquityCurve
	Annotations []artifact.Annotation
	// Log has the newest lines, LogTotal counts all.
	Log      []artifact.LogLine
	LogTotal int64
}

// Watch is the run as those see it who follow it.
type Watch struct {
	Watched
	RunID   string
	Request StartRequest
}

// Outcome is how an Execution ended.
type Outcome struct {
	// Stopped reports whether the run ended early because its context was cancelled.
	Stopped bool
	// Withdrawn reports whether the run was stopped in good order although its context was not cancelled: it
	// is no longer permitted. It ends as if it had been stopped.
	Withdrawn bool
	// Message is shown to people, for example that a hanging plugin was killed.
	Message string
	// Failure is set when the run failed.
	Failure *artifact.Failure
}

// Progress is where a run stands.
type Progress struct {
	Phase                     string // starting, warming, trading, stopping
	CandlesDone, CandlesTotal int64
	SimulatedTime             market.Time // close time of the newest step; 0 before the first
	Cash, Equity, InitialCash float64
	TradeCount, Orders, Fills int64
	CandlesPerSecond          float64
	ETASeconds                float64
	UpdatedAt                 time.Time
	// What follows is of paper and live runs. Rejects counts orders that were rejected, LastCandle is when
	// the newest candle came.
	Rejects    int64
	LastCandle time.Time
	// Alarms are those that are open, the worst first; after the end those that were open then, until the
	// reset.
	Alarms []alarm.Alarm
}

// StartRequest is a validated request, every default filled in, ready to launch.
type StartRequest struct {
	Mode           string          `json:"mode"` // backtest, paper, live
	StrategyName   string          `json:"strategy_name"`
	StrategyParams json.RawMessage `json:"strategy_params"`
	Symbols        []string        `json:"symbols"`
	Timeframe      string          `json:"timeframe"`
	StartDate      *string         `json:"start_date"`
	EndDate        *string         `json:"end_date"`
	InitialCash    json.Number     `json:"initial_cash"`
	Exchange       string          `json:"exchange"`
	Execution      json.RawMessage `json:"execution"`
	// Resume is what a live run does about what earlier runs left on the account: refuse (if empty), flat or
	// release.
	Resume string `json:"resume,omitempty"`
	// ExchangeConfig is the raw exchange_config of a paper or live run: it may hold
	// credentials, so that it is shown nowhere.
	ExchangeConfig exchange.Secret `json:"-"`
}
