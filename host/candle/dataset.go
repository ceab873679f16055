package candle

import (
	"fmt"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Calendar says on which days a market has candles.
type Calendar string

// The calendars.
const (
	AllDays  Calendar = "24x7"
	Weekdays Calendar = "weekdays"
)

// Dataset is one row of the catalogue: which candles a file holds.
type Dataset struct {
	// ID is for people; SHA256 of the candle file is what identifies.
	ID        string           `json:"id"`
	Exchange  string           `json:"exchange"`
	Symbol    market.Symbol    `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	SHA256    string           `json:"sha256"`
	Rows      int              `json:"rows"`
	// First and Last are open times.
	First    market.Time `json:"first"`
	Last     market.Time `json:"last"`
	Calendar Calendar    `json:"calendar"`
	// PriceStep is 10^-k, k the most decimals of any price, at most 8.
	PriceStep decimal.Decimal `json:"price_step"`
	// VolumeUnit is base, quote, contracts or ticks.
	VolumeUnit string `json:"volume_unit"`
	// DerivedFrom is the hash of the dataset that this one was resampled from, else empty.
	DerivedFrom string      `json:"derived_from"`
	CreatedAt   market.Time `json:"created_at"`
	// Current is the newest of its exchange, symbol and timeframe.
	Current bool   `json:"current"`
	Report  Report `json:"report"`
}

// Start is the open time of the first candle.
func (d Dataset) Start() market.Time { return d.First }

// End is the close time of the last candle.
func (d Dataset) End() market.Time { return d.Timeframe.Next(d.Last) }

// Report is how a dataset came about and what it lacks.
type Report struct {
	importer.Report
	Gaps          GapReport   `json:"gaps"`
	DatasetSHA256 string      `json:"dataset_sha256"`
	Resampled     *Resampling `json:"resampled,omitempty"`
}

// Window is the part of a dataset that a run uses, [Start, End).
type Window struct {
	Symbol     market.Symbol
	Timeframe  market.Timeframe
	SHA256     string
	Start, End market.Time
}

// DataHash identifies the candles of a run: the hash of the canonical JSON of its
// windows in the order of the request.
func DataHash(windows []Window) (string, error) {
	type entry struct {
		Symbol    market.Symbol    `json:"symbol"`
		Timeframe market.Timeframe `json:"timeframe"`
		SHA256    string           `json:"sha256"`
		Start     int64            `json:"start"`
		End       int64            `json:"end"`
	}
	list := make([]entry, len(windows))
	for i, w := range windows {
		list[i] = entry{w.Symbol, w.Timeframe, w.SHA256, int64(w.Start), int64(w.End)}
	}
	return digest.Of(list)
}

// datasetID is exchange, base, quote, timeframe and the beginning of the hash, in
// lower case.
func datasetID(exchange string, s market.Symbol, tf market.Timeframe, sha string) string {
	return strings.ToLower(fmt.Sprintf("%s-%s-%s-%s-%.12s", exchange, s.Base(), s.Quote(), tf, sha))
}

// NotFoundError says that the store has no such candles, and what it has instead.
type NotFoundError struct {
	// What is not there: exchange, symbol, timeframe or dataset.
	What   string
	Value  string
	Have   []string
	Reason string
}

// Error names what is missing and what could be asked for.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no candles for the %s %s", e.What, e.Value)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if len(e.Have) > 0 {
		text += "; there are " + strings.Join(e.Have, ", ")
	}
	return text + " (lab data import adds more)"
}
