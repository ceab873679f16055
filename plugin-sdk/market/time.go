package market

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

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
	return regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}(?:\.[0-9]+)?)?([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?)?$`)
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
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 {
			return FromTime(t), nil
		}
	}
	return 0, fmt.Errorf("%q is not a time: write 2024-01-31T12:00:00Z, 2024-01-31T12:00:00 (UTC) or 2024-01-31", s)
}
