package field_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/field"
)

func open(t *testing.T, r *field.Reader, text, need, may string) field.Object {
	t.Helper()
	v, err := field.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r.Object(v, "", field.Names(need), field.Names(may))
}

func TestParseNamesEachFault(t *testing.T) {
	for text, want := range map[string]field.Code{
		`{`: field.MalformedJSON, `{"a":1,"a":1}`: field.DuplicateKey, `"\ud800"`: field.InvalidUnicode,
		`1e999`:                 field.NumberOutOfRange,
		strings.Repeat("[", 40): field.JSONTooDeep,
	} {
		if _, err := field.Parse([]byte(text)); err == nil || err.Code != want || err.Message == "" {
			t.Errorf("%.20s: %v, want %s", text, err, want)
		}
	}
	_, err := field.Parse([]byte(`{"a":[1,{"b/c":NaN}]}`))
	if err == nil || err.Pointer != "/a/1/b~1c" || !strings.HasPrefix(err.Error(), "/a/1/b~1c: ") {
		t.Errorf("got %v", err)
	}
}

func TestTheFirstRefusalStays(t *testing.T) {
	r := &field.Reader{}
	o := open(t, r, `{"z":1,"y":2,"a":"x"}`, "a b c", "")
	if err := r.Err(); err == nil || err.Code != field.UnknownField || err.Pointer != "/y" {
		t.Errorf("unknown members come first, in order: %v", err)
	}
	o.Form("id", "a")
	o.Fail(field.InvalidDigest, "a", "later")
	r.Stop(field.Refuse(field.InvalidStage, "", "later"))
	o.Each("a", 0, func(int, any, string) { t.Error("read on after a refusal") })
	if r.Err().Code != field.UnknownField {
		t.Errorf("got %v", r.Err())
	}
	r = &field.Reader{}
	open(t, r, `{"a":1}`, "a b c", "")
	if err := r.Err(); err == nil || err.Code != field.MissingField || err.Pointer != "/b" {
		t.Errorf("missing members come in the order of the contract: %v", err)
	}
	r = &field.Reader{As: field.InvalidStage}
	open(t, r, `[]`, "", "")
	if err := r.Err(); err == nil || err.Code != field.InvalidStage {
		t.Errorf("got %v", err)
	}
	r = &field.Reader{}
	if r.Stop(field.Refuse(field.InvalidStage, "/x", "first")); !r.Failed() || r.Err().Pointer != "/x" {
		t.Errorf("got %v", r.Err())
	}
}

// TestValues reads one member m each time, in the way that a case names.
func TestValues(t *testing.T) {
	reads := map[string]func(field.Object) any{
		"text": func(o field.Object) any {
			return o.Text("m")
		}, "filled": func(o field.Object) any { return o.Form("filled", "m") },
		"id": func(o field.Object) any {
			return o.Form("id", "m")
		}, "revision": func(o field.Object) any { return o.Form("revision", "m") },
		"sha256": func(o field.Object) any {
			return o.Form("sha256", "m")
		}, "digest": func(o field.Object) any { return o.Form("digest", "m") },
		"decimal": func(o field.Object) any { return o.Form("decimal", "m") },
		"enum":    func(o field.Object) any { return o.OneOf("m", field.InvalidStage, "a", "b") },
		"time":    func(o field.Object) any { s, _ := o.Time("m"); return s },
		"number": func(o field.Object) any {
			return o.Number("m", -1)
		}, "integer": func(o field.Object) any { return o.Integer("m", -5, 5) },
		"bool":    func(o field.Object) any { b := o.Bool("m"); return b != nil && *b },
		"texts":   func(o field.Object) any { return fmt.Sprint(o.Texts("m", 2, nil)) },
		"numbers": func(o field.Object) any { return fmt.Sprint(o.Numbers("m")) },
		"schema":  func(o field.Object) any { o.Schema("m", "s/v1"); return "" },
		"child":   func(o field.Object) any { return o.Child("m", field.Names("x"), nil).Text("x") },
	}
	for _, c := range []struct {
		read, text string
		want       any
		code       field.Code
		at         string
	}{
		{"text", `""`, "", "", ""},
		{"text", `"` + strings.Repeat("a", 4097) + `"`, nil, field.InvalidField, "/m"},
		{"text", `null`, nil, field.InvalidField, "/m"},
		{"filled", `"x"`, "x", "", ""}, {"filled", `"\t"`, nil, field.InvalidField, "/m"},
		{"id", `"a.b_c-1"`, "a.b_c-1", "", ""}, {"id", `"a b"`, nil, field.InvalidIdentifier, "/m"},
		{"id", `1`, nil, field.InvalidField, "/m"},
		{"revision", `"cr-` + strings.Repeat("0", 64) + `"`, "cr-" + strings.Repeat("0", 64), "", ""},
		{"revision", `"cr-0"`, nil, field.InvalidIdentifier, "/m"},
		{"sha256", `"` + strings.Repeat("F", 64) + `"`, nil, field.InvalidDigest, "/m"},
		{"digest", `"sha256:0"`, nil, field.InvalidDigest, "/m"},
		{"decimal", `"0.10"`, "0.10", "", ""}, {"decimal", `"+1"`, nil, field.InvalidDecimal, "/m"},
		{"decimal", `1`, nil, field.InvalidField, "/m"},
		{"enum", `"b"`, "b", "", ""}, {"enum", `"c"`, nil, field.InvalidStage, "/m"},
		{"enum", `2`, nil, field.InvalidField, "/m"},
		{"time", `"2026-01-01T00:00:00Z"`, "2026-01-01T00:00:00Z", "", ""},
		{"time", `"x"`, nil, field.InvalidTimestamp, "/m"},
		{"number", `-0.5`, -0.5, "", ""}, {"number", `-1.5`, nil, field.InvalidField, "/m"},
		{"number", `"1"`, nil, field.InvalidField, "/m"},
		{"integer", `5e0`, int64(5), "", ""}, {"integer", `6`, nil, field.InvalidField, "/m"},
		{"integer", `-6`, nil, field.InvalidField, "/m"},
		{"integer", `0.5`, nil, field.InvalidField, "/m"}, {"bool", `true`, true, "", ""},
		{"bool", `0`, nil, field.InvalidField, "/m"},
		{"texts", `["a","b"]`, "[a b]", "", ""}, {"texts", `["a",1]`, nil, field.InvalidField, "/m/1"},
		{"texts", `["","",""]`, nil, field.TooManyItems, "/m"},
		{"texts", `{}`, nil, field.InvalidField, "/m"},
		{"texts", `["` + strings.Repeat("a", 4097) + `"]`, nil, field.InvalidField, "/m/0"},
		{"numbers", `{"a":1,"b":-2}`, "map[a:1 b:-2]", "", ""},
		{"numbers", `{"a":1,"b~":null}`, nil, field.InvalidField, "/m/b~0"},
		{"numbers", `[1]`, nil, field.InvalidField, "/m"},
		{"schema", `"s/v1"`, "", "", ""}, {"schema", `{}`, nil, field.UnsupportedSchema, "/m"},
		{"schema", `"s/v2"`, nil, field.UnsupportedSchema, "/m"},
		{"child", `{"x":"y"}`, "y", "", ""}, {"child", `{}`, nil, field.MissingField, "/m/x"},
		{"child", `{"x":"","X":""}`, nil, field.UnknownField, "/m/X"},
	} {
		r := &field.Reader{}
		got := reads[c.read](open(t, r, `{"m":`+c.text+`}`, "m", ""))
		switch err := r.Err(); {
		case c.code == "" && (err != nil || got != c.want):
			t.Errorf("%s of %.30s: %v, %v", c.read, c.text, got, err)
		case c.code != "" && (err == nil || err.Code != c.code || err.Pointer != c.at):
			t.Errorf("%s of %.30s: %v, want %s at %s", c.read, c.text, err, c.code, c.at)
		}
	}
	for name, read := range reads {
		r := &field.Reader{}
		read(open(t, r, `{}`, "", "m"))
		if r.Failed() {
			t.Errorf("%s of nothing: %v", name, r.Err())
		}
	}
}

func TestFormats(t *testing.T) {
	for _, s := range []string{"BTC/USDT", "é/" + strings.Repeat("x", 32), "a.b-c/1"} {
		if !field.IsSymbol(s) {
			t.Errorf("%q is no symbol", s)
		}
	}
	for _, s := range []string{"", "/", "BTC/", "/USDT", "BTC", "A/B/C", "A B/C", "A\u00a0/B", "A:/B",
		strings.Repeat("x", 33) + "/B", "A/B\n"} {
		if field.IsSymbol(s) {
			t.Errorf("%q is a symbol", s)
		}
	}
	for s, want := range map[string]bool{"1h": true, "9999M": true, "0h": false, "01h": false, "h": false,
		"1y": false, "10000m": false, "1h\n": false} {
		if field.IsTimeframe(s) != want {
			t.Errorf("timeframe %q", s)
		}
	}
	for s, want := range map[string]bool{
		"0": true, "0.5": true, "999999999999999999.999999999999999999": true, "00": false, ".5": false,
		"5.": false, "-1": false, "1e3": false,
		"1000000000000000000": false, "1\n": false, "": false, "٣": false, "1,5": false,
	} {
		if field.IsDecimal(s) != want {
			t.Errorf("decimal %q", s)
		}
	}
	for s, want := range map[string]bool{
		"2024-02-29T23:59:59Z": true, "2023-02-29T00:00:00Z": false, "2024-01-01T24:00:00Z": false,
		"2024-01-01T00:00:60Z":           false,
		"2024-01-01T00:00:00.000000001Z": true, "2024-01-01T00:00:00.0000000001Z": false,
		"2024-01-01T00:00:00.Z": false,
		"2024-01-01 00:00:00Z":  false, "2024-01-01T00:00:00-00:00": false, "2024-01-01T00:00:00": false,
		"2024-1-01T00:00:00Z": false,
	} {
		if got, ok := field.ParseTime(s); ok != want || ok && got.Location() != time.UTC {
			t.Errorf("time %q: %v, %v", s, got, ok)
		}
	}
}

func TestEachTellsWhere(t *testing.T) {
	r := &field.Reader{}
	o := open(t, r, `{"l":[1,2,3]}`, "l", "")
	var at []string
	if n := o.Each("l", 3, func(_ int, _ any, where string) {
		at = append(at, where)
	}); n != 3 || !slices.Equal(at, []string{"/l/0", "/l/1", "/l/2"}) {
		t.Errorf("%d, %v", n, at)
	}
	at = nil
	o.Each("l", 0, func(i int, _ any, where string) {
		at = append(at, where)
		if i == 1 {
			r.Fail(field.InvalidField, where, "stop here")
		}
	})
	if len(at) != 2 {
		t.Errorf("went on to %v after a refusal", at)
	}
}

func TestIntegersStayExact(t *testing.T) {
	r := &field.Reader{}
	if got := open(t, r, `{"m":9007199254740991}`, "m", "").Integer("m", 0, math.MaxInt64); r.Failed() ||
		got != 1<<53-1 {
		t.Errorf("%d, %v", got, r.Err())
	}
}
