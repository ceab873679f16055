package view

import (
	"math"
	"strconv"

	"github.com/govalues/decimal"
)

// Number is a float64 written without exponent. It is shown to 15 significant
// digits, which is what a float64 holds of a decimal number: the rest would be
// noise of binary arithmetic. What is no finite number becomes 0.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return AppendNumber(nil, float64(n)), nil }

const digits = 15

// AppendNumber appends x as MarshalJSON writes it.
func AppendNumber(b []byte, x float64) []byte {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, '0')
	}
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.AppendInt(b, int64(x), 10)
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], x, 'e', digits-1, 64) // d.dddde±xx
	if e[0] == '-' {
		b, e = append(b, '-'), e[1:]
	}
	mark := len(e) - 1
	for e[mark] != 'e' {
		mark--
	}
	exponent, _ := strconv.Atoi(string(e[mark+1:])) // strconv has just written it
	mantissa := append(e[:1], e[2:mark]...)
	for len(mantissa) > 1 && mantissa[len(mantissa)-1] == '0' {
		mantissa = mantissa[:len(mantissa)-1]
	}
	return appendPlain(b, mantissa, exponent)
}

// appendPlain writes mantissa x 10^(exponent-len(mantissa)+1).
func appendPlain(b, mantissa []byte, exponent int) []byte {
	switch {
	case exponent < 0:
		b = append(b, "0."...)
		for range -exponent - 1 {
			b = append(b, '0')
		}
		return append(b, mantissa...)
	case exponent >= len(mantissa)-1:
		b = append(b, mantissa...)
		for range exponent - len(mantissa) + 1 {
			b = append(b, '0')
		}
		return b
	}
	b = append(b, mantissa[:exponent+1]...)
	b = append(b, '.')
	return append(b, mantissa[exponent+1:]...)
}

// Money is an exact decimal as JSON number.
type Money decimal.Decimal

// MarshalJSON implements json.Marshaler.
func (m Money) MarshalJSON() ([]byte, error) {
	return []byte(decimal.Decimal(m).Trim(0).String()), nil
}

// Plain is a decimal number as text, as the books give it; "" is 0.
type Plain string

// MarshalJSON implements json.Marshaler.
func (p Plain) MarshalJSON() ([]byte, error) {
	d, err := decimal.Parse(string(p))
	if err != nil {
		return []byte("0"), nil
	}
	return Money(d).MarshalJSON()
}

// price is null for what is absent.
func price(d decimal.Decimal) *Money {
	if d.IsZero() {
		return nil
	}
	m := Money(d)
	return &m
}

// text is null for what is absent.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Difference is a - b as people compute it: in decimal, from the shown digits.
func Difference(a, b float64) Number {
	x, errX := decimal.Parse(string(AppendNumber(nil, a)))
	y, errY := decimal.Parse(string(AppendNumber(nil, b)))
	if errX != nil || errY != nil {
		return Number(a - b)
	}
	d, err := x.Sub(y)
	if err != nil {
		return Number(a - b)
	}
	f, _ := d.Float64()
	return Number(f)
}

// rounded cuts a number for people to so many places.
func rounded(x float64, places int) Number {
	scale := math.Pow10(places)
	return Number(math.Round(x*scale) / scale)
}
