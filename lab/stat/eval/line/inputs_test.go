package line_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/assay-run/assay/lab/stat/eval/line"
)

// inputs are those of a request; fmt.Sprint of what is read and the error come back.
func read(t *testing.T, inputs string, use func(in *line.Inputs) any) (string, *line.Error) {
	t.Helper()
	req, bad := line.Parse([]byte(`{"fn":"f","inputs":` + inputs + `}`))
	if bad != nil {
		t.Fatalf("%s: %v", inputs, bad)
	}
	got := fmt.Sprint(use(req.Inputs))
	return got, req.Inputs.Err()
}

func TestInputs(t *testing.T) {
	number := func(b line.Bound) func(*line.Inputs) any {
		return func(in *line.Inputs) any { return in.Number("a", b) }
	}
	for _, c := range []struct {
		inputs string
		use    func(*line.Inputs) any
		want   string
	}{
		{`{"a":1.5e3}`, number(line.Real()), "1500"},
		{`{"a":-0}`, func(in *line.Inputs) any { return math.Signbit(in.Number("a", line.Real())) }, "false"},
		{`{"a":1e-400}`, number(line.Real()), "0"},
		{`{"a":[1, 2.5,3]}`, func(in *line.Inputs) any { return in.Numbers("a", line.AtLeast(1)) }, "[1 2.5 3]"},
		{`{"a":[]}`, func(in *line.Inputs) any { return in.Numbers("a", line.Real()) }, "[]"},
		{`{"a":[[1,2],[],[3]]}`, func(in *line.Inputs) any { return in.Matrix("a", line.Real()) }, "[[1 2] [] [3]]"},
		{`{"a":[[1,2],[0]]}`, func(in *line.Inputs) any { return in.IntegerMatrix("a", 0, 2) }, "[[1 2] [0]]"},
		{`{"a":[[1,2],[3,4]]}`, func(in *line.Inputs) any { return in.Rows("a", line.Above(0), line.Whole(0, 9)) }, "[[1 2] [3 4]]"},
		{`{"a":3.0}`, func(in *line.Inputs) any { return in.Integer("a", 0, 3) }, "3"},
		{`{"a":[0,5]}`, func(in *line.Inputs) any { return in.Integers("a", 0, 5) }, "[0 5]"},
		{`{"a":"\u00e9"}`, func(in *line.Inputs) any { return in.Text("a") }, "é"},
		{`{"a":["x","y"]}`, func(in *line.Inputs) any { return in.Texts("a") }, "[x y]"},
		{`{"a":true}`, func(in *line.Inputs) any { return in.Flag("a") }, "true"},
		{`{"a":"two"}`, func(in *line.Inputs) any { return in.Literal("a", "one", "two") }, "two"},
		{`{"a":18446744073709551615}`, func(in *line.Inputs) any { return in.Uint64("a") }, "18446744073709551615"},
		{`{"a":"42"}`, func(in *line.Inputs) any { return in.Uint64("a") }, "42"},
		{`{"a":{"y":[1, {"z" : 2}],"x":[]}}`, func(in *line.Inputs) any { n, v := in.Lists("a"); return fmt.Sprint(n, v) }, `[y x] [[1 {"z":2}] []]`},
	} {
		if got, bad := read(t, c.inputs, c.use); got != c.want || bad != nil {
			t.Errorf("%s: %s %v, want %s", c.inputs, got, bad, c.want)
		}
	}
}

func TestInputsRefuse(t *testing.T) {
	numbers := func(in *line.Inputs) any { return in.Numbers("a", line.From(0, 1)) }
	matrix := func(in *line.Inputs) any { return in.Matrix("a", line.Real()) }
	rows := func(in *line.Inputs) any { return in.Rows("a", line.Real(), line.Between(-1, 1)) }
	for _, c := range []struct {
		inputs  string
		use     func(*line.Inputs) any
		pointer string
	}{
		{`{"a":"1"}`, func(in *line.Inputs) any { return in.Number("a", line.Real()) }, "/inputs/a"},
		{`{"a":1e400}`, func(in *line.Inputs) any { return in.Number("a", line.Real()) }, "/inputs/a"},
		{`{"a":null}`, func(in *line.Inputs) any { return in.Number("a", line.Real()) }, "/inputs/a"},
		{`{}`, func(in *line.Inputs) any { return in.Number("a", line.Real()) }, "/inputs/a"},
		{`{"a":0}`, func(in *line.Inputs) any { return in.Number("a", line.Above(0)) }, "/inputs/a"},
		{`{"a":1}`, func(in *line.Inputs) any { return in.Number("a", line.Between(0, 1)) }, "/inputs/a"},
		{`{"a":1.5}`, func(in *line.Inputs) any { return in.Integer("a", 0, 9) }, "/inputs/a"},
		{`{"a":9007199254740994}`, func(in *line.Inputs) any { return in.Integer("a", 0, math.MaxInt) }, "/inputs/a"},
		{`{"a":[0,2]}`, numbers, "/inputs/a/1"},
		{`{"a":[0,null]}`, numbers, "/inputs/a/1"},
		{`{"a":[0,[1]]}`, numbers, "/inputs/a/1"},
		{`{"a":0.5}`, numbers, "/inputs/a"},
		{`{"a":{"b":1}}`, numbers, "/inputs/a"},
		{`{"a":[[1],[2,"x"]]}`, matrix, "/inputs/a/1/1"},
		{`{"a":[[1],2]}`, matrix, "/inputs/a/1"},
		{`{"a":[[1,0],[2]]}`, rows, "/inputs/a/1"},
		{`{"a":[[1,0,0]]}`, rows, "/inputs/a/0/2"},
		{`{"a":[[1,0],[1,1]]}`, rows, "/inputs/a/1/1"},
		{`{"a":5}`, func(in *line.Inputs) any { return in.Text("a") }, "/inputs/a"},
		{`{"a":["x",5]}`, func(in *line.Inputs) any { return in.Texts("a") }, "/inputs/a/1"},
		{`{"a":1}`, func(in *line.Inputs) any { return in.Flag("a") }, "/inputs/a"},
		{`{"a":"three"}`, func(in *line.Inputs) any { return in.Literal("a", "one", "two") }, "/inputs/a"},
		{`{"a":-1}`, func(in *line.Inputs) any { return in.Uint64("a") }, "/inputs/a"},
		{`{"a":1.0}`, func(in *line.Inputs) any { return in.Uint64("a") }, "/inputs/a"},
		{`{"a":[]}`, func(in *line.Inputs) any { n, _ := in.Lists("a"); return n }, "/inputs/a"},
		{`{"a":{"x/y":1}}`, func(in *line.Inputs) any { n, _ := in.Lists("a"); return n }, "/inputs/a/x~1y"},
	} {
		got, bad := read(t, c.inputs, c.use)
		if bad == nil || bad.Code != line.InvalidArgument || bad.Pointer != c.pointer || bad.Message == "" {
			t.Errorf("%s: %s %+v", c.inputs, got, bad)
		}
	}
}

// The first fault is the one that is reported.
func TestTheFirstFaultCounts(t *testing.T) {
	_, bad := read(t, `{"a":"x","b":"y"}`, func(in *line.Inputs) any {
		in.Number("a", line.Real())
		in.Number("b", line.Real())
		in.Refuse(line.UnsupportedInput, "b", []any{3}, "later")
		return nil
	})
	if bad == nil || bad.Pointer != "/inputs/a" || bad.Error() != "INVALID_ARGUMENT: a must be a number here" {
		t.Errorf("%+v", bad)
	}
}
