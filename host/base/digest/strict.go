package digest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Fault says in which way a text is not strict JSON.
type Fault string

// The faults. Everything that is not one of the others is FaultSyntax: a broken, empty
// or truncated text, a byte order mark, NaN, something behind the value.
const (
	FaultSyntax    Fault = "syntax"
	FaultDuplicate Fault = "duplicate" // a name twice in an object, after unescaping
	FaultUnicode   Fault = "unicode"   // bad UTF-8, half a surrogate pair, NUL
	FaultRange     Fault = "range"     // a number that has no exact canonical form
	FaultDepth     Fault = "depth"     // nested deeper than the caller allows
)

// maxExact is the largest integer that Strict lets through: the next one can no longer
// be told from its neighbours once it is a float64.
const maxExact = 1<<53 - 1

// Strict reads one JSON text into nil, bool, float64, string, []any and map[string]any.
// The value at the top has depth 0; one deeper than maxDepth is refused. What it
// accepts has a canonical form (Tree) which it accepts again, as the same value. The
// error is a *JSONError with its Fault, for the first fault of the text.
func Strict(text []byte, maxDepth int) (any, error) {
	r := strictReader{
		text: text, maxDepth: maxDepth,
		// Both are looked for here, where the fault can be named.
		dec: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
	v, fault := r.value(0)
	if fault == nil {
		fault = r.end()
	}
	if fault != nil {
		return nil, fault
	}
	return v, nil
}

type strictReader struct {
	text     []byte
	maxDepth int
	dec      *jsontext.Decoder
}

// value reads the next value. Its error's pointer is relative to the value: callers
// put what is above it in front.
func (r *strictReader) value(depth int) (any, *JSONError) {
	kind := r.dec.PeekKind()
	if depth > r.maxDepth && kind != 0 && kind != ']' && kind != '}' {
		return nil, &JSONError{Fault: FaultDepth, Reason: fmt.Sprintf("nested deeper than %d", r.maxDepth)}
	}
	switch kind {
	case '{':
		return r.object(depth)
	case '[':
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
	return number(string(raw))
}

func (r *strictReader) object(depth int) (any, *JSONError) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, r.broken(err, false)
	}
	members := map[string]any{}
	for r.dec.PeekKind() == '"' {
		name, fault := r.str()
		if fault != nil {
			return nil, fault
		}
		if _, twice := members[name]; twice {
			return nil, (&JSONError{Fault: FaultDuplicate, Reason: "this name stands twice in one object"}).under(name)
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

func (r *strictReader) array(depth int) (any, *JSONError) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, r.broken(err, false)
	}
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
	if reason := badString(raw); reason != "" {
		return "", &JSONError{Fault: FaultUnicode, Reason: reason}
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", &JSONError{Fault: FaultSyntax, Reason: err.Error()}
	}
	return string(s), nil
}

// badString looks into a well-formed string literal for what is not a character.
func badString(raw []byte) string {
	if !utf8.Valid(raw) {
		return "the text is not UTF-8"
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
			return "a string holds a NUL"
		}
		if utf16.IsSurrogate(r) {
			if i+12 > len(raw) || raw[i+6] != '\\' || raw[i+7] != 'u' || utf16.DecodeRune(r, unit(raw[i+6:])) == utf8.RuneError {
				return "a string holds half of a surrogate pair"
			}
			i += 6
		}
		i += 5
	}
	return ""
}

// unit is the code unit of an escape sequence \uXXXX.
func unit(raw []byte) rune {
	n, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n)
}

func number(literal string) (any, *JSONError) {
	whole := !strings.ContainsAny(literal, ".eE")
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return nil, &JSONError{Fault: FaultRange, Reason: "a number is beyond the range of float64"}
	}
	// A fraction or exponent that still makes such an integer would get a canonical form
	// that is refused when it is read again.
	if abs := math.Abs(x); abs > maxExact && (whole || abs < 1e21) {
		return nil, &JSONError{Fault: FaultRange, Reason: "an integer is beyond 2^53-1: write it as a string"}
	}
	return x, nil
}

// end makes sure that nothing follows the value.
func (r *strictReader) end() *JSONError {
	_, err := r.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		return &JSONError{Fault: FaultSyntax, Reason: "something follows the value"}
	}
	fault := r.broken(err, false)
	if fault.Fault == FaultSyntax {
		fault.Reason = "something follows the value"
	}
	return fault
}

// broken turns an error of the tokenizer into a fault. Bytes that are not UTF-8, or a
// NUL inside a string, are the reason for what then is bad syntax.
func (r *strictReader) broken(err error, inString bool) *JSONError {
	fault := &JSONError{Fault: FaultSyntax, Reason: "the text ends inside a value"}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return fault
	}
	fault.Reason = syntax.Err.Error()
	if at := syntax.ByteOffset; at < int64(len(r.text)) {
		first, size := utf8.DecodeRune(r.text[at:])
		switch {
		case first == utf8.RuneError && size == 1:
			fault.Fault, fault.Reason = FaultUnicode, "the text is not UTF-8"
		case first == 0 && inString:
			fault.Fault, fault.Reason = FaultUnicode, "a string holds a NUL"
		}
	}
	return fault
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

// Tree is the canonical JSON (RFC 8785) of what Strict returned, or of such a value put
// together in the same types. It panics on any other type and on bad UTF-8, NaN and
// infinities: these are mistakes of the program, not of its input.
func Tree(v any) []byte { return appendTree(nil, v) }

func appendTree(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		s, err := Number(v)
		if err != nil {
			panic(err)
		}
		return append(b, s...)
	case string:
		b, err := jsontext.AppendQuote(b, v)
		if err != nil {
			panic(err)
		}
		return b
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendTree(b, e)
		}
		return append(b, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, compareUTF16)
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendTree(b, name), ':')
			b = appendTree(b, v[name])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("digest: %T is not a JSON value", v))
}

// compareUTF16 orders strings by UTF-16 code units, as RFC 8785 section 3.2.3 wants:
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

// lead is the first UTF-16 code unit of a rune.
func lead(r rune) rune {
	if hi, _ := utf16.EncodeRune(r); hi != utf8.RuneError {
		return hi
	}
	return r
}
