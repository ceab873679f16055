// Package market holds the nouns of trading that every other package shares:
// Symbol, Timeframe, Candle, Side, Intent, Order, Fill, Trade and Position.
//
// It is pure data. It knows no clock, file, socket or venue and imports nothing
// of this module. Prices of candles and what a strategy asks for are float64;
// everything that is money or quantity in the books is decimal.Decimal.
package market

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Symbol names what is traded as BASE/QUOTE, for example BTC/USDT. The quote is
// always a currency.
type Symbol string

// maxSymbolPart is how many characters base and quote have at most.
const maxSymbolPart = 32

// ParseSymbol checks the form BASE/QUOTE: two parts of 1 to 32 characters without
// blanks, slashes and colons. A plugin's process checks one symbol or two in its life, so
// this is no regular expression: compiling it would take longer than all that it checks.
func ParseSymbol(s string) (Symbol, error) {
	base, quote, ok := strings.Cut(s, "/")
	if !ok || !symbolPart(base) || !symbolPart(quote) {
		return "", fmt.Errorf("%q is not a symbol: write BASE/QUOTE, for example BTC/USDT", s)
	}
	return Symbol(s), nil
}

func symbolPart(s string) bool {
	n := 0
	for _, r := range s {
		if n++; n > maxSymbolPart || r == '/' || r == ':' || blank(r) {
			return false
		}
	}
	return n > 0
}

// blank reports whether r is \s of ECMA-262, as in the schema of requests.
func blank(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r == ' ', r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a,
		r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000, r == 0xfeff:
		return true
	}
	return false
}

// Base is the part before the slash: what is bought and sold.
func (s Symbol) Base() string {
	base, _, _ := strings.Cut(string(s), "/")
	return base
}

// Quote is the part after the slash: the currency of prices, fees and cash.
func (s Symbol) Quote() string {
	_, quote, _ := strings.Cut(string(s), "/")
	return quote
}

// Timeframe is the length of a candle: a count (1 to 9999) and a unit, one of
// s, m, h, d, w and M (calendar months).
type Timeframe struct {
	Count int
	Unit  byte
}

const day = 24 * time.Hour

// ParseTimeframe reads the form ^[1-9][0-9]{0,3}[smhdwM]$, for example 1h.
func ParseTimeframe(s string) (Timeframe, error) {
	bad := fmt.Errorf("%q is not a timeframe: write a count and one of s, m, h, d, w, M, for example 1h", s)
	if len(s) < 2 || len(s) > 5 || s[0] < '1' || s[0] > '9' {
		return Timeframe{}, bad
	}
	for _, c := range s[:len(s)-1] {
		if c < '0' || c > '9' {
			return Timeframe{}, bad
		}
	}
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil {
		return Timeframe{}, bad
	}
	switch s[len(s)-1] {
	case 's', 'm', 'h', 'd', 'w', 'M':
		return Timeframe{Count: n, Unit: s[len(s)-1]}, nil
	}
	return Timeframe{}, bad
}

// MustTimeframe is ParseTimeframe for constants; it panics on a bad one.
func MustTimeframe(s string) Timeframe {
	tf, err := ParseTimeframe(s)
	if err != nil {
		panic(err)
	}
	return tf
}

// String is the form that ParseTimeframe reads; "" for the zero value.
func (t Timeframe) String() string {
	if t.Count == 0 {
		return ""
	}
	return strconv.Itoa(t.Count) + string(rune(t.Unit))
}

// MarshalText makes a Timeframe a JSON string.
func (t Timeframe) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a JSON string.
func (t *Timeframe) UnmarshalText(b []byte) error {
	v, err := ParseTimeframe(string(b))
	if err != nil {
		return err
	}
	*t = v
	return nil
}

// Duration is the length of one candle. Months have none: 0.
func (t Timeframe) Duration() time.Duration {
	n := time.Duration(t.Count)
	switch t.Unit {
	case 's':
		return n * time.Second
	case 'm':
		return n * time.Minute
	case 'h':
		return n * time.Hour
	case 'd':
		return n * day
	case 'w':
		return n * 7 * day
	}
	return 0
}

// Next is the nominal close of a candle that opens at the given time.
func (t Timeframe) Next(open Time) Time {
	if t.Unit == 'M' {
		return FromTime(open.Time().AddDate(0, t.Count, 0))
	}
	return open.Add(t.Duration())
}

// Approx is Duration with 30.4375 days for a month: for ordering and estimates only.
func (t Timeframe) Approx() time.Duration {
	if t.Unit == 'M' {
		return time.Duration(t.Count) * 2629800 * time.Second
	}
	return t.Duration()
}

// TimeLayout is how every time leaves the product: UTC with milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Time is a moment in Unix milliseconds, UTC. The zero value means "no time".
type Time int64

// FromTime converts a time.Time, dropping everything below a millisecond.
func FromTime(t time.Time) Time { return Time(t.UnixMilli()) }

// Time converts to a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String formats the moment as 2024-01-01T00:00:00.000Z.
func (t Time) String() string { return t.Time().Format(TimeLayout) }

// AppendFormat is String without making one.
func (t Time) AppendFormat(b []byte) []byte { return t.Time().AppendFormat(b, TimeLayout) }

// Add returns the moment d later, to the millisecond.
func (t Time) Add(d time.Duration) Time { return t + Time(d/time.Millisecond) }

// MarshalJSON writes the moment as a string, and null for the zero value.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(t.String())
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == nil {
		*t = 0
		return nil
	}
	v, err := ParseTime(*s)
	if err != nil {
		return err
	}
	*t = v
	return nil
}

// timePattern is the accepted spelling. Package time alone would also take a comma
// for the point and hours of one digit. Its groups are clock, seconds and offset. It is
// compiled when it is needed first: most plugins never read a time.
var timePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}(?:\.[0-9]+)?)?([Zz]|[+-](?:[01][0-9]|` +
			`2[0-3]):[0-5][0-9])?)?$`)
})

// ParseTime reads RFC 3339, the same without offset (UTC), or a date (00:00 UTC).
// Seconds may be left out.
func ParseTime(s string) (Time, error) {
	if part := timePattern().FindStringSubmatch(s); part != nil {
		layout := "2006-01-02"
		if part[1] != "" {
			layout += "T15:04"
		}
		if part[2] != "" {
			layout += ":05"
		}
		if part[3] != "" {
			layout += "Z07:00"
		}
		// A year of other than four digits, behind an offset, could not be written again.
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil && t.UTC().Year() >= 0 &&
			t.UTC().Year() <= 9999 {
			return FromTime(t), nil
		}
	}
	return 0, fmt.Errorf(
		"%q is not a time: write 2024-01-31T12:00:00Z, 2024-01-31T12:00:00 (UTC) or 2024-01-31", s)
}

// ParseEnd reads the end of something as [ParseTime] does; of a date, which is meant as a whole
// day, it is the midnight after it.
func ParseEnd(s string) (Time, error) {
	t, err := ParseTime(s)
	if err == nil && len(s) == len("2006-01-02") {
		t = t.Add(24 * time.Hour)
	}
	return t, err
}

// Candle is open, high, low, close and volume of one symbol over one finished
// interval [OpenTime, CloseTime), UTC.
type Candle struct {
	OpenTime  Time    `json:"open_time"`
	CloseTime Time    `json:"close_time"`
	Open      float64 `json:"open"`
	High      float64 `json:"high"`
	Low       float64 `json:"low"`
	Close     float64 `json:"close"`
	Volume    float64 `json:"volume"`
}

// Series is the candles of one symbol as columns of equal length, open times
// strictly ascending. The columns may be memory-mapped and must not be written.
type Series struct {
	Symbol    Symbol    `json:"symbol"`
	Timeframe Timeframe `json:"timeframe,omitzero"`
	Time      []Time    `json:"time"`
	Open      []float64 `json:"open"`
	High      []float64 `json:"high"`
	Low       []float64 `json:"low"`
	Close     []float64 `json:"close"`
	Volume    []float64 `json:"volume"`
}

// Len is the number of candles.
func (s *Series) Len() int { return len(s.Time) }

// CloseTime of candle i: its open plus the timeframe, or the next candle's open if
// that is earlier (as on a day that daylight saving shortens).
func (s *Series) CloseTime(i int) Time {
	end := s.Timeframe.Next(s.Time[i])
	if i+1 < len(s.Time) && s.Time[i+1] < end {
		return s.Time[i+1]
	}
	return end
}

// At is candle i.
func (s *Series) At(i int) Candle {
	return Candle{
		OpenTime: s.Time[i], CloseTime: s.CloseTime(i),
		Open: s.Open[i], High: s.High[i], Low: s.Low[i], Close: s.Close[i], Volume: s.Volume[i],
	}
}

// Search is the index of the first candle that opens at or after t; Len if none does.
func (s *Series) Search(t Time) int {
	return sort.Search(len(s.Time), func(i int) bool { return s.Time[i] >= t })
}

// Slice is the candles [from, to) without copying.
func (s *Series) Slice(from, to int) *Series {
	return &Series{
		Symbol: s.Symbol, Timeframe: s.Timeframe,
		Time: s.Time[from:to], Open: s.Open[from:to], High: s.High[from:to],
		Low: s.Low[from:to], Close: s.Close[from:to], Volume: s.Volume[from:to],
	}
}

// Append adds one candle. Its CloseTime is not kept: it follows from the timeframe.
func (s *Series) Append(c Candle) {
	s.Time = append(s.Time, c.OpenTime)
	s.Open = append(s.Open, c.Open)
	s.High = append(s.High, c.High)
	s.Low = append(s.Low, c.Low)
	s.Close = append(s.Close, c.Close)
	s.Volume = append(s.Volume, c.Volume)
}
