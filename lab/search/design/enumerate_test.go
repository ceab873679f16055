package design_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/stat/random"
)

func texts(p *design.Points) []string {
	out := make([]string, len(p.Params))
	for i, t := range p.Params {
		out[i] = string(t)
	}
	return out
}

// Names sorted, the last name fastest.
func TestGridPoints(t *testing.T) {
	d := design.Design{
		Space: mustSpace(t,
			`{"z":{"type":"bool"},"a":{"type":"int","low":1,"high":5,"step":2},"m":{"type":"float","low":0.1,"high":0.3,"step":0.1}}`),
		Constraints: []design.Constraint{{Left: "a", Op: design.Different, Right: design.Operand{Number: 3}}},
		Method:      design.GridMethod, Max: 100,
	}
	points, err := d.Enumerate()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, a := range []int{1, 5} {
		for _, m := range []string{"0.1", "0.2", "0.3"} {
			for _, z := range []bool{false, true} {
				want = append(want, fmt.Sprintf(`{"a":%d,"m":%s,"z":%v}`, a, m, z))
			}
		}
	}
	if got := texts(points); !slices.Equal(got, want) || points.Left != 0 {
		t.Errorf("%q, want %q, %d", got, want, points.Left)
	}
	d.Max = 5
	if points, err = d.Enumerate(); err != nil || !slices.Equal(texts(points), want[:5]) || points.Left != 7 {
		t.Error(points, err)
	}
}

// These are part of every registered plan: a change of them is lab-stats/2.
func TestPointsStay(t *testing.T) {
	space := mustSpace(t,
		`{"fast":{"type":"int","low":5,"high":30},"band":{"type":"float","low":0.001,"high":0.1,"log":true}}`)
	shift := design.Shift(random.New(1, random.SobolShift, 0), 2)
	stream := random.New(1, random.Random, 0)
	for method, u := range map[design.Method][]float64{
		design.SobolMethod:  design.Unit([]uint32{0, 0}, shift),
		design.SHAMethod:    design.Unit([]uint32{0, 0}, shift),
		design.RandomMethod: {stream.Float64(), stream.Float64()},
		design.LHSMethod:    design.Latin(random.New(1, random.LHS, 0), 8, 2)[0],
	} {
		points, err := design.Design{Space: space, Method: method, Seed: 1, Max: 8}.Enumerate()
		if err != nil || len(points.Params) != 8 {
			t.Fatal(method, points, err)
		}
		if first, _ := space.At(u); string(first) != string(points.Params[0]) {
			t.Errorf("%s begins with %s, want %s", method, points.Params[0], first)
		}
		other, err := design.Design{Space: space, Method: method, Seed: 2, Max: 8}.Enumerate()
		if err != nil || slices.Equal(texts(other), texts(points)) {
			t.Errorf("%s: the seed changes nothing, %v", method, err)
		}
	}
	// More of the same search: the old trials are the first of the new ones.
	short, _ := design.Design{Space: space, Method: design.SobolMethod, Seed: 1, Max: 8}.Enumerate()
	long, err := design.Design{Space: space, Method: design.SobolMethod, Seed: 1, Max: 32}.Enumerate()
	if err != nil || !slices.Equal(texts(long)[:8], texts(short)) {
		t.Error("a longer search begins otherwise", err)
	}
}

// Along every dimension of a Latin hypercube each stratum has one point.
func TestLatinHitsEachStratumOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, dimensions := rapid.IntRange(1, 200).Draw(t, "n"), rapid.IntRange(1, 8).Draw(t, "d")
		points := design.Latin(random.New(rapid.Uint64().Draw(t, "seed"), random.LHS, 0), n, dimensions)
		for k := range dimensions {
			seen := make([]bool, n)
			for _, p := range points {
				at := int(p[k] * float64(n))
				if p[k] < 0 || p[k] >= 1 || seen[at] {
					t.Fatalf("dimension %d: %v", k, p[k])
				}
				seen[at] = true
			}
		}
	})
	// As parameters: nine trials take each of nine values once.
	d := design.Design{Space: mustSpace(t,
		`{"a":{"type":"int","low":1,"high":9},"b":{"type":"int","low":1,"high":9}}`),
		Method: design.LHSMethod, Seed: 3, Max: 9}
	points, err := d.Enumerate()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, text := range points.Params {
		var p map[string]int
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprint("a", p["a"])], seen[fmt.Sprint("b", p["b"])] = true, true
	}
	if len(seen) != 18 {
		t.Error(texts(points))
	}
}

// Whatever the method: as many as asked for, all different, all allowed, all in the space,
// and the order of the keys in the file changes nothing.
func TestPointsAreAllowedAndDifferent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := []string{
			`"fast":{"type":"int","low":2,"high":40}`, `"slow":{"type":"int","low":10,"high":90,"step":5}`,
			`"band":{"type":"float","low":0.001,"high":0.1,"log":true}`,
			`"mode":{"type":"choice","values":["a","b"]}`,
			`"edge":{"type":"float","low":0,"high":1,"step":0.05}`,
		}
		d := design.Design{
			Method: rapid.SampledFrom([]design.Method{design.RandomMethod, design.SobolMethod,
				design.LHSMethod, design.SHAMethod}).Draw(t, "method"),
			Seed: rapid.Uint64().Draw(t, "seed"), Max: rapid.IntRange(1, 100).Draw(t, "max"),
			Fixed: json.RawMessage(`{"most":80}`),
			Constraints: []design.Constraint{
				{Left: "fast", Op: design.Less, Right: design.Operand{Name: "slow"}},
				{Left: "slow", Op: design.AtMost, Right: design.Operand{Name: "most"}},
			},
		}
		var runs [2][]string
		for i := range runs {
			if err := json.Unmarshal(
				[]byte("{"+strings.Join(rapid.Permutation(keys).Draw(t, "keys"), ",")+"}"),
				&d.Space); err != nil {
				t.Fatal(err)
			}
			points, err := d.Enumerate()
			if err != nil {
				t.Fatal(err)
			}
			runs[i] = texts(points)
		}
		if !slices.Equal(runs[0], runs[1]) {
			t.Fatal("the order of the keys matters")
		}
		seen := map[string]bool{}
		for _, text := range runs[0] {
			var p struct{ Fast, Slow float64 }
			_ = json.Unmarshal([]byte(text), &p)
			if _, err := d.Space.Position(json.RawMessage(text)); err != nil || seen[text] ||
				p.Fast >= p.Slow || p.Slow > 80 {
				t.Fatal(text, err, seen[text])
			}
			seen[text] = true
		}
		if len(seen) != d.Max {
			t.Fatalf("%d points, want %d", len(seen), d.Max)
		}
	})
}

func TestDesignsThatAreRefused(t *testing.T) {
	small := mustSpace(t, `{"a":{"type":"int","low":1,"high":3},"b":{"type":"bool"}}`)
	for _, m := range []design.Method{design.RandomMethod, design.SobolMethod, design.LHSMethod,
		design.SHAMethod} {
		if points, err := (design.Design{Space: small, Method: m, Seed: 1, Max: 6}).Enumerate(); err != nil ||
			len(points.Params) != 6 {
			t.Error(m, points, err)
		}
		_, err := design.Design{Space: small, Method: m, Seed: 1, Max: 7}.Enumerate()
		var tight *design.TightError
		if !errors.As(err, &tight) || *tight != (design.TightError{Wanted: 7, Found: 6, Draws: 700}) ||
			!strings.Contains(err.Error(), "grid") {
			t.Error(m, err)
		}
		var large *design.LargeError
		if _, err := (design.Design{Space: small, Method: m, Seed: 1,
			Max: design.MostPoints + 1}).Enumerate(); !errors.As(err, &large) ||
			large.Pointer != "/max_trials" {
			t.Error(m, err)
		}
	}
	never := []design.Constraint{{Left: "a", Op: design.Greater, Right: design.Operand{Number: 3}}}
	var tight *design.TightError
	if _, err := (design.Design{Space: small, Constraints: never, Method: design.GridMethod,
		Max: 7}).Enumerate(); !errors.As(err, &tight) {
		t.Error(err)
	}
	var large *design.LargeError
	wide := mustSpace(t, `{"a":{"type":"int","low":1,"high":1000},"b":{"type":"int","low":1,"high":101}}`)
	if _, err := (design.Design{Space: wide, Method: design.GridMethod, Max: 7}).Enumerate(); !errors.As(err,
		&large) || large.Pointer != "/space" || !strings.Contains(err.Error(), "100000") {
		t.Error(err)
	}
	exact := mustSpace(t, `{"a":{"type":"int","low":1,"high":1000},"b":{"type":"int","low":1,"high":100}}`)
	if points, err := (design.Design{Space: exact, Method: design.GridMethod,
		Max: 7}).Enumerate(); err != nil || points.Left != design.MostPoints-7 {
		t.Error(err)
	}
	var many []string
	for i := range design.MostDimensions + 1 {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"float","low":0,"high":1}`, i))
	}
	hyper := mustSpace(t, "{"+strings.Join(many, ",")+"}")
	for _, c := range []struct {
		design design.Design
		want   string
	}{
		{design.Design{Space: hyper, Method: design.SobolMethod, Max: 1}, "/space"},
		{design.Design{Space: hyper, Method: design.SHAMethod, Max: 1}, "/space"},
		{design.Design{Space: mustSpace(t, `{"x/y":{"type":"float","low":0,"high":1}}`),
			Method: design.GridMethod, Max: 1}, "/space/x~1y/step"},
		{design.Design{Method: design.SobolMethod, Max: 1}, "/space"},
		{design.Design{Space: small, Method: design.SobolMethod}, "/max_trials"},
		{design.Design{Space: small, Method: "tpe", Max: 1}, "/method"},
	} {
		if _, err := c.design.Enumerate(); !slices.Equal(pointers(err), []string{c.want}) {
			t.Errorf("%s: %v, want %s", c.design.Method, err, c.want)
		}
	}
	if points, err := (design.Design{Space: hyper, Method: design.RandomMethod,
		Max: 2}).Enumerate(); err != nil || len(points.Params) != 2 {
		t.Error(err)
	}
}
