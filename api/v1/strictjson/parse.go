package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays may nest.
const MaxDepth = 64

// MaxNumber is how many characters a number may have.
const MaxNumber = 32

// maxExponent keeps a short number from standing for a giant one: beyond it a
// float64 is zero or infinite anyway, and exact arithmetic would take forever.
const maxExponent = 400

// Reason says in one word why a text was refused.
type Reason string

// The reasons.
const (
	Empty          Reason = "empty"
	ByteOrderMark  Reason = "byte_order_mark"
	InvalidUTF8    Reason = "invalid_utf8"
	InvalidString  Reason = "invalid_string"
	Truncated      Reason = "truncated"
	DuplicateKey   Reason = "duplicate_key"
	TooDeep        Reason = "too_deep"
	NumberTooLong  Reason = "number_too_long"
	NumberTooLarge Reason = "number_too_large"
	TrailingData   Reason = "trailing_data"
	Syntax         Reason = "syntax"
)

// Error is a refusal: where reading stopped and why. It never holds an excerpt.
type Error struct {
	Offset int64 // bytes before the fault
	Line   int   // from 1
	Reason Reason
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, byte %d: %s", e.Line, e.Offset, e.Reason.text())
}

func (r Reason) text() string {
	switch r {
	case Empty:
		return "there is no value"
	case ByteOrderMark:
		return "a byte order mark is not allowed"
	case InvalidUTF8:
		return "the text is not UTF-8"
	case InvalidString:
		return "a string holds half of a surrogate pair"
	case Truncated:
		return "the text ends inside a value"
	case DuplicateKey:
		return "an object has the same key twice"
	case TooDeep:
		return fmt.Sprintf("values are nested deeper than %d", MaxDepth)
	case NumberTooLong:
		return fmt.Sprintf("a number has more than %d characters", MaxNumber)
	case NumberTooLarge:
		return "a number is out of range"
	case TrailingData:
		return "something follows the value"
	}
	return "the text is not JSON"
}

// Parse reads one value: nil, bool, string, json.Number, []any or map[string]any.
// The error is always an *Error.
func Parse(text []byte) (any, error) {
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return nil, at(text, 0, ByteOrderMark)
	}
	if n := validPrefix(text); n < len(text) {
		return nil, at(text, int64(n), InvalidUTF8)
	}
	// Duplicate names are found on the way into the map, which is cheaper than twice.
	p := parser{text: text, dec: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	end := p.dec.InputOffset()
	rest := bytes.TrimLeft(text[end:], " \t\r\n")
	if len(rest) > 0 {
		return nil, at(text, int64(len(text)-len(rest)), TrailingData)
	}
	return v, nil
}

func validPrefix(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

type parser struct {
	text []byte
	dec  *jsontext.Decoder
}

func at(text []byte, offset int64, reason Reason) *Error {
	offset = min(offset, int64(len(text)))
	return &Error{Offset: offset, Line: 1 + bytes.Count(text[:offset], []byte{'\n'}), Reason: reason}
}

func (p *parser) value(depth int) (any, error) {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, p.fault(err)
	}
	switch tok.Kind() {
	case '{', '[':
		if depth == MaxDepth {
			return nil, at(p.text, p.dec.InputOffset()-1, TooDeep)
		}
		if tok.Kind() == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case '"':
		return tok.String(), nil
	case '0':
		return p.number(tok.String())
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return nil, nil
}

func (p *parser) object(depth int) (any, error) {
	out := map[string]any{}
	for p.dec.PeekKind() != '}' {
		before := p.dec.InputOffset()
		key, err := p.dec.ReadToken()
		if err != nil {
			return nil, p.fault(err)
		}
		name := key.String()
		if _, twice := out[name]; twice {
			return nil, at(p.text, before+int64(bytes.IndexByte(p.text[before:], '"')), DuplicateKey)
		}
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, p.end()
}

func (p *parser) array(depth int) (any, error) {
	out := []any{}
	for p.dec.PeekKind() != ']' {
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, p.end()
}

func (p *parser) end() error {
	if _, err := p.dec.ReadToken(); err != nil {
		return p.fault(err)
	}
	return nil
}

func (p *parser) number(raw string) (any, error) {
	start := p.dec.InputOffset() - int64(len(raw))
	if len(raw) > MaxNumber {
		return nil, at(p.text, start, NumberTooLong)
	}
	if i := strings.IndexAny(raw, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(raw[i+1:]); err != nil || exp > maxExponent || exp < -maxExponent {
			return nil, at(p.text, start, NumberTooLarge)
		}
	}
	if _, err := strconv.ParseFloat(raw, 64); err != nil {
		return nil, at(p.text, start, NumberTooLarge)
	}
	return json.Number(raw), nil
}

// fault translates an error of jsontext.
func (p *parser) fault(err error) *Error {
	offset := p.dec.InputOffset()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		offset = syntactic.ByteOffset
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return at(p.text, int64(len(p.text)), Truncated)
	case errors.Is(err, io.EOF):
		if len(bytes.TrimSpace(p.text)) == 0 {
			return at(p.text, int64(len(p.text)), Empty)
		}
		return at(p.text, int64(len(p.text)), Truncated)
	case strings.Contains(err.Error(), "surrogate"):
		return at(p.text, offset, InvalidString)
	}
	return at(p.text, offset, Syntax)
}
