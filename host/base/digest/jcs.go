package digest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// maxInteger is the largest integer up to which float64 holds every one.
const maxInteger = 1 << 53

// JSONError says why a text or value has no canonical JSON. Pointer is the JSON
// pointer of the place, empty for the whole text. Fault is set by Strict only.
type JSONError struct {
	Pointer string
	Reason  string
	Fault   Fault
}

// Error names the place and the reason.
func (e *JSONError) Error() string {
	if e.Pointer == "" {
		return "JSON: " + e.Reason
	}
	return fmt.Sprintf("JSON at %s: %s", e.Pointer, e.Reason)
}

// JCS is the canonical JSON of a Go value, marshalled by the rules of encoding/json
// (tags, omitempty, nil slices as null) but refusing bad UTF-8 instead of replacing it.
func JCS(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsonv1.DefaultOptionsV1(), jsontext.AllowInvalidUTF8(false), jsontext.AllowDuplicateNames(false))
	if err != nil {
		return nil, jsonError(err)
	}
	return CanonicalJSON(b)
}

// CanonicalJSON is the canonical form of one JSON text. The error is a *JSONError.
func CanonicalJSON(text []byte) ([]byte, error) {
	if err := checkNumbers(text); err != nil {
		return nil, err
	}
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, jsonError(err)
	}
	return v, nil
}

// Number is how canonical JSON writes a number; NaN and infinities have no form.
func Number(x float64) (string, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "", &JSONError{Reason: fmt.Sprintf("%v is not a JSON number", x)}
	}
	return jsontext.Float(x + 0).String(), nil // -0 is written 0
}

// checkNumbers reads the whole text strictly and refuses the numbers that the
// canonical form would change.
func checkNumbers(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return jsonError(err)
		}
		if token.Kind() != '0' {
			continue
		}
		if reason := badNumber(token.String()); reason != "" {
			return &JSONError{Pointer: string(d.StackPointer()), Reason: reason}
		}
	}
}

// badNumber says what is wrong with a number literal, if anything.
func badNumber(literal string) string {
	if !strings.ContainsAny(literal, ".eE") {
		n, err := strconv.ParseUint(strings.TrimPrefix(literal, "-"), 10, 64)
		if err != nil || n > maxInteger {
			return literal + " is an integer beyond 2^53: write it as a string"
		}
		return ""
	}
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return literal + " is beyond the range of float64"
	}
	// Below 1e21 the canonical form has no exponent: it would be such an integer.
	if abs := math.Abs(x); abs > maxInteger && abs < 1e21 {
		return literal + " is an integer beyond 2^53: write it as a string"
	}
	return ""
}

// jsonError turns the errors of the JSON library into this package's own.
func jsonError(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return &JSONError{Pointer: string(syntax.JSONPointer), Reason: syntax.Err.Error()}
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return &JSONError{Pointer: string(semantic.JSONPointer), Reason: semantic.Error()}
	}
	return &JSONError{Reason: err.Error()}
}
