package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Bounds on texts, in bytes.
const (
	// MaxTextBytes bounds tags, references and names.
	MaxTextBytes = 256
	// MaxMessageText bounds a log message and a failure's message.
	MaxMessageText = 4 << 10
	// MaxStackBytes bounds the stack of a failure.
	MaxStackBytes = 64 << 10
	// MaxDocumentBytes bounds JSON documents: schema, parameters, options.
	MaxDocumentBytes = 1 << 20
)

// Bounds on what a strategy may ask for and log. The SDK keeps them in the plugin's process, and the host
// refuses a plugin that passes one: it was built with something else.
const (
	// MaxIntents bounds the intents of one step.
	MaxIntents = 10_000
	// MaxEarlyIntents bounds those of them that OnFill and OnReject return.
	MaxEarlyIntents = 100
	// MaxWarmup bounds the candles before the window that a strategy may ask for.
	MaxWarmup = market.MaxWarmup
	// MaxExtra bounds the larger timeframes of a strategy.
	MaxExtra = 16
	// MaxLogFields bounds the fields of a log line.
	MaxLogFields = 64
	// MaxStepLines bounds the log lines of one step, and of one message: as many as a chunk has steps.
	MaxStepLines = ChunkSteps
	// MaxMessagePoints bounds the points of all series in one message: some 1 MiB of them.
	MaxMessagePoints = 1 << 16
	// MaxSeries bounds the published series of a run.
	MaxSeries = 64
)

// maxNumberBytes holds the longest plain spelling of a float64.
const maxNumberBytes = 800

// ProtocolError is a message that the protocol does not allow. The host ends
// the run with PLUGIN_PROTOCOL_ERROR.
type ProtocolError struct {
	Field   string // path inside the message, such as decisions[2].intents[0].quantity
	Message string
}

// Error names the field and what is wrong with it.
func (e *ProtocolError) Error() string {
	return "protocol error: " + e.Field + ": " + e.Message
}

func wrong(field, format string, args ...any) error {
	return &ProtocolError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// under puts a prefix before the field of a ProtocolError.
func under(prefix string, err error) error {
	var p *ProtocolError
	if errors.As(err, &p) {
		return &ProtocolError{Field: prefix + "." + p.Field, Message: p.Message}
	}
	return err
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// codec carries the fields of one message in both directions, so that a field is named
// once: out of the nouns, or, with read set, into them with checks. The first error counts.
type codec struct {
	symbols []market.Symbol
	read    bool
	list    string // the entry that is carried, for errors: list[entry]
	entry   int
	err     error
}

// in names the entry of a list that the next fields belong to.
func (c *codec) in(list string, entry int) { c.list, c.entry = list, entry }

// wrong keeps an error about a field, "" for the entry itself.
func (c *codec) wrong(field, format string, args ...any) {
	switch {
	case c.err != nil:
		return
	case c.list != "" && field == "":
		field = at(c.list, c.entry)
	case c.list != "":
		field = at(c.list, c.entry) + "." + field
	}
	c.err = wrong(field, format, args...)
}

// carryText carries a text of at most limit bytes.
func carryText[T ~string](c *codec, field string, v *T, p *string, limit int) {
	if !c.read {
		*p = text(string(*v))
	} else if *v = T(*p); len(*p) > limit {
		c.wrong(field, "a text of %d bytes is too long, at most %d are allowed", len(*p), limit)
	}
}

// carryCut is carryText, but shortens what is written.
func carryCut[T ~string](c *codec, field string, v *T, p *string, limit int) {
	if !c.read {
		*p = cut(string(*v), limit)
		return
	}
	carryText(c, field, v, p, limit)
}

// document carries JSON.
func (c *codec) document(field string, v *json.RawMessage, p *string) {
	if !c.read {
		*p = string(*v)
	} else if *v = json.RawMessage(*p); len(*p) > MaxDocumentBytes {
		c.wrong(field, "a text of %d bytes is too long, at most %d are allowed", len(*p), MaxDocumentBytes)
	}
}

// carry carries a value that is the same on both sides, such as a time or a flag.
func carry[T any](c *codec, v, p *T) {
	if c.read {
		*v = *p
	} else {
		*p = *v
	}
}

// carryWhole carries a whole number.
func carryWhole[V, P ~int | ~int32 | ~int64](c *codec, v *V, p *P) {
	if c.read {
		*v = V(*p)
	} else {
		*p = P(*v)
	}
}

// carryEnum carries a value that travels as a number.
func carryEnum[T ~uint8](c *codec, field string, v *T, p *uint32, last T) {
	switch {
	case !c.read:
		*p = uint32(*v)
	case *p > uint32(last):
		c.wrong(field, "%d is not known, the largest value is %d", *p, uint32(last))
	default:
		*v = T(*p)
	}
}

// finite carries a float64 as such.
func (c *codec) finite(field string, v, p *float64) {
	if carry(c, v, p); c.read && (math.IsNaN(*p) || math.IsInf(*p, 0)) {
		c.wrong(field, "%v is not a finite number", *p)
	}
}

// number carries a float64 as a plain decimal. NaN and the infinities keep their names,
// which reading refuses.
func (c *codec) number(field string, v *float64, p *string) {
	if !c.read {
		*p = formatNumber(*v)
		return
	}
	if !c.plain(field, *p) {
		return
	}
	x, err := strconv.ParseFloat(*p, 64)
	if err != nil || math.IsInf(x, 0) {
		c.wrong(field, "%.40q is too large", *p)
		return
	}
	*v = x
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// optional is number with "" for zero, which means absent.
func (c *codec) optional(field string, v *float64, p *string) {
	if c.read && *p != "" || !c.read && *v != 0 {
		c.number(field, v, p)
	}
}

// decimal carries a decimal that must be there.
func (c *codec) decimal(field string, v *decimal.Decimal, p *string) {
	if !c.read {
		*p = v.String()
		return
	}
	if !c.plain(field, *p) {
		return
	}
	_, fraction, _ := strings.Cut(*p, ".")
	d, err := decimal.Parse(*p)
	if err != nil || d.Scale() != len(fraction) {
		c.wrong(field, "%.40q has more than %d digits", *p, decimal.MaxPrec)
		return
	}
	*v = d
}

// amount is decimal, but reads "" as zero.
func (c *codec) amount(field string, v *decimal.Decimal, p *string) {
	if !c.read || *p != "" {
		c.decimal(field, v, p)
	}
}

// price is amount with "" for zero, which means absent.
func (c *codec) price(field string, v *decimal.Decimal, p *string) {
	if c.read || !v.IsZero() {
		c.amount(field, v, p)
	}
}

// plain reports whether s is -?digits(.digits)? and nothing else.
func (c *codec) plain(field, s string) bool {
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	switch {
	case len(s) > maxNumberBytes:
		c.wrong(field, "a number of %d characters is too long", len(s))
	case !digits(whole) || (dotted && !digits(fraction)):
		c.wrong(field, "%.40q is not a plain decimal number", s)
	default:
		return true
	}
	return false
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// symbol carries a symbol as its index in the run; the first one stands for "", -1 for
// one that is not part of the run.
func (c *codec) symbol(field string, v *market.Symbol, p *int32) {
	switch {
	case !c.read && *v == "":
		*p = 0
	case !c.read:
		*p = int32(slices.Index(c.symbols, *v))
	case c.known(field, *p):
		*v = c.symbols[*p]
	}
}

// known reports whether i is the index of a symbol.
func (c *codec) known(field string, i int32) bool {
	if i < 0 || int(i) >= len(c.symbols) {
		c.wrong(field, "index %d is not one of the run's %d symbols", i, len(c.symbols))
		return false
	}
	return true
}

// count refuses more than limit of what there is.
func (c *codec) count(field, what string, n, limit int) {
	if n > limit {
		c.wrong(field, "%d %s, at most %d are allowed", n, what, limit)
	}
}

// text makes s fit for a proto string, which must be UTF-8.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// cut shortens s to the limit without splitting a character.
func cut(s string, limit int) string {
	s = text(s)
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// orNew is p, or an empty message.
func orNew[P any](p *P) *P {
	if p == nil {
		return new(P)
	}
	return p
}
