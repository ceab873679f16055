package market

import (
	"fmt"
	"regexp"
	"strings"
)

// Symbol names what is traded as BASE/QUOTE, for example BTC/USDT. The quote is
// always a currency.
type Symbol string

// symbolPart leaves out slash, colon and every blank of Unicode, as \s of ECMA-262
// does in the schema of requests.
const symbolPart = `[^/:\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]{1,32}`

var symbolPattern = regexp.MustCompile("^" + symbolPart + "/" + symbolPart + "$")

// ParseSymbol checks the form BASE/QUOTE: two parts of 1 to 32 characters without
// blanks, slashes and colons.
func ParseSymbol(s string) (Symbol, error) {
	if !symbolPattern.MatchString(s) {
		return "", fmt.Errorf("%q is not a symbol: write BASE/QUOTE, for example BTC/USDT", s)
	}
	return Symbol(s), nil
}

// Base is the part before the slash: what is bought and sold.
func (s Symbol) Base() string {
	base, _, _ := strings.Cut(string(s), "/")
	return base
}

// Quote is the part after the slash: the currency of prices, fees and cash.
func (s Symbol) Quote() string {
	_, quote, _ := strings.Cut(string(s), "/")
	return quote
}
