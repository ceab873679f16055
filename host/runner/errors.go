package runner

import (
	"fmt"
	"slices"
)

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
	Internal Code = "INTERNAL_ERROR"
)

// The codes of a failed run that the runner itself gives.
const (
	// CodeInternal: the execution panicked or broke its contract.
	CodeInternal = "INTERNAL_ERROR"
	// CodeArtifactWriteFailed: the run's files or row could not be written.
	CodeArtifactWriteFailed = "ARTIFACT_WRITE_FAILED"
	// CodeRunInterrupted: the service ended without warning while the run was on.
	CodeRunInterrupted = "RUN_INTERRUPTED"
)

// resetOnly reports whether a run may have left orders or positions at an exchange:
// what takes its place must not hide them, so that only a reset clears it.
func resetOnly(s Snapshot) bool {
	if s.Failure == nil || s.Mode == ModeBacktest {
		return false
	}
	return slices.Contains([]string{CodeRunInterrupted, "JOURNAL_QUARANTINED", "STOP_UNCONFIRMED"}, s.Failure.Code)
}

// Error is a refusal. Status, RunID and Mode are those of the run at hand; RunID and
// Mode are empty when there is none.
type Error struct {
	Code                Code
	Message             string
	Status, RunID, Mode string
	// Hint says in a few words what to do; it may be empty.
	Hint string
	// Cause is why a start failed: whatever the launch function returned.
	Cause error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap is the cause of a failed start, so that errors.As finds it.
func (e *Error) Unwrap() error { return e.Cause }

// newError words a refusal. Cause is nil but for a failed start.
func newError(c Code, now Snapshot, cause error) *Error {
	e := &Error{Code: c, Status: now.Status, RunID: now.RunID, Mode: now.Mode, Cause: cause}
	switch c {
	case RunAlreadyActive:
		e.Message = fmt.Sprintf("The runner still holds a run (status: %s). "+
			"Reset it, or replace it with the header Replace-Run.", now.Status)
		e.Hint = "reset it, or replace it with Replace-Run: " + now.RunID
		switch {
		case now.Status == StatusRunning:
			e.Message = fmt.Sprintf("A run is already active (status: %s). Stop it first.", now.Status)
			e.Hint = "stop it, then reset or replace it"
		case resetOnly(now):
			e.Message = fmt.Sprintf("The runner holds a run that may have left orders or positions (status: %s). "+
				"Look at them, then reset it.", now.Status)
			e.Hint = "reset it"
		}
	case RunNotActive:
		e.Message = fmt.Sprintf("No run is active (status: %s): there is nothing to stop.", now.Status)
		e.Hint = "start a run"
		if now.Status != StatusIdle {
			e.Hint = "read its results, then reset"
		}
	case RunStillRunning:
		e.Message = "The run is still running. Stop it before resetting it."
		e.Hint = "stop it, then reset"
	case NoRun:
		e.Message = "There is no run. Start one first."
		e.Hint = "start a run"
	case ResultsNotReady:
		e.Message = "The run is still running: its results are ready once it has ended."
		e.Hint = "wait until status is completed or failed"
	case ControlNotSupported:
		e.Message = "A backtest takes no controls but stop."
		e.Hint = "stop it, or wait for its end"
	case NoAlarm:
		e.Message = "is no open alarm of the run"
	case RunStartFailed:
		e.Message = fmt.Sprintf("The run could not be started: %v", cause)
	case ShuttingDown:
		e.Message = "The service is shutting down and starts no run."
	default:
		e.Message = fmt.Sprintf("unexpected event in status %s", now.Status)
	}
	return e
}
