package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-run/assay/host/base/digest"
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

// Reveal returns the text itself, for the connector's Open only; "" after Wipe.
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

// Empty reports whether there is none, or none any more.
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

// The bounds of the fields that every exchange_config takes.
const (
	maxConfigText  = 512 // characters
	maxRateLimitMS = math.MaxInt32
)

// ConfigSchema returns the closed JSON Schema 2020-12 of an exchange_config: the six fields
// that every venue accepts, whether it uses them or not, and the venue's own, by name. An
// own field holds no secret.
func ConfigSchema(own map[string]any) json.RawMessage {
	secret := func(order int, text string) map[string]any {
		return map[string]any{"type": "string", "maxLength": maxConfigText, "writeOnly": true,
			"format": "password", "description": text, "x-ui": map[string]any{"order": order}}
	}
	// In a form credentials come first and the rest of what all venues have behind the venue's own.
	last := func(unit string) map[string]any { return map[string]any{"order": 100, "unit": unit} }
	properties := map[string]any{
		"apiKey":   secret(-3, "The API key of the account."),
		"secret":   secret(-2, "The secret of the API key."),
		"password": secret(-1, "The passphrase of the API key, where the exchange has one."),
		"sandbox": map[string]any{"type": "boolean", "default": false,
			"description": "Use the test network of the exchange.", "x-ui": last("")},
		"rateLimit": map[string]any{"type": "number", "minimum": 0, "x-ui": last("ms"),
			"description": "Least time between two requests, in milliseconds; 0 adds none."},
		"enableRateLimit": map[string]any{"type": "boolean", "default": true, "x-ui": last(""),
			"description": "Turn off to leave no time between requests. The exchange's own waiting times " +
				"always hold."},
	}
	for name, schema := range own {
		properties[name] = schema
	}
	text, err := json.Marshal(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false, "properties": properties,
	})
	if err != nil { // a value that JSON cannot express is a mistake in the caller's source
		return json.RawMessage("false")
	}
	return text
}

// ConfigError reports that an exchange_config does not fit. It names a key of the schema and the
// schema's own bounds. No value is repeated, and no key that the schema does not have: either
// may be a secret in the wrong place.
type ConfigError struct {
	// Rule is type, json, additionalProperties or value.
	Rule string
	// Key is the key of the schema whose value does not fit; "" where the fault is another.
	Key string
	// Want is what the value has to be, such as "must be a number of at least 0"; it may be empty.
	Want string
}

// Pointer returns where the fault is reported.
func (e *ConfigError) Pointer() string {
	if e.Key == "" {
		return "/exchange_config"
	}
	return "/exchange_config/" + digest.PointerStep(e.Key)
}

// Error returns the text of the rule.
func (e *ConfigError) Error() string {
	switch {
	case e.Want != "":
		return e.Want
	case e.Rule == "type":
		return "must be an object"
	case e.Rule == "json":
		return "is not one valid JSON object with every field at most once"
	case e.Rule == "additionalProperties":
		return "has a field that this exchange does not take; its config_schema in GET /exchanges lists them"
	}
	return "has a value of the wrong type or out of bounds; see the config_schema of the exchange in GET " +
		"/exchanges"
}

// valueError returns the error of a value that the schema of its key does not take.
func valueError(key string, want *jsonschema.Schema) error {
	return &ConfigError{Rule: "value", Key: key, Want: wanted(want)}
}

// wanted describes what a simple schema takes; "" of any other.
func wanted(s *jsonschema.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Enum != nil:
		var list []string
		for _, v := range s.Enum.Values {
			list = append(list, fmt.Sprintf("%v", v))
		}
		return "must be one of: " + strings.Join(list, ", ")
	case s.Types == nil:
		return ""
	}
	var kinds, bounds []string
	for _, kind := range s.Types.ToStrings() {
		kinds = append(kinds, map[string]string{
			"number": "a number", "integer": "a whole number", "string": "a text", "boolean": "true or false",
			"object": "an object", "array": "a list", "null": "null",
		}[kind])
	}
	bound := func(text string, at *big.Rat) {
		if at != nil {
			f, _ := at.Float64()
			bounds = append(bounds, text+strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	bound("at least ", s.Minimum)
	bound("above ", s.ExclusiveMinimum)
	bound("at most ", s.Maximum)
	bound("below ", s.ExclusiveMaximum)
	if s.MinLength != nil && *s.MinLength > 1 {
		bounds = append(bounds, fmt.Sprintf("at least %d characters long", *s.MinLength))
	}
	if s.MaxLength != nil {
		bounds = append(bounds, fmt.Sprintf("at most %d characters long", *s.MaxLength))
	}
	if s.Format != nil && s.Format.Name != "password" {
		bounds = append(bounds, "a "+s.Format.Name)
	}
	return strings.Join(append([]string{"must be " + strings.Join(kinds, " or ")}, bounds...), ", ")
}

// DecodeConfig reads an exchange_config against the ConfigSchema of its venue. Secrets go
// straight into Secret values; what remains is checked by the schema and becomes
// Settings. No text is an empty object. A value that does not fit is a *ConfigError; any other error is a
// schema that does not compile, which is the connector's fault.
func DecodeConfig(schema json.RawMessage, text []byte) (Config, error) {
	check, err := compile(schema)
	if err != nil {
		return Config{}, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return Config{Settings: json.RawMessage("{}")}, nil
	}
	r := configReader{own: []byte("{")}
	err = r.read(jsontext.NewDecoder(bytes.NewReader(text)), check)
	if err == nil {
		err = r.settings(check)
	}
	if err != nil {
		r.config.APIKey.Wipe()
		r.config.Secret.Wipe()
		r.config.Password.Wipe()
		return Config{}, err
	}
	r.config.Unspaced = r.config.Unspaced || r.none
	return r.config, nil
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	const name = "exchange_config.json"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, errors.New("config_schema of the exchange is not JSON")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // no file and no network
	c.AssertFormat()
	if err := c.AddResource(name, doc); err != nil {
		return nil, errors.New("config_schema of the exchange is not a JSON Schema")
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, errors.New("config_schema of the exchange is not a JSON Schema")
	}
	return s, nil
}

// configReader takes an object apart.
type configReader struct {
	config Config
	own    []byte // the venue's own fields as an object that is not closed yet
	none   bool   // a rateLimit of 0
}

func (r *configReader) read(d *jsontext.Decoder, check *jsonschema.Schema) error {
	start, err := d.ReadToken()
	if err != nil {
		return &ConfigError{Rule: "json"}
	}
	if start.Kind() != '{' {
		return &ConfigError{Rule: "type"}
	}
	var bad error // of the first value; reading goes on, because broken JSON is the better news
	for d.PeekKind() == '"' {
		quoted, err := d.ReadValue()
		if err != nil {
			return &ConfigError{Rule: "json"}
		}
		name, _ := jsontext.AppendUnquote(nil, quoted)
		quoted = quoted.Clone()
		value, err := d.ReadValue()
		if err != nil {
			return &ConfigError{Rule: "json"}
		}
		if !r.field(string(name), quoted, value) && bad == nil {
			bad = valueError(string(name), check.Properties[string(name)])
		}
	}
	if end, err := d.ReadToken(); err != nil || end.Kind() != '}' {
		return &ConfigError{Rule: "json"}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &ConfigError{Rule: "json"}
	}
	return bad
}

// field stores one member and reports whether its value fits.
func (r *configReader) field(name string, quoted, value jsontext.Value) bool {
	c := &r.config
	switch name {
	case "apiKey":
		return readSecret(&c.APIKey, value)
	case "secret":
		return readSecret(&c.Secret, value)
	case "password":
		return readSecret(&c.Password, value)
	case "sandbox":
		return readBool(&c.Sandbox, value)
	case "enableRateLimit":
		spaced := true
		ok := readBool(&spaced, value)
		c.Unspaced = !spaced
		return ok
	case "rateLimit":
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil || value.Kind() != '0' || f < 0 {
			return false
		}
		c.RateLimitMS = int(math.Ceil(min(f, maxRateLimitMS)))
		r.none = f == 0
		return true
	}
	if len(r.own) > 1 {
		r.own = append(r.own, ',')
	}
	r.own = append(append(append(r.own, quoted...), ':'), value...)
	return true
}

// readSecret unquotes a string into memory that Wipe can reach.
func readSecret(into *Secret, value jsontext.Value) bool {
	if value.Kind() != '"' {
		return false
	}
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(value)), value)
	if err != nil || utf8.RuneCount(text) > maxConfigText {
		clear(text)
		return false
	}
	if len(text) > 0 {
		*into = Secret{value: &text}
	}
	return true
}

func readBool(into *bool, value jsontext.Value) bool {
	k := value.Kind()
	*into = k == 't'
	return k == 't' || k == 'f'
}

// settings checks the venue's own fields and keeps them in canonical form.
func (r *configReader) settings(check *jsonschema.Schema) error {
	text := jsontext.Value(append(r.own, '}'))
	if text.Canonicalize() != nil {
		return &ConfigError{Rule: "json"}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return &ConfigError{Rule: "json"}
	}
	object, _ := value.(map[string]any)
	for name := range object {
		if _, known := check.Properties[name]; !known && check.AdditionalProperties == false {
			return &ConfigError{Rule: "additionalProperties"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if own := check.Properties[name]; own != nil && own.Validate(object[name]) != nil {
			return valueError(name, own)
		}
	}
	if check.Validate(value) != nil {
		return &ConfigError{Rule: "value"}
	}
	r.config.Settings = json.RawMessage(text)
	return nil
}
