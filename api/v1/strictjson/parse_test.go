package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	v, err := Parse([]byte(" {\"a\": [1, 2.50, -0, true, false, null, \"x\\u00e9\\ud83d\\ude00\"], \"b\": {}} \n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": []any{json.Number("1"), json.Number("2.50"), json.Number("-0"), true, false, nil, "xé😀"}, "b": map[string]any{},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%#v", v)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		text   string
		reason Reason
		offset int64
		line   int
	}{
		{"", Empty, 0, 1},
		{" \n\t", Empty, 3, 2},
		{"\xef\xbb\xbf{}", ByteOrderMark, 0, 1},
		{"{\n\"a\":\"\xff\"}", InvalidUTF8, 7, 2},
		{`"\ud800"`, InvalidString, 0, 1},
		{`{"a":`, Truncated, 5, 1},
		{`[1`, Truncated, 2, 1},
		{`"abc`, Truncated, 4, 1},
		{`tru`, Truncated, 3, 1},
		{"{\"a\":1,\n\"a\":2}", DuplicateKey, 8, 2},
		{`{"a":{"b":1,"b":2}}`, DuplicateKey, 12, 1},
		{`{"a":1,"\u0061":2}`, DuplicateKey, 7, 1},
		{strings.Repeat("[", 65), TooDeep, 64, 1},
		{strings.Repeat(`{"a":`, 65) + "1", TooDeep, 320, 1},
		{strings.Repeat("1", 33), NumberTooLong, 0, 1},
		{"[1e999]", NumberTooLarge, 1, 1},
		{"1e401", NumberTooLarge, 0, 1},
		{"1e-999999999", NumberTooLarge, 0, 1},
		{"{} {}", TrailingData, 3, 1},
		{"{}\nx", TrailingData, 3, 2},
		{"1 ,", TrailingData, 2, 1},
		{"[1,]", Syntax, 2, 1},
		{"{,}", Syntax, 1, 1},
		{"{1:2}", Syntax, 1, 1},
		{"[1 2]", Syntax, 3, 1},
		{"NaN", Syntax, 0, 1},
		{"01", TrailingData, 1, 1},
		{"\"a\nb\"", Syntax, 2, 1},
		{"// x", Syntax, 0, 1},
	} {
		_, err := Parse([]byte(c.text))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.20q: no refusal", c.text)
			continue
		}
		if e.Reason != c.reason || e.Line != c.line || e.Offset != c.offset && c.reason != InvalidString {
			t.Errorf("%.20q: %s at %d line %d, want %s at %d line %d", c.text, e.Reason, e.Offset, e.Line, c.reason, c.offset, c.line)
		}
		if !strings.HasPrefix(e.Error(), "line ") {
			t.Errorf("message %q", e)
		}
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("1", 32), "1e308", "1e-400", "0e400",
	} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// FuzzParse holds Parse against encoding/json: whatever Parse accepts is valid and
// means the same; whatever it refuses is either invalid or beyond a limit.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}]}`, `{"a":1,"a":2}`, `"\ud800"`, "\xef\xbb\xbf1", "1e999", "[[[[", `{"x~/y":0}`, " 1 ", "-", "1.", `"\x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if err == nil {
			var other any
			dec := json.NewDecoder(strings.NewReader(string(text)))
			dec.UseNumber()
			if e := dec.Decode(&other); e != nil || !reflect.DeepEqual(v, other) {
				t.Fatalf("%q: accepted as %v, encoding/json says %v %v", text, v, other, e)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(text)) || e.Line < 1 {
			t.Fatalf("%q: %v", text, err)
		}
		strict := map[Reason]bool{InvalidUTF8: true, InvalidString: true, DuplicateKey: true, TooDeep: true, NumberTooLong: true, NumberTooLarge: true}
		if json.Valid(text) && !strict[e.Reason] {
			t.Fatalf("%q is valid but refused: %v", text, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte("[" + strings.TrimSuffix(strings.Repeat("1,", 500_000), ",") + "]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
