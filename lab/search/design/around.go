package design

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/stat/random"
)

// Variant is parameters beside the base. ID is like "fast-5%" or "sobol-07".
type Variant struct {
	ID     string
	Params json.RawMessage // canonical JSON
}

func percents() []int { return []int{-20, -10, -5, 5, 10, 20} }

// The points that move all numbers together.
const (
	sobolPoints  = 32
	sobolPercent = 10
)

type number struct {
	name string
	base float64
	Range
}

// Around is the neighbourhood of parameters, a JSON object: every number moved alone by 5, 10 and 20 %
// of itself, but by a step at least, then the points of a Sobol sequence in a box of 10 % to both
// sides, shifted by the stream neighbourhood of the seed. Values end where their range ends; a number
// is left where it is when it has no steps and is 0. The order is that of the names. It is empty when
// no parameter is a number.
func Around(base json.RawMessage, ranges Ranges, seed uint64) ([]Variant, error) {
	text, err := digest.CanonicalJSON(base)
	if err != nil {
		return nil, err
	}
	var params map[string]json.RawMessage
	if err := json.Unmarshal(text, &params); err != nil {
		return nil, err
	}
	numbers := numbersOf(params, ranges)
	list := &list{params: params, seen: map[string]bool{string(text): true}, out: []Variant{}}
	for _, n := range numbers {
		for _, percent := range percents() {
			if x, ok := n.moved(percent); ok {
				if err := list.add(fmt.Sprintf("%s%+d%%", n.name, percent),
					map[string]float64{n.name: x}); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(numbers) > 0 {
		err = list.addBox(numbers[:min(len(numbers), MostDimensions)], seed)
	}
	return list.out, err
}

func numbersOf(params map[string]json.RawMessage, ranges Ranges) []number {
	var out []number
	for _, name := range slices.Sorted(maps.Keys(params)) {
		r, ok := ranges[name]
		text := params[name]
		if ok && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') {
			x, _ := strconv.ParseFloat(string(text), 64) // canonical JSON
			out = append(out, number{name, x, r})
		}
	}
	return out
}

// steps is how many steps a percentage of the base is, 1 at least.
func (n *number) steps(percent int) float64 {
	return max(1, math.Round(math.Abs(n.base)*float64(percent)/100/n.Step))
}

// off is the base and so many steps.
func (n *number) off(steps float64) float64 {
	// 12 digits: 0.3 + 0.1 shall not be written 0.4 and a bit.
	x, _ := strconv.ParseFloat(strconv.FormatFloat(n.base+float64(steps*n.Step), 'e', 11, 64), 64)
	return x + 0
}

// moved is the number after a change; false if its range has no such value.
func (n *number) moved(percent int) (float64, bool) {
	switch {
	case n.Step == 0:
		return n.clip(Digits6(n.base + float64(math.Abs(n.base)*float64(percent))/100))
	case percent < 0:
		return n.clip(n.off(-n.steps(-percent)))
	}
	return n.clip(n.off(n.steps(percent)))
}

// inBox is the number at u of [0, 1) in its side of the box.
func (n *number) inBox(u float64) (float64, bool) {
	if n.Step == 0 {
		return n.clip(Digits6(n.base + float64(math.Abs(n.base)*sobolPercent/100*(2*u-1))))
	}
	reach := n.steps(sobolPercent)
	return n.clip(n.off(min(math.Floor(u*(2*reach+1)), 2*reach) - reach))
}

type list struct {
	params map[string]json.RawMessage
	seen   map[string]bool
	out    []Variant
}

func (l *list) add(id string, changed map[string]float64) error {
	object := make(map[string]any, len(l.params))
	for name, value := range l.params {
		object[name] = value
	}
	for name, x := range changed {
		object[name] = x
	}
	text, err := digest.JCS(object)
	if err != nil || l.seen[string(text)] {
		return err
	}
	l.seen[string(text)] = true
	l.out = append(l.out, Variant{id, bytes.Clone(text)})
	return nil
}

func (l *list) addBox(numbers []number, seed uint64) error {
	sobol, err := NewSobol(len(numbers))
	if err != nil {
		return err
	}
	shift := Shift(random.New(seed, random.Neighbourhood, 0), len(numbers))
	for i := range sobolPoints {
		changed := map[string]float64{}
		for k, u := range Unit(sobol.Next(), shift) {
			if x, ok := numbers[k].inBox(u); ok {
				changed[numbers[k].name] = x
			}
		}
		if err := l.add(fmt.Sprintf("sobol-%02d", i), changed); err != nil {
			return err
		}
	}
	return nil
}

// Range is what values a number may take.
type Range struct {
	// Low and High are inclusive; nil where there is no end. Above and Below are ends
	// that the number may not reach, nil where there is none.
	Low, High, Above, Below *float64
	// Step is the least change: at least 1 for an integer, 0 for any other number that has
	// no steps.
	Step float64
	// Multiple is what an integer is a multiple of; 0 for any.
	Multiple float64
	// Integer numbers stay whole.
	Integer bool
}

// Ranges has the parameters that are numbers and can be moved.
type Ranges map[string]Range

// FromSchema reads the numbers of a strategy's JSON Schema: its bounds, and the step of
// x-search, x-ui or multipleOf, whichever comes first. x-search does not narrow them: it
// is where to look, not what is allowed. A number with an enum cannot be moved.
func FromSchema(text json.RawMessage) (Ranges, error) {
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	out := Ranges{}
	for name, property := range doc.Properties {
		if r, ok := rangeOf(property); ok {
			out[name] = r
		}
	}
	return out, nil
}

func rangeOf(property json.RawMessage) (Range, bool) {
	type stepped struct {
		Step float64 `json:"step"`
	}
	var p struct {
		Type       string          `json:"type"`
		Enum       json.RawMessage `json:"enum"`
		Minimum    *float64        `json:"minimum"`
		Maximum    *float64        `json:"maximum"`
		Above      *float64        `json:"exclusiveMinimum"`
		Below      *float64        `json:"exclusiveMaximum"`
		MultipleOf float64         `json:"multipleOf"`
		Search     stepped         `json:"x-search"`
		Form       stepped         `json:"x-ui"`
	}
	// What is written in another way than a plain number is none that can be moved.
	if json.Unmarshal(property, &p) != nil || p.Enum != nil || p.Type != "integer" && p.Type != "number" {
		return Range{}, false
	}
	r := Range{Low: p.Minimum, High: p.Maximum, Above: p.Above, Below: p.Below, Integer: p.Type == "integer"}
	for _, step := range []float64{p.Search.Step, p.Form.Step, p.MultipleOf} {
		if step > 0 && r.Step == 0 {
			r.Step = step
		}
	}
	if r.Integer {
		r.Step, r.Multiple = max(1, math.Round(r.Step)), p.MultipleOf
	}
	return r, true
}

// WithSpace takes the steps of the numbers that a search has moved from its space.
func WithSpace(r Ranges, space Space) Ranges {
	out := maps.Clone(r)
	for _, p := range space.parameters {
		if own, ok := out[p.Name]; ok && p.Step > 0 {
			own.Step = p.Step
			out[p.Name] = own
		}
	}
	return out
}

// clip is the value inside the range that is nearest to x; false if the range has no
// nearest one, its end being one that may not be reached.
func (r Range) clip(x float64) (float64, bool) {
	if r.Low != nil {
		x = max(x, *r.Low)
	}
	if r.High != nil {
		x = min(x, *r.High)
	}
	if r.Integer && r.Above != nil {
		x = max(x, math.Floor(*r.Above)+1)
	}
	if r.Integer && r.Below != nil {
		x = min(x, math.Ceil(*r.Below)-1)
	}
	if r.Multiple > 0 && math.Mod(x, r.Multiple) != 0 {
		return x, false
	}
	return x, !(r.Above != nil && x <= *r.Above || r.Below != nil && x >= *r.Below) &&
		(!r.Integer || x == math.Trunc(x))
}
