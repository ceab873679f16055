package design_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/search/design"
)

const last = 1 - 0x1p-53

// Coordinates worked out by hand.
func TestAt(t *testing.T) {
	for _, c := range []struct {
		space string
		u     float64
		want  string
	}{
		{`{"type":"int","low":5,"high":30}`, 0, "5"},
		{`{"type":"int","low":5,"high":30}`, last, "30"},
		{`{"type":"int","low":5,"high":30}`, 0.5, "18"},            // 5 + floor(0.5 x 26)
		{`{"type":"int","low":5,"high":30,"step":10}`, last, "25"}, // 5, 15, 25
		{`{"type":"int","low":5,"high":30,"step":10}`, 0.34, "15"},
		{`{"type":"int","low":-3,"high":-3}`, 0.7, "-3"},
		{`{"type":"int","low":-9007199254740992,"high":0,"step":9007199254740992}`, 0.4, "-9007199254740992"},
		{`{"type":"float","low":0,"high":1}`, 0.123456789, "0.123457"},
		{`{"type":"float","low":10,"high":20}`, 0.5, "15"},
		{`{"type":"float","low":-1,"high":1}`, 0.5, "0"},
		{`{"type":"float","low":0.001,"high":0.1,"log":true}`, 0, "0.001"},
		{`{"type":"float","low":0.001,"high":0.1,"log":true}`, 0.5, "0.01"},
		{`{"type":"float","low":0.001,"high":0.1,"log":true}`, last, "0.1"},
		{`{"type":"float","low":0.001,"high":0.1,"log":true}`, 0.25, "0.00316228"},
		{`{"type":"float","low":1.23456789,"high":2}`, 0, "1.23457"},
		{`{"type":"float","low":1.23456123,"high":2}`, 0, "1.23456123"},    // 1.23456 is below the range
		{`{"type":"float","low":1,"high":1.23456789}`, last, "1.23456789"}, // 1.23457 is above it
		{`{"type":"float","low":0.1,"high":0.5,"step":0.1}`, 0.5, "0.3"},
		{`{"type":"float","low":0.1,"high":0.55,"step":0.1}`, last, "0.5"},
		{`{"type":"float","low":0.05,"high":1,"step":0.1}`, 0.3, "0.35"}, // 0.335
		{`{"type":"float","low":1,"high":100,"step":5,"log":true}`, 0.5, "11"},
		{`{"type":"choice","values":["a","b","c"]}`, 0.34, `"b"`},
		{`{"type":"choice","values":["a","b","c"]}`, last, `"c"`},
		{`{"type":"bool"}`, 0.49, "false"},
		{`{"type":"bool"}`, 0.5, "true"},
	} {
		s := mustSpace(t, `{"p":`+c.space+`}`)
		got, err := s.At([]float64{c.u})
		if want := `{"p":` + c.want + `}`; err != nil || string(got) != want {
			t.Errorf("%s at %v: %s, want %s, %v", c.space, c.u, got, want, err)
		}
	}
}

func TestPosition(t *testing.T) {
	s := mustSpace(t,
		`{"b":{"type":"bool"},"c":{"type":"choice","values":["x",2]},"f":{"type":"float","low":1,"high":100,"log":true},
		"g":{"type":"float","low":2,"high":2},"i":{"type":"int","low":1,"high":4},"s":{"type":"float","low":0,"high":1,"step":0.1}}`)
	good := `{"b":true,"c":2,"f":10,"g":2,"i":1,"s":0.3,"other":[1]}`
	got, err := s.Position(json.RawMessage(good))
	if want := []float64{0.75, 0.75, 0.5, 0.5, 0.125, 0.3}; err != nil ||
		fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	for change, pointer := range map[string]string{
		`"b":true|"b":1`: "/b", `"c":2|"c":"2"`: "/c", `"f":10|"f":0.5`: "/f", `"f":10|"f":100.5`: "/f",
		`"i":1|"i":1.5`: "/i", `"i":1|"i":5`: "/i",
		`"s":0.3|"s":0.31`: "/s", `"b":true,|`: "/b", `"i":1|"i":"1"`: "/i", `"f":10|"f":null`: "/f",
		good + `|[]`: "", good + `|{`: "",
	} {
		from, to, _ := strings.Cut(change, "|")
		_, err := s.Position(json.RawMessage(strings.Replace(good, from, to, 1)))
		if f := design.FieldErrors(err); len(f) != 1 || f[0].Pointer != pointer {
			t.Errorf("%s: %v, want %q", change, err, pointer)
		}
	}
}

func spaces() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var parts []string
		for i := range rapid.IntRange(1, 5).Draw(t, "parameters") {
			low := rapid.IntRange(-50, 50).Draw(t, "low")
			width := rapid.IntRange(0, 60).Draw(t, "width")
			scale := rapid.SampledFrom([]float64{1, 0.1, 0.01, 0.25}).Draw(t, "scale")
			f := func(n int) string { return fmt.Sprint(float64(n) * scale) }
			text := map[string]string{
				"int": fmt.Sprintf(`{"type":"int","low":%d,"high":%d,"step":%d}`, low, low+width,
					rapid.IntRange(1, 7).Draw(t, "step")),
				"float": fmt.Sprintf(`{"type":"float","low":%s,"high":%s}`, f(low), f(low+width)),
				"log": fmt.Sprintf(`{"type":"float","low":%s,"high":%s,"log":true}`, f(low+51),
					f(low+51+width)),
				"step": fmt.Sprintf(`{"type":"float","low":%s,"high":%s,"step":%s}`, f(low), f(low+width),
					f(rapid.IntRange(1, 7).Draw(t, "step"))),
				"choice": `{"type":"choice","values":["a",1,true,"b"]}`,
				"bool":   `{"type":"bool"}`,
			}[rapid.SampledFrom([]string{"int", "float", "log", "step", "choice", "bool"}).Draw(t, "kind")]
			parts = append(parts, fmt.Sprintf(`"p%d":%s`, i, text))
		}
		return "{" + strings.Join(parts, ",") + "}"
	})
}

// The position of a point gives the point again: neighbours are near.
func TestPositionIsTheInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := spaces().Draw(t, "space")
		s, err := design.DecodeSpace([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		u := make([]float64, s.Len())
		for i := range u {
			u[i] = math.Min(rapid.Float64Range(0, 1).Draw(t, "u"), last)
		}
		params, err := s.At(u)
		if err != nil {
			t.Fatal(err)
		}
		at, err := s.Position(params)
		if err != nil {
			t.Fatalf("%s: %s: %v", text, params, err)
		}
		again, err := s.At(at)
		if err != nil || string(again) != string(params) {
			t.Fatalf("%s: %v gives %s, at %v that is %s, %v", text, u, params, at, again, err)
		}
		for i, p := range s.Parameters() {
			if p.Kind != design.Float && p.High-p.Low > 0 &&
				math.Abs(at[i]-u[i]) > 1/((p.High-p.Low)/p.Step) {
				t.Fatalf("%s: %v is far from %v", p.Name, at[i], u[i])
			}
		}
	})
}
