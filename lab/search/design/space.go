// Package design picks the points of a parameter search before anything is evaluated.
//
// A [Space] and its [Constraints] come as JSON from lab.json or a registered plan; a fault is a
// *[FieldError] with the place. [Design.Enumerate] gives the points as canonical JSON, in an
// order that depends on the design alone. [Around] gives small changes to parameters, for the
// test param_neighbourhood: ranges come from the JSON Schema of a strategy or from a space.
// docs/lab.md has the rules.
package design

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
)

// Kind is what values a parameter takes.
type Kind string

// The kinds.
const (
	Int    Kind = "int"
	Float  Kind = "float"
	Choice Kind = "choice"
	Bool   Kind = "bool"
)

// Parameter is one dimension of a space, made by decoding.
type Parameter struct {
	Name string
	Kind Kind
	// Low and High are the inclusive ends of an int or a float. Step is the distance
	// between values from Low up: at least 1 for an int, 0 for a float without steps.
	Low, High, Step float64
	// Log spreads a float evenly over its logarithm.
	Log bool
	// Values are those of a choice, as canonical JSON.
	Values []json.RawMessage

	// steps are the values of a parameter that has finitely many.
	steps lattice
}

// Space is the parameters of a search, sorted by name. The zero value has none.
type Space struct{ parameters []Parameter }

// Parameters are the dimensions in the order of the coordinates of a point.
func (s Space) Parameters() []Parameter { return slices.Clone(s.parameters) }

// Len is the number of dimensions.
func (s Space) Len() int { return len(s.parameters) }

// Find is the parameter of a name.
func (s Space) Find(name string) (Parameter, bool) {
	if i := s.findIndex(name); i >= 0 {
		return s.parameters[i], true
	}
	return Parameter{}, false
}

func (s Space) findIndex(name string) int {
	return slices.IndexFunc(s.parameters, func(p Parameter) bool { return p.Name == name })
}

// parameterJSON is how a parameter is written. Pointers tell 0 from absent.
type parameterJSON struct {
	Type   Kind              `json:"type"`
	Low    *float64          `json:"low,omitempty"`
	High   *float64          `json:"high,omitempty"`
	Log    bool              `json:"log,omitempty"`
	Step   *float64          `json:"step,omitempty"`
	Values []json.RawMessage `json:"values,omitempty"`
}

// MarshalJSON is the space with every default filled in: equal spaces have equal bytes.
func (s Space) MarshalJSON() ([]byte, error) {
	object := make(map[string]parameterJSON, len(s.parameters))
	for _, p := range s.parameters {
		out := parameterJSON{Type: p.Kind, Log: p.Log, Values: p.Values}
		if p.Kind == Int || p.Kind == Float {
			out.Low, out.High = &p.Low, &p.High
		}
		if p.Step != 0 {
			out.Step = &p.Step
		}
		object[p.Name] = out
	}
	return digest.JCS(object)
}

// UnmarshalJSON is DecodeSpace.
func (s *Space) UnmarshalJSON(text []byte) (err error) {
	*s, err = DecodeSpace(text)
	return err
}

// The most that a space may have: more is refused before it costs anything.
const (
	mostParameters = 1000
	mostSpaceBytes = 4 << 20
)

// DecodeSpace reads a space strictly: an object of name to {"type","low",...}. The error
// joins a *FieldError for everything that is wrong.
func DecodeSpace(text []byte) (Space, error) {
	if len(text) > mostSpaceBytes {
		return Space{}, bad("", "has %d bytes, more than %d", len(text), mostSpaceBytes)
	}
	text, err := canonical(text)
	if err != nil {
		return Space{}, err
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || object == nil {
		return Space{}, bad("", "must be an object of parameters")
	}
	if len(object) > mostParameters {
		return Space{}, bad("", "has %d parameters, more than %d", len(object), mostParameters)
	}
	var s Space
	var faults faultList
	for _, name := range slices.Sorted(maps.Keys(object)) {
		r := reader{at: "/" + digest.PointerStep(name), faults: &faults}
		if name == "" {
			faults.add(r.at, "a parameter has a name")
		}
		s.parameters = append(s.parameters, r.parameter(name, object[name]))
	}
	if err := faults.err(); err != nil {
		return Space{}, err
	}
	return s, nil
}

// Merge is params with those of point in place of equal names, as canonical JSON.
// Neither may be anything but an object.
func Merge(params, point json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, text := range []json.RawMessage{params, point} {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, err
		}
	}
	return digest.JCS(all)
}

// Op compares two operands.
type Op string

// The comparisons.
const (
	Less      Op = "<"
	AtMost    Op = "<="
	Greater   Op = ">"
	AtLeast   Op = ">="
	Equal     Op = "=="
	Different Op = "!="
)

const mostRules = 1000

// Constraint is a condition that every point meets: Left is the name of a parameter,
// Right another one or a number.
type Constraint struct {
	Left  string
	Op    Op
	Right Operand
}

// Operand is a parameter if it has a Name, else a Number.
type Operand struct {
	Name   string
	Number float64
}

type constraintJSON struct {
	Left  string `json:"left"`
	Op    Op     `json:"op"`
	Right any    `json:"right"`
}

// MarshalJSON is {"left","op","right"}.
func (c Constraint) MarshalJSON() ([]byte, error) {
	out := constraintJSON{c.Left, c.Op, c.Right.Name}
	if c.Right.Name == "" {
		out.Right = c.Right.Number
	}
	return digest.JCS(out)
}

// UnmarshalJSON reads one constraint strictly.
func (c *Constraint) UnmarshalJSON(text []byte) error {
	text, err := canonical(text)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return bad("", "must be an object of left, op and right")
	}
	var faults faultList
	r := reader{fields: fields, faults: &faults}
	r.only("left", "op", "right")
	if r.has("left") && (json.Unmarshal(fields["left"], &c.Left) != nil || c.Left == "") {
		faults.add("/left", "must be the name of a parameter")
	}
	if r.has("op") {
		_ = json.Unmarshal(fields["op"], &c.Op)
		if !slices.Contains([]Op{Less, AtMost, Greater, AtLeast, Equal, Different}, c.Op) {
			faults.add("/op", "must be one of < <= > >= == !=")
		}
	}
	if r.has("right") {
		c.Right = Operand{}
		if x, ok := numberOf(fields["right"]); ok {
			c.Right.Number = x
		} else if json.Unmarshal(fields["right"], &c.Right.Name) != nil || c.Right.Name == "" {
			faults.add("/right", "must be the name of a parameter or a number")
		}
	}
	return faults.err()
}

// DecodeConstraints reads a list of constraints strictly; null is none. The error joins
// a *FieldError for everything that is wrong.
func DecodeConstraints(text []byte) ([]Constraint, error) {
	text, err := canonical(text)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return nil, bad("", "must be a list of constraints")
	}
	if len(list) > mostRules {
		return nil, bad("", "has %d constraints, more than %d", len(list), mostRules)
	}
	out := make([]Constraint, len(list))
	var faults faultList
	for i := range list {
		if err := out[i].UnmarshalJSON(list[i]); err != nil {
			faults.errs = append(faults.errs, Below(fmt.Sprintf("/%d", i), err))
		}
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// rule is a constraint whose names have been looked up.
type rule struct {
	left, right source
	op          Op
}

// source is where an operand comes from: a coordinate, or always the same value.
type source struct {
	index  int // -1: constant
	values []value
	fixed  value
}

// value is one side of a comparison. text is the canonical JSON of what is no number.
type value struct {
	number  float64
	text    string
	numeric bool
}

func valueOf(text json.RawMessage) value {
	x, ok := numberOf(text)
	return value{x, string(text), ok}
}

func (s *source) at(point []float64) value {
	switch {
	case s.index < 0:
		return s.fixed
	case s.values != nil:
		return s.values[int(point[s.index])]
	}
	return value{number: point[s.index], numeric: true}
}

// numeric reports whether all and whether none of the operand's values are numbers.
func (s *source) numeric() (all, none bool) {
	values := s.values
	if s.index < 0 {
		values = []value{s.fixed}
	}
	all, none = true, values != nil
	for _, v := range values {
		all, none = all && v.numeric, none && !v.numeric
	}
	return all, none
}

func (r *rule) holds(point []float64) bool {
	a, b := r.left.at(point), r.right.at(point)
	same := a.numeric == b.numeric && (a.numeric && a.number == b.number || !a.numeric && a.text == b.text)
	switch r.op {
	case Less:
		return a.number < b.number
	case AtMost:
		return a.number <= b.number
	case Greater:
		return a.number > b.number
	case AtLeast:
		return a.number >= b.number
	case Different:
		return !same
	}
	return same
}

// Allowed reports whether parameters, a JSON object, meet every constraint; the error is one of
// [Design.Enumerate] about names and kinds.
func Allowed(constraints []Constraint, params json.RawMessage) (bool, error) {
	fixed := map[string]json.RawMessage{}
	text, err := canonical(params)
	if err != nil {
		return false, err
	}
	if json.Unmarshal(text, &fixed) != nil {
		return false, bad("", "must be an object of parameters")
	}
	rules, err := Space{}.resolveRules(constraints, fixed)
	return err == nil && !slices.ContainsFunc(rules, func(r rule) bool { return !r.holds(nil) }), err
}

// resolveRules looks every name up, in the space and then in the fixed parameters; pointers
// of the errors begin with /constraints.
func (s Space) resolveRules(constraints []Constraint, fixed map[string]json.RawMessage) ([]rule, error) {
	var faults faultList
	out := make([]rule, len(constraints))
	for i, c := range constraints {
		at := fmt.Sprintf("/constraints/%d", i)
		r := rule{op: c.Op, right: source{index: -1, fixed: value{number: c.Right.Number, numeric: true}}}
		var left, right bool
		if r.left, left = s.resolveSource(c.Left, fixed); !left {
			faults.add(at+"/left", "%q is not a parameter of the space", c.Left)
		}
		if right = c.Right.Name == ""; !right {
			if r.right, right = s.resolveSource(c.Right.Name, fixed); !right {
				faults.add(at+"/right", "%q is not a parameter of the space", c.Right.Name)
			}
		}
		if left && right {
			r.check(at, &faults)
		}
		out[i] = r
	}
	return out, faults.err()
}

const notOrdered = "is not always a number: only == and != compare it"

// check refuses comparisons that mean nothing.
func (r *rule) check(at string, faults *faultList) {
	leftAll, leftNone := r.left.numeric()
	rightAll, rightNone := r.right.numeric()
	switch {
	case r.op == Equal || r.op == Different:
		if leftAll && rightNone || leftNone && rightAll {
			faults.add(at, "compares a number with what never is one")
		}
	case !leftAll:
		faults.add(at+"/left", notOrdered)
	case !rightAll:
		faults.add(at+"/right", notOrdered)
	}
}

func (s Space) resolveSource(name string, fixed map[string]json.RawMessage) (source, bool) {
	i := s.findIndex(name)
	if i < 0 {
		text, ok := fixed[name]
		return source{index: -1, fixed: valueOf(text)}, ok
	}
	out := source{index: i}
	switch p := &s.parameters[i]; p.Kind {
	case Bool:
		out.values = []value{{text: "false"}, {text: "true"}}
	case Choice:
		for _, v := range p.Values {
			out.values = append(out.values, valueOf(v))
		}
	}
	return out, true
}
