package design_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/search/design"
)

func pointers(err error) []string {
	var list []string
	for _, f := range design.FieldErrors(err) {
		list = append(list, f.Pointer)
	}
	return list
}

func TestConstraintFaults(t *testing.T) {
	for text, want := range map[string][]string{
		`{}`:   {""},
		`[1]`:  {"/0"},
		`[{}]`: {"/0/left", "/0/op", "/0/right"},
		`[{"left":"a","op":"<","right":1,"why":"x"}]`:                                  {"/0/why"},
		`[{"left":1,"op":"<","right":1}]`:                                              {"/0/left"},
		`[{"left":"","op":"<","right":1}]`:                                             {"/0/left"},
		`[{"left":"a","op":"=","right":1}]`:                                            {"/0/op"},
		`[{"left":"a","op":null,"right":true}]`:                                        {"/0/op", "/0/right"},
		`[{"left":"a","op":"<","right":""}]`:                                           {"/0/right"},
		`[{"left":"a","op":"<","right":[1]}]`:                                          {"/0/right"},
		`[{"left":"a","op":"<","right":1},{"left":"a","op":"<","left":"b","right":1}]`: {"/1/left"},
		`[` + strings.Repeat(`{"left":"a","op":"<","right":1},`, 1000) + `{}]`:         {""},
	} {
		_, err := design.DecodeConstraints([]byte(text))
		if got := pointers(err); !slices.Equal(got, want) {
			t.Errorf("%.80s: %q, want %q", text, got, want)
		}
	}
}

func TestConstraintsAreWrittenInOneWay(t *testing.T) {
	text := `[{"left":"fast","op":"<","right":"slow"},{"left":"fast","op":"!=","right":7.5}]`
	list, err := design.DecodeConstraints([]byte(" " + strings.Replace(text, "7.5", "75e-1", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := digest.JCS(list); err != nil || string(got) != text {
		t.Errorf("%s %v", got, err)
	}
	if none, err := design.DecodeConstraints([]byte("null")); err != nil || none == nil || len(none) != 0 {
		t.Error(none, err)
	}
}

// Every operator, on parameters of the space, fixed ones and numbers.
func TestConstraintsHold(t *testing.T) {
	for text, want := range map[string]int{
		`[]`:                                                                   9,
		`[{"left":"a","op":"<","right":"b"}]`:                                  3,
		`[{"left":"a","op":"<=","right":"b"}]`:                                 6,
		`[{"left":"a","op":">","right":"b"}]`:                                  3,
		`[{"left":"a","op":">=","right":"b"}]`:                                 6,
		`[{"left":"a","op":"==","right":"b"}]`:                                 3,
		`[{"left":"a","op":"!=","right":"b"}]`:                                 6,
		`[{"left":"a","op":"<","right":2}]`:                                    3,
		`[{"left":"a","op":"<","right":"fix"}]`:                                3,
		`[{"left":"fix","op":">","right":"a"}]`:                                3,
		`[{"left":"a","op":"<","right":"b"},{"left":"b","op":"!=","right":3}]`: 1,
	} {
		constraints, err := design.DecodeConstraints([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d := design.Design{
			Space: mustSpace(t,
				`{"a":{"type":"int","low":1,"high":3},"b":{"type":"choice","values":[1,2,3]}}`),
			Constraints: constraints, Fixed: json.RawMessage(`{"fix":2,"a":99}`), Method: design.GridMethod,
			Max: 100,
		}
		points, err := d.Enumerate()
		if err != nil || len(points.Params) != want {
			t.Errorf("%s: %v, want %d, %v", text, points, want, err)
			continue
		}
		for _, p := range points.Params {
			all, _ := design.Merge(d.Fixed, p)
			if ok, err := design.Allowed(constraints, all); !ok || err != nil {
				t.Errorf("%s: %s %v %v", text, all, ok, err)
			}
		}
	}
}

func TestComparisonsThatMeanNothing(t *testing.T) {
	space := mustSpace(t,
		`{"b":{"type":"bool"},"c":{"type":"choice","values":["x","y"]},"d":{"type":"choice","values":["x",1]},"n":{"type":"int","low":1,"high":3}}`)
	for text, want := range map[string][]string{
		`{"left":"zz","op":"<","right":"yy"}`:  {"/constraints/0/left", "/constraints/0/right"},
		`{"left":"c","op":"<","right":3}`:      {"/constraints/0/left"},
		`{"left":"n","op":">=","right":"d"}`:   {"/constraints/0/right"},
		`{"left":"n","op":"<","right":"why"}`:  {"/constraints/0/right"},
		`{"left":"c","op":"==","right":3}`:     {"/constraints/0"},
		`{"left":"n","op":"!=","right":"b"}`:   {"/constraints/0"},
		`{"left":"c","op":"==","right":"d"}`:   nil,
		`{"left":"d","op":"!=","right":"n"}`:   nil,
		`{"left":"c","op":"!=","right":"why"}`: nil,
	} {
		constraints, err := design.DecodeConstraints([]byte("[" + text + "]"))
		if err != nil {
			t.Fatal(err)
		}
		d := design.Design{Space: space, Constraints: constraints, Fixed: json.RawMessage(`{"why":"x"}`),
			Method: design.GridMethod, Max: 100}
		if _, err := d.Enumerate(); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := design.Allowed([]design.Constraint{{Left: "a", Op: design.Less}},
		json.RawMessage(`{}`)); err == nil {
		t.Error("a name that is not there")
	}
	if _, err := design.Allowed(nil, json.RawMessage(`[]`)); err == nil {
		t.Error("parameters that are no object")
	}
}

func FuzzDecodeConstraints(f *testing.F) {
	f.Add([]byte(`[{"left":"fast","op":"<","right":"slow"},{"left":"a","op":"==","right":1e3}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := design.DecodeConstraints(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := design.DecodeConstraints(written)
		if err != nil || !slices.Equal(again, list) {
			t.Fatalf("%s: %v becomes %v, %v", written, list, again, err)
		}
	})
}
