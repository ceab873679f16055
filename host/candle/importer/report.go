package importer

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/host/candle/importer/profile"
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

// The codes of warnings.
const (
	warnNoVolume   = "VOLUME_MISSING"
	warnTickVolume = "TICK_VOLUME"
	warnUnits      = "VOLUME_UNITS"
	warnResolved   = "DUPLICATES_RESOLVED"
	warnShortSteps = "SHORT_STEPS"
	warnEndStamps  = "END_STAMPS"
	warnRepaired   = "OHLC_REPAIRED"
	warnKept       = "OHLC_VIOLATIONS_KEPT"
	warnTickers    = "OTHER_TICKERS"
	warnRenamed    = "SYMBOL_RENAMED"
	warnMembers    = "MEMBERS_IGNORED"
	warnSingle     = "FLOAT32"
)

// WarningCodes are all codes of warnings, for manuals.
func WarningCodes() []string {
	return []string{
		warnNoVolume, warnTickVolume, warnUnits, warnResolved, warnShortSteps, warnEndStamps, warnRepaired, warnKept, warnTickers,
		warnRenamed, warnMembers, warnSingle, profile.LeanDecimals, profile.UnnamedTime,
	}
}

// warn keeps a warning; the same one is kept once.
func (r *Report) warn(code, format string, args ...any) {
	if w := (Warning{Code: code, Message: fmt.Sprintf(format, args...)}); !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// Inherit keeps what a report of candles says that these are joined with and that
// concerns every later reader: that violations were kept.
func (r *Report) Inherit(stored Report) {
	for _, w := range stored.Warnings {
		if w.Code == warnKept {
			r.warn(warnKept, "%s", w.Message)
		}
	}
}
