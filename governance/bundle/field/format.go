package field

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

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

// IsIdentifier says whether s is an id, slug or name of the contract.
func IsIdentifier(s string) bool { return identifier.MatchString(s) }

// IsRevision says whether s is a candidate_revision_id.
func IsRevision(s string) bool { return revision.MatchString(s) }

// IsSHA256 says whether s is a bare SHA-256, IsDigest whether it is one with prefix.
func IsSHA256(s string) bool { return sha256Hex.MatchString(s) }

// IsDigest says whether s is "sha256:" and a SHA-256 in lower-case hex.
func IsDigest(s string) bool { return prefixed.MatchString(s) }

// IsDecimal says whether s is an amount: no sign, exponent or leading zeros, at most 18
// digits before and behind the point.
func IsDecimal(s string) bool { return decimal.MatchString(s) }

// IsTimeframe says whether s is the length of a candle.
func IsTimeframe(s string) bool { return timeframe.MatchString(s) }

// IsSymbol says whether s is BASE/QUOTE: ^[^/\s:]{1,32}/[^/\s:]{1,32}$ in characters.
func IsSymbol(s string) bool {
	base, quote, _ := strings.Cut(s, "/")
	for _, part := range []string{base, quote} {
		n := utf8.RuneCountInString(part)
		if n < 1 || n > 32 || strings.ContainsAny(part, "/:\ufeff") || strings.IndexFunc(part, unicode.IsSpace) >= 0 {
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
