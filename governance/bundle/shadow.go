package bundle

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// TypeShadow is the predicate type of what a revision did on days after its seal.
const TypeShadow = URIBase + "shadow/v1"

// TrustShadow is the role of keys that may sign shadows.
const TrustShadow = "shadow"

// The sources of the candles of a shadow. Only what the worker itself has fetched from the
// exchange is attested: files may have been chosen by whoever imported them.
const (
	SourceImport   = "import"
	SourceExchange = "exchange"
)

// MaxShadowDays is how many days one statement may have, and how many days a promise.
const MaxShadowDays = 5000

// ShadowLate is how long after its close a day may be stated before it is late.
const ShadowLate = 48 * time.Hour

// Shadow states what a sealed revision did, played candle by candle, on whole UTC days that
// began after its seal: with its program, its parameters, its limits and an account of its
// declared capital. Days follow each other without a gap.
type Shadow struct {
	Common
	Source    string   `json:"source" is:"oneof import exchange"`
	Exchange  string   `json:"exchange" is:"id"`
	Symbols   []string `json:"symbols" is:"symbol" max:"1000"`
	Timeframe string   `json:"timeframe" is:"filled"`
	// Sandbox is the level that the program ran under.
	Sandbox string `json:"sandbox" is:"filled"`
	// Promise is what it did out of sample before the seal, played in the same way; only in the
	// first statement about a revision.
	Promise *Promise    `json:"promise,omitempty"`
	Days    []ShadowDay `json:"days" max:"5000"`
	// Fetches are the answers of the exchange that hold the candles of the days; none for files.
	Fetches []ShadowFetch `json:"fetches,omitempty" max:"20000"`
	// Compared are paper and live runs held against a shadow of the same candles.
	Compared []ComparedRun `json:"compared,omitempty" max:"1000"`
	// Challenge answers the challenge of the seal, once in all statements about a revision.
	Challenge *ChallengeAnswer `json:"challenge,omitempty"`
}

// sandboxFull is the level of a sandbox in which a program can look nothing up.
const sandboxFull = "full"

// Attested reports whether the days count for real money: the worker has fetched the candles
// itself, from where the connector asks by itself, and the program could look nothing up.
func (p *Shadow) Attested() bool {
	return p.Source == SourceExchange && p.Sandbox == sandboxFull &&
		!slices.ContainsFunc(p.Fetches, func(f ShadowFetch) bool { return f.Endpoint != "" })
}

// ShadowFetch is one answer of an exchange: candles of one symbol.
type ShadowFetch struct {
	Symbol string `json:"symbol" is:"filled"`
	// From is the open of the first candle, To the close of the last.
	From string `json:"from" is:"time"`
	To   string `json:"to" is:"time"`
	Rows int64  `json:"candles"`
	// RequestedAt is when it was asked for, Page the SHA-256 of what was kept of the answer.
	RequestedAt string `json:"requested_at" is:"time"`
	Page        string `json:"page_sha256" is:"sha256"`
	// Connector is who asked, SHA256 the hash of its program, Endpoint the host that it was sent
	// to; empty: its own.
	Connector string `json:"connector" is:"id"`
	Version   string `json:"connector_version" is:"filled"`
	SHA256    string `json:"connector_sha256" is:"sha256"`
	Endpoint  string `json:"endpoint"`
}

// Fetched reports whether the fetches bring candles of every symbol for a day, all of them no
// later than the day says.
func (p *Shadow) Fetched(d *ShadowDay) bool {
	stated, _ := field.ParseTime(d.FetchedAt)
	brought := broughtOf(p.Fetches, d.Begin())
	for _, at := range brought {
		if at.After(stated) {
			return false
		}
	}
	return !slices.ContainsFunc(p.Symbols, func(s string) bool {
		_, ok := brought[s]
		return !ok
	})
}

// Promise is the days of the locked test of a run.
type Promise struct {
	RunID string        `json:"run_id" is:"id"`
	Days  []PromisedDay `json:"days" max:"5000"`
}

// PromisedDay is one day: net return as a fraction, and executions.
type PromisedDay struct {
	Return float64 `json:"return" min:"-1000000"`
	Fills  int64   `json:"fills"`
}

// ShadowDay is one closed UTC day.
type ShadowDay struct {
	Date   string  `json:"date" is:"filled"`         // YYYY-MM-DD
	Return float64 `json:"return" min:"-1000000"`    // net, a fraction of the equity of the day before
	Fills  int64   `json:"fills"`                    // executions
	Trades int64   `json:"trades"`                   // round trips that closed
	Rows   int64   `json:"candles"`                  // of all symbols, by their open time
	Chunk  string  `json:"chunk_sha256" is:"sha256"` // of these candles
	// Marks tell a second fetcher which of the candles differ, see [MarkStep]; "" in statements of earlier
	// versions, and of days that are not among the newest MarkDays of a statement.
	Marks string `json:"marks,omitempty" is:"free"`
	// FetchedAt is when the candles came, Late whether that was more than 48 h after the close.
	FetchedAt string `json:"fetched_at" is:"time"`
	Late      bool   `json:"late"`
}

// dateForm is how days are written.
const dateForm = time.DateOnly

// Day is the begin of a UTC day that is written YYYY-MM-DD.
func Day(date string) (time.Time, bool) {
	t, err := time.Parse(dateForm, date)
	return t, err == nil && t.Format(dateForm) == date
}

// FormatDay writes the UTC day of a time.
func FormatDay(t time.Time) string { return t.UTC().Format(dateForm) }

// FirstShadowDay is the first UTC day whose candles have all opened after a seal.
func FirstShadowDay(sealed time.Time) time.Time {
	day := sealed.UTC().Truncate(24 * time.Hour)
	if day.Before(sealed) {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// Begin is when the day begins, zero for a day that was not checked.
func (d *ShadowDay) Begin() time.Time {
	t, _ := Day(d.Date)
	return t
}

// Check implements [field.Checker].
func (p *Shadow) Check(o field.Object) {
	p.Common.Check(o)
	if !field.IsTimeframe(p.Timeframe) {
		o.Fail(field.InvalidField, "timeframe", "must be a timeframe such as 1h")
	}
	if len(p.Symbols) == 0 {
		o.Fail(field.MissingField, "symbols", "at least one symbol is required")
	}
	if len(p.Days) == 0 && len(p.Compared) == 0 && p.Challenge == nil {
		o.Fail(field.MissingField, "days", "at least one day, one compared run or a challenge is required")
	}
	made, _ := field.ParseTime(p.MadeAt)
	var last time.Time
	for i := range p.Days {
		begin := p.checkDay(o, i, made)
		if i > 0 && !begin.Equal(last.AddDate(0, 0, 1)) {
			o.FailAt(field.InvalidField, fmt.Sprintf("days/%d/date", i),
				"is not the day after the one before")
		}
		last = begin
	}
	if len(p.Fetches) > 0 && p.Source != SourceExchange {
		o.Fail(field.InvalidField, "fetches", "are of source exchange only")
	}
	for i := range p.Fetches {
		checkFetch(o, p.Symbols, &p.Fetches[i], i, made)
	}
	seen := map[string]bool{}
	for i := range p.Compared {
		if id := p.Compared[i].RunID; seen[id] {
			o.FailAt(field.DuplicateItem, fmt.Sprintf("compared/%d/run_id", i), "stands twice")
		} else {
			seen[id] = true
		}
	}
}

func checkFetch(o field.Object, symbols []string, f *ShadowFetch, i int, made time.Time) {
	at := fmt.Sprintf("fetches/%d/", i)
	from, _ := field.ParseTime(f.From)
	to, _ := field.ParseTime(f.To)
	asked, _ := field.ParseTime(f.RequestedAt)
	switch {
	case !slices.Contains(symbols, f.Symbol):
		o.FailAt(field.InvalidField, at+"symbol", "is none of the symbols")
	case !from.Before(to):
		o.FailAt(field.InvalidTimestamp, at+"to", "is not after from")
	case asked.Before(to):
		o.FailAt(field.InvalidTimestamp, at+"requested_at", "is before the close of its last candle")
	case asked.After(made):
		o.FailAt(field.InvalidTimestamp, at+"requested_at", "is after made_at")
	}
}

func (p *Shadow) checkDay(o field.Object, i int, made time.Time) time.Time {
	d := &p.Days[i]
	at := fmt.Sprintf("days/%d/", i)
	begin, ok := Day(d.Date)
	if !ok {
		o.FailAt(field.InvalidField, at+"date", "is not a day such as 2026-01-31")
		return begin
	}
	end := begin.AddDate(0, 0, 1)
	fetched, _ := field.ParseTime(d.FetchedAt)
	switch {
	case fetched.Before(end):
		o.FailAt(field.InvalidTimestamp, at+"fetched_at", "is before the end of its day")
	case fetched.After(made):
		o.FailAt(field.InvalidTimestamp, at+"fetched_at", "is after made_at")
	case d.Late != (fetched.Sub(end) > ShadowLate):
		o.FailAt(field.InvalidField, at+"late", "is not what fetched_at comes to: 48 h after the close")
	case !d.validMarks():
		o.FailAt(field.InvalidField, at+"marks", "are not those of so many candles")
	}
	return begin
}

// ShadowHistory is a digest over days: two plays that came to the same have the same.
func ShadowHistory(days []ShadowDay) (string, error) {
	list := make([]any, len(days))
	for i, d := range days {
		list[i] = map[string]any{"date": d.Date, "return": d.Return, "fills": d.Fills, "trades": d.Trades,
			"candles": d.Rows, "chunk_sha256": d.Chunk}
	}
	text, err := digest.JCS(list)
	return DigestPrefix + digest.SHA256Hex(text), err
}
