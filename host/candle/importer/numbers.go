package importer

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// State of a cell that should hold a number.
type State uint8

// The states, the worst last.
const (
	Good State = iota
	Missing
	Bad
)

// exactInteger is the limit below which float64 holds every integer.
const exactInteger = 1 << 53

// powers of ten that float64 holds exactly.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Number reads a plain decimal number: what is read is always the float64 nearest to
// it. Short ones are the quotient of two exact numbers, which one division rounds
// correctly; the rest goes to strconv.
func Number(cell []byte) (float64, State) {
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
	return x, Good
}

// parseSlowly reads everything that Number does not: blanks around a number,
// exponents, many digits, and the words for a missing value.
func parseSlowly(cell []byte) (float64, State) {
	s := string(bytes.TrimSpace(cell))
	if isMissing(s) {
		return 0, Missing
	}
	return parseFloat(s)
}

func isMissing(s string) bool {
	switch strings.ToLower(s) {
	case "", "-", "nan", "null", "none", "na", "n/a", "<na>", "#n/a":
		return true
	}
	return false
}

// parseFloat reads decimal notation only: strconv knows hexadecimal, underscores and
// infinities, too.
func parseFloat(s string) (float64, State) {
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, Bad
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, Bad
	}
	return x, Good
}

// Style is how a format writes numbers.
type Style uint8

// The styles.
const (
	// Plain is 1234.5.
	Plain Style = iota
	// Money is Plain with a $ before, commas between thousands and K, M, B or T behind.
	Money
	// DecimalComma is Plain, or with a comma for the point.
	DecimalComma
)

// Number reads a number in the style.
func (s Style) Number(cell []byte) (float64, State) {
	if x, state := Number(cell); state != Bad || s == Plain {
		return x, state
	}
	text := string(bytes.TrimSpace(cell))
	if s == DecimalComma {
		return decimalComma(text)
	}
	return money(text)
}

func decimalComma(text string) (float64, State) {
	if strings.Count(text, ",") != 1 || strings.Contains(text, ".") {
		return 0, Bad
	}
	return parseFloat(strings.Replace(text, ",", ".", 1))
}

// money reads $1,234.50 and 395.86M. The exponent goes to strconv with the digits, so
// that the product is rounded once.
func money(text string) (float64, State) {
	text, negative := strings.CutPrefix(text, "-")
	text = strings.TrimSpace(strings.TrimPrefix(text, "$"))
	exponent := ""
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'K', 'k':
			exponent = "e3"
		case 'M', 'm':
			exponent = "e6"
		case 'B', 'b':
			exponent = "e9"
		case 'T', 't':
			exponent = "e12"
		}
		if exponent != "" {
			text = text[:n-1]
		}
	}
	if isMissing(text) && exponent == "" {
		return 0, Missing
	}
	whole, fraction, _ := strings.Cut(text, ".")
	groups := strings.Split(whole, ",")
	for i, g := range groups {
		// 1,23 may be a decimal comma: that is another number.
		if i > 0 && len(g) != 3 || i == 0 && len(groups) > 1 && (g == "" || len(g) > 3) {
			return 0, Bad
		}
	}
	text = strings.Join(groups, "")
	if strings.Trim(text+fraction, "0123456789") != "" {
		return 0, Bad
	}
	x, state := parseFloat(text + "." + fraction + exponent)
	if negative {
		x = -x
	}
	return x, state
}

// noPrice is how Databento writes that there is none.
const noPrice = "9223372036854775807"

// Whole reads a price that is written as an integer, the decimal point places further
// left. A point in it is a fault: it would be another price.
func Whole(cell []byte, places int) (float64, State) {
	text := bytes.TrimSpace(cell)
	if string(text) == noPrice || isMissing(string(text)) {
		return 0, Missing
	}
	mantissa := uint64(0)
	for _, c := range text {
		if c-'0' > 9 {
			return 0, Bad
		}
		mantissa = mantissa*10 + uint64(c-'0')
	}
	if len(text) <= 15 && places < len(powers) {
		return float64(mantissa) / powers[places], Good
	}
	return parseFloat(string(text) + "e-" + strconv.Itoa(places))
}

// Split appends up to want cells of a line to cells. Quotes around a cell go, two
// inside are one.
func Split(cells [][]byte, line []byte, comma byte, want int) [][]byte {
	from := 0
	for i, b := range line {
		if b == comma {
			if cells = append(cells, line[from:i]); len(cells) == want {
				return cells
			}
			from = i + 1
		} else if b == '"' && i == from {
			return splitQuoted(cells, line[from:], comma, want)
		}
	}
	return append(cells, line[from:])
}

// splitQuoted is Split from a cell that begins with a quote.
func splitQuoted(cells [][]byte, rest []byte, comma byte, want int) [][]byte {
	for len(cells) < want {
		var cell []byte
		if len(rest) > 0 && rest[0] == '"' {
			cell, rest = unquote(rest[1:])
		}
		end := bytes.IndexByte(rest, comma)
		if end < 0 {
			return append(cells, append(cell, rest...))
		}
		cells = append(cells, append(cell, rest[:end]...))
		rest = rest[end+1:]
	}
	return cells
}

// unquote reads to the closing quote; what follows is the rest.
func unquote(s []byte) (cell, rest []byte) {
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			cell = append(cell, s[i])
			continue
		}
		if i+1 == len(s) || s[i+1] != '"' {
			return cell, s[i+1:]
		}
		cell = append(cell, '"')
		i++
	}
	return cell, nil
}

// Comma returns the delimiter that a line uses most: comma, semicolon or tab.
func Comma(line string) byte {
	best, most := byte(','), 0
	quoted := false
	counts := map[byte]int{}
	for i := range len(line) {
		if line[i] == '"' {
			quoted = !quoted
		}
		if !quoted {
			counts[line[i]]++
		}
	}
	for _, c := range []byte{',', ';', '\t'} {
		if counts[c] > most {
			best, most = c, counts[c]
		}
	}
	return best
}
