package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/assay-run/assay/host/candle/importer"
)

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
	for _, w := range a.answer.outcome.Warnings {
		fmt.Fprintf(a.IO.Err, "warning: %s: %s\n", w.Code, w.Message)
	}
	if failure != nil {
		a.printFailure(command, failure)
	}
	return exit
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
		fmt.Fprintf(a.IO.Err, "lab %s: %s: %v\n", command, CodeInternal, err)
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
