package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/assay-run/assay/host/exchange"
)

const (
	// minSecret is the shortest value, in bytes, that is looked for: a shorter one would
	// black out ordinary words.
	minSecret = 6
	hidden    = "[redacted]"
	withheld  = "(withheld: it holds a credential)"
)

// Redactor takes credentials out of texts: the exact values it was told, plain and as
// they stand in URLs, base64 and JSON, and always what follows signature=, timestamp= and
// the headers that carry keys. The zero value knows the patterns only. It is safe for
// concurrent use.
type Redactor struct {
	mu    sync.RWMutex
	forms [][]byte // longest first
}

// Add makes values known. Texts are searched for them until Forget.
func (r *Redactor) Add(secrets ...exchange.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if value := s.Reveal(); len(value) >= minSecret {
			r.forms = append(r.forms, spellings(value)...)
		}
	}
	slices.SortFunc(r.forms, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	r.forms = slices.CompactFunc(r.forms, bytes.Equal)
}

// Forget overwrites the values.
func (r *Redactor) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.forms {
		clear(f)
	}
	r.forms = nil
}

// spellings are the ways in which a value can stand in a text.
func spellings(value string) [][]byte {
	list := []string{value}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		list = append(list, escaped, lowerPercent(escaped))
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	_ = e.Encode(value)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	for line := range strings.Lines(quoted.String()) {
		line = strings.TrimSuffix(line, "\n")
		list = append(list, line[1:len(line)-1])
	}
	for shift := range 3 {
		list = append(list, shifted(base64.RawStdEncoding, value, shift),
			shifted(base64.RawURLEncoding, value, shift))
	}
	var forms [][]byte
	for _, s := range list {
		if len(s) >= minSecret {
			forms = append(forms, []byte(s))
		}
	}
	return forms
}

// shifted returns the part of a base64 text that only the value decides, when this many bytes
// of another value, such as a user name, stand before it.
func shifted(e *base64.Encoding, value string, before int) string {
	text := e.EncodeToString(append(make([]byte, before), value...))
	first := []int{0, 2, 3}[before] // characters that the bytes before take part in
	last := len(text)
	if (before+len(value))%3 != 0 {
		last-- // what follows takes part in the last character
	}
	return text[first:max(first, last)]
}

// lowerPercent writes %2F as %2f.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// The patterns keep their first group. A value ends at what cannot be part of it in a
// URL, a header or a quoted text.
var patterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)((?:signature|timestamp)(?:=|%3D))[^&\s"'<>\\,;(){}]*`),
	regexp.MustCompile(
		`(?i)((?:[a-z0-9]+(?:-[a-z0-9]+)*-(?:apikey|key|sign|signature|secret|passphrase|token)|api_?key|` +
			`(?:proxy-)?authorization)["']?\s*[:=]+\s*[\["']*)[^\r\n"'\[\],;{}]+`),
}

// Text is s without credentials.
func (r *Redactor) Text(s string) string {
	if s == "" {
		return s
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	b := []byte(s)
	b = r.exact(b)
	for _, p := range patterns {
		b = p.ReplaceAll(b, []byte("${1}"+hidden))
	}
	b = r.exact(b)
	for _, f := range r.forms {
		// What a replacement has put together by accident, or a value that is part of the mark.
		if bytes.Contains(b, f) {
			return withheld
		}
	}
	return string(b)
}

func (r *Redactor) exact(b []byte) []byte {
	for _, f := range r.forms {
		b = bytes.ReplaceAll(b, f, []byte(hidden))
	}
	return b
}

// Result returns a result whose texts are redacted and short enough.
func (r *Redactor) Result(in exchange.Result) exchange.Result {
	in.Message, in.VenueCode = exchange.Clip(r.Text(in.Message)), r.Text(in.VenueCode)
	if in.Outcome == "" {
		in.Outcome = exchange.Unknown
	}
	return in
}

// Error returns an error whose text is redacted. An exchange.Error stays one; of the others
// only what the contract names is kept as such.
func (r *Redactor) Error(err error) error {
	var answer *exchange.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return &exchange.Error{Result: r.Result(answer.Result)}
	case errors.Is(err, exchange.ErrEnded):
		return exchange.ErrEnded
	case errors.Is(err, errors.ErrUnsupported):
		return errors.ErrUnsupported
	}
	return unknown(r.Text(err.Error()))
}
