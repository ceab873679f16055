package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds of the fields that every exchange_config takes.
const (
	maxConfigText  = 512 // characters
	minRateLimitMS = 1
	maxRateLimitMS = 60000
)

// ConfigSchema is the closed JSON Schema 2020-12 of an exchange_config: the six fields
// that every venue accepts, whether it uses them or not, and the venue's own, by name. An
// own field holds no secret.
func ConfigSchema(own map[string]any) json.RawMessage {
	secret := func(order int, text string) map[string]any {
		return map[string]any{"type": "string", "maxLength": maxConfigText, "writeOnly": true, "format": "password", "description": text, "x-ui": map[string]any{"order": order}}
	}
	// In a form credentials come first and the rest of what all venues have behind the venue's own.
	last := func(unit string) map[string]any { return map[string]any{"order": 100, "unit": unit} }
	properties := map[string]any{
		"apiKey":          secret(-3, "The API key of the account."),
		"secret":          secret(-2, "The secret of the API key."),
		"password":        secret(-1, "The passphrase of the API key, where the exchange has one."),
		"sandbox":         map[string]any{"type": "boolean", "default": false, "description": "Use the test network of the exchange.", "x-ui": last("")},
		"rateLimit":       map[string]any{"type": "integer", "minimum": minRateLimitMS, "maximum": maxRateLimitMS, "description": "Least time between two requests, in milliseconds.", "x-ui": last("ms")},
		"enableRateLimit": map[string]any{"type": "boolean", "default": true, "description": "false drops the time between requests, never the waiting that the exchange asks for.", "x-ui": last("")},
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

// ConfigError says that an exchange_config does not fit. Its text is one of a few
// constants and its pointer always the same: neither a key nor a value is repeated,
// because either may be a secret in the wrong place.
type ConfigError struct {
	// Rule is type, json, additionalProperties or value.
	Rule string
}

// Pointer is where the fault is reported.
func (*ConfigError) Pointer() string { return "/exchange_config" }

// Error is the constant text of the rule.
func (e *ConfigError) Error() string {
	switch e.Rule {
	case "type":
		return "must be an object"
	case "json":
		return "is not one valid JSON object with every field at most once"
	case "additionalProperties":
		return "has a field that this exchange does not take; its config_schema in GET /exchanges lists them"
	}
	return "has a value of the wrong type or out of bounds; see the config_schema of the exchange in GET /exchanges"
}

// DecodeConfig reads an exchange_config against the ConfigSchema of its venue. Secrets go
// straight into Secret values; what remains is checked by the schema and becomes
// Settings. No text is an empty object. A misfit is a *ConfigError; any other error is a
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
	err = r.read(jsontext.NewDecoder(bytes.NewReader(text)))
	if err == nil {
		err = r.settings(check)
	}
	if err != nil {
		r.config.APIKey.Wipe()
		r.config.Secret.Wipe()
		r.config.Password.Wipe()
		return Config{}, err
	}
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
}

func (r *configReader) read(d *jsontext.Decoder) error {
	start, err := d.ReadToken()
	if err != nil {
		return &ConfigError{"json"}
	}
	if start.Kind() != '{' {
		return &ConfigError{"type"}
	}
	var bad error // the first misfit; reading goes on, because broken JSON is the better news
	for d.PeekKind() == '"' {
		quoted, err := d.ReadValue()
		if err != nil {
			return &ConfigError{"json"}
		}
		name, _ := jsontext.AppendUnquote(nil, quoted)
		quoted = quoted.Clone()
		value, err := d.ReadValue()
		if err != nil {
			return &ConfigError{"json"}
		}
		if !r.field(string(name), quoted, value) && bad == nil {
			bad = &ConfigError{"value"}
		}
	}
	if end, err := d.ReadToken(); err != nil || end.Kind() != '}' {
		return &ConfigError{"json"}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &ConfigError{"json"}
	}
	return bad
}

// field stores one member and says whether its value fits.
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
		if err != nil || value.Kind() != '0' || f < minRateLimitMS || f > maxRateLimitMS || f != float64(int(f)) {
			return false
		}
		c.RateLimitMS = int(f)
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
		return &ConfigError{"json"}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return &ConfigError{"json"}
	}
	if object, ok := value.(map[string]any); ok {
		for name := range object {
			if _, known := check.Properties[name]; !known && check.AdditionalProperties == false {
				return &ConfigError{"additionalProperties"}
			}
		}
	}
	if check.Validate(value) != nil {
		return &ConfigError{"value"}
	}
	r.config.Settings = json.RawMessage(text)
	return nil
}
