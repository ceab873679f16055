package importer

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
	ColumnsRequired       Code = "COLUMNS_REQUIRED"
	ColumnsMissing        Code = "COLUMNS_MISSING"
	BadNumber             Code = "BAD_NUMBER"
	SymbolRequired        Code = "SYMBOL_REQUIRED"
	TimeframeMismatch     Code = "TIMEFRAME_MISMATCH"
	ConflictingDuplicates Code = "CONFLICTING_DUPLICATES"
	OHLCViolations        Code = "OHLC_VIOLATIONS"
	Encoding              Code = "ENCODING"
	TooLarge              Code = "TOO_LARGE"
	ReservedExchange      Code = "RESERVED_EXCHANGE"
	NoRows                Code = "NO_ROWS"
)

const (
	maxCases    = 5
	maxCaseText = 120
)

// Case is one place where a file is at fault.
type Case struct {
	File string `json:"file"`
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

// Error is the message with its first case.
func (e *Error) Error() string {
	if len(e.Cases) == 0 {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	c := e.Cases[0]
	return fmt.Sprintf("%s: %s (%s line %d: %s)", e.Code, e.Message, c.File, c.Line, c.Text)
}

// OptionError says that an option has a value that it cannot have.
type OptionError struct {
	Flag    string
	Message string
}

// Error names the option.
func (e *OptionError) Error() string { return e.Flag + ": " + e.Message }

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// add keeps the case unless there are enough; full says that no more are wanted.
func (e *Error) add(file string, line int, text string) (full bool) {
	if len(e.Cases) < maxCases {
		e.Cases = append(e.Cases, Case{File: file, Line: line, Text: shorten(text)})
	}
	return len(e.Cases) == maxCases
}

// shorten makes text of a file fit for a message: valid UTF-8, one line, not long.
func shorten(s string) string {
	s = strings.ToValidUTF8(strings.TrimRight(s, "\r\n"), "�")
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' {
			return '�'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > maxCaseText {
		return string(r[:maxCaseText]) + "…"
	}
	return s
}
