package artifact

import (
	"math"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// appendMoney writes a decimal in full, without trailing zeros.
func appendMoney(b []byte, d decimal.Decimal) []byte {
	return append(b, d.Trim(0).String()...)
}

// appendAmount writes a float64 in full, with as few digits as tell it from its
// neighbours. What is not finite has no value: it stays empty.
func appendAmount(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return b
	}
	return strconv.AppendFloat(b, x+0, 'f', -1, 64) // -0 is written 0
}

const digits12 = 12

// appendNumber writes x rounded to 12 significant digits, in full and without
// trailing zeros. What is not finite stays empty.
func appendNumber(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return b
	}
	if x == 0 {
		return append(b, '0')
	}
	var room [32]byte
	e := strconv.AppendFloat(room[:0], math.Abs(x), 'e', digits12-1, 64) // d.ddddddddddde+dd
	digits := e[:digits12+1]
	digits[1] = digits[0]
	digits = digits[1:]
	exponent := 0
	for _, c := range e[digits12+3:] {
		exponent = exponent*10 + int(c-'0')
	}
	if e[digits12+2] == '-' {
		exponent = -exponent
	}
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if x < 0 {
		b = append(b, '-')
	}
	return appendPlain(b, digits, exponent+1)
}

// appendPlain writes 0.digits x 10^point.
func appendPlain(b, digits []byte, point int) []byte {
	switch {
	case point <= 0:
		b = append(b, "0."...)
		for range -point {
			b = append(b, '0')
		}
		return append(b, digits...)
	case point >= len(digits):
		b = append(b, digits...)
		for range point - len(digits) {
			b = append(b, '0')
		}
		return b
	}
	b = append(b, digits[:point]...)
	b = append(b, '.')
	return append(b, digits[point:]...)
}

// appendText writes a CSV field, quoted where RFC 4180 needs it.
func appendText(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// clockWriter writes times and remembers the day, which most neighbours share.
type clockWriter struct {
	day  int64
	text string // the day and a T; empty before the first time
}

const dayMillis = 24 * 60 * 60 * 1000

// append writes 2024-01-01T00:00:00.000Z; nothing for no time.
func (c *clockWriter) append(b []byte, t market.Time) []byte {
	if t == 0 {
		return b
	}
	day, ms := int64(t)/dayMillis, int64(t)%dayMillis
	if ms < 0 {
		day, ms = day-1, ms+dayMillis
	}
	if c.text == "" || c.day != day {
		c.day, c.text = day, strings.TrimSuffix(market.Time(day*dayMillis).String(), "00:00:00.000Z")
	}
	b = append(b, c.text...)
	b = append(twoDigits(b, ms/3600000), ':')
	b = append(twoDigits(b, ms/60000%60), ':')
	b = append(twoDigits(b, ms/1000%60), '.', byte('0'+ms/100%10))
	return append(twoDigits(b, ms%100), 'Z')
}

func twoDigits(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }
