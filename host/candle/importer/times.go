package importer

import (
	"bytes"
	"strings"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Order is what comes first in 01/02/2024.
type Order string

// The orders.
const (
	UnknownOrder Order = ""
	MonthFirst   Order = "mdy"
	DayFirst     Order = "dmy"
)

// Clock reads the times of one file: in the layouts of its format, else as Moment
// does, else as dates with slashes. It learns the order of those from the first one
// with a part above 12.
type Clock struct {
	// Order is known from the beginning, or as soon as a date shows it.
	Order   Order
	zone    *time.Location // where times without offset belong; nil: unknown
	layouts []layout
}

// layout is one of package time, and what it has.
type layout struct {
	text        string
	hour, shift bool
}

// NewClock makes a clock. zone is where times without offset belong, nil if
// unknown; layouts are tried in their order.
func NewClock(layouts []string, zone *time.Location, order Order) *Clock {
	c := &Clock{Order: order, zone: zone}
	for _, l := range layouts {
		c.layouts = append(c.layouts, layout{
			text:  l,
			hour:  strings.Contains(l, "15") || strings.Contains(l, "03"),
			shift: strings.Contains(l, "-0700"),
		})
	}
	return c
}

// Reading is a time as read.
type Reading struct {
	Time market.Time
	Unit Unit
	// Code is empty when it could be read.
	Code Code
	// Ambiguous times are Time with the month first and Other with the day first.
	Ambiguous bool
	Other     market.Time
}

// Read reads one time.
func (c *Clock) Read(text []byte) Reading {
	if len(c.layouts) > 0 {
		if r, ok := c.inLayouts(strings.TrimSpace(string(text))); ok {
			return r
		}
	}
	t, u, code := Moment(text, c.zone)
	if code == BadNumber {
		if r, ok := c.slashes(text); ok {
			return r
		}
	}
	return Reading{Time: t, Unit: u, Code: code}
}

// inLayouts is ok when a layout fits.
func (c *Clock) inLayouts(s string) (r Reading, ok bool) {
	for i, l := range c.layouts {
		at, err := time.Parse(l.text, s)
		if err != nil {
			continue
		}
		exists := true
		if l.hour && !l.shift && c.zone != nil {
			at, exists = Local(at, c.zone)
		}
		c.layouts[0], c.layouts[i] = l, c.layouts[0] // the next row is written alike
		r.Time, r.Unit = market.FromTime(at), Date
		if l.hour {
			r.Unit = Text
		}
		switch {
		case l.hour && !l.shift && c.zone == nil:
			r.Code = TimezoneRequired
		case !exists:
			r.Time, r.Code = 0, BadNumber
		case !InRange(r.Time):
			r.Code = TimeOutOfRange
		}
		return r, true
	}
	return r, false
}

// slashes reads 1/31/2024 and 31/1/2024, with a time of day behind or without.
func (c *Clock) slashes(text []byte) (r Reading, ok bool) {
	s := cursor{rest: text}
	a := s.shortNumber()
	s.expect('/')
	b := s.shortNumber()
	s.expect('/')
	year := s.number(4)
	if s.wrong {
		return r, false
	}
	r.Unit = Date
	var k clock
	zone := time.UTC
	if len(s.rest) > 0 {
		s.expect(' ')
		k = s.clock()
		s.halfDay(&k)
		if s.wrong || len(s.rest) > 0 {
			return r, false
		}
		if c.zone == nil {
			return Reading{Unit: Text, Code: TimezoneRequired}, true
		}
		r.Unit, zone = Text, c.zone
	}
	c.learn(a, b)
	month, day := a, b
	if c.Order == DayFirst {
		month, day = b, a
	}
	r.Time, _, r.Code = civil(year, month, day, k, zone, r.Unit)
	if c.Order == UnknownOrder && a != b && r.Code == "" {
		r.Ambiguous = true
		r.Other, _, r.Code = civil(year, b, a, k, zone, r.Unit)
	}
	return r, true
}

// learn takes the order from a part that can be no month.
func (c *Clock) learn(a, b int) {
	switch {
	case c.Order != UnknownOrder || a > 12 && b > 12:
	case a > 12:
		c.Order = DayFirst
	case b > 12:
		c.Order = MonthFirst
	}
}

// shortNumber reads one digit or two.
func (c *cursor) shortNumber() int {
	if len(c.rest) > 1 && c.rest[1]-'0' <= 9 {
		return c.number(2)
	}
	return c.number(1)
}

// halfDay reads AM or PM behind a clock of twelve hours.
func (c *cursor) halfDay(k *clock) {
	if !c.take(' ') {
		return
	}
	afternoon := c.take('P') || c.take('p')
	if !afternoon && !c.take('A') && !c.take('a') {
		c.wrong = true
		return
	}
	if !c.take('M') && !c.take('m') || k.hour < 1 || k.hour > 12 {
		c.wrong = true
		return
	}
	k.hour %= 12
	if afternoon {
		k.hour += 12
	}
}

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

// String returns the name in reports. All text counts as ISO: the others are read as what
// ISO would be.
func (u Unit) String() string {
	return [...]string{"s", "ms", "us", "ns", "iso", "date"}[u]
}

// The first and the first no longer allowed time: the years 1970 to 2100.
const (
	earliest market.Time = 0
	latest   market.Time = 4133980800000
)

// InRange reports whether a candle may have this time.
func InRange(t market.Time) bool { return t >= earliest && t < latest }

// Moment reads a time by its form: an integer by its magnitude, else ISO with offset
// (or in the given zone), else a date, which is 00:00 UTC. code is empty when it could
// be read.
func Moment(cell []byte, zone *time.Location) (t market.Time, u Unit, code Code) {
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
		return 0, Nanoseconds, TimeOutOfRange
	}
	return fromInteger(n, len(cell) == 8)
}

// Integer returns the moment that an integer means by its magnitude.
func Integer(n int64) (t market.Time, u Unit, code Code) {
	return fromInteger(n, n >= 1e7 && n < 1e8)
}

func fromInteger(n int64, eightDigits bool) (t market.Time, u Unit, code Code) {
	switch {
	case n < 0: // 19 digits can be too many for int64
		return 0, Seconds, TimeOutOfRange
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
		return 0, u, TimeOutOfRange
	}
	return t, u, ""
}

// isCompactDate reports whether a number is a date like 20240131, which as seconds would be
// some day of 1970: no file means that.
func isCompactDate(n int64) bool {
	y, m, d := n/10000, n/100%100, n%100
	return y >= 1900 && y <= 2100 && m >= 1 && m <= 12 && d >= 1 && d <= 31
}

// parseText reads what is not a bare integer.
func parseText(cell []byte, zone *time.Location) (t market.Time, u Unit, code Code) {
	if _, state := Number(cell); state != Good {
		return parseISO(cell, zone)
	}
	// A fraction of zeros loses nothing; an exponent has lost digits already.
	whole, fraction, _ := bytes.Cut(cell, []byte("."))
	switch {
	case cell[0] == '-':
		return 0, Seconds, TimeOutOfRange
	case len(whole) == 0 || len(bytes.Trim(whole, "0123456789")) > 0 || len(bytes.Trim(fraction, "0")) > 0:
		return 0, Seconds, TimeNotInteger
	}
	return Moment(whole, zone)
}

// parseISO reads 2024-01-31 (or 2024/01/31), and 2024-01-31T12:30[:00[.000]] with a
// blank or T between and an offset (Z, UTC, +09:00, +0900, +09) behind. Without the offset the zone is
// where the time belongs. It does by hand what trying a dozen layouts of package time
// would do ten times slower.
func parseISO(s []byte, zone *time.Location) (market.Time, Unit, Code) {
	c := cursor{rest: s}
	year := c.number(4)
	dash := byte('-')
	if c.take('/') {
		dash = '/'
	} else {
		c.expect(dash)
	}
	month := c.number(2)
	c.expect(dash)
	day := c.number(2)
	if c.wrong {
		return 0, Text, BadNumber
	}
	if len(c.rest) == 0 {
		return civil(year, month, day, clock{}, time.UTC, Date)
	}
	if !c.take('T') && !c.take('t') {
		c.expect(' ')
	}
	k := c.clock()
	c.take(' ')
	if len(c.rest) == 0 && !c.wrong {
		if zone == nil {
			return 0, Text, TimezoneRequired
		}
		return civil(year, month, day, k, zone, Text)
	}
	offset := c.offset()
	if c.wrong || len(c.rest) > 0 {
		return 0, Text, BadNumber
	}
	k.offset = offset
	return civil(year, month, day, k, time.UTC, Text)
}

// clock is a time of day, with the minutes that it is ahead of UTC.
type clock struct{ hour, minute, second, millis, offset int }

// civil returns the moment of a calendar date and clock; a date that no calendar has, like 30
// February, is no number.
func civil(year, month, day int, k clock, zone *time.Location, u Unit) (market.Time, Unit, Code) {
	if month < 1 || month > 12 || day < 1 || k.hour > 23 || k.minute > 59 || k.second > 59 {
		return 0, u, BadNumber
	}
	if time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, u, BadNumber
	}
	t, ok := Local(time.Date(year, time.Month(month), day, k.hour, k.minute, k.second, k.millis*1e6,
		time.UTC), zone)
	if !ok {
		return 0, u, BadNumber
	}
	m := market.FromTime(t.Add(-time.Duration(k.offset) * time.Minute))
	if !InRange(m) {
		return 0, u, TimeOutOfRange
	}
	return m, u, ""
}

// Local returns the moment at which a clock in the zone shows the UTC time; not ok
// where daylight saving skips that. Of an hour that comes twice it is one.
func Local(wall time.Time, zone *time.Location) (t time.Time, ok bool) {
	t = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(),
		wall.Nanosecond(), zone)
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

func (c *cursor) expect(b byte) {
	if !c.take(b) {
		c.wrong = true
	}
}

// clock reads hours and minutes, and seconds with a fraction where they follow.
func (c *cursor) clock() clock {
	var k clock
	k.hour = c.number(2)
	c.expect(':')
	k.minute = c.number(2)
	if !c.take(':') {
		return k
	}
	k.second = c.number(2)
	if !c.take('.') {
		return k
	}
	c.expectDigit()
	for scale := 100; len(c.rest) > 0 && c.rest[0]-'0' <= 9; scale /= 10 {
		k.millis += int(c.rest[0]-'0') * scale
		c.rest = c.rest[1:]
	}
	return k
}

// expectDigit makes the cursor wrong unless a digit comes next.
func (c *cursor) expectDigit() {
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
		c.expect('-')
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
