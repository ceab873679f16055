package exchange_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/exchange"
)

var exampleSchema = exchange.ConfigSchema(map[string]any{
	"depth": map[string]any{"type": "integer", "minimum": 1},
	"label": map[string]any{"type": "string", "format": "date"},
})

func TestDecodeConfig(t *testing.T) {
	c, err := exchange.DecodeConfig(exampleSchema,
		[]byte(` {"label":"2024-02-29","apiKey":"k\u00e9y","secret":"s","password":"","sandbox":true,"rateLimit":5e1,"enableRateLimit":false,"depth":2} `))
	if err != nil {
		t.Fatal(err)
	}
	if c.APIKey.Reveal() != "kéy" || c.Secret.Reveal() != "s" || !c.Password.Empty() || !c.Sandbox ||
		c.RateLimitMS != 50 || !c.Unspaced {
		t.Errorf("%+v", c)
	}
	if string(c.Settings) != `{"depth":2,"label":"2024-02-29"}` {
		t.Errorf("settings %s", c.Settings)
	}
	copied := c
	c.Secret.Wipe()
	if !copied.Secret.Empty() {
		t.Error("a copy keeps the secret")
	}
	for _, none := range []string{"", "  ", "{}"} {
		if c, err := exchange.DecodeConfig(exampleSchema, []byte(none)); err != nil ||
			string(c.Settings) != "{}" || c.RateLimitMS != 0 || c.Unspaced {
			t.Errorf("%q: %+v, %v", none, c, err)
		}
	}
}

// What does not fit is told in constants: nothing of what was sent comes back.
func TestConfigErrors(t *testing.T) {
	long := strings.Repeat("é", 513)
	for text, rule := range map[string]string{
		`[]`: "type", `"canary"`: "type", `null`: "type", `7`: "type",
		`{`: "json", `{"apiKey":"canary"`: "json", `{"a":1}{}`: "json",
		`{"apiKey":"a","apiKey":"canary"}`: "json",
		"{\"apiKey\":\"\xff\"}":            "json", `{"canary":1,"canary":2}`: "json",
		`{"canary":1}`: "additionalProperties", `{"urls":{"api":"canary"}}`: "additionalProperties",
		`{"APIKEY":"canary"}`: "additionalProperties",
		`{"apiKey":1}`:        "value", `{"secret":null}`: "value", `{"password":["canary"]}`: "value",
		`{"secret":"` + long + `"}`: "value",
		`{"sandbox":1}`:             "value", `{"enableRateLimit":"canary"}`: "value",
		`{"rateLimit":-1}`: "value", `{"rateLimit":"5"}`: "value", `{"rateLimit":1e999}`: "value",
		`{"depth":0}`: "value", `{"depth":"canary"}`: "value", `{"label":"canary"}`: "value",
		`{"label":"2023-02-29"}`: "value",
	} {
		_, err := exchange.DecodeConfig(exampleSchema, []byte(text))
		bad := new(exchange.ConfigError)
		if !errors.As(err, &bad) || bad.Rule != rule ||
			!strings.HasPrefix(bad.Pointer(), "/exchange_config") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.40s: %v, want rule %s", text, err, rule)
		}
	}
	if c, err := exchange.DecodeConfig(exampleSchema, []byte(`{"secret":"`+long[:1024]+`"}`)); err != nil ||
		len(c.Secret.Reveal()) != 1024 {
		t.Errorf("512 characters: %v", err)
	}
	for _, schema := range []string{``, `7`, `{"type":5}`, `{"$ref":"file:///etc/hostname"}`, `{"$ref":"http://localhost/x"}`} {
		bad := new(exchange.ConfigError)
		if _, err := exchange.DecodeConfig(json.RawMessage(schema), []byte(`{}`)); err == nil ||
			errors.As(err, &bad) {
			t.Errorf("schema %s: %v", schema, err)
		}
	}
}

// TestRateLimitIsAnyNumber: the contract has no upper bound and no whole numbers; 0 adds no time.
func TestRateLimitIsAnyNumber(t *testing.T) {
	for text, want := range map[string]exchange.Config{
		`50.5`: {RateLimitMS: 51}, `0`: {Unspaced: true}, `0.0`: {Unspaced: true}, `0.25`: {RateLimitMS: 1},
		`60001`: {RateLimitMS: 60001}, `1e300`: {RateLimitMS: 1<<31 - 1},
		`0,"enableRateLimit":true`:  {Unspaced: true},
		`7,"enableRateLimit":false`: {RateLimitMS: 7, Unspaced: true},
	} {
		c, err := exchange.DecodeConfig(exampleSchema, []byte(`{"rateLimit":`+text+`}`))
		if err != nil || c.RateLimitMS != want.RateLimitMS || c.Unspaced != want.Unspaced {
			t.Errorf("%s: %d, unspaced %v, %v", text, c.RateLimitMS, c.Unspaced, err)
		}
	}
}

// TestBadConfigValueIsNamed: a key of the schema is named with its bound, any other is not repeated.
func TestBadConfigValueIsNamed(t *testing.T) {
	schema := exchange.ConfigSchema(map[string]any{
		"pace/s": map[string]any{"type": "number", "exclusiveMinimum": 0.5, "maximum": 200},
		"market": map[string]any{"enum": []any{"synthetic", "replay"}},
		"start":  map[string]any{"type": "string", "anyOf": []any{map[string]any{"format": "date"}}},
	})
	for text, want := range map[string]string{
		`{"rateLimit":-1}`:          "/exchange_config/rateLimit must be a number, at least 0",
		`{"rateLimit":"canary"}`:    "/exchange_config/rateLimit must be a number, at least 0",
		`{"apiKey":7}`:              "/exchange_config/apiKey must be a text, at most 512 characters long",
		`{"sandbox":"canary"}`:      "/exchange_config/sandbox must be true or false",
		`{"pace/s":500}`:            "/exchange_config/pace~1s must be a number, above 0.5, at most 200",
		`{"market":"canary"}`:       "/exchange_config/market must be one of: synthetic, replay",
		`{"start":7,"market":"no"}`: "/exchange_config/market must be one of: synthetic, replay",
		`{"canary":7,"market":"no"}`: "/exchange_config has a field that this exchange does not take; its " +
			"config_schema in GET /exchanges lists them",
	} {
		_, err := exchange.DecodeConfig(schema, []byte(text))
		bad := new(exchange.ConfigError)
		if !errors.As(err, &bad) || bad.Pointer()+" "+bad.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestConfigSchema(t *testing.T) {
	var s struct {
		Schema               string                    `json:"$schema"`
		AdditionalProperties *bool                     `json:"additionalProperties"`
		Properties           map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(exampleSchema, &s); err != nil {
		t.Fatal(err)
	}
	if s.AdditionalProperties == nil || *s.AdditionalProperties || !strings.Contains(s.Schema, "2020-12") ||
		len(s.Properties) != 8 {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"apiKey", "secret", "password"} {
		if p := s.Properties[name]; p["writeOnly"] != true || p["format"] != "password" ||
			p["maxLength"] != 512.0 {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func FuzzDecodeConfig(f *testing.F) {
	for _, seed := range []string{`{}`, `{"apiKey":"k","depth":3}`, `{"rateLimit":1e3,"label":"2024-01-01"}`,
		`{"a":{"b":[1,2,{}]}}`, `{"apiKey":"\ud800"}`, `[`, "\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := exchange.DecodeConfig(exampleSchema, text)
		if err != nil {
			if bad := new(exchange.ConfigError); !errors.As(err, &bad) {
				t.Fatalf("%v", err)
			}
			return
		}
		if c.RateLimitMS < 0 || c.RateLimitMS > 1<<31-1 || !json.Valid(c.Settings) {
			t.Errorf("%+v", c)
		}
		if s := c.APIKey.Reveal(); len(s) >= 4 &&
			strings.Contains(strings.ReplaceAll(fmt.Sprintf("%+v", c), "[redacted]", ""), s) &&
			!strings.Contains(string(c.Settings), s) {
			t.Error("a secret is printed")
		}
	})
}
