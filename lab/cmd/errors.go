package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/candidate"
	"github.com/assay-run/assay/lab/foreign"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/project/scaffold"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
)

// Error is why a command failed.
type Error = request.Error

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
	case request.CodeCheckFailed, "BUILD_FAILED", request.CodeRunFailed, request.CodeNondeterminism,
		request.CodeArtifactMismatch, request.CodeNotReproduced, request.CodeFalsified, "FAMILY_ABORTED",
		candidate.CodeIngestRefused, candidate.CodeNotAnswered, request.CodeTrialDiverged:
		return exitFailed
	case request.CodeInterrupted, request.CodeInconclusive, "INCOMPARABLE", candidate.CodeUnreachable,
		codeRegistryUnreachable, codeBucketUnreachable, codeNotPromoted, codeFetchStopped, codeDatasetBusy,
		codeConnectorUnavailable, codeLabBusy, codeQueue, request.CodeTrialLost:
		return exitOpen
	case request.CodeInternal, request.CodeRunIDCollision:
		return exitInternal
	}
	return exitRefused
}

// slugArgument is the argument that names a strategy, in usage lines and details.
const slugArgument = "<slug>"

// Usage refuses a flag or an argument, named as in the usage line; it may be empty.
func Usage(flag, format string, args ...any) *Error {
	e := request.Errorf(request.CodeUsage, format, args...)
	if flag != "" {
		e.With("flag", flag)
	}
	return e
}

// Classify turns the errors of the packages below into codes.
func Classify(err error) *Error {
	var (
		refused  *importer.Error
		option   *importer.OptionError
		notFound *candle.NotFoundError
		corrupt  *candlefile.CorruptError
		away     *registry.UnavailableError
	)
	if e := classifyProject(err); e != nil {
		return e
	}
	switch {
	case errors.As(err, &refused):
		return importError(refused)
	case errors.As(err, &option):
		return Usage(option.Flag, "%s %s", option.Flag, option.Message)
	case errors.As(err, &notFound), errors.As(err, &corrupt):
		return request.Errorf(run.CodeDataUnavailable, "%v", err)
	case errors.Is(err, context.Canceled):
		return request.Errorf(request.CodeInterrupted, "interrupted")
	case errors.As(err, &away):
		return request.Errorf(codeRegistryUnreachable, "%v", err)
	}
	return request.Errorf(request.CodeInternal, "%v", err)
}

// flagsOf are the flags that would help where an import is refused.
var flagsOf = map[importer.Code]string{
	importer.ReservedExchange: "--exchange", importer.SymbolRequired: "--symbol",
	importer.TimeframeMismatch: "--timeframe",
	importer.ColumnsRequired:   "--columns", importer.ColumnsMissing: "--columns",
	importer.TimezoneRequired:   "--tz",
	importer.DateOrderAmbiguous: "--date-order", importer.MultipleTickers: "--ticker",
	importer.ConflictingDuplicates: "--duplicates", importer.OHLCViolations: "--ohlc-violations",
}

// importError adds the cases, and the flag that would help, else the file.
func importError(e *importer.Error) *Error {
	return request.Errorf(string(e.Code), "%s", e.Message).
		With("cases", append([]importer.Case{}, e.Cases...), "flag", cmp.Or(flagsOf[e.Code], "FILE"))
}

// classifyProject knows the errors of packages project and evaluate; nil for others.
func classifyProject(err error) *Error {
	var (
		slug     *project.SlugError
		exists   *scaffold.ExistsError
		missing  *project.NotFoundError
		config   *project.ConfigError
		build    *project.BuildError
		refused  *request.Error
		form     *request.FormError
		differs  *request.MismatchError
		folder   *artifact.FolderError
		artifact *artifact.MismatchError
		results  *foreign.Error
	)
	switch {
	case errors.As(err, &results):
		return request.Errorf(results.Code, "%v", err).With("flag", "FILE", "pointer", results.Pointer)
	case errors.As(err, &slug):
		return request.Errorf("SLUG_INVALID", "%v", err).With("flag", slugArgument)
	case errors.As(err, &exists):
		return request.Errorf("STRATEGY_EXISTS", "%v", err).With("flag", slugArgument, "path", exists.Path)
	case errors.As(err, &missing):
		flag := slugArgument
		if missing.Missing != "" {
			flag = "--dir"
		}
		return request.Errorf(run.CodeStrategyNotFound, "%v", err).
			With("flag", flag, "tried", append([]string{}, missing.Tried...))
	case errors.As(err, &config):
		return request.Errorf(request.CodeLabJSON, "%v", err).
			With("pointer", config.Faults[0].Pointer, "errors", config.Faults)
	case errors.Is(err, project.ErrNoGo):
		return request.Errorf("GO_TOOL_MISSING", "%v", err).With("pointer", "/plugin")
	case errors.As(err, &build):
		return request.Errorf("BUILD_FAILED", "%v", err).With("output", build.Output)
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &form) && form.Pointer == "":
		return Usage("--request", "%v", err)
	case errors.As(err, &form):
		return Usage("", "%v", err).With("pointer", form.Pointer)
	case errors.As(err, &differs):
		return request.Errorf(request.CodeNondeterminism, "%v", err).
			With("run_id", differs.RunID, "before", differs.Before, "now", differs.Now, "failure_capsule",
				differs.Capsule)
	case errors.As(err, &folder):
		return request.Errorf(request.CodeRunCompact, "%v", folder).
			With("run_id", folder.RunID, "plan_id", folder.PlanID, "trial_index", folder.Index)
	case errors.As(err, &artifact):
		return request.Errorf(request.CodeArtifactMismatch, "%v", err).
			With("run_id", artifact.RunID, "problems", artifact.Problems)
	}
	return nil
}

// Outcome is what a command has found out.
type Outcome struct {
	// Result is the object of --json.
	Result any
	// Print writes the same for people.
	Print func(w io.Writer)
	// Warnings are shown on stderr, and listed in the JSON.
	Warnings []Warning
}

// Warning is something that a person should know or mend, with a code for programs.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// envelope is the one object that --json prints.
type envelope struct {
	Command  string         `json:"command"`
	OK       bool           `json:"ok"`
	ExitCode int            `json:"exit_code"`
	Result   any            `json:"result,omitempty"`
	Warnings []Warning      `json:"warnings,omitzero"`
	Error    *envelopeError `json:"error,omitempty"`
}

type envelopeError struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// print writes the answer of a command and returns the exit code.
func (a *App) print(command string) int {
	for _, w := range a.noted {
		if !slices.Contains(a.answer.outcome.Warnings, w) {
			a.answer.outcome.Warnings = append(a.answer.outcome.Warnings, w)
		}
	}
	var failure *Error
	exit := exitDone
	if a.answer.err != nil {
		failure = Classify(a.answer.err)
		exit = exitOf(failure.Code)
	}
	if a.JSON {
		return a.printJSON(command, failure, exit)
	}
	if a.answer.outcome.Print != nil {
		a.answer.outcome.Print(a.IO.Out)
	}
	printWarnings(a.IO.Err, a.answer.outcome.Warnings)
	if failure != nil {
		a.printFailure(command, failure)
	}
	return exit
}

// alike is how many warnings of one code are printed; a run has some once for each split.
const alike = 3

// printWarnings prints the first warnings of each code, and how many others there are.
func printWarnings(out io.Writer, list []Warning) {
	count := map[string]int{}
	for _, w := range list {
		if count[w.Code]++; count[w.Code] <= alike {
			fmt.Fprintf(out, "warning: %s: %s\n", w.Code, w.Message)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(count)) {
		if more := count[code] - alike; more > 0 {
			fmt.Fprintf(out, "warning: %s: %d more like these: --json lists them\n", code, more)
		}
	}
}

func (a *App) printJSON(command string, failure *Error, exit int) int {
	e := envelope{Command: command, OK: failure == nil, ExitCode: exit}
	if failure == nil {
		if e.Result, e.Warnings = a.answer.outcome.Result, a.answer.outcome.Warnings; e.Warnings == nil {
			e.Warnings = []Warning{}
		}
		if e.Result == nil {
			e.Result = struct{}{}
		}
	} else {
		e.Error = &envelopeError{Code: failure.Code, Message: failure.Message, Details: failure.Details}
		if e.Error.Details == nil {
			e.Error.Details = map[string]any{}
		}
	}
	enc := json.NewEncoder(a.IO.Out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		fmt.Fprintf(a.IO.Err, "lab %s: %s: %v\n", command, request.CodeInternal, err)
		return exitInternal
	}
	return exit
}

// printFailure is an error for people, with the cases that an import names.
func (a *App) printFailure(command string, e *Error) {
	fmt.Fprintf(a.IO.Err, "%s: %s: %s\n", strings.TrimSpace("lab "+command), e.Code, e.Message)
	cases, _ := e.Details["cases"].([]importer.Case)
	for _, c := range cases {
		fmt.Fprintf(a.IO.Err, "  %s line %d: %s\n", c.File, c.Line, c.Text)
	}
}

// Table writes rows in columns, which an empty cell does not end; the first row is the header.
func Table(w io.Writer, rows [][]string) {
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r))
	}
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t")+strings.Repeat("\t", columns-len(r)))
	}
	_ = t.Flush() // a buffer takes everything
	for line := range bytes.Lines(b.Bytes()) {
		fmt.Fprintf(w, "%s\n", bytes.TrimRight(line, " \n"))
	}
}

// Short is the beginning of a hash, for tables.
func Short(sha256 string) string { return sha256[:min(len(sha256), 12)] }

// reportTo is where faults of this program are reported.
const reportTo = "https://github.com/assay-run/assay/issues"

// execute runs the command line. A panic of a command is its answer like any other
// error.
func (a *App) execute(ctx context.Context, root *cobra.Command) (cmd *cobra.Command, err error) {
	defer func() {
		if value := recover(); value != nil {
			cmd, err = a.running, nil
			if cmd == nil {
				cmd = root
			}
			a.answer = &answer{err: a.fault(value, debug.Stack())}
		}
	}()
	return root.ExecuteContextC(ctx)
}

// show prints the answer, and what went wrong with that.
func (a *App) show(command string) (exit int) {
	defer func() {
		if value := recover(); value != nil {
			a.answer = &answer{err: a.fault(value, debug.Stack())}
			exit = a.print(command)
		}
	}()
	return a.print(command)
}

// fault is a panic as an error of one line; the stack is for those who ask for it.
func (a *App) fault(value any, stack []byte) *Error {
	a.Logger.Debug("panic", "value", fmt.Sprint(value), "stack", string(stack))
	what := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	return request.Errorf(request.CodeInternal,
		"panic: %s; this is a fault of lab %s, not of yours: run it again with --log-level debug and "+
			"report what it prints at %s",
		what, a.IO.Build.Version, reportTo).
		With("panic", what, "version", a.IO.Build.Version, "report", reportTo)
}
