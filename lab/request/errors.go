package request

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// The codes of the lab; docs/lab.md has the table with their exits. Those of one command
// alone stand in package cmd.
const (
	CodeUsage            = "USAGE"
	CodeInternal         = "INTERNAL"
	CodeInterrupted      = "INTERRUPTED"
	CodeSkipped          = "SKIPPED"
	CodeArtifactMismatch = library.CodeArtifactMismatch
	CodeCheckFailed      = "CHECK_FAILED"
	CodeFalsified        = "FALSIFIED"
	CodeInconclusive     = "INCONCLUSIVE"
	CodeInputsMissing    = "INPUTS_MISSING"
	CodeLabJSON          = "LAB_JSON_INVALID"
	CodeLookahead        = "LOOKAHEAD"
	CodeNameMismatch     = "NAME_MISMATCH"
	CodeNondeterminism   = "NONDETERMINISM"
	CodeNotReproduced    = "NOT_REPRODUCED"
	CodeParams           = "PARAMS_INVALID"
	CodeRunCompact       = library.CodeRunCompact
	CodeRunFailed        = "RUN_FAILED"
	CodeRunIDCollision   = "RUN_ID_COLLISION"
	CodeRunNotFound      = library.CodeRunNotFound
	// CodeTrialLost is of a trial that no worker has brought to its end, CodeTrialDiverged of one that two
	// workers have brought to different ends.
	CodeTrialLost     = "TRIAL_LOST"
	CodeTrialDiverged = "TRIAL_DIVERGED"
)

// Error is why a request cannot be answered, or a command fails: a code of the lab, what to
// do, and details for programs.
type Error struct {
	Code, Message string
	Details       map[string]any
	Cause         error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Cause }

// Errorf is an error with a formatted message; what the format wraps is its cause.
func Errorf(code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// With adds details, each a name and a value. It returns e.
func (e *Error) With(details ...any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	for i := 0; i < len(details); i += 2 {
		e.Details[details[i].(string)] = details[i+1]
	}
	return e
}

// refuse is the error of a value of lab.json or of a request; the pointer is RFC 6901, "" for none.
func refuse(code, pointer, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	if pointer != "" {
		e.With("pointer", pointer)
	}
	return e
}

// codes are the lab's names of what package run refuses.
var codes = map[string]string{
	wire.InvalidStrategyParams:  CodeParams,
	run.CodeValidationFailed:    CodeLabJSON,
	run.CodeInvalidDateRange:    CodeLabJSON,
	run.CodeStrategyNotFound:    CodeNameMismatch,
	run.CodeStrategyUnavailable: CodeCheckFailed,
	run.CodeStartFailed:         CodeRunFailed,
}

// fromBacktest translates a refusal. What is not in the table is about data.
func fromBacktest(err error) error {
	var r *run.RequestError
	if !errors.As(err, &r) {
		return err
	}
	code, known := codes[r.Code]
	if corrupt := new(candlefile.CorruptError); !known || errors.As(err, &corrupt) {
		code = run.CodeDataUnavailable
	}
	e := &Error{Code: code, Message: r.Message, Details: map[string]any{"reason": r.Code}, Cause: err}
	maps.Copy(e.Details, r.Details)
	if len(r.Fields) > 0 {
		pointer := r.Fields[0].Pointer
		if rest, params := strings.CutPrefix(pointer, "/strategy_params"); params {
			pointer = "/params" + rest
		}
		e.Details["pointer"] = pointer
		e.Message += fmt.Sprintf(" %s %s", pointer, r.Fields[0].Message)
		if n := len(r.Fields) - 1; n > 0 {
			e.Message += fmt.Sprintf(", and %d more", n)
		}
	}
	return e
}
