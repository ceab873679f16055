package importer

import (
	"fmt"
	"slices"
	"strings"
)

// Report is what happened to the rows of an import. It is stored with the candles.
type Report struct {
	// Importer names the rules by which the files were read, Profile the format.
	Importer string       `json:"importer"`
	Profile  string       `json:"profile"`
	Files    []FileReport `json:"files"`
	// RowsRead = RowsKept + Skipped + DuplicatesDropped + the candles that
	// --ohlc-violations drop left out.
	RowsRead int `json:"rows_read"`
	RowsKept int `json:"rows_kept"`
	// Skipped rows have no prices (NaN, null, nothing), or another ticker than asked for.
	Skipped           int `json:"skipped"`
	DuplicatesDropped int `json:"duplicates_dropped"`
	// Reordered rows came before the row above them.
	Reordered      int `json:"reordered"`
	OHLCViolations int `json:"ohlc_violations"`
	// Merged is how many stored candles the new ones were joined with.
	Merged int `json:"merged,omitempty"`
	// TimeUnits counts the rows by how they write the time: s, ms, us, ns, iso (any
	// date with a time of day), date.
	TimeUnits map[string]int    `json:"time_units"`
	Options   map[string]string `json:"options"`
	Warnings  []Warning         `json:"warnings"`
}

// FileReport names one file by its content.
type FileReport struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Warning is something the user should know that is no reason to refuse.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// importerID changes when the same file could become other candles.
const importerID = "import-v1"

// WarnKept is the code of the warning about candles that contradict themselves and were kept.
const WarnKept = "OHLC_VIOLATIONS_KEPT"

// The other codes of warnings.
const (
	warnNoVolume   = "VOLUME_MISSING"
	warnTickVolume = "TICK_VOLUME"
	warnUnits      = "VOLUME_UNITS"
	warnResolved   = "DUPLICATES_RESOLVED"
	warnShortSteps = "SHORT_STEPS"
	warnEndStamps  = "END_STAMPS"
	warnRepaired   = "OHLC_REPAIRED"
	warnTickers    = "OTHER_TICKERS"
	warnRenamed    = "SYMBOL_RENAMED"
	warnMembers    = "MEMBERS_IGNORED"
	warnSingle     = "FLOAT32"
)

// WarningCodes are all codes of warnings, for manuals.
func WarningCodes() []string {
	return []string{
		warnNoVolume, warnTickVolume, warnUnits, warnResolved, warnShortSteps, warnEndStamps, warnRepaired,
		WarnKept, warnTickers, warnRenamed, warnMembers, warnSingle, LeanDecimals, UnnamedTime,
	}
}

// warn keeps a warning; the same one is kept once.
func (r *Report) warn(code, format string, args ...any) {
	if w := (Warning{Code: code, Message: fmt.Sprintf(format, args...)}); !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// Inherit keeps what a report has of the candles that these are joined with and that
// concerns every later reader: that violations were kept.
func (r *Report) Inherit(stored Report) {
	for _, w := range stored.Warnings {
		if w.Code == WarnKept {
			r.warn(WarnKept, "%s", w.Message)
		}
	}
}

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
		TimeNotInteger, TimeOutOfRange, TimezoneRequired, DateOrderAmbiguous, ColumnsRequired, ColumnsMissing,
		BadNumber, SymbolRequired,
		MultipleTickers, TimeframeMismatch, ConflictingDuplicates, OHLCViolations, Encoding, TooLarge,
		ReservedExchange, NoRows,
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

// Refuse returns a refusal without cases.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the message with its first case.
func (e *Error) Error() string {
	if len(e.Cases) == 0 {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	c := e.Cases[0]
	return fmt.Sprintf("%s: %s (%s line %d: %s)", e.Code, e.Message, c.File, c.Line, c.Text)
}

// Add keeps the case unless there are enough; full reports whether there are enough.
func (e *Error) Add(file string, line int, text string) (full bool) {
	if len(e.Cases) < maxCases {
		e.Cases = append(e.Cases, Case{File: file, Line: line, Text: Shorten(text)})
	}
	return len(e.Cases) == maxCases
}

// At returns the refusal with a first case.
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

// OptionError means that an option has a value that it cannot have.
type OptionError struct {
	Flag    string
	Message string
}

// Error names the option.
func (e *OptionError) Error() string { return e.Flag + ": " + e.Message }
