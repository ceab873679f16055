package bundle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/field"
)

// TypeDispute is the predicate type of a second fetcher's word about the candles of shadows.
const TypeDispute = URIBase + "dispute/v1"

// The events of a Dispute.
const (
	DisputeOpen     = "open"
	DisputeWithdraw = "withdraw"
)

// MaxDisputed is how many days one statement may name.
const MaxDisputed = 1000

// Dispute states that its signer has fetched the candles of days anew, and was given others than those
// that the days were played on; or takes that back.
type Dispute struct {
	Common
	Event     string   `json:"event" is:"oneof open withdraw"`
	Exchange  string   `json:"exchange" is:"id"`
	Symbols   []string `json:"symbols" is:"symbol" max:"1000"`
	Timeframe string   `json:"timeframe" is:"filled"`
	// Chunks are in the order of their days.
	Chunks []DisputedChunk `json:"chunks" max:"1000"`
	// Fetches are the answers of the exchange that hold the signer's candles; none where it withdraws.
	Fetches []ShadowFetch `json:"fetches,omitempty" max:"20000"`
}

// DisputedChunk is the candles of one day. Own is what the signer was given, "" where it withdraws.
type DisputedChunk struct {
	Date    string `json:"date" is:"filled"`
	Chunk   string `json:"chunk_sha256" is:"sha256"`
	Own     string `json:"own_sha256,omitempty" is:"sha256"`
	OwnRows int64  `json:"own_candles,omitempty"`
	// First is where the two differ first, nil where the day has no marks that tell.
	First *DifferingCandle `json:"first_difference,omitempty"`
}

// DifferingCandle is the first candle that differs, by its open time. Within says of how many candles from
// there on it is one, 1 where it is this one.
type DifferingCandle struct {
	Symbol   string `json:"symbol" is:"filled"`
	OpenTime string `json:"open_time" is:"time"`
	Within   int64  `json:"within_candles" min:"1"`
	// Own is open, high, low, close and volume as the signer was given them, separated by commas; ""
	// where it was given none.
	Own string `json:"own,omitempty" is:"free"`
}

// Attested reports whether the signer's candles came from where the connector asks by itself.
func (p *Dispute) Attested() bool {
	return !slices.ContainsFunc(p.Fetches, func(f ShadowFetch) bool { return f.Endpoint != "" })
}

// Check implements [field.Checker].
func (p *Dispute) Check(o field.Object) {
	p.Common.Check(o)
	open := p.Event == DisputeOpen
	switch {
	case !field.IsTimeframe(p.Timeframe):
		o.Fail(field.InvalidField, "timeframe", "must be a timeframe such as 1h")
	case len(p.Symbols) == 0:
		o.Fail(field.MissingField, "symbols", "at least one symbol is required")
	case len(p.Chunks) == 0:
		o.Fail(field.MissingField, "chunks", "at least one chunk is required")
	case !open && len(p.Fetches) > 0:
		o.Fail(field.InvalidField, "fetches", "are of an open dispute only")
	}
	made, _ := field.ParseTime(p.MadeAt)
	for i := range p.Fetches {
		checkFetch(o, p.Symbols, &p.Fetches[i], i, made)
	}
	last := ""
	for i := range p.Chunks {
		c := &p.Chunks[i]
		at := fmt.Sprintf("chunks/%d/", i)
		begin, ok := Day(c.Date)
		switch {
		case !ok:
			o.FailAt(field.InvalidField, at+"date", "is not a day such as 2026-01-31")
		case c.Date <= last:
			o.FailAt(field.InvalidField, at+"date", "is not after the day before")
		case begin.AddDate(0, 0, 1).After(made):
			o.FailAt(field.InvalidTimestamp, at+"date", "is not over at made_at")
		case open:
			p.checkOwn(o, c, at, begin)
		case c.Own != "" || c.OwnRows != 0 || c.First != nil:
			o.FailAt(field.InvalidField, at+"own_sha256", "is of an open dispute only")
		}
		last = c.Date
	}
}

// checkOwn checks what the signer was given of a day.
func (p *Dispute) checkOwn(o field.Object, c *DisputedChunk, at string, begin time.Time) {
	switch {
	case c.Own == "":
		o.FailAt(field.MissingField, at+"own_sha256", "this field is required")
	case c.Own == c.Chunk:
		o.FailAt(field.InvalidField, at+"own_sha256", "is the disputed one: there is nothing to dispute")
	case len(broughtOf(p.Fetches, begin)) == 0:
		o.FailAt(field.InvalidField, "fetches", "no fetch has brought candles of this day")
	case c.First != nil && !slices.Contains(p.Symbols, c.First.Symbol):
		o.FailAt(field.InvalidField, at+"first_difference/symbol", "is none of the symbols")
	}
}

// broughtOf are the symbols of which fetches have brought candles of a day, each with when the last of
// them was asked for.
func broughtOf(list []ShadowFetch, begin time.Time) map[string]time.Time {
	brought := map[string]time.Time{}
	for i := range list {
		f := &list[i]
		from, _ := field.ParseTime(f.From)
		to, _ := field.ParseTime(f.To)
		if !to.After(begin) || !from.Before(begin.AddDate(0, 0, 1)) {
			continue
		}
		if at, _ := field.ParseTime(f.RequestedAt); at.After(brought[f.Symbol]) {
			brought[f.Symbol] = at
		}
	}
	return brought
}

// Marks of a chunk tell which of its candles differ: after every MarkStep(n) of its n candles, and after
// the last one, the first digits of the SHA-256 of the chunk so far.
const (
	MaxMarks  = 96
	MarkSize  = 6    // digits
	MarkDays  = 1000 // the newest of a statement, which alone have marks
	hexDigits = "0123456789abcdef"
)

// MarkStep is how many candles of a chunk there are to a mark.
func MarkStep(rows int64) int64 { return max(1, (rows+MaxMarks-1)/MaxMarks) }

// validMarks reports whether a day has no marks, or as many as its candles take.
func (d *ShadowDay) validMarks() bool {
	step := MarkStep(d.Rows)
	return d.Marks == "" || int64(len(d.Marks)) == (d.Rows+step-1)/step*MarkSize &&
		strings.Trim(d.Marks, hexDigits) == ""
}
