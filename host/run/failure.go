package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// The codes of a refused start. What the strategy itself refuses has those of package wire.
const (
	CodeValidationFailed     = "VALIDATION_FAILED"
	CodeStrategyNotFound     = "STRATEGY_NOT_FOUND"
	CodeStrategyUnavailable  = "STRATEGY_UNAVAILABLE"
	CodeModeNotSupported     = "MODE_NOT_SUPPORTED"
	CodeExchangeNotFound     = "EXCHANGE_NOT_FOUND"
	CodeUnsupportedTimeframe = "UNSUPPORTED_TIMEFRAME"
	CodeUnsupportedSymbol    = "UNSUPPORTED_SYMBOL"
	CodeInvalidDateRange     = "INVALID_DATE_RANGE"
	CodeDataUnavailable      = "DATA_UNAVAILABLE"
	CodeStartFailed          = string(runner.RunStartFailed)
)

// The codes of a failed run, beside those of package runner.
const (
	CodePluginCrashed  = "PLUGIN_CRASHED"
	CodePluginTimeout  = "PLUGIN_TIMEOUT"
	CodePluginProtocol = "PLUGIN_PROTOCOL_ERROR"
	CodePluginDiverged = "PLUGIN_DIVERGED"
	CodeNotCausal      = "NOT_CAUSAL"
	CodeData           = "DATA_ERROR"
)

// The codes of what a run assumes.
const (
	NoteFullFills    = "FULL_FILLS"
	NoteNoBorrowCost = "NO_BORROW_COST"
	NoteWarmupShort  = "WARMUP_SHORT"
	NoteOCOEmulated  = "OCO_EMULATED"
	NoteNotReplayed  = "NOT_REPLAYED"
)

// RequestError refuses a start. Code is one of the problem codes, see docs/api.md.
type RequestError struct {
	Code    string
	Message string
	// Fields are bad values by JSON pointer into the request.
	Fields []FieldError
	// Details go into the answer beside the message: available, symbols, reason, range, log_tail.
	Details map[string]any
	Cause   error
}

// FieldError is one bad value of a request.
type FieldError = hint.Violation

// Error returns the message.
func (e *RequestError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Cause }

// because returns the refusal with its cause.
func (e *RequestError) because(cause error) *RequestError {
	e.Cause = cause
	return e
}

// StartError is the Cause of a refusal when the plugin itself failed between its start
// and the first candle.
type StartError struct {
	Failure artifact.Failure
	Err     error
}

// Error returns the message.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Refuse returns a RequestError with a formatted message.
func Refuse(code string, details map[string]any, format string, args ...any) *RequestError {
	return &RequestError{Code: code, Message: fmt.Sprintf(format, args...), Details: details}
}

// Classify turns the error that ended a run into its failure. The exit code and
// the log of the plugin are added by the caller.
func Classify(err error) *artifact.Failure {
	f := &artifact.Failure{Code: runner.CodeInternal, Message: err.Error(), Data: map[string]any{}}
	var own *Fault
	var ledger *sim.LedgerError
	var intent *sim.IntentError
	var protocol *wire.ProtocolError
	var corrupt *candlefile.CorruptError
	switch {
	case errors.As(err, &own):
		f.Code = own.Code
		if own.Data != nil {
			f.Data = own.Data
		}
	case errors.As(err, &ledger):
		f.Code, f.Data = CodeData, map[string]any{"reason": "ledger_overflow", "step": ledger.Step}
	case errors.As(err, &corrupt):
		f.Code, f.Data = CodeData, map[string]any{"reason": "corrupt_dataset"}
	case errors.As(err, &intent):
		f.Code, f.Data = CodePluginProtocol, map[string]any{"step": intent.Step}
	case errors.As(err, &protocol):
		f.Code = CodePluginProtocol
	case errors.Is(err, io.EOF):
		f.Code, f.Message = CodePluginProtocol, "the plugin ended the stream before the run was over"
	case status.Code(err) == codes.DataLoss:
		f.Code, f.Data = CodeData, map[string]any{"reason": "corrupt_dataset"}
	case isStreamError(err):
		f.Code, f.Message = streamFailure(err)
	}
	if path := fieldPath(err); path != "" {
		f.Data["field_path"] = path
	}
	return f
}

// batchIndex is where a decision stood in its message, which means nothing to an author.
var batchIndex = regexp.MustCompile(`^decisions\[[0-9]+\]\.`)

// fieldPath returns the place in what the strategy returned that made it none, such as
// intents[0].quantity; "" if the fault is another one.
func fieldPath(err error) string {
	var protocol *wire.ProtocolError
	var intent *sim.IntentError
	switch {
	case errors.As(err, &protocol):
		return batchIndex.ReplaceAllString(protocol.Field, "")
	case errors.As(err, &intent):
		return fmt.Sprintf("intents[%d]", intent.Index)
	}
	return ""
}

func isStreamError(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	_, ok := status.FromError(err)
	return ok
}

// streamFailure reads a gRPC error: a message that is too large or malformed is the
// plugin's breach of protocol, everything else means that it is gone.
func streamFailure(err error) (code, message string) {
	s, _ := status.FromError(err)
	switch s.Code() {
	case codes.ResourceExhausted, codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented,
		codes.OutOfRange, codes.Internal:
		return CodePluginProtocol, "the plugin broke the protocol: " + s.Message()
	}
	return CodePluginCrashed, "the plugin process ended during the run"
}

// At adds the time of the candle to a failure.
func At(f *artifact.Failure, phase string, t market.Time) *artifact.Failure {
	f.Phase, f.CandleTime = phase, t
	return f
}

// Fault is why a run cannot go on, with the code that it is reported under.
type Fault struct {
	Code string // of a failed run
	Data map[string]any
	Err  error
}

// Error returns the message.
func (e *Fault) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Fault) Unwrap() error { return e.Err }

// Failf makes a Fault.
func Failf(code string, data map[string]any, format string, args ...any) *Fault {
	return &Fault{Code: code, Data: data, Err: fmt.Errorf(format, args...)}
}
