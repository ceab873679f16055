package design

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
)

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

// mostRules bounds a list of constraints.
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
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "left" && name != "op" && name != "right" {
			faults.add("/"+Escape(name), "is not a known field")
		}
	}
	for _, name := range []string{"left", "op", "right"} {
		if fields[name] == nil {
			faults.add("/"+name, "is missing")
		}
	}
	if text := fields["left"]; text != nil && (json.Unmarshal(text, &c.Left) != nil || c.Left == "") {
		faults.add("/left", "must be the name of a parameter")
	}
	if text := fields["op"]; text != nil {
		_ = json.Unmarshal(text, &c.Op)
		if !slices.Contains([]Op{Less, AtMost, Greater, AtLeast, Equal, Different}, c.Op) {
			faults.add("/op", "must be one of < <= > >= == !=")
		}
	}
	if text := fields["right"]; text != nil {
		c.Right = Operand{}
		if x, ok := numberOf(text); ok {
			c.Right.Number = x
		} else if json.Unmarshal(text, &c.Right.Name) != nil || c.Right.Name == "" {
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

// at is the operand at a point.
func (s *source) at(point []float64) value {
	switch {
	case s.index < 0:
		return s.fixed
	case s.values != nil:
		return s.values[int(point[s.index])]
	}
	return value{number: point[s.index], numeric: true}
}

// numeric says whether all and whether none of the operand's values are numbers.
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

// Allowed says whether parameters, a JSON object, meet every constraint; the error is one
// of Enumerate about names and kinds.
func Allowed(constraints []Constraint, params json.RawMessage) (bool, error) {
	fixed := map[string]json.RawMessage{}
	text, err := canonical(params)
	if err != nil {
		return false, err
	}
	if json.Unmarshal(text, &fixed) != nil {
		return false, bad("", "must be an object of parameters")
	}
	rules, err := Space{}.rules(constraints, fixed)
	return err == nil && !slices.ContainsFunc(rules, func(r rule) bool { return !r.holds(nil) }), err
}

// rules looks every name up, in the space and then in the fixed parameters; pointers
// of the errors begin with /constraints.
func (s Space) rules(constraints []Constraint, fixed map[string]json.RawMessage) ([]rule, error) {
	var faults faultList
	out := make([]rule, len(constraints))
	for i, c := range constraints {
		at := fmt.Sprintf("/constraints/%d", i)
		r := rule{op: c.Op, right: source{index: -1, fixed: value{number: c.Right.Number, numeric: true}}}
		var left, right bool
		if r.left, left = s.source(c.Left, fixed); !left {
			faults.add(at+"/left", "%q is not a parameter of the space", c.Left)
		}
		if right = c.Right.Name == ""; !right {
			if r.right, right = s.source(c.Right.Name, fixed); !right {
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

func (s Space) source(name string, fixed map[string]json.RawMessage) (source, bool) {
	i := s.index(name)
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
