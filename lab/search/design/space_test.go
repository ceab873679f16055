package design_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/search/design"
)

func mustSpace(t testing.TB, text string) design.Space {
	t.Helper()
	s, err := design.DecodeSpace([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every fault has its place, and all of them are listed at once.
func TestSpaceFaults(t *testing.T) {
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"bool"}`, i)
	}
	for text, want := range map[string][]string{
		`[]`:                                    {""},
		`null`:                                  {""},
		`{`:                                     {""},
		`{"a":1}`:                               {"/a"},
		`{"a":{"low":1,"high":2}}`:              {"/a/type"},
		`{"a":{"type":"integer"}}`:              {"/a/type"},
		`{"a":{"type":null}}`:                   {"/a/type"},
		`{"a":{"type":"int"}}`:                  {"/a/low", "/a/high"},
		`{"a":{"type":"int","low":2,"high":1}}`: {"/a/high"},
		`{"a":{"type":"int","low":1.5,"high":2,"step":0.5}}`:           {"/a/low", "/a/step"},
		`{"a":{"type":"int","low":1,"high":2,"step":0}}`:               {"/a/step"},
		`{"a":{"type":"int","low":1,"high":2,"step":-1}}`:              {"/a/step"},
		`{"a":{"type":"int","low":1,"high":2,"log":true}}`:             {"/a/log"},
		`{"a":{"type":"int","low":"1","high":null}}`:                   {"/a/low", "/a/high"},
		`{"a":{"type":"float","low":0,"high":1,"log":true}}`:           {"/a/low"},
		`{"a":{"type":"float","low":1,"high":2,"log":1}}`:              {"/a/log"},
		`{"a":{"type":"float","low":1,"high":2,"log":null}}`:           {"/a/log"},
		`{"a":{"type":"float","low":1,"high":2,"step":-0.1}}`:          {"/a/step"},
		`{"a":{"type":"float","low":-1e308,"high":1e308}}`:             {"/a/high"},
		`{"a":{"type":"float","low":0,"high":1e300,"step":1e-300}}`:    {"/a/step"},
		`{"a":{"type":"float","low":NaN,"high":1}}`:                    {""},
		`{"a":{"type":"float","low":0,"high":1e999}}`:                  {"/a/high"},
		`{"a":{"type":"int","low":0,"high":9007199254740993}}`:         {"/a/high"},
		`{"a":{"type":"float","low":0,"high":1,"hihg":1,"values":[]}}`: {"/a/hihg", "/a/values"},
		`{"a":{"type":"choice"}}`:                                      {"/a/values"},
		`{"a":{"type":"choice","values":[]}}`:                          {"/a/values"},
		`{"a":{"type":"choice","values":{}}}`:                          {"/a/values"},
		`{"a":{"type":"choice","values":["x",null,[1],{}]}}`: {"/a/values/1", "/a/values/2",
			"/a/values/3"},
		`{"a":{"type":"choice","values":[1,"1",1.0]}}`: {"/a/values/2"},
		`{"a":{"type":"bool","low":0}}`:                {"/a/low"},
		`{"a":{"type":"bool"},"a":{"type":"bool"}}`:    {"/a"},
		`{"a":{"type":"bool","type":"bool"}}`:          {"/a/type"},
		`{"x/y~z":{"type":"int","low":1}}`:             {"/x~1y~0z/high"},
		`{"":{"type":"bool"}}`:                         {"/"},
		`{"b":{"type":"no"},"a":{"type":"no"}}`:        {"/a/type", "/b/type"},
		`{` + strings.Join(many, ",") + `}`:            {""},
	} {
		_, err := design.DecodeSpace([]byte(text))
		var got []string
		for _, f := range design.FieldErrors(err) {
			got = append(got, f.Pointer)
			if f.Message == "" || f.Error() == "" {
				t.Errorf("%.60s: a fault without words at %s", text, f.Pointer)
			}
		}
		if text == `{"a":{"type":"float","low":NaN,"high":1}}` && len(got) == 1 {
			continue // the parser decides where a text stops being JSON
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.60s: %q, want %q (%v)", text, got, want, err)
		}
	}
}

// What is read is written with every default, in one way.
func TestSpaceIsWrittenInOneWay(t *testing.T) {
	s := mustSpace(t,
		`{"short":{"type":"bool"},"exit":{"values":["a",2.50,true],"type":"choice"},"band":{"log":true,"type":"float","low":1e-3,"high":0.1},
		"edge":{"type":"float","low":0,"high":1,"step":0.25,"log":false},"fast":{"type":"int","low":5,"high":30}}`)
	text, err := json.Marshal(s)
	want := `{"band":{"high":0.1,"log":true,"low":0.001,"type":"float"},"edge":{"high":1,"low":0,"step":0.25,"type":"float"},` +
		`"exit":{"type":"choice","values":["a",2.5,true]},"fast":{"high":30,"low":5,"step":1,"type":"int"},"short":{"type":"bool"}}`
	if err != nil || string(text) != want {
		t.Errorf("%s\nwant %s, %v", text, want, err)
	}
	var names []string
	for _, p := range s.Parameters() {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"band", "edge", "exit", "fast", "short"}) || s.Len() != 5 {
		t.Error(names)
	}
	if p, ok := s.Find("fast"); !ok || p.Low != 5 || p.High != 30 || p.Step != 1 || p.Kind != design.Int {
		t.Error(p, ok)
	}
	if _, ok := s.Find("slow"); ok {
		t.Error("a parameter that is not there")
	}
	if empty, err := json.Marshal(design.Space{}); err != nil || string(empty) != "{}" {
		t.Errorf("%s %v", empty, err)
	}
}

func TestMerge(t *testing.T) {
	got, err := design.Merge(json.RawMessage(`{"slow":50,"fast":1}`), json.RawMessage(`{"fast":5.0,"a":"x"}`))
	if err != nil || string(got) != `{"a":"x","fast":5,"slow":50}` {
		t.Errorf("%s %v", got, err)
	}
	if got, err := design.Merge(nil, json.RawMessage(`{}`)); err != nil || string(got) != `{}` {
		t.Errorf("%s %v", got, err)
	}
	if _, err := design.Merge(json.RawMessage(`[]`), nil); err == nil {
		t.Error("a list is no object")
	}
}

// Whatever is accepted reads as itself again, and has points that lie in it.
func FuzzDecodeSpace(f *testing.F) {
	for _, text := range []string{
		`{"a":{"type":"int","low":1,"high":9,"step":2}}`,
		`{"a":{"type":"float","low":0.001,"high":0.1,"log":true},"b":{"type":"bool"}}`,
		`{"a":{"type":"choice","values":["x",1,true]}}`,
		`{"a":{"type":"float","low":-0.3,"high":0.3,"step":0.1}}`, `{"a":{"type":"int","low":1}}`,
	} {
		f.Add([]byte(text), 0.5)
	}
	f.Fuzz(func(t *testing.T, text []byte, x float64) {
		s, err := design.DecodeSpace(text)
		if err != nil {
			if design.FieldErrors(err) == nil {
				t.Fatalf("%q: %v has no place", text, err)
			}
			return
		}
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again design.Space
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(written) {
			t.Fatalf("%s becomes %s: %v", written, twice, err)
		}
		u := make([]float64, s.Len())
		for i := range u {
			if x >= 0 && x < 1 {
				u[i] = x
			}
		}
		params, err := s.At(u)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := s.Position(params); err != nil || slices.ContainsFunc(at, func(u float64) bool {
			return !(u >= 0 && u < 1)
		}) {
			t.Fatalf("%s at %v is %s, at %v: %v", written, x, params, at, err)
		}
	})
}
