package capsule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
)

// Seal takes secrets out and binds the body to its hash: the last step before Encode.
// What is sealed again keeps the redactions that it has.
func (c *Capsule) Seal(r *Redactor) error {
	c.fill()
	before := c.Integrity.Redactions
	if err := c.redact(r); err != nil {
		return err
	}
	c.Integrity.Redactions = append(before[:len(before):len(before)], c.Integrity.Redactions...)
	return c.bind()
}

// bind computes the hash of the body.
func (c *Capsule) bind() (err error) {
	if c.Integrity.Redactions == nil {
		c.Integrity.Redactions = []Redaction{}
	}
	c.Integrity.BodySHA256, err = c.bodyHash()
	return err
}

func (c *Capsule) bodyHash() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		return "", err
	}
	delete(body, "integrity")
	return digest.Of(body)
}

// Encode is the file of a sealed capsule: canonical JSON and a newline. What is too
// large loses its candles, then its events, then most of its texts.
func (c *Capsule) Encode() ([]byte, error) {
	for _, shorten := range []func(){func() {}, c.dropCandles, c.dropEvents, c.dropTexts} {
		shorten()
		if err := c.bind(); err != nil {
			return nil, err
		}
		text, err := digest.JCS(c)
		if err != nil {
			return nil, err
		}
		if len(text) < MaxBytes {
			return append(text, '\n'), nil
		}
	}
	return c.Bare().Encode()
}

// Lock takes out what reveals how the strategy did on a split that is locked: the account,
// the events and the candles, and the decisions that two plays did not share. What is left
// can be replayed with the candles of the store. It comes before Seal.
func (c *Capsule) Lock() {
	c.State, c.DataSlice = nil, nil
	c.dropEvents()
	if c.Kind == Nondeterminism || c.Kind == Lookahead {
		c.Error.Message = "the decisions differ; those of a locked split are not told"
	}
}

func (c *Capsule) dropCandles() {
	if c.DataSlice != nil {
		c.DataSlice.drop()
	}
}

func (c *Capsule) dropEvents() {
	c.DroppedBefore += int64(len(c.LastEvents))
	c.LastEvents = []json.RawMessage{}
}

// dropTexts keeps the newest of what the process printed and the top of the stack.
func (c *Capsule) dropTexts() {
	const few = 4 << 10
	c.Error.StderrTail = strings.ToValidUTF8(c.Error.StderrTail[max(0, len(c.Error.StderrTail)-few):], "")
	c.Error.Message = Cut(c.Error.Message, few)
	c.Error.Stack = c.Error.Stack[:min(16, len(c.Error.Stack))]
	c.Minimal, c.State = nil, nil
}

// Bare is the least that is worth writing where the whole cannot be: what happened,
// where, in answer to which request.
func (c *Capsule) Bare() *Capsule {
	bare := &Capsule{
		Schema: Schema, ID: c.ID, Kind: c.Kind, Severity: c.Severity, Claim: Cut(c.Claim, MaxClaim),
		Count: c.Count, Where: c.Where,
		Error: Fault{Code: c.Error.Code, Message: Cut(c.Error.Message, MaxClaim),
			Type: Cut(c.Error.Type, MaxClaim), ExitCode: c.Error.ExitCode, Signal: c.Error.Signal},
		Fingerprint: c.Fingerprint, Inputs: Inputs{RequestHash: c.Inputs.RequestHash, RunID: c.Inputs.RunID},
		Replay:    Replay{Argv: c.Replay.Argv, ExpectedFingerprint: c.Fingerprint},
		Integrity: Integrity{Redactions: c.Integrity.Redactions},
	}
	bare.fill()
	return bare
}

// isBare reports that there is nothing to play in it.
func (c *Capsule) isBare() bool {
	return len(c.Inputs.Request) == 0 || string(c.Inputs.Request) == "null"
}

// fill makes lists that are not there empty, so that they never read as null.
func (c *Capsule) fill() {
	if c.Error.Stack == nil {
		c.Error.Stack = []Frame{}
	}
	if c.LastEvents == nil {
		c.LastEvents = []json.RawMessage{}
	}
	if c.Inputs.Data == nil {
		c.Inputs.Data = []artifact.Dataset{}
	}
	if c.Replay.Argv == nil {
		c.Replay.Argv = []string{}
	}
	if c.Integrity.Redactions == nil {
		c.Integrity.Redactions = []Redaction{}
	}
}

// MaxClaim is how long a claim may be, in bytes.
const MaxClaim = 500

// Cut shortens a text to at most so many bytes, without half a character at its end.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const more = "..."
	return strings.ToValidUTF8(s[:max(0, limit-len(more))], "") + more
}

// FormatError reports that a file is no capsule of this schema.
type FormatError struct {
	// Pointer is the JSON pointer of what is wrong, "" for the whole.
	Pointer, Reason string
}

func (e *FormatError) Error() string {
	if e.Pointer == "" {
		return "no failure capsule: " + e.Reason
	}
	return "no failure capsule: " + e.Pointer + " " + e.Reason
}

// ChangedError reports that a capsule is not what was written.
type ChangedError struct{ Want, Have string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the capsule was changed: its body has the SHA-256 %.12s, integrity says %.12s",
		e.Have, e.Want)
}

// Decode reads a capsule. The error is a *FormatError, or a *ChangedError if everything
// but the hash of the body is right.
func Decode(text []byte) (*Capsule, error) {
	if len(text) > MaxBytes {
		return nil, &FormatError{"", fmt.Sprintf("%d bytes are more than %d", len(text), MaxBytes)}
	}
	canonical, err := digest.CanonicalJSON(text)
	var bad *digest.JSONError
	if errors.As(err, &bad) {
		return nil, &FormatError{bad.Pointer, bad.Reason}
	}
	if err != nil {
		return nil, &FormatError{"", err.Error()}
	}
	c := &Capsule{}
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, &FormatError{"", err.Error()}
	}
	if fault := c.check(); fault != nil {
		return nil, fault
	}
	have, err := c.bodyHash()
	if err != nil {
		return nil, &FormatError{"", err.Error()}
	}
	if have != c.Integrity.BodySHA256 {
		return nil, &ChangedError{Want: c.Integrity.BodySHA256, Have: have}
	}
	c.fill()
	return c, nil
}

// runIDForm keeps a run id that becomes a path inside the folder of runs.
var runIDForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)

// check is what the types do not check.
func (c *Capsule) check() *FormatError {
	switch {
	case c.Schema != Schema:
		return &FormatError{"/schema", fmt.Sprintf("is %.40q, not %s", c.Schema, Schema)}
	case !isID(c.ID):
		return &FormatError{"/capsule_id", "is not fc_ and 16 hex digits"}
	case c.Kind.Severity() == "":
		return &FormatError{"/kind", fmt.Sprintf("%.40q is not known", c.Kind)}
	case c.Severity != c.Kind.Severity():
		return &FormatError{"/severity",
			fmt.Sprintf("is %.40q, that of the kind is %s", c.Severity, c.Kind.Severity())}
	case c.Count < 1:
		return &FormatError{"/count", "must be at least 1"}
	case !c.Where.Phase.known():
		return &FormatError{"/where/phase", fmt.Sprintf("%.40q is not known", c.Where.Phase)}
	case !digest.IsSHA256(c.Fingerprint):
		return &FormatError{"/fingerprint", "is not a SHA-256"}
	case c.Replay.ExpectedFingerprint != c.Fingerprint:
		return &FormatError{"/replay/expected_fingerprint", "is not the fingerprint"}
	case !digest.IsSHA256(c.Inputs.RequestHash):
		return &FormatError{"/inputs/request_hash", "is not a SHA-256"}
	case !runIDForm.MatchString(c.Inputs.RunID):
		return &FormatError{"/inputs/run_id", "is not the id of a run"}
	case c.Inputs.Plugin != nil && !digest.IsSHA256(c.Inputs.Plugin.SHA256):
		return &FormatError{"/inputs/plugin/sha256", "is not a SHA-256"}
	case !digest.IsSHA256(c.Integrity.BodySHA256):
		return &FormatError{"/integrity/body_sha256", "is not a SHA-256"}
	}
	if id, err := MakeID(c.Kind, c.Fingerprint, c.Inputs.RequestHash, c.Where); err != nil || id != c.ID {
		return &FormatError{"/capsule_id", "is not that of kind, fingerprint, request and place"}
	}
	return c.checkSizes()
}

func (c *Capsule) checkSizes() *FormatError {
	switch {
	case len(c.LastEvents) > MaxEvents:
		return &FormatError{"/last_events", fmt.Sprintf("has more than %d", MaxEvents)}
	case len(c.Error.Stack) > MaxFrames:
		return &FormatError{"/error/stack", fmt.Sprintf("has more than %d frames", MaxFrames)}
	case c.DroppedBefore < 0:
		return &FormatError{"/dropped_before", "is negative"}
	case c.DataSlice == nil:
		return nil
	}
	if err := c.DataSlice.checkInputs(); err != nil {
		return err
	}
	candles := 0
	for i := range c.DataSlice.Series {
		s := &c.DataSlice.Series[i]
		candles += len(s.Candles)
		if !digest.IsSHA256(s.SHA256) {
			return &FormatError{fmt.Sprintf("/data_slice/series/%d/sha256", i), "is not a SHA-256"}
		}
		if c.DataSlice.Inline && len(s.Candles) != s.Rows {
			return &FormatError{fmt.Sprintf("/data_slice/series/%d/rows", i), "does not count the candles"}
		}
	}
	if candles > MaxCandles {
		return &FormatError{"/data_slice", fmt.Sprintf("has more than %d candles", MaxCandles)}
	}
	return nil
}

// decodeTree reads JSON whose numbers must stay as they are.
func decodeTree(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

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

// secretName matches the names of secrets.
var secretName = regexp.MustCompile(
	`(?i)(secret|passw|passphrase|token|credential|api[_-]?key|private[_-]?key|access[_-]?key|mnemonic|` +
		`authorization)`)

// credential is a secret that shows by its form. The form's first group and the second
// stay. It is looked for only where a hint is: a form alone takes long on a long text.
type credential struct {
	hints []string // lower case
	form  *regexp.Regexp
}

var credentials = []credential{
	{[]string{"private key-----"},
		regexp.MustCompile(
			`()-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
	{[]string{"authorization"},
		regexp.MustCompile(`(?i)(\bauthorization["']?\s*[=:]\s*["']?(?:basic\s+|bearer\s+)?)[^\s"',;]+`)},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9+/_=.-]{16,}`)},
	{[]string{"secret", "passw", "passphrase", "token", "key"}, regexp.MustCompile(
		`(?i)((?:secret|passw(?:or)?d|passphrase|token|api_?-?key|private_?-?key|` +
			`access_?-?key)[A-Za-z0-9_-]*["']?\s*[=:]\s*["']?)[^\s"',;&]+`)},
	{[]string{"://"}, regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s/:@]+:)[^\s/@]+(@)`)},
	{[]string{"akia"}, regexp.MustCompile(`()\bAKIA[0-9A-Z]{16}\b`)},
	{[]string{"eyj"}, regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`)},
}

// in reports whether one of the hints is in a text of small letters.
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
			at := pointer + "/" + digest.PointerStep(key)
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

// Lost reports whether the redactions have taken something out that a replay needs.
func (c *Capsule) Lost() bool {
	return slices.ContainsFunc(c.Integrity.Redactions, func(x Redaction) bool {
		return strings.HasPrefix(x.Path, "/replay/take/")
	})
}
