package capsule

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The reasons of redactions.
const (
	reasonName       = "secret_name"
	reasonValue      = "secret_value"
	reasonCredential = "credential"
	reasonHome       = "home_folder"
)

// Redacted takes the place of what was taken out.
const Redacted = "[redacted]"

// minSecret keeps a secret of a few letters from being found in every text.
const minSecret = 6

// secretName matches names of what is nobody's business.
var secretName = regexp.MustCompile(`(?i)(secret|passw|passphrase|token|credential|api[_-]?key|private[_-]?key|access[_-]?key|mnemonic|authorization)`)

// credential is a secret that shows by its form. The form's first group and the second
// stay. It is looked for only where a hint is: a form alone takes long on a long text.
type credential struct {
	hints []string // lower case
	form  *regexp.Regexp
}

var credentials = []credential{
	{[]string{"private key-----"}, regexp.MustCompile(`()-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)(\bauthorization["']?\s*[=:]\s*["']?(?:basic\s+|bearer\s+)?)[^\s"',;]+`)},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9+/_=.-]{16,}`)},
	{[]string{"secret", "passw", "passphrase", "token", "key"}, regexp.MustCompile(
		`(?i)((?:secret|passw(?:or)?d|passphrase|token|api_?-?key|private_?-?key|access_?-?key)[A-Za-z0-9_-]*["']?\s*[=:]\s*["']?)[^\s"',;&]+`)},
	{[]string{"://"}, regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s/:@]+:)[^\s/@]+(@)`)},
	{[]string{"akia"}, regexp.MustCompile(`()\bAKIA[0-9A-Z]{16}\b`)},
	{[]string{"eyj"}, regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`)},
}

// in says whether one of the hints is in a text of small letters.
func (c credential) in(lower string) bool {
	return slices.ContainsFunc(c.hints, func(hint string) bool { return strings.Contains(lower, hint) })
}

// Redactor takes out what must not leave the machine. A plugin never sees the host's
// environment, so this is the second line: a message may quote a secret all the same.
type Redactor struct {
	secrets []string // longest first
	home    string
}

// NewRedactor knows the values of the variables of an environment (KEY=value) whose
// names are those of secrets, and the folder of the user; "" for none.
func NewRedactor(environ []string, home string) *Redactor {
	found := map[string]bool{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if len(value) >= minSecret && secretName.MatchString(name) {
			found[value] = true
		}
	}
	r := &Redactor{home: strings.TrimRight(home, "/")}
	r.secrets = slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return r
}

// Text is s without secrets, and why something was taken out; "" if nothing was.
func (r *Redactor) Text(s string) (clean, reason string) {
	clean = s
	for _, secret := range r.secrets {
		if strings.Contains(clean, secret) {
			clean, reason = strings.ReplaceAll(clean, secret, Redacted), reasonValue
		}
	}
	lower := strings.ToLower(clean)
	for _, c := range credentials {
		if !c.in(lower) {
			continue
		}
		if next := c.form.ReplaceAllString(clean, "${1}"+Redacted+"${2}"); next != clean {
			// What is a secret's place may hold what was taken out already.
			if reason == "" {
				reason = reasonCredential
			}
			clean = next
		}
	}
	if len(r.home) > 1 && strings.Contains(clean, r.home) {
		clean = strings.ReplaceAll(clean, r.home, "~")
		if reason == "" {
			reason = reasonHome
		}
	}
	return clean, reason
}

// tree is JSON as maps, lists and texts; numbers stay as they were written.
func (r *Redactor) tree(pointer string, v any, found *[]Redaction) any {
	switch v := v.(type) {
	case string:
		clean, reason := r.Text(v)
		if reason != "" {
			*found = append(*found, Redaction{pointer, reason})
		}
		return clean
	case []any:
		for i := range v {
			v[i] = r.tree(pointer+"/"+strconv.Itoa(i), v[i], found)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := pointer + "/" + pointerToken.Replace(key)
			if s, is := v[key].(string); is && s != "" && secretName.MatchString(key) {
				v[key] = Redacted
				*found = append(*found, Redaction{at, reasonName})
				continue
			}
			v[key] = r.tree(at, v[key], found)
		}
	}
	return v
}

var pointerToken = strings.NewReplacer("~", "~0", "/", "~1")

// candles need no looking through: they are numbers.
const candlesKey = "data_slice"

// redact replaces the capsule by one without secrets and lists what is gone.
func (c *Capsule) redact(r *Redactor) error {
	slice := c.DataSlice
	c.DataSlice = nil
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	var tree map[string]any
	if err := decodeTree(body, &tree); err != nil {
		return err
	}
	found := []Redaction{}
	delete(tree, candlesKey)
	r.tree("", tree, &found)
	if body, err = json.Marshal(tree); err != nil {
		return err
	}
	clean := Capsule{}
	if err := json.Unmarshal(body, &clean); err != nil {
		return err
	}
	clean.DataSlice, clean.Integrity.Redactions = slice, found
	*c = clean
	return nil
}

// Lost says whether the redactions have taken something out that a replay needs.
func (c *Capsule) Lost() bool {
	return slices.ContainsFunc(c.Integrity.Redactions, func(x Redaction) bool { return strings.HasPrefix(x.Path, "/replay/take/") })
}
