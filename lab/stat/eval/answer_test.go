package eval

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestAnswer(t *testing.T) {
	none := Undefined{Reason: "zero_variance"}
	for _, c := range []struct {
		id    string
		value any
		want  string
	}{
		{"", 0.1, `{"value":0.1}`},
		{"7", 1e21, `{"id":7,"value":1e+21}`},
		{`{"a": 1}`, math.Copysign(0, -1), `{"id":{"a":1},"value":0}`},
		{"", none, `{"value":null,"reason":"zero_variance"}`},
		{"1", math.NaN(), `{"id":1,"value":null,"reason":"not_applicable"}`},
		{"", math.Inf(-1), `{"value":null,"reason":"not_applicable"}`},
		{"", Defined(3.5, ""), `{"value":3.5}`},
		{"", Defined(3.5, "insufficient"), `{"value":null,"reason":"insufficient"}`},
		{"", []any{1, int64(2), true, "a\"<é", none, []int{}},
			`{"value":[1,2,true,"a\"<é",null,[]],"undefined":{"4":"zero_variance"}}`},
		{"", []float64{1, math.NaN()}, `{"value":[1,null],"undefined":{"1":"not_applicable"}}`},
		{"", Object{{Name: "a", Value: 1.0}, {Name: "b/c", Value: none}},
			`{"value":{"a":1,"b/c":null},"undefined":{"b~1c":"zero_variance"}}`},
		{"", Object{{Name: "a", Value: none}, {Name: "b", Value: Undefined{Reason: "insufficient"}}},
			`{"value":null,"reason":"zero_variance"}`},
		{"", Object{{Name: "p", Value: Object{{Name: "x", Value: none}}}},
			`{"value":{"p":{"x":null}},"undefined":{"p/x":"zero_variance"}}`},
		{"", Object{}, `{"value":{}}`},
		{"", [][]any{{[]float64{1}}, {[]string{"x"}}}, `{"value":[[[1]],[["x"]]]}`},
		{"", [][]int{{1, 2}, {}}, `{"value":[[1,2],[]]}`},
		{"", [][]float64{{.5}}, `{"value":[[0.5]]}`},
		{"", []Object{{{Name: "v", Value: jsontext.Value(`{"k":1e5}`)}}}, `{"value":[{"v":{"k":1e5}}]}`},
	} {
		var id jsontext.Value
		if c.id != "" {
			id = jsontext.Value(c.id)
		}
		if got := Answer(id, c.value); string(got) != c.want || !json.Valid(got) {
			t.Errorf("%v: %s, want %s", c.value, got, c.want)
		}
	}
}

func TestRefusal(t *testing.T) {
	bad := Errorf(MissingInput, []any{"inputs", "a~b", 3}, "%q is\n missing \xff", "x")
	got := Refusal(jsontext.Value(`"q"`), bad)
	if want := `{"id":"q","error":{"code":"MISSING_INPUT","message":"\"x\" is\n missing ` + "\ufffd" +
		`","pointer":"/inputs/a~0b/3"}}`; string(got) != want || !json.Valid(got) {
		t.Errorf("%s", got)
	}
}

func TestAnUnknownTypeIsAMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Answer(nil, struct{}{})
}
