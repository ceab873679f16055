// Package field reads signed and hashed documents member by member: strict JSON comes in,
// checked Go values or a refusal with code and JSON pointer go out.
//
// A [Reader] keeps the first refusal and lets every further read do nothing. [Reader.Struct]
// reads an object into a struct whose tags name the members and their forms; what tags cannot
// express is a [Checker] or read by the methods of [Object]. Unknown members are refused before
// missing ones, and both before any value.
package field

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/assay-run/assay/host/base/digest"
)

// Code is why something is refused: a code of the control plane's table.
type Code string

// The codes of what a document can be at fault with, whatever it is about.
const (
	MalformedJSON     Code = "MALFORMED_JSON"
	DuplicateKey      Code = "DUPLICATE_KEY"
	InvalidUnicode    Code = "INVALID_UNICODE"
	NumberOutOfRange  Code = "NUMBER_OUT_OF_RANGE"
	JSONTooDeep       Code = "JSON_TOO_DEEP"
	UnsupportedSchema Code = "UNSUPPORTED_SCHEMA"
	UnknownField      Code = "UNKNOWN_FIELD"
	MissingField      Code = "MISSING_FIELD"
	InvalidIdentifier Code = "INVALID_IDENTIFIER"
	DuplicateItem     Code = "DUPLICATE_ITEM"
	TooManyItems      Code = "TOO_MANY_ITEMS"
	InvalidField      Code = "INVALID_FIELD"
	InvalidDigest     Code = "INVALID_DIGEST"
	InvalidDecimal    Code = "INVALID_DECIMAL"
	InvalidTimestamp  Code = "INVALID_TIMESTAMP"
	InvalidStage      Code = "INVALID_STAGE"
)

// Error is a refusal. Pointer is the RFC 6901 pointer of the field at fault, "" for the
// whole document. Messages never quote the document.
type Error struct {
	Code    Code
	Pointer string
	Message string
	// Reason is a further word, "" where the code needs none.
	Reason string
	// Declared and Computed are what the document states and what it comes to where these
	// differ: a number or a text, nil where there is none.
	Declared, Computed any
}

// Error returns the message with its pointer.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

// Refuse makes an Error.
func Refuse(code Code, pointer, format string, args ...any) *Error {
	return &Error{Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

// faults are the codes of faults that are not plain syntax.
var faults = map[digest.Fault]Code{
	digest.FaultDuplicate: DuplicateKey, digest.FaultUTF8: InvalidUnicode, digest.FaultString: InvalidUnicode,
	digest.FaultRange: NumberOutOfRange, digest.FaultDepth: JSONTooDeep,
}

// MaxDepth is how deep a value may be nested in a document; the top has depth 0.
const MaxDepth = 32

// Parse reads a text strictly into the types of digest.Strict.
func Parse(text []byte) (any, *Error) {
	v, err := digest.Strict(text, MaxDepth)
	var fault *digest.JSONError
	if errors.As(err, &fault) {
		return nil, Refuse(cmp.Or(faults[fault.Fault], MalformedJSON), fault.Pointer, "%s", fault.Reason)
	}
	return v, nil
}

// MaxText is how many bytes a string may have.
const MaxText = 4 << 10

// MaxSize is the largest size of a file that is accepted, in bytes.
const MaxSize = 1 << 32

var (
	identifier = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)
	revision   = regexp.MustCompile(`^cr-[0-9a-f]{64}$`)
	sha256Hex  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	prefixed   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	decimal    = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$`)
	timeframe  = regexp.MustCompile(`^[1-9][0-9]{0,3}[smhdwM]$`)
	// Go's own parser of RFC 3339 takes a comma for the point and an hour of one digit.
	timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)
)

// IsIdentifier reports whether s is an id, slug or name of the contract.
func IsIdentifier(s string) bool { return identifier.MatchString(s) }

// IsRevision reports whether s is a candidate_revision_id.
func IsRevision(s string) bool { return revision.MatchString(s) }

// IsSHA256 reports whether s is a bare SHA-256, IsDigest whether it is one with prefix.
func IsSHA256(s string) bool { return sha256Hex.MatchString(s) }

// IsDigest reports whether s is "sha256:" and a SHA-256 in lower-case hex.
func IsDigest(s string) bool { return prefixed.MatchString(s) }

// IsDecimal reports whether s is an amount: no sign, exponent or leading zeros, at most 18
// digits before and behind the point.
func IsDecimal(s string) bool { return decimal.MatchString(s) }

// IsTimeframe reports whether s is the length of a candle.
func IsTimeframe(s string) bool { return timeframe.MatchString(s) }

// IsSymbol reports whether s is BASE/QUOTE: ^[^/\s:]{1,32}/[^/\s:]{1,32}$ in characters.
func IsSymbol(s string) bool {
	base, quote, _ := strings.Cut(s, "/")
	for _, part := range []string{base, quote} {
		n := utf8.RuneCountInString(part)
		blank := strings.IndexFunc(part, unicode.IsSpace) >= 0
		if n < 1 || n > 32 || blank || strings.ContainsAny(part, "/:\ufeff") {
			return false
		}
	}
	return true
}

// ParseTime reads RFC 3339 in UTC with the letter Z, at most nanoseconds.
func ParseTime(s string) (time.Time, bool) {
	if !timestamp.MatchString(s) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil
}
