package series

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Curve is one equity_curve.csv: at each step close, which ascend, the equity and the
// signed value of the positions, both in quote currency.
type Curve struct {
	Time             []market.Time
	Equity, Position []float64
}

// The columns that are read.
const (
	header         = "timestamp,equity,cash,position_value,drawdown,exposure"
	timeColumn     = 0
	equityColumn   = 1
	positionColumn = 3
)

// CurveError says which line of an equity curve cannot be read, counted from 1.
type CurveError struct {
	Line   int
	Reason string
}

// Error is line and reason.
func (e *CurveError) Error() string {
	return fmt.Sprintf("equity curve, line %d: %s", e.Line, e.Reason)
}

// Read reads the text of an equity_curve.csv. The error is a *CurveError.
func Read(text []byte) (Curve, error) {
	var c Curve
	var clock clock
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	if string(first) != header {
		return c, &CurveError{1, fmt.Sprintf("%.80q is not the header", first)}
	}
	for line := 2; len(rest) > 0; line++ {
		var row []byte
		row, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if why := c.add(row, &clock); why != "" {
			return Curve{}, &CurveError{line, why}
		}
	}
	return c, nil
}

// add takes one row; why is empty when it could.
func (c *Curve) add(row []byte, clock *clock) (why string) {
	var fields [6][]byte
	n := 0
	for more := true; more; n++ {
		if n == len(fields) {
			return "it has more fields than the header"
		}
		fields[n], row, more = bytes.Cut(row, []byte{','})
	}
	if n < len(fields) {
		return fmt.Sprintf("it has %d fields, the header %d", n, len(fields))
	}
	at, ok := clock.read(fields[timeColumn])
	if !ok {
		return fmt.Sprintf("%.40q is no time", fields[timeColumn])
	}
	if k := len(c.Time); k > 0 && at <= c.Time[k-1] {
		return fmt.Sprintf("%s is not after %s", at, c.Time[k-1])
	}
	equity, ok := number(fields[equityColumn])
	if !ok {
		return fmt.Sprintf("%.40q is no equity", fields[equityColumn])
	}
	position, ok := number(fields[positionColumn])
	if !ok {
		return fmt.Sprintf("%.40q is no position value", fields[positionColumn])
	}
	c.Time, c.Equity, c.Position = append(c.Time, at), append(c.Equity, equity), append(c.Position, position)
	return ""
}

func number(b []byte) (float64, bool) {
	x, err := strconv.ParseFloat(string(b), 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// clock reads times of the one form that artifacts have. It remembers the day, which
// most neighbours share.
type clock struct {
	day  [10]byte
	from market.Time
	set  bool
}

func (c *clock) read(b []byte) (market.Time, bool) {
	const form = "2006-01-02T15:04:05.000Z"
	if len(b) != len(form) {
		return 0, false
	}
	for _, i := range []int{10, 13, 16, 19, 23} {
		if b[i] != form[i] {
			return 0, false
		}
	}
	if !c.set || !bytes.Equal(c.day[:], b[:len(c.day)]) {
		from, ok := day(b[:len(c.day)])
		if !ok {
			return 0, false
		}
		c.from, c.set = from, true
		copy(c.day[:], b)
	}
	hour, minute, second, milli := digits(b[11:13]), digits(b[14:16]), digits(b[17:19]), digits(b[20:23])
	if min(hour, minute, second, milli) < 0 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	return c.from + market.Time(((hour*60+minute)*60+second)*1000+milli), true
}

// day is the first moment of 2006-01-02: trials have a row per day, and a search has very
// many of those.
func day(b []byte) (market.Time, bool) {
	y, m, d := digits(b[:4]), digits(b[5:7]), digits(b[8:])
	if b[4] != '-' || b[7] != '-' || min(y, m, d) < 0 {
		return 0, false
	}
	at := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	// A day that the month has not is one of the next month.
	return market.FromTime(at), at.Year() == y && at.Month() == time.Month(m) && at.Day() == d
}

// digits is a number without a sign, -1 if it is none.
func digits(b []byte) int {
	n := 0
	for _, d := range b {
		if d < '0' || d > '9' {
			return -1
		}
		n = n*10 + int(d-'0')
	}
	return n
}
