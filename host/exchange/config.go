package exchange

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Config is exchange_config: secrets and plain settings apart. The secrets go to the
// connector and nowhere else.
type Config struct {
	APIKey, Secret, Password Secret
	Sandbox                  bool
	// RateLimitMS is the least time between requests, rounded up; 0: the venue's own.
	RateLimitMS int
	// Unspaced drops the spacing, never the back-off (enableRateLimit: false, or rateLimit: 0).
	Unspaced bool
	// Settings are the venue's own fields as canonical JSON; no secrets.
	Settings json.RawMessage
}

// Secret is text that is shown nowhere: every verb and codec gives [redacted]. Copies share the
// one value, so that Wipe ends them all.
type Secret struct{ value *[]byte }

const redacted = "[redacted]"

// NewSecret keeps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	b := []byte(text)
	return Secret{value: &b}
}

// Reveal is the text itself, for the connector's Open only; "" after Wipe.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return string(*s.value)
}

// Wipe overwrites the value.
func (s Secret) Wipe() {
	if s.value != nil {
		clear(*s.value)
		*s.value = nil
	}
}

// Empty says that there is none, or none any more.
func (s Secret) Empty() bool { return s.value == nil || len(*s.value) == 0 }

// String hides it.
func (s Secret) String() string { return redacted }

// GoString hides it from %#v.
func (s Secret) GoString() string { return redacted }

// Format hides it from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalJSON hides it.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText hides it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides it from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
