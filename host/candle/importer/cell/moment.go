package cell

import (
	"bytes"
	"time"

	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Unit is how a file writes a time.
type Unit uint8

// The units. Text is a date with a time of day, Date one without.
const (
	Seconds Unit = iota
	Milliseconds
	Microseconds
	Nanoseconds
	Text
	Date
	Units // how many there are
)

// String is the name in reports. All text counts as ISO: the others are read as what
// ISO would be.
func (u Unit) String() string {
	return [...]string{"s", "ms", "us", "ns", "iso", "date"}[u]
}

// The first and the first no longer allowed time: the years 1970 to 2100.
const (
	earliest market.Time = 0
	latest   market.Time = 4133980800000
)

// InRange says whether a candle may have this time.
func InRange(t market.Time) bool { return t >= earliest && t < latest }

// Moment reads a time by its form: an integer by its magnitude, else ISO with offset
// (or in the given zone), else a date, which is 00:00 UTC. code is empty when it could
// be read.
func Moment(cell []byte, zone *time.Location) (t market.Time, u Unit, code refusal.Code) {
	n := int64(0)
	for _, c := range cell {
		if c-'0' > 9 {
			return parseText(bytes.TrimSpace(cell), zone)
		}
		n = n*10 + int64(c-'0')
	}
	switch {
	case len(cell) == 0:
		return 0, 0, refusal.BadNumber
	case len(cell) > 19:
		return 0, Nanoseconds, refusal.TimeOutOfRange
	}
	return fromInteger(n, len(cell) == 8)
}

// Integer is the moment that an integer means by its magnitude.
func Integer(n int64) (t market.Time, u Unit, code refusal.Code) {
	return fromInteger(n, n >= 1e7 && n < 1e8)
}

func fromInteger(n int64, eightDigits bool) (t market.Time, u Unit, code refusal.Code) {
	switch {
	case n < 0: // 19 digits can be too many for int64
		return 0, Seconds, refusal.TimeOutOfRange
	case n < 1e11:
		t, u = market.Time(n*1000), Seconds
	case n < 1e14:
		t, u = market.Time(n), Milliseconds
	case n < 1e17:
		t, u = market.Time(n/1000), Microseconds
	default:
		t, u = market.Time(n/1000000), Nanoseconds
	}
	if !InRange(t) || eightDigits && isCompactDate(n) {
		return 0, u, refusal.TimeOutOfRange
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
func parseText(cell []byte, zone *time.Location) (t market.Time, u Unit, code refusal.Code) {
	if _, state := Number(cell); state != Good {
		return parseISO(cell, zone)
	}
	// A fraction of zeros loses nothing; an exponent has lost digits already.
	whole, fraction, _ := bytes.Cut(cell, []byte("."))
	switch {
	case cell[0] == '-':
		return 0, Seconds, refusal.TimeOutOfRange
	case len(whole) == 0 || len(bytes.Trim(whole, "0123456789")) > 0 || len(bytes.Trim(fraction, "0")) > 0:
		return 0, Seconds, refusal.TimeNotInteger
	}
	return Moment(whole, zone)
}

// parseISO reads 2024-01-31 (or 2024/01/31), and 2024-01-31T12:30[:00[.000]] with a
// blank or T between and an offset (Z, UTC, +09:00, +0900, +09) behind. Without the offset the zone says
// where the time belongs. It does by hand what trying a dozen layouts of package time
// would do ten times slower.
func parseISO(s []byte, zone *time.Location) (market.Time, Unit, refusal.Code) {
	c := cursor{rest: s}
	year := c.number(4)
	dash := byte('-')
	if c.take('/') {
		dash = '/'
	} else {
		c.want(dash)
	}
	month := c.number(2)
	c.want(dash)
	day := c.number(2)
	if c.wrong {
		return 0, Text, refusal.BadNumber
	}
	if len(c.rest) == 0 {
		return civil(year, month, day, clock{}, time.UTC, Date)
	}
	if !c.take('T') && !c.take('t') {
		c.want(' ')
	}
	k := c.clock()
	c.take(' ')
	if len(c.rest) == 0 && !c.wrong {
		if zone == nil {
			return 0, Text, refusal.TimezoneRequired
		}
		return civil(year, month, day, k, zone, Text)
	}
	offset := c.offset()
	if c.wrong || len(c.rest) > 0 {
		return 0, Text, refusal.BadNumber
	}
	k.offset = offset
	return civil(year, month, day, k, time.UTC, Text)
}

// clock is a time of day, with the minutes that it is ahead of UTC.
type clock struct{ hour, minute, second, millis, offset int }

// civil is the moment of a calendar date and clock; a date that no calendar has, like
// 30 February, is no number.
func civil(year, month, day int, k clock, zone *time.Location, u Unit) (market.Time, Unit, refusal.Code) {
	if month < 1 || month > 12 || day < 1 || k.hour > 23 || k.minute > 59 || k.second > 59 {
		return 0, u, refusal.BadNumber
	}
	if time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, u, refusal.BadNumber
	}
	t, ok := Local(time.Date(year, time.Month(month), day, k.hour, k.minute, k.second, k.millis*1e6, time.UTC), zone)
	if !ok {
		return 0, u, refusal.BadNumber
	}
	m := market.FromTime(t.Add(-time.Duration(k.offset) * time.Minute))
	if !InRange(m) {
		return 0, u, refusal.TimeOutOfRange
	}
	return m, u, ""
}

// Local is the moment at which a clock in the zone shows what the UTC time says; not ok
// where daylight saving skips that. Of an hour that comes twice it is one.
func Local(wall time.Time, zone *time.Location) (t time.Time, ok bool) {
	t = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	return t, t.Hour() == wall.Hour() && t.Minute() == wall.Minute()
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
