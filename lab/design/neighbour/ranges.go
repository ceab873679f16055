package neighbour

import (
	"encoding/json"
	"math"

	"github.com/assay-run/assay/lab/design"
)

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

// Ranges knows the numbers among parameters.
type Ranges interface {
	// Range is that of a parameter; false if it is no number that can be moved.
	Range(name string) (Range, bool)
}

// schema is Ranges of a JSON Schema.
type schema map[string]Range

func (s schema) Range(name string) (Range, bool) {
	r, ok := s[name]
	return r, ok
}

// FromSchema reads the numbers of a strategy's JSON Schema: its bounds, and the step of
// x-search, x-ui or multipleOf, whichever comes first. x-search does not narrow them: it
// says where to look, not what is allowed. A number with an enum cannot be moved.
func FromSchema(text json.RawMessage) (Ranges, error) {
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	out := schema{}
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

// spaced is Ranges with the steps of a space.
type spaced struct {
	Ranges
	space design.Space
}

func (s spaced) Range(name string) (Range, bool) {
	r, ok := s.Ranges.Range(name)
	if p, found := s.space.Find(name); ok && found && p.Step > 0 {
		r.Step = p.Step
	}
	return r, ok
}

// WithSpace takes the steps of the numbers that a search has moved from its space.
func WithSpace(r Ranges, space design.Space) Ranges { return spaced{r, space} }

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
	return x, !(r.Above != nil && x <= *r.Above || r.Below != nil && x >= *r.Below) && (!r.Integer || x == math.Trunc(x))
}
