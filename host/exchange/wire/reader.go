package wire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// maxNumber bounds a decimal number, in characters.
	maxNumber = 40
	// maxText bounds names and ids, in bytes.
	maxText = 256
	// maxNames bounds a list of names, where it is to be short.
	maxNames = 32
	// maxDocument bounds a JSON document, in bytes.
	maxDocument = 1 << 20
)

// ProtocolError reports that a connector sent what the contract does not allow. The host
// treats it as a crash of the connector: none of its other messages can be trusted.
type ProtocolError struct {
	Field   string // path inside the message, such as orders[2].quantity
	Message string
}

// Error names the field and what is wrong with it.
func (e *ProtocolError) Error() string {
	return "the connector broke the protocol: " + e.Field + ": " + e.Message
}

// reader collects the first fault of a message, so that a conversion reads as one list of
// assignments.
type reader struct {
	known     map[market.Symbol]bool // nil: any text
	asked     market.Symbol          // what the request was about, known or not
	anySymbol bool                   // whatever has the form of a symbol
	prefix    string
	fault     *ProtocolError
}

// err returns the first fault, or nil.
func (r *reader) err() error {
	if r.fault == nil {
		return nil
	}
	return r.fault
}

func (r *reader) wrong(field, format string, args ...any) {
	if r.fault == nil {
		r.fault = &ProtocolError{Field: r.prefix + field, Message: fmt.Sprintf(format, args...)}
	}
}

// within puts a path before the fields that read reads.
func (r *reader) within(path string, read func()) {
	before := r.prefix
	r.prefix = before + path + "."
	read()
	r.prefix = before
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// symbol reads one of the session's, or the one that was asked about: orders of earlier runs are on others.
func (r *reader) symbol(field, s string) market.Symbol {
	symbol := market.Symbol(s)
	if r.anySymbol {
		if _, err := market.ParseSymbol(s); err != nil {
			r.wrong(field, unknownWord, s)
		}
	} else if r.known != nil && !r.known[symbol] && (s == "" || symbol != r.asked) {
		r.wrong(field, "%.80q is not a symbol of the session", s)
	}
	return symbol
}

// unknownWord is what is wrong with a word that is not one of a fixed set.
const unknownWord = "%.80q is not known"

// signed reads a decimal number; "" is zero.
func (r *reader) signed(field, s string) decimal.Decimal {
	if s == "" {
		return decimal.Decimal{}
	}
	if len(s) > maxNumber {
		r.wrong(field, "a number of %d characters, at most %d are allowed", len(s), maxNumber)
		return decimal.Decimal{}
	}
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if !digits(whole) || dotted && !digits(fraction) {
		r.wrong(field, "%q is not a plain decimal number", s)
		return decimal.Decimal{}
	}
	d, err := decimal.Parse(s)
	if err == nil && d.Scale() == len(fraction) {
		return d
	}
	// Zeros at the end say nothing and may be what is too long.
	trimmed := strings.TrimRight(fraction, "0")
	d, err = decimal.Parse(s[:len(s)-len(fraction)+len(trimmed)])
	if err != nil || d.Scale() != len(trimmed) {
		r.wrong(field, "%q has more than %d digits", s, decimal.MaxPrec)
	}
	return d
}

// shown reads a number that nothing is computed from: what has more digits than a decimal is rounded.
func (r *reader) shown(field, s string) decimal.Decimal {
	whole, fraction, dotted := strings.Cut(s, ".")
	if len(s) > maxNumber || !digits(whole) || dotted && !digits(fraction) {
		return r.decimal(field, s, "")
	}
	d, err := decimal.Parse(s)
	if err != nil { // more than 19 digits before the point: it is no price at all
		r.wrong(field, "%q has more than %d digits", s, decimal.MaxPrec)
	}
	return d
}

// decimal reads a number by its rule: without one it cannot be negative.
func (r *reader) decimal(field, s, rule string) decimal.Decimal {
	if rule == "shown" {
		return r.shown(field, s)
	}
	d := r.signed(field, s)
	if d.IsNeg() && rule != "signed" {
		r.wrong(field, "%s is negative", d)
	}
	return d
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// number returns a decimal on the wire. Zero is absent.
func number(d decimal.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// valid makes a text fit for a proto string, which must be UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
