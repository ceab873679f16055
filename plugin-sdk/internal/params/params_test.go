package params_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/params"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type common struct {
	Verbose bool `param:"verbose" default:"true"`
}

type everything struct {
	Fast   int     `param:"fast" default:"10" min:"1" max:"500" doc:"Candles in the \"fast\" average" unit:"candles" search:"log,5..50"`
	Small  int8    `param:"small"`
	Count  uint    `param:"count" default:"3" step:"2" max:"9"`
	Risk   float64 `param:"risk" default:"0.02" above:"0" below:"1" step:"0.005" search:"linear" title:"Risk & reward" group:"Money"`
	Free   float64 `param:"free" default:"-1.5"`
	Mode   string  `param:"mode" default:"close" enum:"close, typical"`
	Level  int     `param:"level" default:"2" enum:"1,2,4"`
	Label  string  `param:"label"`
	Fixed  int64   `param:"fixed" min:"0" max:"10" search:"off"`
	Hidden int     `param:"-"`
	common
}

func TestSchemaAndDefaults(t *testing.T) {
	p, err := params.Of[everything]()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, document := range []json.RawMessage{p.Schema(), p.Defaults()} {
		if err := json.Indent(&got, document, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
	}
	golden := filepath.Join("testdata", "schema.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	schema := compile(t, p.Schema())
	if err := schema.Validate(parse(t, p.Defaults())); err != nil {
		t.Errorf("the defaults do not fit: %v", err)
	}
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("params.json", parse(t, text)); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("params.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func parse(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNoParameters(t *testing.T) {
	p, err := params.Of[struct{}]()
	if err != nil {
		t.Fatal(err)
	}
	compile(t, p.Schema())
	if string(p.Defaults()) != "{}" {
		t.Errorf("defaults %s", p.Defaults())
	}
	for _, raw := range []string{"", "{}", " {} \n"} {
		if _, err := p.Decode([]byte(raw)); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
	_, err = p.Decode([]byte(`{"a":1}`))
	if got := fmt.Sprint(
		params.Errors(err)); got != "[{/a is not a parameter of this strategy, which has none}]" {
		t.Error(got)
	}
}

func TestDecode(t *testing.T) {
	p, err := params.Of[everything]()
	if err != nil {
		t.Fatal(err)
	}
	defaults := everything{Fast: 10, Count: 3, Risk: 0.02, Free: -1.5, Mode: "close", Level: 2,
		common: common{true}}
	changed := defaults
	changed.Fast, changed.Small, changed.Count, changed.Risk, changed.Free = 500, -128, 9, 0.999, 1e300
	changed.Mode, changed.Level, changed.Label, changed.Fixed, changed.Verbose = "typical", 4, "<é>", 10,
		false
	cases := []struct {
		raw  string
		want everything
	}{
		{`{}`, defaults},
		{string(p.Defaults()), defaults},
		{`{"fast":5e2,"small":-128,"count":9.0,"risk":0.999,"free":1e300,"mode":"typical","level":4,"label":"<é>","fixed":10,"verbose":false}`, changed},
	}
	for _, c := range cases {
		got, err := p.Decode([]byte(c.raw))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", c.raw, got, err, c.want)
		}
	}
}

// Every single value is judged by Decode as the schema judges it.
func TestDecodeAgreesWithTheSchema(t *testing.T) {
	p, err := params.Of[everything]()
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, p.Schema())
	values := []string{"null", "true", `"close"`, `"x"`, "[]", "{}", "0", "1", "-1", "2", "0.5", "1.0", "1e0",
		"500", "501", "-129", "127", "128", "10", "1e30", "0.0"}
	for _, name := range append(p.Names(), "nothing") {
		for _, value := range values {
			raw := []byte(`{"` + name + `":` + value + `}`)
			_, err := p.Decode(raw)
			if want := schema.Validate(parse(t, raw)); (err == nil) != (want == nil) && value != "1e30" {
				t.Errorf("%s: Decode says %v, the schema %v", raw, err, want)
			}
			if err != nil {
				if list := params.Errors(err); len(list) != 1 || list[0].Pointer != "/"+name ||
					list[0].Message == "" {
					t.Errorf("%s: %+v", raw, list)
				}
			}
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	p, err := params.Of[everything]()
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Decode(
		[]byte(`{"fast":0,"count":10,"risk":1,"mode":"open","level":3,"label":5,"z/~":1,"a":2,"small":1.5,"free":1e999,"fixed":9007199254740993}`))
	var got []string
	for _, e := range params.Errors(err) {
		got = append(got, e.Error())
	}
	list := "is not a parameter of this strategy, which has " + strings.Join(p.Names(), ", ")
	want := []string{
		"/fast: must be at least 1", "/small: must be an integer", "/count: must be at most 9",
		"/risk: must be below 1",
		"/free: is too large", `/mode: must be one of "close", "typical"`, "/level: must be one of 1, 2, 4",
		"/label: must be a string",
		"/fixed: must be an integer", "/a: " + list, "/z~1~0: " + list,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, raw := range []string{`[]`, `null`, `{`, `1`, `{} {}`} {
		_, err := p.Decode([]byte(raw))
		if list := params.Errors(err); len(list) != 1 || list[0].Pointer != "" {
			t.Errorf("%s: %v", raw, list)
		}
	}
}

func TestInvalidParam(t *testing.T) {
	err := errors.Join(sdk.InvalidParam("fast", "must be below slow"),
		fmt.Errorf("more: %w", sdk.InvalidParam("a/b", "is bad")))
	want := []sdk.ParamError{{Pointer: "/fast", Message: "must be below slow"},
		{Pointer: "/a~1b", Message: "is bad"}}
	if got := params.Errors(err); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := params.Errors(errors.New("no licence")); !reflect.DeepEqual(got,
		[]sdk.ParamError{{Message: "no licence"}}) {
		t.Errorf("got %v", got)
	}
	if params.Errors(nil) != nil {
		t.Error("no error has no parts")
	}
}

func TestParameterNames(t *testing.T) {
	type longest struct {
		A int `param:"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	}
	for name, err := range map[string]error{
		"a": errorOf[struct {
			A int `param:"a"`
		}](),
		"a_9": errorOf[struct {
			A int `param:"a_9"`
		}](),
		"a__": errorOf[struct {
			A int `param:"a__"`
		}](),
		"63": errorOf[longest](),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	type tooLong struct {
		A int `param:"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	}
	for name, err := range map[string]error{
		"": errorOf[struct {
			A int `param:""`
		}](),
		"9a": errorOf[struct {
			A int `param:"9a"`
		}](),
		"_a": errorOf[struct {
			A int `param:"_a"`
		}](),
		"aB": errorOf[struct {
			A int `param:"aB"`
		}](),
		"a-b": errorOf[struct {
			A int `param:"a-b"`
		}](),
		"a b": errorOf[struct {
			A int `param:"a b"`
		}](),
		"a\u00e4": errorOf[struct {
			A int `param:"aä"`
		}](),
		"64": errorOf[tooLong](),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestBadTags(t *testing.T) {
	type embedded struct{ *common }
	cases := map[string]error{
		"must be a struct": errorOf[int](),
		"has no param tag": errorOf[struct{ A int }](),
		"is not exported": errorOf[struct {
			a int `param:"a"`
		}](),
		"must begin with a-z": errorOf[struct {
			A int `param:"A"`
		}](),
		"cannot be a parameter": errorOf[struct {
			A []int `param:"a"`
		}](),
		"name \"a\" is taken": errorOf[struct {
			A, B int `param:"a"`
		}](),
		`min:"x": is not a number`: errorOf[struct {
			A int `param:"a" min:"x"`
		}](),
		"is not an integer": errorOf[struct {
			A int `param:"a" max:"1.5"`
		}](),
		"a string has none": errorOf[struct {
			A string `param:"a" min:"1"`
		}](),
		"the bound is set already": errorOf[struct {
			A int `param:"a" min:"1" above:"0"`
		}](),
		"no value is within": errorOf[struct {
			A int `param:"a" min:"2" max:"1"`
		}](),
		"step:\"0\"": errorOf[struct {
			A int `param:"a" step:"0"`
		}](),
		"must be at least 1": errorOf[struct {
			A int `param:"a" min:"1"`
		}](),
		"must be above 0": errorOf[struct {
			A float64 `param:"a" above:"0"`
		}](),
		`default:"x"`: errorOf[struct {
			A int `param:"a" default:"x"`
		}](),
		"must be at most 255": errorOf[struct {
			A uint8 `param:"a" default:"256"`
		}](),
		"neither true nor false": errorOf[struct {
			A bool `param:"a" default:"maybe"`
		}](),
		"is there twice": errorOf[struct {
			A string `param:"a" enum:"x,x"`
		}](),
		`must be one of "x"`: errorOf[struct {
			A string `param:"a" enum:"x"`
		}](),
		`enum:"true"`: errorOf[struct {
			A bool `param:"a" enum:"true"`
		}](),
		"needs a lower bound": errorOf[struct {
			A int `param:"a" min:"0" search:"log"`
		}](),
		"write log, linear": errorOf[struct {
			A int `param:"a" search:"fast"`
		}](),
		"must ascend and lie": errorOf[struct {
			A int `param:"a" max:"5" search:"1..6"`
		}](),
		"embed the struct itself": errorOf[embedded](),
	}
	for want, err := range cases {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func errorOf[P any]() error {
	_, err := params.Of[P]()
	return err
}

func FuzzDecode(f *testing.F) {
	p, err := params.Of[everything]()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(p.Defaults()))
	f.Add([]byte(`{"fast":1e2,"risk":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if v, err := p.Decode(raw); err == nil && (v.Fast < 1 || v.Fast > 500 || v.Risk <= 0 || v.Risk >= 1) {
			t.Errorf("%q: %+v is out of bounds", raw, v)
		}
	})
}
