package cell

import (
	"strings"
	"time"

	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Order says what comes first in 01/02/2024.
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
	zone    *time.Location
	layouts []layout
}

// layout is one of package time, and what it has.
type layout struct {
	text        string
	hour, shift bool
}

// NewClock makes a clock. zone is where times without offset belong, nil if nobody
// said; layouts are tried in their order.
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

// Zone is where times without offset belong; nil: nobody said.
func (c *Clock) Zone() *time.Location { return c.zone }

// Reading is a time as read.
type Reading struct {
	Time market.Time
	Unit Unit
	// Code is empty when it could be read.
	Code refusal.Code
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
	if code == refusal.BadNumber {
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
			r.Code = refusal.TimezoneRequired
		case !exists:
			r.Time, r.Code = 0, refusal.BadNumber
		case !InRange(r.Time):
			r.Code = refusal.TimeOutOfRange
		}
		return r, true
	}
	return r, false
}

// slashes reads 1/31/2024 and 31/1/2024, with a time of day behind or without.
func (c *Clock) slashes(text []byte) (r Reading, ok bool) {
	s := cursor{rest: text}
	a := s.shortNumber()
	s.want('/')
	b := s.shortNumber()
	s.want('/')
	year := s.number(4)
	if s.wrong {
		return r, false
	}
	r.Unit = Date
	var k clock
	zone := time.UTC
	if len(s.rest) > 0 {
		s.want(' ')
		k = s.clock()
		s.halfDay(&k)
		if s.wrong || len(s.rest) > 0 {
			return r, false
		}
		if c.zone == nil {
			return Reading{Unit: Text, Code: refusal.TimezoneRequired}, true
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
