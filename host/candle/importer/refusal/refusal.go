// Package refusal is how an import says no: a code, what to do about it, and the first
// places in the files that are at fault.
//
// It is the bottom of the importer and imports nothing of this module. The packages
// beside it make refusals; the commands above turn them into exit codes and answers.
package refusal

import (
	"fmt"
	"strings"
)

// Code names a reason to refuse an import.
type Code string

// The reasons.
const (
	TimeNotInteger        Code = "TIME_NOT_INTEGER"
	TimeOutOfRange        Code = "TIME_OUT_OF_RANGE"
	TimezoneRequired      Code = "TIMEZONE_REQUIRED"
	DateOrderAmbiguous    Code = "DATE_ORDER_AMBIGUOUS"
	ColumnsRequired       Code = "COLUMNS_REQUIRED"
	ColumnsMissing        Code = "COLUMNS_MISSING"
	BadNumber             Code = "BAD_NUMBER"
	SymbolRequired        Code = "SYMBOL_REQUIRED"
	MultipleTickers       Code = "MULTIPLE_TICKERS"
	TimeframeMismatch     Code = "TIMEFRAME_MISMATCH"
	ConflictingDuplicates Code = "CONFLICTING_DUPLICATES"
	OHLCViolations        Code = "OHLC_VIOLATIONS"
	Encoding              Code = "ENCODING"
	TooLarge              Code = "TOO_LARGE"
	ReservedExchange      Code = "RESERVED_EXCHANGE"
	NoRows                Code = "NO_ROWS"
)

// Codes are all of them, in the order of the manual.
func Codes() []Code {
	return []Code{
		TimeNotInteger, TimeOutOfRange, TimezoneRequired, DateOrderAmbiguous, ColumnsRequired, ColumnsMissing, BadNumber, SymbolRequired,
		MultipleTickers, TimeframeMismatch, ConflictingDuplicates, OHLCViolations, Encoding, TooLarge, ReservedExchange, NoRows,
	}
}

const (
	maxCases    = 5
	maxCaseText = 120
)

// Case is one place where a file is at fault.
type Case struct {
	File string `json:"file"`
	// Line of a text file; the row of one that has no lines. Both count from 1.
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Error is a refused import. Nothing was stored.
type Error struct {
	Code    Code
	Message string
	// Cases are the first places, at most five.
	Cases []Case
}

// New is a refusal without cases.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error is the message with its first case.
func (e *Error) Error() string {
	if len(e.Cases) == 0 {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	c := e.Cases[0]
	return fmt.Sprintf("%s: %s (%s line %d: %s)", e.Code, e.Message, c.File, c.Line, c.Text)
}

// Add keeps the case unless there are enough; full says that no more are wanted.
func (e *Error) Add(file string, line int, text string) (full bool) {
	if len(e.Cases) < maxCases {
		e.Cases = append(e.Cases, Case{File: file, Line: line, Text: Shorten(text)})
	}
	return len(e.Cases) == maxCases
}

// At is the refusal with a first case.
func (e *Error) At(file string, line int, text string) *Error {
	e.Add(file, line, text)
	return e
}

// Shorten makes text of a file fit for a message: valid UTF-8, one line, not long.
func Shorten(s string) string {
	s = strings.ToValidUTF8(strings.TrimRight(s, "\r\n"), "\ufffd")
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > maxCaseText {
		return string(r[:maxCaseText]) + "…"
	}
	return s
}

// OptionError says that an option has a value that it cannot have.
type OptionError struct {
	Flag    string
	Message string
}

// Error names the option.
func (e *OptionError) Error() string { return e.Flag + ": " + e.Message }
