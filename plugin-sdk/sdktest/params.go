package sdktest

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// badCase is a parameter object that must be refused.
type badCase struct {
	params   string
	pointers []string // each must be named by an error
}

// badValues lists every single way to break a parameter, and one object with all
// of them broken at once.
func badValues(ranges map[string]property) []badCase {
	cases := []badCase{{`{"no such parameter":1}`, []string{"/no such parameter"}}, {`[]`, []string{""}}}
	all := map[string]any{"no such parameter": true}
	pointers := []string{"/no such parameter"}
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		for _, value := range ranges[name].badValues() {
			cases = append(cases, badCase{encode(map[string]any{name: value}), []string{"/" + name}})
			all[name] = value
		}
		pointers = append(pointers, "/"+name)
	}
	return append(cases, badCase{encode(all), pointers})
}

func (p property) badValues() []any {
	bad := []any{nil, []int{1}}
	switch p.Type {
	case "string":
		bad = append(bad, 1)
	case "boolean":
		bad = append(bad, "true")
	case "integer":
		bad = append(bad, "1", 1.5)
	default:
		bad = append(bad, "1")
	}
	if len(p.Enum) > 0 && p.Type == "string" {
		bad = append(bad, "no such value")
	}
	if p.Minimum != nil {
		bad = append(bad, *p.Minimum-1)
	}
	if p.ExclusiveMinimum != nil {
		bad = append(bad, *p.ExclusiveMinimum)
	}
	if p.Maximum != nil && math.Abs(*p.Maximum) < 1e15 {
		bad = append(bad, *p.Maximum+1)
	}
	if p.ExclusiveMaximum != nil {
		bad = append(bad, *p.ExclusiveMaximum)
	}
	return bad
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of a schema
	}
	return string(text)
}

// draw draws parameters within their bounds.
type draw struct{ *rand.Rand }

func newDraw(seed uint64) draw { return draw{rand.New(rand.NewPCG(seed, 1))} }

func (d draw) params(ranges map[string]property) string {
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		values[name] = d.value(ranges[name])
	}
	return encode(values)
}

func (d draw) value(p property) any {
	switch {
	case len(p.Enum) > 0:
		return p.Enum[d.IntN(len(p.Enum))]
	case p.Type == "boolean":
		return d.IntN(2) == 1
	case p.Type == "string":
		return p.Default
	}
	low, high := bound(p.Minimum, p.ExclusiveMinimum, -1000), bound(p.Maximum, p.ExclusiveMaximum, 1000)
	// Squared: small values, which are more often meant, come more often.
	u := d.Float64()
	x := low + float64(u*u*(high-low))
	if p.Type == "integer" {
		x = math.Floor(x)
	}
	outside := (p.ExclusiveMinimum != nil && x <= *p.ExclusiveMinimum) || (p.ExclusiveMaximum != nil && x >= *p.ExclusiveMaximum)
	if outside || x < low || x > high {
		return p.Default
	}
	return x
}

func bound(inclusive, exclusive *float64, otherwise float64) float64 {
	switch {
	case inclusive != nil:
		return *inclusive
	case exclusive != nil:
		return *exclusive
	}
	return otherwise
}
