package market

import (
	"fmt"
	"strconv"
	"time"
)

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
