package digest_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
)

func TestStrictRefuses(t *testing.T) {
	cases := []struct {
		in      string
		fault   digest.Fault
		pointer string
	}{
		{"", digest.FaultSyntax, ""},
		{" \n", digest.FaultSyntax, ""},
		{"\xef\xbb\xbf{}", digest.FaultSyntax, ""},
		{`{}{}`, digest.FaultSyntax, ""},
		{`{} x`, digest.FaultSyntax, ""},
		{"{}\x00", digest.FaultSyntax, ""},
		{`[1,]`, digest.FaultSyntax, ""},
		{`[,1]`, digest.FaultSyntax, ""},
		{`{"a":}`, digest.FaultSyntax, "/a"},
		{`{"a" 1}`, digest.FaultSyntax, "/a"},
		{`{a:1}`, digest.FaultSyntax, ""},
		{`{"a":01}`, digest.FaultSyntax, ""},
		{`{"a":[1,2`, digest.FaultSyntax, "/a"},
		{`{"a":"x`, digest.FaultSyntax, "/a"},
		{`{"a":NaN}`, digest.FaultSyntax, "/a"},
		{`{"a":Infinity}`, digest.FaultSyntax, "/a"},
		{`{"a":-}`, digest.FaultSyntax, "/a"},
		{`{"a":"\q"}`, digest.FaultSyntax, "/a"},
		{"{\"a\":\"\n\"}", digest.FaultSyntax, "/a"},
		{`{"a":TRUE}`, digest.FaultSyntax, "/a"},
		{`{"a":1,"a":2}`, digest.FaultDuplicate, "/a"},
		{`{"o":[{"a/b~":1,"\u0061/b~":2}]}`, digest.FaultDuplicate, "/o/0/a~1b~0"},
		{"{\"a\":\"\xff\xfe\"}", digest.FaultUTF8, "/a"},
		{"{\"a\":\"\xed\xa0\x80\"}", digest.FaultUTF8, "/a"},
		{"{\"a\":\"\xc0\x80\"}", digest.FaultUTF8, "/a"},
		{"{\"\xff\":1}", digest.FaultUTF8, ""},
		{"{\"a\":\xff}", digest.FaultUTF8, "/a"},
		{"\xff\xfe{\x00}\x00", digest.FaultUTF8, ""},
		{"{}\xff", digest.FaultUTF8, ""},
		{`{"a":["x\ud800"]}`, digest.FaultUTF8, "/a/0"},
		{`{"a":"\udc00\ud800"}`, digest.FaultUTF8, "/a"},
		{`{"a":"\ud800\u0041"}`, digest.FaultUTF8, "/a"},
		{`{"a":"\ud83d\n"}`, digest.FaultUTF8, "/a"},
		{`{"\ud800":1}`, digest.FaultUTF8, ""},
		{`{"a":"\u0000"}`, digest.FaultUTF8, "/a"},
		{`{"a\u0000":1}`, digest.FaultUTF8, ""},
		{"{\"a\":\"\x00\"}", digest.FaultUTF8, "/a"},
		{`{"a":9007199254740992}`, digest.FaultRange, "/a"},
		{`{"a":-9007199254740992}`, digest.FaultRange, "/a"},
		{`[9007199254740993]`, digest.FaultRange, "/0"},
		{`1` + strings.Repeat("0", 400), digest.FaultRange, ""},
		{`1` + strings.Repeat("0", 30), digest.FaultRange, ""},
		{`[[1e400]]`, digest.FaultRange, "/0/0"},
		{`-1e309`, digest.FaultRange, ""},
		{`1e17`, digest.FaultRange, ""},
		{`9007199254740991.9`, digest.FaultRange, ""},
		{strings.Repeat("[", 34) + strings.Repeat("]", 34), digest.FaultDepth, strings.Repeat("/0", 33)},
		{strings.Repeat("[", 33) + "0" + strings.Repeat("]", 33), digest.FaultDepth,
			strings.Repeat("/0", 33)},
		{strings.Repeat("[", 200_000), digest.FaultDepth, strings.Repeat("/0", 33)},
		{strings.Repeat(`{"a":`, 200_000), digest.FaultDepth, strings.Repeat("/a", 33)},
	}
	for _, c := range cases {
		v, err := digest.Strict([]byte(c.in), 32)
		var e *digest.JSONError
		if !errors.As(err, &e) {
			t.Errorf("%.60q: accepted as %v, %v", c.in, v, err)
			continue
		}
		group := map[digest.Fault]digest.Fault{
			digest.FaultEmpty: digest.FaultSyntax, digest.FaultTruncated: digest.FaultSyntax,
			digest.FaultTrailing: digest.FaultSyntax, digest.FaultString: digest.FaultUTF8,
		}
		if cmp.Or(group[e.Fault], e.Fault) != c.fault || e.Pointer != c.pointer {
			t.Errorf("%.60q: %s at %q, want %s at %q (%v)", c.in, e.Fault, e.Pointer, c.fault, c.pointer, e)
		}
	}
}

func TestStrictAccepts(t *testing.T) {
	for in, want := range map[string]string{
		` {"b":[ ], "a":{ }} `:         `{"a":{},"b":[]}`,
		`"\ud83d\ude00\\u0000\\ud800"`: `"😀\\u0000\\ud800"`,
		`"\\\u0041"`:                   `"\\A"`,
		`[1e21,-1e300,1.0,-0,-0.0]`:    `[1e+21,-1e+300,1,0,0]`,
		`9007199254740991`:             `9007199254740991`,
		`{"\ue000":1,"\ud83d\ude00":2,"a":3,"\u00e9":4,"ab":5}`: "{\"a\":3,\"ab\":5,\"é\":4,\"😀\":2,\"\ue000\":1}",
		strings.Repeat("[", 33) + strings.Repeat("]", 33): strings.Repeat("[",
			33) + strings.Repeat("]", 33),
		strings.Repeat("[", 32) + "null" + strings.Repeat("]", 32): strings.Repeat("[",
			32) + "null" + strings.Repeat("]", 32),
	} {
		v, err := digest.Strict([]byte(in), 32)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := string(digest.Tree(v)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestTreePanicsOnWhatIsNoJSON(t *testing.T) {
	for _, bad := range []any{"\xff", map[string]any{"\xff": nil}, math.NaN(), func() {}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v has a canonical form", bad)
				}
			}()
			digest.Tree(bad)
		}()
	}
}

// TestTreeAgreesWithTheLibrary compares the two ways to the canonical form.
func TestTreeAgreesWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawTree(t, 4)
		text := digest.Tree(v)
		other, err := digest.CanonicalJSON(text)
		if err != nil || string(other) != string(text) {
			t.Fatalf("%s, the library says %s, %v", text, other, err)
		}
		again, err := digest.Strict(text, 32)
		if err != nil || !reflect.DeepEqual(again, v) {
			t.Fatalf("%s is read as %v: %v", text, again, err)
		}
	})
}

func drawTree(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	text := rapid.StringMatching(`[a-c\\"/\x01é\x{e000}\x{1f600}]{0,4}`)
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.Int64Range(-1<<53+1, 1<<53-1).Draw(t,
			"number")) / float64(rapid.SampledFrom([]int{1, 7, 1000}).Draw(t, "by"))
	case 3:
		return text.Draw(t, "text")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawTree(t, depth-1))
		}
		return list
	}
	members := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		members[text.Draw(t, "name")] = drawTree(t, depth-1)
	}
	return members
}

func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"\u00e9",null,true]}`, `"\ud83d\ude00"`, `{"a":1,"a":2}`,
		`1e21`, `[[[[[]]]]]`, "\"\xff\"", `9007199254740992`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := digest.Strict(in, 8)
		var e *digest.JSONError
		if err != nil {
			if !errors.As(err, &e) || e.Fault == "" || e.Reason == "" {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		if !json.Valid(in) {
			t.Fatalf("accepted what encoding/json refuses: %q", in)
		}
		text := digest.Tree(v)
		again, err := digest.Strict(text, 8)
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%q becomes %s, which is %v, %v", in, text, again, err)
		}
		if library, err := digest.CanonicalJSON(in); err != nil || string(library) != string(text) {
			t.Fatalf("%q becomes %s, the library says %s, %v", in, text, library, err)
		}
	})
}
