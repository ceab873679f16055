package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode reads parameters from a JSON object. What is missing takes its default.
// The error joins a ParamError for everything that is wrong: ParamErrors lists them.
func (p Params[P]) Decode(raw []byte) (P, error) {
	var out P
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil || given == nil {
			return out, &ParamError{Message: "must be a JSON object of parameters"}
		}
	}
	into := reflect.ValueOf(&out).Elem()
	var errs []error
	for i := range p.fields {
		f := &p.fields[i]
		value := f.initial
		if text, ok := given[f.name]; ok {
			v, problem := f.decode(text)
			if problem != "" {
				errs = append(errs, InvalidParam(f.name, problem))
				continue
			}
			value = v
		}
		f.set(into.FieldByIndex(f.index), value)
		delete(given, f.name)
	}
	errs = append(errs, p.unknown(given)...)
	return out, errors.Join(errs...)
}

func (p Params[P]) unknown(given map[string]json.RawMessage) []error {
	var names []string
	for name := range given {
		if !slices.Contains(p.Names(), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	message := "is not a parameter of this strategy, which has none"
	if len(p.fields) > 0 {
		message = "is not a parameter of this strategy, which has " + strings.Join(p.Names(), ", ")
	}
	errs := make([]error, len(names))
	for i, name := range names {
		errs[i] = InvalidParam(name, message)
	}
	return errs
}

// decode reads a JSON value and says what is wrong with it.
func (f *field) decode(text json.RawMessage) (value any, problem string) {
	problem = map[string]string{
		"integer": "must be an integer", "number": "must be a number",
		"boolean": "must be true or false", "string": "must be a string",
	}[f.kind]
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, problem
	}
	switch x := v.(type) {
	case bool:
		value = x
	case string:
		value = x
	case json.Number:
		number, err := strconv.ParseFloat(x.String(), 64)
		if err != nil {
			return nil, "is too large"
		}
		value = number
	}
	if !f.fits(value) {
		return nil, problem
	}
	return value, f.outside(value)
}

// fits says whether the value has the type of the field.
func (f *field) fits(value any) bool {
	switch x := value.(type) {
	case bool:
		return f.kind == "boolean"
	case string:
		return f.kind == "string"
	case float64:
		return f.kind == "number" || (f.kind == "integer" && isInteger(x))
	}
	return false
}

func (f *field) set(v reflect.Value, value any) {
	switch x := value.(type) {
	case bool:
		v.SetBool(x)
	case string:
		v.SetString(x)
	case float64:
		switch {
		case v.CanInt():
			v.SetInt(int64(x))
		case v.CanUint():
			v.SetUint(uint64(x))
		default:
			v.SetFloat(x)
		}
	}
}
