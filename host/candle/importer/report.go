package importer

import "fmt"

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
	// Skipped rows have no prices (NaN, null, nothing).
	Skipped           int `json:"skipped"`
	DuplicatesDropped int `json:"duplicates_dropped"`
	// Reordered rows came before the row above them.
	Reordered      int `json:"reordered"`
	OHLCViolations int `json:"ohlc_violations"`
	// Merged is how many stored candles the new ones were joined with.
	Merged int `json:"merged,omitempty"`
	// TimeUnits counts the rows by how they write the time: s, ms, us, ns, iso, date.
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
const importerID = "text-v1"

// The codes of warnings.
const (
	warnNoVolume   = "VOLUME_MISSING"
	warnResolved   = "DUPLICATES_RESOLVED"
	warnShortSteps = "SHORT_STEPS"
	warnRepaired   = "OHLC_REPAIRED"
	warnKept       = "OHLC_VIOLATIONS_KEPT"
)

func (r *Report) warn(code, format string, args ...any) {
	r.Warnings = append(r.Warnings, Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}
