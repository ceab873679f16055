// Package digest reads JSON strictly, writes it canonically, and names content: SHA-256 of
// bytes and files, and of JSON values in the one form that RFC 8785 gives them.
//
// A value is hashed as its canonical text: members sorted, no blanks, numbers as ECMAScript
// writes them. Reading is strict, because a hash must not depend on how a parser resolves what
// is ambiguous: duplicate names, bad UTF-8, NaN, numbers beyond float64 and integers beyond 2^53
// (which float64 rounds) are refused. Larger integers travel as strings. [Strict] reads
// documents that are hashed and signed, [Parse] the bodies of the API, which are not.
package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// SHA256Hex returns the SHA-256 of b in lower-case hex.
func SHA256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// IsSHA256 reports whether s is a SHA-256 as SHA256Hex writes it.
func IsSHA256(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// File returns the SHA-256 of a file's content in lower-case hex.
func File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Of returns the SHA-256 of the canonical JSON of v, in lower-case hex.
func Of(v any) (string, error) {
	b, err := JCS(v)
	if err != nil {
		return "", err
	}
	return SHA256Hex(b), nil
}

// maxInteger is the largest integer up to which float64 holds every one.
const maxInteger = 1 << 53

// JSONError is why a text or value has no canonical JSON, or is not strict. Pointer is the JSON
// pointer of the place, empty for the whole text.
type JSONError struct {
	Pointer string
	Reason  string
	// Fault, Offset (the bytes before it) and Line (from 1) are set by Strict and Parse only.
	Fault  Fault
	Offset int64
	Line   int
}

// Error names the place and the reason.
func (e *JSONError) Error() string {
	if e.Pointer == "" {
		return "JSON: " + e.Reason
	}
	return fmt.Sprintf("JSON at %s: %s", e.Pointer, e.Reason)
}

// marshal is JCS by way of encoding/json: it knows every type.
func marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsonv1.DefaultOptionsV1(), jsontext.AllowInvalidUTF8(false),
		jsontext.AllowDuplicateNames(false))
	if err != nil {
		return nil, jsonError(err)
	}
	return CanonicalJSON(b)
}

// CanonicalJSON returns the canonical form of one JSON text. The error is a *JSONError.
func CanonicalJSON(text []byte) ([]byte, error) {
	if err := checkNumbers(text); err != nil {
		return nil, err
	}
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(jsontext.AllowDuplicateNames(false),
		jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, jsonError(err)
	}
	return v, nil
}

// Number returns how canonical JSON writes a number; NaN and infinities have no form.
func Number(x float64) (string, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "", &JSONError{Reason: fmt.Sprintf("%v is not a JSON number", x)}
	}
	return jsontext.Float(x + 0).String(), nil // -0 is written 0
}

// checkNumbers reads the whole text strictly and refuses the numbers that the
// canonical form would change.
func checkNumbers(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(false),
		jsontext.AllowInvalidUTF8(false))
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

// badNumber returns what is wrong with a number literal, "" if nothing is.
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
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &JSONError{Pointer: string(e.JSONPointer), Reason: e.Err.Error()}
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return &JSONError{Pointer: string(e.JSONPointer), Reason: e.Error()}
	}
	return &JSONError{Reason: err.Error()}
}
