package eval

import (
	"fmt"
	"math"
	"testing"
)

// reading is a case of bind: the inputs of a request, and what the computation prints.
type reading struct {
	inputs string
	want   string
	f      Function
}

// show is a function of one input that answers with what it was given.
func show[T any](print func(T) string) Function {
	return define("f", "", "", func(in T) any { return print(in) })
}

type one[T any] struct {
	A T `in:"a"`
}

func plain[T any]() Function { return show(func(in one[T]) string { return fmt.Sprint(in.A) }) }

func run(t *testing.T, inputs string, f Function) (any, *Error) {
	t.Helper()
	req, bad := parse([]byte(`{"fn":"f","inputs":` + inputs + `}`))
	if bad != nil {
		t.Fatalf("%s: %v", inputs, bad)
	}
	return f.answer("f", req.Inputs)
}

type (
	above struct {
		A float64 `in:"a" is:">0"`
	}
	inside struct {
		A float64 `in:"a" is:"(0,1)"`
	}
	fromOne struct {
		A []float64 `in:"a" is:">=1"`
	}
	fromTo struct {
		A []float64 `in:"a" is:"0..1"`
	}
	whole struct {
		A int `in:"a" is:"0..3"`
	}
	large struct {
		A int `in:"a" is:"0..max"`
	}
	wholes struct {
		A []int `in:"a" is:"0..5"`
	}
	matrix struct {
		A [][]int `in:"a" is:"0..2"`
	}
	rows struct {
		A [][2]float64 `in:"a" is:"; (-1,1)"`
	}
	literal struct {
		A string `in:"a" one:"one|two"`
	}
	several struct {
		A []string `in:"a" one:"x|y"`
	}
	below2 struct {
		N int   `in:"n" is:"1..candles"`
		A []int `in:"a" is:"index n"`
	}
	optional struct {
		A float64 `in:"a (7)" default:"7"`
		B float64 `in:"b"`
	}
)

func TestBind(t *testing.T) {
	for _, c := range []reading{
		{`{"a":1.5e3}`, "1500", plain[float64]()},
		{`{"a":-0}`, "false", show(func(in one[float64]) string { return fmt.Sprint(math.Signbit(in.A)) })},
		{`{"a":1e-400}`, "0", plain[float64]()},
		{`{"a":[1, 2.5,3]}`, "[1 2.5 3]", show(func(in fromOne) string { return fmt.Sprint(in.A) })},
		{`{"a":[]}`, "[] false",
			show(func(in one[[]float64]) string { return fmt.Sprint(in.A, in.A == nil) })},
		{`{"a":[[1,2],[],[3]]}`, "[[1 2] [] [3]]", plain[[][]float64]()},
		{`{"a":[[1,2],[0]]}`, "[[1 2] [0]]", show(func(in matrix) string { return fmt.Sprint(in.A) })},
		{`{"a":[[1,0.5],[3,-0.5]]}`, "[[1 0.5] [3 -0.5]]",
			show(func(in rows) string { return fmt.Sprint(in.A) })},
		{`{"a":3.0}`, "3", show(func(in whole) string { return fmt.Sprint(in.A) })},
		{`{"a":[0,5]}`, "[0 5]", show(func(in wholes) string { return fmt.Sprint(in.A) })},
		{`{"a":"\u00e9"}`, "é", plain[string]()},
		{`{"a":["x","y"]}`, "[x y]", plain[[]string]()},
		{`{"a":true}`, "true", plain[bool]()},
		{`{"a":"two"}`, "two", show(func(in literal) string { return in.A })},
		{`{"a":18446744073709551615}`, "18446744073709551615", plain[uint64]()},
		{`{"a":"42"}`, "42", plain[uint64]()},
		{`{"a":{"y":[1, {"z" : 2}],"x":[]}}`, `[y x] [[1 {"z":2}] []]`, show(func(in one[lists]) string {
			return fmt.Sprint(in.A.names, in.A.values)
		})},
		{`{"a":[0,2],"n":3}`, "[0 2]", show(func(in below2) string { return fmt.Sprint(in.A) })},
		{`{"b":1}`, "{7 1}", show(func(in optional) string { return fmt.Sprint(in) })},
	} {
		if got, bad := run(t, c.inputs, c.f); got != c.want || bad != nil {
			t.Errorf("%s: %s %v, want %s", c.inputs, got, bad, c.want)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	number, pair := plain[float64](), show(func(in rows) string { return "" })
	limited := show(func(in fromTo) string { return "" })
	for _, c := range []reading{
		{`{"a":"1"}`, "/inputs/a", number},
		{`{"a":1e400}`, "/inputs/a", number},
		{`{"a":null}`, "/inputs/a", number},
		{`{"a":0}`, "/inputs/a", show(func(in above) string { return "" })},
		{`{"a":1}`, "/inputs/a", show(func(in inside) string { return "" })},
		{`{"a":1.5}`, "/inputs/a", show(func(in whole) string { return "" })},
		{`{"a":9007199254740994}`, "/inputs/a", show(func(in large) string { return "" })},
		{`{"a":[0,2]}`, "/inputs/a/1", limited},
		{`{"a":[0,null]}`, "/inputs/a/1", limited},
		{`{"a":[0,[1]]}`, "/inputs/a/1", limited},
		{`{"a":0.5}`, "/inputs/a", limited},
		{`{"a":{"b":1}}`, "/inputs/a", limited},
		{`{"a":[[1],[2,"x"]]}`, "/inputs/a/1/1", plain[[][]float64]()},
		{`{"a":[[1],2]}`, "/inputs/a/1", plain[[][]float64]()},
		{`{"a":[[1,0],[2]]}`, "/inputs/a/1", pair},
		{`{"a":[[1,0,0]]}`, "/inputs/a/0/2", pair},
		{`{"a":[[1,0],[1,1]]}`, "/inputs/a/1/1", pair},
		{`{"a":5}`, "/inputs/a", plain[string]()},
		{`{"a":["x",5]}`, "/inputs/a/1", plain[[]string]()},
		{`{"a":1}`, "/inputs/a", plain[bool]()},
		{`{"a":"three"}`, "/inputs/a", show(func(in literal) string { return "" })},
		{`{"a":["x","z"]}`, "/inputs/a/1", show(func(in several) string { return "" })},
		{`{"a":-1}`, "/inputs/a", plain[uint64]()},
		{`{"a":1.0}`, "/inputs/a", plain[uint64]()},
		{`{"a":[]}`, "/inputs/a", plain[lists]()},
		{`{"a":{"x/y":1}}`, "/inputs/a/x~1y", plain[lists]()},
		{`{"a":[0,3],"n":3}`, "/inputs/a/1", show(func(in below2) string { return "" })},
	} {
		got, bad := run(t, c.inputs, c.f)
		if bad == nil || bad.Code != InvalidArgument || bad.Pointer != c.want || bad.Message == "" {
			t.Errorf("%s: %s %+v", c.inputs, got, bad)
		}
	}
}

// The first fault is the one that is reported.
func TestTheFirstFaultCounts(t *testing.T) {
	_, bad := run(t, `{"n":"x","a":"y"}`, show(func(in below2) string { return "" }))
	if bad == nil || bad.Pointer != "/inputs/n" ||
		bad.Error() != "INVALID_ARGUMENT: n must be a number here" {
		t.Errorf("%+v", bad)
	}
}
