package design

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
)

// mostWhole is the largest integer up to which float64 holds every one, and the most
// values that a parameter with steps may have.
const mostWhole = 1 << 53

type faultList struct{ errs []error }

func (f *faultList) add(pointer, format string, args ...any) {
	f.errs = append(f.errs, bad(pointer, format, args...))
}

func (f *faultList) err() error { return errors.Join(f.errs...) }

// reader reads one parameter; at is its place.
type reader struct {
	at     string
	fields map[string]json.RawMessage
	faults *faultList
}

// parameter reads {"type",...}. What is wrong goes to the faults; the result is then of
// no use.
func (r *reader) parameter(name string, text json.RawMessage) Parameter {
	p := Parameter{Name: name}
	if json.Unmarshal(text, &r.fields) != nil || r.fields == nil {
		r.faults.add(r.at, "must be an object with a type")
		return p
	}
	if !r.has("type") {
		return p
	}
	before := len(r.faults.errs)
	switch _ = json.Unmarshal(r.fields["type"], &p.Kind); p.Kind {
	case Int:
		r.only("type", "low", "high", "step")
		p.Step = 1
		r.ends(&p)
	case Float:
		r.only("type", "low", "high", "step", "log")
		r.ends(&p)
	case Choice:
		r.only("type", "values")
		r.choices(&p)
	case Bool:
		r.only("type")
	default:
		r.faults.add(r.at+"/type", "must be int, float, choice or bool")
	}
	if len(r.faults.errs) > before {
		return p
	}
	var err error
	if p.steps, err = p.lattice(); err != nil {
		r.faults.errs = append(r.faults.errs, Below(r.at, err))
	}
	return p
}

// has reports whether a field is there, and notes a fault if it is not.
func (r *reader) has(name string) bool {
	if r.fields[name] == nil {
		r.faults.add(r.at+"/"+name, "is missing")
		return false
	}
	return true
}

func (r *reader) only(known ...string) {
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(known, name) {
			r.faults.add(r.at+"/"+digest.PointerStep(name), "is not a known field")
		}
	}
}

func (r *reader) ends(p *Parameter) {
	low, high := r.number("low", p.Kind, &p.Low), r.number("high", p.Kind, &p.High)
	if low && high && p.Low > p.High {
		r.faults.add(r.at+"/high", "must be at least low, %v", p.Low)
	} else if low && high && math.IsInf(p.High-p.Low, 0) {
		r.faults.add(r.at+"/high", "is too far from low")
	}
	if r.fields["step"] != nil && r.number("step", p.Kind, &p.Step) && p.Step <= 0 {
		r.faults.add(r.at+"/step", "must be above 0")
	}
	if text := r.fields["log"]; text != nil && json.Unmarshal(text, &p.Log) != nil || string(text) == "null" {
		r.faults.add(r.at+"/log", "must be true or false")
	}
	if p.Log && low && p.Low <= 0 {
		r.faults.add(r.at+"/low", "must be above 0 on a logarithmic scale")
	}
}

// number reads a field that must be there and reports whether it is good.
func (r *reader) number(name string, kind Kind, to *float64) bool {
	if !r.has(name) {
		return false
	}
	x, ok := numberOf(r.fields[name])
	switch {
	case !ok:
		r.faults.add(r.at+"/"+name, "must be a number")
		return false
	case kind == Int && (x != math.Trunc(x) || math.Abs(x) > mostWhole):
		r.faults.add(r.at+"/"+name, "must be an integer")
		return false
	}
	*to = x
	return true
}

func (r *reader) choices(p *Parameter) {
	if !r.has("values") {
		return
	}
	place := r.at + "/values"
	if json.Unmarshal(r.fields["values"], &p.Values) != nil || len(p.Values) == 0 {
		r.faults.add(place, "must be a list of at least one value")
		return
	}
	if len(p.Values) > MostPoints {
		r.faults.add(place, "has %d values, more than %d", len(p.Values), MostPoints)
		return
	}
	seen := map[string]int{}
	for i, v := range p.Values {
		if strings.ContainsAny(string(v[:1]), "[{n") {
			r.faults.add(fmt.Sprintf("%s/%d", place, i), "must be a text, a number, true or false")
		} else if first, twice := seen[string(v)]; twice {
			r.faults.add(fmt.Sprintf("%s/%d", place, i), "is value %d again", first)
		}
		seen[string(v)] = i
	}
}

// numberOf is the number that a canonical JSON text is.
func numberOf(text json.RawMessage) (float64, bool) {
	if len(text) == 0 || !strings.ContainsAny(string(text[:1]), "-0123456789") {
		return 0, false
	}
	var x float64
	err := json.Unmarshal(text, &x)
	return x, err == nil
}

// searched is what the schema of a parameter has for a search. Numbers stay text, so that
// they reach a space as they were written.
type searched struct {
	Type       string      `json:"type"`
	AboveLow   json.Number `json:"exclusiveMinimum"`
	BelowUpper json.Number `json:"exclusiveMaximum"`
	Search     *struct {
		Low     json.Number       `json:"low"`
		High    json.Number       `json:"high"`
		Step    json.Number       `json:"step"`
		Log     bool              `json:"log"`
		Choices []json.RawMessage `json:"choices"`
	} `json:"x-search"`
}

// SpaceOf is the space that a strategy's own schema offers: each parameter with x-search. A
// number whose end is an exclusive bound is left out, because the end itself would be tried.
func SpaceOf(schema json.RawMessage) (Space, error) {
	var known struct {
		Properties map[string]searched `json:"properties"`
	}
	if err := json.Unmarshal(schema, &known); err != nil {
		return Space{}, err
	}
	object := map[string]map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(known.Properties)) {
		p := known.Properties[name]
		if p.Search == nil {
			continue
		}
		if len(p.Search.Choices) > 0 {
			object[name] = map[string]any{"type": Choice, "values": p.Search.Choices}
			continue
		}
		bounded := p.Search.Low != "" && p.Search.High != ""
		if !bounded || p.Search.Low == p.AboveLow || p.Search.High == p.BelowUpper {
			continue
		}
		one := map[string]any{"type": Float, "low": p.Search.Low, "high": p.Search.High}
		if p.Search.Step != "" {
			one["step"] = p.Search.Step
		}
		if p.Type == "integer" {
			one["type"] = Int
		} else if p.Search.Log {
			one["log"] = true
		}
		object[name] = one
	}
	text, err := json.Marshal(object)
	if err != nil {
		return Space{}, err
	}
	return DecodeSpace(text)
}

// FieldError is one bad value of a space, a constraint or a design. Pointer is RFC 6901,
// below the value that was read; several go together with errors.Join.
type FieldError struct{ Pointer, Message string }

// Error names the field and what is wrong with it.
func (e *FieldError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + " " + e.Message
}

// FieldErrors lists every FieldError inside err, in order; nil if there is none.
func FieldErrors(err error) []*FieldError {
	switch e := err.(type) {
	case nil:
		return nil
	case *FieldError:
		return []*FieldError{e}
	case interface{ Unwrap() []error }:
		var list []*FieldError
		for _, inner := range e.Unwrap() {
			list = append(list, FieldErrors(inner)...)
		}
		return list
	}
	return FieldErrors(errors.Unwrap(err))
}

// Below is the error with every pointer below another place.
func Below(place string, err error) error {
	var errs []error
	for _, f := range FieldErrors(err) {
		errs = append(errs, &FieldError{place + f.Pointer, f.Message})
	}
	if err != nil && errs == nil {
		return err
	}
	return errors.Join(errs...)
}

func bad(pointer, format string, args ...any) error {
	return &FieldError{pointer, fmt.Sprintf(format, args...)}
}

// canonical is strict reading: no duplicate names, no number that float64 would change.
func canonical(text []byte) ([]byte, error) {
	out, err := digest.CanonicalJSON(text)
	var broken *digest.JSONError
	if errors.As(err, &broken) {
		return nil, &FieldError{broken.Pointer, broken.Reason}
	}
	return out, err
}
