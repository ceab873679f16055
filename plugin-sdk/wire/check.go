package wire

import (
	"errors"
	"fmt"
	"math"
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

// Bounds on what a strategy may want and say. The SDK keeps them in the plugin's process, and the host
// refuses a plugin that passes one: it was built with something else.
const (
	// MaxIntents bounds the intents of one step.
	MaxIntents = 10_000
	// MaxWarmup bounds the candles before the window that a strategy may ask for.
	MaxWarmup = 100_000_000
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

// ProtocolError says that a message is not what the protocol allows. The host ends
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

// formatNumber is x as a plain decimal. NaN and the infinities keep their names,
// which parseNumber refuses.
func formatNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// formatOptional is formatNumber with "" for zero, which means absent.
func formatOptional(x float64) string {
	if x == 0 {
		return ""
	}
	return formatNumber(x)
}

func parseNumber(field, s string) (float64, error) {
	if err := plainNumber(field, s); err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, wrong(field, "%.40q is too large", s)
	}
	return x, nil
}

func parseOptional(field, s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	return parseNumber(field, s)
}

// plainNumber wants -?digits(.digits)? and nothing else.
func plainNumber(field, s string) error {
	if len(s) > maxNumberBytes {
		return wrong(field, "a number of %d characters is too long", len(s))
	}
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if !digits(whole) || (dotted && !digits(fraction)) {
		return wrong(field, "%.40q is not a plain decimal number", s)
	}
	return nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func formatDecimal(d decimal.Decimal) string { return d.String() }

func formatOptionalDecimal(d decimal.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

func parseDecimal(field, s string) (decimal.Decimal, error) {
	if err := plainNumber(field, s); err != nil {
		return decimal.Decimal{}, err
	}
	_, fraction, _ := strings.Cut(s, ".")
	d, err := decimal.Parse(s)
	if err != nil || d.Scale() != len(fraction) {
		return decimal.Decimal{}, wrong(field, "%.40q has more than %d digits", s, decimal.MaxPrec)
	}
	return d, nil
}

func parseOptionalDecimal(field, s string) (decimal.Decimal, error) {
	if s == "" {
		return decimal.Decimal{}, nil
	}
	return parseDecimal(field, s)
}

// finite checks a float64 that travelled as such.
func finite(field string, x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return wrong(field, "%v is not a finite number", x)
	}
	return nil
}

// checkCount names what there is too much of.
func checkCount(field, what string, n, limit int) error {
	if n > limit {
		return wrong(field, "%d %s, at most %d are allowed", n, what, limit)
	}
	return nil
}

func checkText(field, s string, limit int) error {
	if len(s) > limit {
		return wrong(field, "a text of %d bytes is too long, at most %d are allowed", len(s), limit)
	}
	return nil
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

// enum checks a value that travelled as a number.
func enum[T ~uint8](field string, x uint32, last T) (T, error) {
	if x > uint32(last) {
		return 0, wrong(field, "%d is not known, the largest value is %d", x, uint32(last))
	}
	return T(x), nil
}

// symbolIndex is the index of a symbol in the run; the first one stands for "",
// -1 for one that is not part of the run.
func symbolIndex(symbols []market.Symbol, s market.Symbol) int32 {
	if s == "" {
		return 0
	}
	for i, known := range symbols {
		if known == s {
			return int32(i)
		}
	}
	return -1
}

func symbolAt(field string, symbols []market.Symbol, i int32) (market.Symbol, error) {
	if i < 0 || int(i) >= len(symbols) {
		return "", wrong(field, "index %d is not one of the run's %d symbols", i, len(symbols))
	}
	return symbols[i], nil
}

// reader collects the first error of a row of fields, so that a conversion reads as
// one list of assignments.
type reader struct {
	symbols []market.Symbol
	err     error
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) number(field, s string) float64 {
	x, err := parseOptional(field, s)
	r.keep(err)
	return x
}

func (r *reader) decimal(field, s string) decimal.Decimal {
	d, err := parseOptionalDecimal(field, s)
	r.keep(err)
	return d
}

func (r *reader) finite(field string, x float64) float64 {
	r.keep(finite(field, x))
	return x
}

func (r *reader) text(field, s string, limit int) string {
	r.keep(checkText(field, s, limit))
	return s
}

func (r *reader) symbol(field string, i int32) market.Symbol {
	s, err := symbolAt(field, r.symbols, i)
	r.keep(err)
	return s
}

func readEnum[T ~uint8](r *reader, field string, x uint32, last T) T {
	v, err := enum(field, x, last)
	r.keep(err)
	return v
}
