package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/project/scaffold"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
)

// Error is why a command failed: a code from the table of exit codes, a message that
// says what to do, and details for programs.
type Error struct {
	Code    string
	Message string
	Details map[string]any
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Codes that are not simply handed on from below.
const (
	CodeUsage           = "USAGE"
	CodeCheckFailed     = "CHECK_FAILED"
	CodeDataUnavailable = "DATA_UNAVAILABLE"
	CodeInterrupted     = "INTERRUPTED"
	CodeInternal        = "INTERNAL"
)

// The exit codes.
const (
	exitDone = iota
	exitFailed
	exitRefused
	exitOpen
	exitInternal
)

// exitOf is the one table of codes and exits. What is not listed was refused, as
// every import code is.
func exitOf(code string) int {
	switch code {
	case CodeCheckFailed, "BUILD_FAILED", "RUN_FAILED", "NONDETERMINISM", "ARTIFACT_MISMATCH", "NOT_REPRODUCED", "FALSIFIED", "FAMILY_ABORTED", "INGEST_REFUSED":
		return exitFailed
	case CodeInterrupted, "INCONCLUSIVE", "INCOMPARABLE", "CONTROL_UNREACHABLE":
		return exitOpen
	case CodeInternal, "RUN_ID_COLLISION":
		return exitInternal
	}
	return exitRefused
}

// slugArgument is the argument that names a strategy, in usage lines and details.
const slugArgument = "<slug>"

// Usage refuses a flag or an argument, named as in the usage line; it may be empty.
func Usage(flag, format string, args ...any) *Error {
	e := &Error{Code: CodeUsage, Message: fmt.Sprintf(format, args...)}
	if flag != "" {
		e.Details = map[string]any{"flag": flag}
	}
	return e
}

// Classify turns the errors of the packages below into codes.
func Classify(err error) *Error {
	var (
		own      *Error
		refused  *importer.Error
		option   *importer.OptionError
		notFound *candle.NotFoundError
		corrupt  *candlefile.CorruptError
	)
	if e := classifyProject(err); e != nil {
		return e
	}
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return importError(refused)
	case errors.As(err, &option):
		return Usage(option.Flag, "%s %s", option.Flag, option.Message)
	case errors.As(err, &notFound), errors.As(err, &corrupt):
		return &Error{Code: CodeDataUnavailable, Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeInterrupted, Message: "interrupted"}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// importError adds the cases, and the flag that would help where there is one.
func importError(e *importer.Error) *Error {
	cases := e.Cases
	if cases == nil {
		cases = []importer.Case{}
	}
	details := map[string]any{"cases": cases, "flag": "FILE"}
	switch e.Code {
	case importer.ReservedExchange:
		details["flag"] = "--exchange"
	case importer.SymbolRequired:
		details["flag"] = "--symbol"
	case importer.TimeframeMismatch:
		details["flag"] = "--timeframe"
	case importer.ColumnsRequired, importer.ColumnsMissing:
		details["flag"] = "--columns"
	case importer.TimezoneRequired:
		details["flag"] = "--tz"
	case importer.DateOrderAmbiguous:
		details["flag"] = "--date-order"
	case importer.MultipleTickers:
		details["flag"] = "--ticker"
	case importer.ConflictingDuplicates:
		details["flag"] = "--duplicates"
	case importer.OHLCViolations:
		details["flag"] = "--ohlc-violations"
	}
	return &Error{Code: string(e.Code), Message: e.Message, Details: details}
}

// classifyProject knows the errors of packages project and evaluate; nil for others.
func classifyProject(err error) *Error {
	var (
		slug     *project.SlugError
		exists   *scaffold.ExistsError
		missing  *project.NotFoundError
		config   *project.ConfigError
		build    *project.BuildError
		refused  *evaluate.Error
		differs  *evaluate.MismatchError
		artifact *artifact.MismatchError
	)
	switch {
	case errors.As(err, &slug):
		return &Error{Code: "SLUG_INVALID", Message: err.Error(), Details: map[string]any{"flag": slugArgument}}
	case errors.As(err, &exists):
		return &Error{Code: "STRATEGY_EXISTS", Message: err.Error(), Details: map[string]any{"flag": slugArgument, "path": exists.Path}}
	case errors.As(err, &missing):
		flag := slugArgument
		if missing.Missing != "" {
			flag = "--dir"
		}
		return &Error{Code: "STRATEGY_NOT_FOUND", Message: err.Error(), Details: map[string]any{"flag": flag, "tried": append([]string{}, missing.Tried...)}}
	case errors.As(err, &config):
		return &Error{Code: "LAB_JSON_INVALID", Message: err.Error(), Details: map[string]any{"pointer": config.Faults[0].Pointer, "errors": config.Faults}}
	case errors.Is(err, project.ErrNoGo):
		return &Error{Code: "GO_TOOL_MISSING", Message: err.Error(), Details: map[string]any{"pointer": "/plugin"}}
	case errors.As(err, &build):
		return &Error{Code: "BUILD_FAILED", Message: err.Error(), Details: map[string]any{"output": build.Output}}
	case errors.As(err, &refused):
		return &Error{Code: refused.Code, Message: refused.Message, Details: refused.Details}
	case errors.As(err, &differs):
		return &Error{Code: "NONDETERMINISM", Message: err.Error(), Details: map[string]any{
			"run_id": differs.RunID, "before": differs.Before, "now": differs.Now, "failure_capsule": differs.Capsule,
		}}
	case errors.As(err, &artifact):
		return &Error{Code: "ARTIFACT_MISMATCH", Message: err.Error(), Details: map[string]any{"run_id": artifact.RunID, "problems": artifact.Problems}}
	}
	return nil
}
