package importer

import (
	"bytes"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// unit is how a file writes a time.
type unit uint8

const (
	seconds unit = iota
	milliseconds
	microseconds
	nanoseconds
	iso
	date
	units
)

func (u unit) String() string {
	return [...]string{"s", "ms", "us", "ns", "iso", "date"}[u]
}

// The first and the first no longer allowed time: the years 1970 to 2100.
const (
	earliest market.Time = 0
	latest   market.Time = 4133980800000
)

// parseMoment reads a time by its form: an integer by its magnitude, else ISO with
// offset (or in the given zone), else a date, which is 00:00 UTC. code is empty when
// it could be read.
func parseMoment(cell []byte, zone *time.Location) (t market.Time, u unit, code Code) {
	n := int64(0)
	for _, c := range cell {
		if c-'0' > 9 {
			return parseText(bytes.TrimSpace(cell), zone)
		}
		n = n*10 + int64(c-'0')
	}
	switch {
	case len(cell) == 0:
		return 0, 0, BadNumber
	case len(cell) > 19:
		return 0, nanoseconds, TimeOutOfRange
	}
	return fromInteger(n, len(cell))
}

func fromInteger(n int64, digits int) (t market.Time, u unit, code Code) {
	switch {
	case n < 0: // 19 digits can be too many for int64
		return 0, nanoseconds, TimeOutOfRange
	case n < 1e11:
		t, u = market.Time(n*1000), seconds
	case n < 1e14:
		t, u = market.Time(n), milliseconds
	case n < 1e17:
		t, u = market.Time(n/1000), microseconds
	default:
		t, u = market.Time(n/1000000), nanoseconds
	}
	if t < earliest || t >= latest || digits == 8 && isCompactDate(n) {
		return 0, u, TimeOutOfRange
	}
	return t, u, ""
}

// isCompactDate says that a number is a date like 20240131, which as seconds would be
// some day of 1970: nobody means that.
func isCompactDate(n int64) bool {
	y, m, d := n/10000, n/100%100, n%100
	return y >= 1900 && y <= 2100 && m >= 1 && m <= 12 && d >= 1 && d <= 31
}

// parseText reads what is not a bare integer.
func parseText(cell []byte, zone *time.Location) (t market.Time, u unit, code Code) {
	if _, state := parseNumber(cell); state != good {
		return parseISO(cell, zone)
	}
	// A fraction of zeros loses nothing; an exponent has lost digits already.
	whole, fraction, _ := bytes.Cut(cell, []byte("."))
	switch {
	case cell[0] == '-':
		return 0, seconds, TimeOutOfRange
	case len(whole) == 0 || len(bytes.Trim(whole, "0123456789")) > 0 || len(bytes.Trim(fraction, "0")) > 0:
		return 0, seconds, TimeNotInteger
	}
	return parseMoment(whole, zone)
}

// parseISO reads 2024-01-31, and 2024-01-31T12:30[:00[.000]] with a blank or T between
// and an offset (Z, UTC, +09:00, +0900, +09) behind. Without the offset the zone says
// where the time belongs. It does by hand what trying a dozen layouts of package time
// would do ten times slower.
func parseISO(s []byte, zone *time.Location) (market.Time, unit, Code) {
	c := cursor{rest: s}
	year := c.number(4)
	c.want('-')
	month := c.number(2)
	c.want('-')
	day := c.number(2)
	if c.wrong {
		return 0, iso, BadNumber
	}
	if len(c.rest) == 0 {
		return civil(year, month, day, clock{}, time.UTC, date)
	}
	if !c.take('T') && !c.take('t') {
		c.want(' ')
	}
	k := c.clock()
	c.take(' ')
	if len(c.rest) == 0 && !c.wrong {
		if zone == nil {
			return 0, iso, TimezoneRequired
		}
		return civil(year, month, day, k, zone, iso)
	}
	offset := c.offset()
	if c.wrong || len(c.rest) > 0 {
		return 0, iso, BadNumber
	}
	k.offset = offset
	return civil(year, month, day, k, time.UTC, iso)
}

// clock is a time of day, with the minutes that it is ahead of UTC.
type clock struct{ hour, minute, second, millis, offset int }

// civil is the moment of a calendar date and clock; a date that no calendar has, like
// 30 February, is no number.
func civil(year, month, day int, k clock, zone *time.Location, u unit) (market.Time, unit, Code) {
	if month < 1 || month > 12 || day < 1 || k.hour > 23 || k.minute > 59 || k.second > 59 {
		return 0, u, BadNumber
	}
	if time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, u, BadNumber
	}
	t := time.Date(year, time.Month(month), day, k.hour, k.minute-k.offset, k.second, k.millis*1e6, zone)
	m := market.FromTime(t)
	if m < earliest || m >= latest {
		return 0, u, TimeOutOfRange
	}
	return m, u, ""
}

// cursor walks over text; the first thing that does not fit makes it wrong for good.
type cursor struct {
	rest  []byte
	wrong bool
}

// number reads exactly width digits.
func (c *cursor) number(width int) int {
	if len(c.rest) < width {
		c.wrong = true
		return 0
	}
	n := 0
	for _, d := range c.rest[:width] {
		if d-'0' > 9 {
			c.wrong = true
			return 0
		}
		n = n*10 + int(d-'0')
	}
	c.rest = c.rest[width:]
	return n
}

// take goes past b if it comes next.
func (c *cursor) take(b byte) bool {
	if len(c.rest) == 0 || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

func (c *cursor) want(b byte) {
	if !c.take(b) {
		c.wrong = true
	}
}

// clock reads hours and minutes, and seconds with a fraction where they follow.
func (c *cursor) clock() clock {
	var k clock
	k.hour = c.number(2)
	c.want(':')
	k.minute = c.number(2)
	if !c.take(':') {
		return k
	}
	k.second = c.number(2)
	if !c.take('.') {
		return k
	}
	c.wantDigit()
	for scale := 100; len(c.rest) > 0 && c.rest[0]-'0' <= 9; scale /= 10 {
		k.millis += int(c.rest[0]-'0') * scale
		c.rest = c.rest[1:]
	}
	return k
}

// wantDigit makes the cursor wrong unless a digit comes next.
func (c *cursor) wantDigit() {
	if len(c.rest) == 0 || c.rest[0]-'0' > 9 {
		c.wrong = true
	}
}

// offset reads the minutes ahead of UTC.
func (c *cursor) offset() int {
	if c.take('Z') || c.take('z') {
		return 0
	}
	if len(c.rest) == 3 && string(c.rest) == "UTC" {
		c.rest = nil
		return 0
	}
	sign := 1
	if !c.take('+') {
		c.want('-')
		sign = -1
	}
	minutes := 60 * c.number(2)
	if c.take(':') || len(c.rest) > 0 {
		minutes += c.number(2)
	}
	if minutes > 18*60 {
		c.wrong = true
	}
	return sign * minutes
}
