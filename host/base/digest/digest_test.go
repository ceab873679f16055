package digest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
)

func TestSHA256(t *testing.T) {
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := digest.SHA256Hex([]byte("abc")); got != abc {
		t.Errorf("got %s", got)
	}
	path := filepath.Join(t.TempDir(), "abc")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := digest.File(path); got != abc || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := digest.File(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCanonicalJSON(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1.0 , "a" : [ true , null ] } `: `{"a":[true,null],"b":1}`,
		`"\u20ac\/<&>"`:                `"€/<&>"`,
		`[1E30,4.50,2e-3,-0,0.000001]`: `[1e+30,4.5,0.002,0,0.000001]`,
		`9007199254740992`:             `9007199254740992`,
		`-9007199254740992`:            `-9007199254740992`,
		`{"\u20ac":1,"\r":2,"1":3}`:    `{"\r":2,"1":3,"€":1}`,
	} {
		got, err := digest.CanonicalJSON([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
		again, err := digest.CanonicalJSON(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: not stable: %s, %v", in, again, err)
		}
	}
}

func TestCanonicalJSONRefuses(t *testing.T) {
	cases := []struct{ in, pointer, reason string }{
		{`{"a":{"b":1,"b":2}}`, "/a/b", "duplicate"},
		{"{\"a\":\"\xff\"}", "", "UTF-8"},
		{`{"a":[1,9007199254740993]}`, "/a/1", "2^53"},
		{`-9007199254740993`, "", "2^53"},
		{`1e17`, "", "2^53"},
		{`123456789012345678901234567890`, "", "2^53"},
		{`{"x":1e400}`, "/x", "float64"},
		{`NaN`, "", "invalid"},
		{`[1,]`, "", "invalid"},
		{`1 2`, "", "invalid"},
		{``, "", "EOF"},
		{`"\ud800"`, "", "surrogate"},
	}
	for _, c := range cases {
		out, err := digest.CanonicalJSON([]byte(c.in))
		var e *digest.JSONError
		if !errors.As(err, &e) {
			t.Errorf("%q: %s, %v", c.in, out, err)
			continue
		}
		if !strings.Contains(e.Error(), c.reason) || c.pointer != "" && e.Pointer != c.pointer {
			t.Errorf("%q: pointer %q, %v", c.in, e.Pointer, e)
		}
	}
}

func TestJCSOfGoValues(t *testing.T) {
	type inner struct {
		Z  []int   `json:"z"`
		A  string  `json:"a"`
		No string  `json:"no,omitempty"`
		F  float64 `json:"f"`
	}
	got, err := digest.JCS(map[string]any{"v": inner{A: "<é>", F: 0.1}, "m": map[string]int{"b": 2, "a": 1}})
	if want := `{"m":{"a":1,"b":2},"v":{"a":"<é>","f":0.1,"z":null}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []any{math.NaN(), math.Inf(1), "\xff", map[string]any{"a\xff": 1}, uint64(1<<53 + 1),
		float64(1e17), func() {}} {
		var e *digest.JSONError
		if out, err := digest.JCS(bad); !errors.As(err, &e) {
			t.Errorf("%v: %s, %v", bad, out, err)
		}
		if _, err := digest.Of(bad); err == nil {
			t.Errorf("%v has a hash", bad)
		}
	}
}

// reference is the part of the shared reference results that concerns this package.
type reference struct {
	Cases []struct {
		ID, Function string
		Inputs       struct {
			InputUTF8 string   `json:"input_utf8"`
			IEEEHex   []string `json:"ieee_hex"`
		}
		Expected json.RawMessage
	}
}

func TestReferenceVectors(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "oracles", "statistics.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs the folder shared, with the reference results, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(raw, &ref); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range ref.Cases {
		switch {
		case strings.HasPrefix(c.Function, "canonicalize "):
			seen++
			var want struct {
				Output string `json:"output_utf8"`
				SHA256 string
			}
			if err := json.Unmarshal(c.Expected, &want); err != nil {
				t.Fatal(err)
			}
			got, err := digest.CanonicalJSON([]byte(c.Inputs.InputUTF8))
			if err != nil || string(got) != want.Output || digest.SHA256Hex(got) != want.SHA256 {
				t.Errorf("%s: %s, %v", c.ID, got, err)
			}
		case c.Function == "number serialisation":
			seen++
			var want []string
			if err := json.Unmarshal(c.Expected, &want); err != nil {
				t.Fatal(err)
			}
			for i, h := range c.Inputs.IEEEHex {
				if got := number(t, h); got != want[i] {
					t.Errorf("%s %s: %s, want %s", c.ID, h, got, want[i])
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no vectors found")
	}
}

func number(t *testing.T, ieee string) string {
	t.Helper()
	bits, err := strconv.ParseUint(ieee, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	s, err := digest.Number(math.Float64frombits(bits))
	if err != nil {
		return "ERROR"
	}
	return s
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"\u00e9"]}`, `[9007199254740993]`, `{"a":1,"a":2}`, `1e21`,
		`-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := digest.CanonicalJSON(in)
		if err != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatalf("accepted what encoding/json refuses: %q", in)
		}
		twice, err := digest.CanonicalJSON(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q becomes %q, then %q: %v", in, once, twice, err)
		}
	})
}

func ExampleOf() {
	h, err := digest.Of(map[string]any{"timeframe": "1h", "initial_cash": 10000})
	fmt.Println(h[:16], err)
	text, err := digest.CanonicalJSON([]byte(`{"timeframe": "1h", "initial_cash": 1e4}`))
	fmt.Println(string(text), digest.SHA256Hex(text)[:16], err)
	// Output:
	// 39a7c4dce1d71d48 <nil>
	// {"initial_cash":10000,"timeframe":"1h"} 39a7c4dce1d71d48 <nil>
}
