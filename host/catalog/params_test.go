package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/base/hint"
)

func goodParams(t testing.TB) *Strategy {
	t.Helper()
	s, fault := describe(goodSpec("good"))
	if fault != nil {
		t.Fatal(fault)
	}
	return &s
}

func TestValidateParams(t *testing.T) {
	s := goodParams(t)
	for _, test := range []struct{ in, want string }{
		{``, `{"fast":10,"mode":"a"}`},
		{`null`, `{"fast":10,"mode":"a"}`},
		{` {} `, `{"fast":10,"mode":"a"}`},
		{`{"mode":"b","fast":2e1}`, `{"fast":20,"mode":"b"}`},
		{`{"nested":{"x":1.50}}`, `{"fast":10,"mode":"a","nested":{"x":1.5}}`},
		{`{"fast":"x"}`, `/fast: must be of type integer, not string (type)`},
		{`{"fast":null}`, `/fast: must be of type integer, not null (type)`},
		{`{"fast":0}`, `/fast: must be at least 1 (minimum)`},
		{`{"fast":1000000}`, `/fast: must be at most 500 (maximum)`},
		{`{"fast":1.5}`, `/fast: must be of type integer, not number (type)`},
		{`{"fsat":1,"a/b":2}`,
			`/a~1b: is not a parameter of this strategy: it has fast, mode, nested (additionalProperties); /fsat: is not a parameter of this strategy: did you mean fast? It has fast, mode, nested (additionalProperties)`},
		{`{"nested":{}}`, `/nested/x: is missing (required)`},
		{`{"mode":"c"}`, `/mode: must be one of a, b (enum)`},
		{`{"nested":{"x":1e400}}`, `/nested/x: the number is too large (number)`},
		{`{"nested":{"x":9007199254740993}}`, `/nested/x: whole numbers from 2^53 on lose digits (number)`},
		{`[]`, `: parameters are a JSON object (type)`},
		{`{} {}`, `: there is text after the object (json)`},
	} {
		got, bad := s.ValidateParams(json.RawMessage(test.in))
		var texts []string
		for _, f := range bad {
			texts = append(texts, fmt.Sprintf("%s: %s (%s)", f.Pointer, f.Message, f.Rule))
		}
		if text := string(got) + strings.Join(texts, "; "); text != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.in, text, test.want)
		}
	}
	for _, broken := range []string{`{"fast":1,"fast":2}`, `{"fast":`, `{"mode":"` + "\xff" + `"}`,
		`{"fast":1,}`, strings.Repeat(`{"a":`, 20000)} {
		if got, bad := s.ValidateParams(json.RawMessage(broken)); got != nil || len(bad) != 1 ||
			bad[0].Rule != "json" {
			t.Errorf("%.40q: got %s, %v", broken, got, bad)
		}
	}
}

func TestManyFieldErrors(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, `,"p%03d":1`, i)
	}
	_, bad := goodParams(t).ValidateParams(json.RawMessage("{" + b.String()[1:] + "}"))
	if len(bad) != 100 || bad[0].Pointer != "/p000" || bad[99].Pointer != "/p099" {
		t.Errorf("got %d errors", len(bad))
	}
}

func TestSchemas(t *testing.T) {
	for _, test := range []struct{ schema, defaults, want string }{
		{"", "", ""},
		{`{"type":"object"}`, `{"a":1}`, ""},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, ""},
		{`{"$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":1}`, ""},
		{`{"properties":{"a":{"minimum":1}}}`, `{"a":0}`, "default_params/a: must be at least 1"},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, "default_params: fits none"},
		{`{"type":`, "", "params_schema: "},
		{`[]`, "", "params_schema: not a JSON object"},
		{`{"type":"objekt"}`, "", `params_schema: at "/type": `},
		{`{"$ref":"https://example.com/x.json"}`, "", "a schema may refer only to itself"},
		{`{"$ref":"/etc/hostname"}`, "", "a schema may refer only to itself"},
		{`{"pattern":"("}`, "", "params_schema: "},
		{`{}`, `[]`, "default_params: parameters are a JSON object"},
		{`{}`, `{"a":1,"a":2}`, "default_params"},
		{`{"description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "", "more than"},
	} {
		_, fault := compileParams(test.schema, test.defaults)
		switch {
		case test.want == "" && fault != nil:
			t.Errorf("%.80s: %s", test.schema, fault.Message)
		case test.want != "" &&
			(fault == nil || fault.Code != CodeBadSchema || !strings.Contains(fault.Message, test.want)):
			t.Errorf("%.80s: got %+v, want %q", test.schema, fault, test.want)
		}
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "sma_cross-2": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "1a": false, "_a": false, "a.b": false, "a b": false, "ä": false,
		strings.Repeat("a", 64): false,
	} {
		if ValidName(name) != want {
			t.Errorf("%q: want %t", name, want)
		}
	}
}

func FuzzValidateParams(f *testing.F) {
	s := goodParams(f)
	for _, seed := range []string{`{}`, `{"fast":3}`, `{"nested":{"x":1e308}}`, `{"fast":1e999999999}`,
		`{"x":[1,{"y":-0}]}`, `nul`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, bad := s.ValidateParams(in)
		if (got == nil) == (len(bad) == 0) {
			t.Fatalf("%q: %q and %v", in, got, bad)
		}
		if got == nil {
			return
		}
		again := jsontext.Value(got).Clone()
		if err := again.Canonicalize(); err != nil || string(again) != string(got) {
			t.Fatalf("%q is not canonical: %v", got, err)
		}
		if twice, bad := s.ValidateParams(got); len(bad) > 0 || string(twice) != string(got) {
			t.Fatalf("%q became %q, %v", got, twice, bad)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(goodSpec("x").ParamsSchema, `{"fast":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		`{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, defaults string) {
		p, fault := compileParams(schema, defaults)
		if (p == nil) == (fault == nil) {
			t.Fatalf("%v and %v", p, fault)
		}
	})
}

func TestTooManyParams(t *testing.T) {
	text := func(n int) json.RawMessage {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":0`, i)
		}
		return json.RawMessage("{" + b.String()[1:] + "}")
	}
	if _, bad := goodParams(t).ValidateParams(text(maxParams)); len(bad) != hint.MaxViolations {
		t.Errorf("%d faults: %v", len(bad), bad)
	}
	if _, bad := goodParams(t).ValidateParams(text(maxParams + 1)); len(bad) != 1 ||
		bad[0].Rule != "maxProperties" || bad[0].Pointer != "" {
		t.Errorf("%v", bad)
	}
}

func TestDiffers(t *testing.T) {
	long := strings.Repeat("x", 301)
	s := Strategy{ParamsSchema: json.RawMessage(`{"x-differs":[" a  stop\n follows ","","` + long + `"]}`)}
	if got := s.Differs(); len(got) != 1 || got[0] != "a stop follows" {
		t.Errorf("%q", got)
	}
	for _, schema := range []string{``, `{}`, `{"x-differs":3}`} {
		if got := (&Strategy{ParamsSchema: json.RawMessage(schema)}).Differs(); got != nil {
			t.Errorf("%s: %q", schema, got)
		}
	}
}
