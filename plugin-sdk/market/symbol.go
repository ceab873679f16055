package market

import (
	"fmt"
	"strings"
)

// Symbol names what is traded as BASE/QUOTE, for example BTC/USDT. The quote is
// always a currency.
type Symbol string

// maxSymbolPart is how many characters base and quote have at most.
const maxSymbolPart = 32

// ParseSymbol checks the form BASE/QUOTE: two parts of 1 to 32 characters without
// blanks, slashes and colons. A plugin's process checks one symbol or two in its life, so
// this is no regular expression: compiling it would take longer than all that it checks.
func ParseSymbol(s string) (Symbol, error) {
	base, quote, ok := strings.Cut(s, "/")
	if !ok || !symbolPart(base) || !symbolPart(quote) {
		return "", fmt.Errorf("%q is not a symbol: write BASE/QUOTE, for example BTC/USDT", s)
	}
	return Symbol(s), nil
}

func symbolPart(s string) bool {
	n := 0
	for _, r := range s {
		if n++; n > maxSymbolPart || r == '/' || r == ':' || blank(r) {
			return false
		}
	}
	return n > 0
}

// blank says what \s of ECMA-262 is, as in the schema of requests.
func blank(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r == ' ', r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a,
		r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000, r == 0xfeff:
		return true
	}
	return false
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
