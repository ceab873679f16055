package importer

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// state of a cell that should hold a number.
type state uint8

const (
	good state = iota
	missing
	bad
)

// exactInteger is the limit below which float64 holds every integer.
const exactInteger = 1 << 53

// powers of ten that float64 holds exactly.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// parseNumber reads a plain decimal number: what is read is always the float64
// nearest to it. Short ones are the quotient of two exact numbers, which one division
// rounds correctly; the rest goes to strconv.
func parseNumber(cell []byte) (float64, state) {
	i, n := 0, len(cell)
	negative := false
	if n > 0 && cell[0] == '-' {
		negative, i = true, 1
	}
	mantissa, from := uint64(0), i
	for i < n && cell[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(cell[i]-'0')
		i++
	}
	digits, fraction := i-from, 0
	if i < n && cell[i] == '.' {
		i++
		from = i
		for i < n && cell[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(cell[i]-'0')
			i++
		}
		fraction = i - from
		digits += fraction
	}
	if i < n || digits == 0 || digits > 19 || mantissa >= exactInteger {
		return parseSlowly(cell)
	}
	x := float64(mantissa) / powers[fraction]
	if negative {
		x = -x
	}
	return x, good
}

// parseSlowly reads everything that parseNumber does not: blanks around a number,
// exponents, many digits, and the words for a missing value.
func parseSlowly(cell []byte) (float64, state) {
	s := string(bytes.TrimSpace(cell))
	switch strings.ToLower(s) {
	case "", "-", "nan", "null", "none", "na", "n/a":
		return 0, missing
	}
	// strconv also reads hexadecimal, underscores and infinities.
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, bad
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, bad
	}
	return x, good
}
