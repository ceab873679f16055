package design_test

import (
	"encoding/json"
	"testing"

	"github.com/assay-run/assay/lab/search/design"
)

const offered = `{"type":"object","properties":{
	"period":{"type":"integer","minimum":2,"x-search":{"low":2,"high":500}},
	"risk":{"type":"number","exclusiveMinimum":0,"x-search":{"low":0.002,"high":0.2,"log":true}},
	"open":{"type":"number","exclusiveMinimum":0,"x-search":{"low":0,"high":1}},
	"side":{"type":"string","enum":["a","b"],"x-search":{"choices":["a","b"]}},
	"on":{"type":"boolean","x-search":{"choices":[false,true]}},
	"fixed":{"type":"integer"}}}`

func TestSpaceOfASchema(t *testing.T) {
	s, err := design.SpaceOf(json.RawMessage(offered))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	want := `{"on":{"type":"choice","values":[false,true]},"period":{"high":500,"low":2,"step":1,"type":"int"},` +
		`"risk":{"high":0.2,"log":true,"low":0.002,"type":"float"},"side":{"type":"choice","values":["a","b"]}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, want %s: %v", text, want, err)
	}
	if s, err := design.SpaceOf(json.RawMessage(`{}`)); err != nil || s.Len() != 0 {
		t.Errorf("without parameters %d dimensions, %v", s.Len(), err)
	}
}

func FuzzSpaceOf(f *testing.F) {
	f.Add([]byte(offered))
	f.Add([]byte(`{"properties":{"a":{"type":"number","x-search":{"low":1e400,"high":2}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := design.SpaceOf(text); err == nil && !json.Valid(text) {
			t.Errorf("%q is taken", text)
		}
	})
}
