package digest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Fault is the way in which a text is not strict JSON.
type Fault string

// The faults.
const (
	FaultSyntax        Fault = "syntax"
	FaultEmpty         Fault = "empty"
	FaultByteOrderMark Fault = "byte_order_mark"
	FaultTruncated     Fault = "truncated"
	FaultTrailing      Fault = "trailing_data"
	FaultDuplicate     Fault = "duplicate_key" // a name twice in an object, after unescaping
	FaultUTF8          Fault = "invalid_utf8"
	FaultString        Fault = "invalid_string" // half a surrogate pair, or a NUL for Strict
	FaultRange         Fault = "number_too_large"
	FaultNumberLength  Fault = "number_too_long"
	FaultDepth         Fault = "too_deep"
)

// maxExact is the largest integer that Strict lets through: the next one can no longer
// be distinguished from its neighbours once it is a float64.
const maxExact = 1<<53 - 1

// Strict reads one JSON text into nil, bool, float64, string, []any and map[string]any.
// The value at the top has depth 0; one deeper than maxDepth is refused. What it
// accepts has a canonical form (Tree) which it accepts again, as the same value. The
// error is a *JSONError with its Fault, for the first fault of the text.
func Strict(text []byte, maxDepth int) (any, error) {
	// Bad UTF-8 is looked for here, where the fault can be named.
	return read(text, strictReader{maxDepth: maxDepth, exact: true}, jsontext.AllowInvalidUTF8(true))
}

// The bounds of Parse: how deep objects and arrays may nest, and how many characters a number
// may have.
const (
	MaxDepth  = 64
	MaxNumber = 32
)

// maxExponent keeps a short number from standing for a giant one: beyond it a float64 is zero
// or infinite anyway, and exact arithmetic would take forever.
const maxExponent = 400

// Parse reads one JSON text into nil, bool, json.Number, string, []any and map[string]any. It
// takes numbers that have no exact canonical form. The error is a *JSONError with its Fault,
// for a byte order mark or bad UTF-8 anywhere before all others.
func Parse(text []byte) (any, error) {
	r := strictReader{text: text, maxDepth: MaxDepth}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return nil, r.fault(FaultByteOrderMark, 0, "a byte order mark is not allowed")
	}
	if !utf8.Valid(text) {
		n := 0
		for first, size := rune(0), 0; first != utf8.RuneError || size != 1; n += size {
			first, size = utf8.DecodeRune(text[n:])
		}
		return nil, r.fault(FaultUTF8, int64(n-1), "the text is not UTF-8")
	}
	return read(text, r, jsontext.AllowInvalidUTF8(false))
}

func read(text []byte, r strictReader, utf8 jsontext.Options) (any, error) {
	// Duplicate names are found on the way into the map, where the fault can be named.
	r.text, r.dec = text, jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), utf8)
	v, fault := r.value(0)
	if fault == nil {
		fault = r.end()
	}
	if fault != nil {
		return nil, fault
	}
	return v, nil
}

// Place returns the message of an error of Parse: where reading stopped and why, without an excerpt.
func (e *JSONError) Place() string {
	text := "the text is not JSON"
	switch e.Fault {
	case FaultEmpty:
		text = "there is no value"
	case FaultString:
		text = "a string holds half of a surrogate pair"
	case FaultTruncated:
		text = "the text ends inside a value"
	case FaultDuplicate:
		text = "an object has the same key twice"
	case FaultDepth:
		text = "values are " + e.Reason
	case FaultRange:
		text = "a number is out of range"
	case FaultByteOrderMark, FaultUTF8, FaultNumberLength, FaultTrailing:
		text = e.Reason
	}
	return fmt.Sprintf("line %d, byte %d: %s", e.Line, e.Offset, text)
}

// strictReader walks over a text. Its errors' pointers are relative to the value that is read:
// callers put what is above it in front.
type strictReader struct {
	text     []byte
	maxDepth int
	exact    bool // for Strict
	dec      *jsontext.Decoder
}

func (r *strictReader) fault(f Fault, offset int64, reason string) *JSONError {
	offset = min(offset, int64(len(r.text)))
	return &JSONError{Fault: f, Reason: reason, Offset: offset,
		Line: 1 + bytes.Count(r.text[:offset], []byte{'\n'})}
}

func (r *strictReader) value(depth int) (any, *JSONError) {
	kind := r.dec.PeekKind()
	if r.exact && depth > r.maxDepth && kind != 0 && kind != ']' && kind != '}' {
		return nil, r.tooDeep(r.dec.InputOffset())
	}
	switch kind {
	case '{', '[':
		if _, err := r.dec.ReadToken(); err != nil {
			return nil, r.broken(err, false)
		}
		if !r.exact && depth == r.maxDepth {
			return nil, r.tooDeep(r.dec.InputOffset() - 1)
		}
		if kind == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	case '"':
		return r.str()
	}
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.broken(err, false)
	}
	switch kind {
	case 't', 'f':
		return kind == 't', nil
	case 'n':
		return nil, nil
	}
	return r.number(string(raw))
}

func (r *strictReader) tooDeep(offset int64) *JSONError {
	return r.fault(FaultDepth, offset, fmt.Sprintf("nested deeper than %d", r.maxDepth))
}

// object reads what follows the opening brace.
func (r *strictReader) object(depth int) (any, *JSONError) {
	members := map[string]any{}
	for r.dec.PeekKind() == '"' {
		before := r.dec.InputOffset()
		name, fault := r.str()
		if fault != nil {
			return nil, fault
		}
		if _, twice := members[name]; twice {
			before += int64(bytes.IndexByte(r.text[before:], '"'))
			return nil, r.fault(FaultDuplicate, before, "this name stands twice in one object").under(name)
		}
		v, fault := r.value(depth + 1)
		if fault != nil {
			return nil, fault.under(name)
		}
		members[name] = v
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, r.broken(err, false)
	}
	return members, nil
}

// array reads what follows the opening bracket.
func (r *strictReader) array(depth int) (any, *JSONError) {
	list := []any{}
	for kind := r.dec.PeekKind(); kind != ']' && kind != 0; kind = r.dec.PeekKind() {
		v, fault := r.value(depth + 1)
		if fault != nil {
			return nil, fault.under(strconv.Itoa(len(list)))
		}
		list = append(list, v)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, r.broken(err, false)
	}
	return list, nil
}

// str reads one string, be it a value or a name.
func (r *strictReader) str() (string, *JSONError) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", r.broken(err, true)
	}
	if r.exact {
		if f, reason := badString(raw); f != "" {
			return "", r.fault(f, r.dec.InputOffset()-int64(len(raw)), reason)
		}
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", r.fault(FaultSyntax, r.dec.InputOffset(), err.Error())
	}
	return string(s), nil
}

// badString looks into a well-formed string literal for what is not a character.
func badString(raw []byte) (Fault, string) {
	if !utf8.Valid(raw) {
		return FaultUTF8, "the text is not UTF-8"
	}
	for i := 0; i+6 <= len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++
			continue
		}
		r := unit(raw[i:])
		if r == 0 {
			return FaultString, "a string holds a NUL"
		}
		if utf16.IsSurrogate(r) {
			if i+12 > len(raw) || raw[i+6] != '\\' || raw[i+7] != 'u' ||
				utf16.DecodeRune(r, unit(raw[i+6:])) == utf8.RuneError {
				return FaultString, "a string holds half of a surrogate pair"
			}
			i += 6
		}
		i += 5
	}
	return "", ""
}

// unit returns the code unit of an escape sequence \uXXXX.
func unit(raw []byte) rune {
	n, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n)
}

func (r *strictReader) number(literal string) (any, *JSONError) {
	start := r.dec.InputOffset() - int64(len(literal))
	if !r.exact {
		if len(literal) > MaxNumber {
			return nil, r.fault(FaultNumberLength, start,
				fmt.Sprintf("a number has more than %d characters", MaxNumber))
		}
		exponent, err := 0, error(nil)
		if i := strings.IndexAny(literal, "eE"); i >= 0 {
			exponent, err = strconv.Atoi(literal[i+1:])
		}
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, r.fault(FaultRange, start, "a number is out of range")
		}
	}
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return nil, r.fault(FaultRange, start, "a number is beyond the range of float64")
	}
	if !r.exact {
		return json.Number(literal), nil
	}
	// A fraction or exponent that still makes such an integer would get a canonical form
	// that is refused when it is read again.
	whole := !strings.ContainsAny(literal, ".eE")
	if abs := math.Abs(x); abs > maxExact && (whole || abs < 1e21) {
		return nil, r.fault(FaultRange, start, "an integer is beyond 2^53-1: write it as a string")
	}
	return x, nil
}

// end makes sure that nothing follows the value.
func (r *strictReader) end() *JSONError {
	after := r.dec.InputOffset()
	_, err := r.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil && r.exact {
		if fault := r.broken(err, false); fault.Fault == FaultUTF8 {
			return fault
		}
	}
	after = int64(len(r.text) - len(bytes.TrimLeft(r.text[after:], " \t\r\n")))
	return r.fault(FaultTrailing, after, "something follows the value")
}

// broken turns an error of the tokenizer into a fault. Bytes that are not UTF-8, or a
// NUL inside a string, are the reason for what then is bad syntax.
func (r *strictReader) broken(err error, inString bool) *JSONError {
	size := int64(len(r.text))
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.text)) == 0:
		return r.fault(FaultEmpty, size, "the text ends inside a value")
	case !errors.As(err, &syntax):
		return r.fault(FaultTruncated, size, "the text ends inside a value")
	}
	if at := syntax.ByteOffset; at < size {
		first, width := utf8.DecodeRune(r.text[at:])
		switch {
		case first == utf8.RuneError && width == 1:
			return r.fault(FaultUTF8, at, "the text is not UTF-8")
		case r.exact && first == 0 && inString:
			return r.fault(FaultString, at, "a string holds a NUL")
		}
	}
	switch reason := syntax.Err.Error(); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return r.fault(FaultTruncated, size, reason)
	case strings.Contains(err.Error(), "surrogate"):
		return r.fault(FaultString, syntax.ByteOffset, reason)
	default:
		return r.fault(FaultSyntax, syntax.ByteOffset, reason)
	}
}

// under puts one step of a JSON pointer in front.
func (e *JSONError) under(step string) *JSONError {
	e.Pointer = "/" + PointerStep(step) + e.Pointer
	return e
}

// PointerStep escapes a member's name for a JSON pointer (RFC 6901).
func PointerStep(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// Tree returns the canonical JSON (RFC 8785) of what Strict returned, or of such a value put together
// in the same types. It panics on a value without canonical form, such as bad UTF-8, NaN and
// infinities: that is a mistake of the program, not of its input.
func Tree(v any) []byte {
	text, err := JCS(v)
	if err != nil {
		panic(err)
	}
	return text
}

// compareUTF16 orders strings by UTF-16 code units, as RFC 8785 section 3.2.3 requires:
// unlike bytes, that puts characters beyond U+FFFF before U+E000.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Or(cmp.Compare(lead(x), lead(y)), cmp.Compare(x, y))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// lead returns the first UTF-16 code unit of a rune.
func lead(r rune) rune {
	if hi, _ := utf16.EncodeRune(r); hi != utf8.RuneError {
		return hi
	}
	return r
}
