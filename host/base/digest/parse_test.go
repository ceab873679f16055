package digest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
)

func TestParseTakes(t *testing.T) {
	v, err := digest.Parse(
		[]byte(" {\"a\": [1, 2.50, -0, true, false, null, \"x\\u00e9\\ud83d\\ude00\"], \"b\": {}} \n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": []any{json.Number("1"), json.Number("2.50"), json.Number("-0"), true, false, nil, "xé😀"},
		"b": map[string]any{},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%#v", v)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text   string
		reason digest.Fault
		offset int64
		line   int
	}{
		{"", digest.FaultEmpty, 0, 1},
		{" \n\t", digest.FaultEmpty, 3, 2},
		{"\xef\xbb\xbf{}", digest.FaultByteOrderMark, 0, 1},
		{"{\n\"a\":\"\xff\"}", digest.FaultUTF8, 7, 2},
		{`"\ud800"`, digest.FaultString, 0, 1},
		{`{"a":`, digest.FaultTruncated, 5, 1},
		{`[1`, digest.FaultTruncated, 2, 1},
		{`"abc`, digest.FaultTruncated, 4, 1},
		{`tru`, digest.FaultTruncated, 3, 1},
		{"{\"a\":1,\n\"a\":2}", digest.FaultDuplicate, 8, 2},
		{`{"a":{"b":1,"b":2}}`, digest.FaultDuplicate, 12, 1},
		{`{"a":1,"\u0061":2}`, digest.FaultDuplicate, 7, 1},
		{strings.Repeat("[", 65), digest.FaultDepth, 64, 1},
		{strings.Repeat(`{"a":`, 65) + "1", digest.FaultDepth, 320, 1},
		{strings.Repeat("1", 33), digest.FaultNumberLength, 0, 1},
		{"[1e999]", digest.FaultRange, 1, 1},
		{"1e401", digest.FaultRange, 0, 1},
		{"1e-999999999", digest.FaultRange, 0, 1},
		{"{} {}", digest.FaultTrailing, 3, 1},
		{"{}\nx", digest.FaultTrailing, 3, 2},
		{"1 ,", digest.FaultTrailing, 2, 1},
		{"[1,]", digest.FaultSyntax, 2, 1},
		{"{,}", digest.FaultSyntax, 1, 1},
		{"{1:2}", digest.FaultSyntax, 1, 1},
		{"[1 2]", digest.FaultSyntax, 3, 1},
		{"NaN", digest.FaultSyntax, 0, 1},
		{"01", digest.FaultTrailing, 1, 1},
		{"\"a\nb\"", digest.FaultSyntax, 2, 1},
		{"// x", digest.FaultSyntax, 0, 1},
	} {
		_, err := digest.Parse([]byte(c.text))
		var e *digest.JSONError
		if !errors.As(err, &e) {
			t.Errorf("%.20q: no refusal", c.text)
			continue
		}
		if e.Fault != c.reason || e.Line != c.line || e.Offset != c.offset && c.reason != digest.FaultString {
			t.Errorf("%.20q: %s at %d line %d, want %s at %d line %d", c.text, e.Fault, e.Offset, e.Line,
				c.reason, c.offset, c.line)
		}
		if !strings.HasPrefix(e.Place(), "line ") {
			t.Errorf("message %q", e)
		}
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("1", 32), "1e308", "1e-400",
		"0e400",
	} {
		if _, err := digest.Parse([]byte(text)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// FuzzParse holds Parse against encoding/json: whatever Parse accepts is valid and
// means the same; whatever it refuses is either invalid or beyond a limit.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}]}`, `{"a":1,"a":2}`, `"\ud800"`, "\xef\xbb\xbf1",
		"1e999", "[[[[", `{"x~/y":0}`, " 1 ", "-", "1.", `"\x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := digest.Parse(text)
		if err == nil {
			var other any
			dec := json.NewDecoder(strings.NewReader(string(text)))
			dec.UseNumber()
			if e := dec.Decode(&other); e != nil || !reflect.DeepEqual(v, other) {
				t.Fatalf("%q: accepted as %v, encoding/json says %v %v", text, v, other, e)
			}
			return
		}
		var e *digest.JSONError
		if !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(text)) || e.Line < 1 {
			t.Fatalf("%q: %v", text, err)
		}
		strict := map[digest.Fault]bool{digest.FaultUTF8: true, digest.FaultString: true,
			digest.FaultDuplicate: true, digest.FaultDepth: true, digest.FaultNumberLength: true,
			digest.FaultRange: true}
		if json.Valid(text) && !strict[e.Fault] {
			t.Fatalf("%q is valid but refused: %v", text, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte("[" + strings.TrimSuffix(strings.Repeat("1,", 500_000), ",") + "]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := digest.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorst reads a megabyte of what is dear to read.
func BenchmarkWorst(b *testing.B) {
	var keys strings.Builder
	keys.WriteString(`{"a":0`)
	for i := 0; keys.Len() < 1<<20-16; i++ {
		fmt.Fprintf(&keys, `,"%x":0`, i+16)
	}
	nest := strings.Repeat("[", 60) + strings.Repeat("]", 60) + ","
	for name, text := range map[string]string{
		"keys":    keys.String() + "}",
		"numbers": "[" + strings.Repeat("1,", 1<<19-2) + "1]",
		"nesting": "[" + strings.Repeat(nest, 1<<20/len(nest)-1) + "0]",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := digest.Parse([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
