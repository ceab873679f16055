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
	c, err := exchange.DecodeConfig(exampleSchema, []byte(` {"label":"2024-02-29","apiKey":"k\u00e9y","secret":"s","password":"","sandbox":true,"rateLimit":5e1,"enableRateLimit":false,"depth":2} `))
	if err != nil {
		t.Fatal(err)
	}
	if c.APIKey.Reveal() != "kéy" || c.Secret.Reveal() != "s" || !c.Password.Empty() || !c.Sandbox || c.RateLimitMS != 50 || !c.Unspaced {
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
		if c, err := exchange.DecodeConfig(exampleSchema, []byte(none)); err != nil || string(c.Settings) != "{}" || c.RateLimitMS != 0 || c.Unspaced {
			t.Errorf("%q: %+v, %v", none, c, err)
		}
	}
}

// A misfit is told in constants: nothing of what was sent comes back.
func TestConfigErrors(t *testing.T) {
	long := strings.Repeat("é", 513)
	for text, rule := range map[string]string{
		`[]`: "type", `"canary"`: "type", `null`: "type", `7`: "type",
		`{`: "json", `{"apiKey":"canary"`: "json", `{"a":1}{}`: "json", `{"apiKey":"a","apiKey":"canary"}`: "json",
		"{\"apiKey\":\"\xff\"}": "json", `{"canary":1,"canary":2}`: "json",
		`{"canary":1}`: "additionalProperties", `{"urls":{"api":"canary"}}`: "additionalProperties", `{"APIKEY":"canary"}`: "additionalProperties",
		`{"apiKey":1}`: "value", `{"secret":null}`: "value", `{"password":["canary"]}`: "value", `{"secret":"` + long + `"}`: "value",
		`{"sandbox":1}`: "value", `{"enableRateLimit":"canary"}`: "value",
		`{"rateLimit":0}`: "value", `{"rateLimit":60001}`: "value", `{"rateLimit":1.5}`: "value", `{"rateLimit":"5"}`: "value", `{"rateLimit":1e999}`: "value",
		`{"depth":0}`: "value", `{"depth":"canary"}`: "value", `{"label":"canary"}`: "value", `{"label":"2023-02-29"}`: "value",
	} {
		_, err := exchange.DecodeConfig(exampleSchema, []byte(text))
		bad := new(exchange.ConfigError)
		if !errors.As(err, &bad) || bad.Rule != rule || bad.Pointer() != "/exchange_config" || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.40s: %v, want rule %s", text, err, rule)
		}
	}
	if c, err := exchange.DecodeConfig(exampleSchema, []byte(`{"secret":"`+long[:1024]+`"}`)); err != nil || len(c.Secret.Reveal()) != 1024 {
		t.Errorf("512 characters: %v", err)
	}
	for _, schema := range []string{``, `7`, `{"type":5}`, `{"$ref":"file:///etc/hostname"}`, `{"$ref":"http://localhost/x"}`} {
		bad := new(exchange.ConfigError)
		if _, err := exchange.DecodeConfig(json.RawMessage(schema), []byte(`{}`)); err == nil || errors.As(err, &bad) {
			t.Errorf("schema %s: %v", schema, err)
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
	if s.AdditionalProperties == nil || *s.AdditionalProperties || !strings.Contains(s.Schema, "2020-12") || len(s.Properties) != 8 {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"apiKey", "secret", "password"} {
		if p := s.Properties[name]; p["writeOnly"] != true || p["format"] != "password" || p["maxLength"] != 512.0 {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func FuzzDecodeConfig(f *testing.F) {
	for _, seed := range []string{`{}`, `{"apiKey":"k","depth":3}`, `{"rateLimit":1e3,"label":"2024-01-01"}`, `{"a":{"b":[1,2,{}]}}`, `{"apiKey":"\ud800"}`, `[`, "\x00"} {
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
		if c.RateLimitMS < 0 || c.RateLimitMS > 60000 || !json.Valid(c.Settings) {
			t.Errorf("%+v", c)
		}
		if s := c.APIKey.Reveal(); len(s) >= 4 && strings.Contains(strings.ReplaceAll(fmt.Sprintf("%+v", c), "[redacted]", ""), s) && !strings.Contains(string(c.Settings), s) {
			t.Error("a secret is printed")
		}
	})
}
