package sdk

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Params is what is known of a strategy's parameters: the fields of the struct P
// and their tags.
//
//	type params struct {
//		Fast int     `param:"fast" default:"10" min:"1" max:"500" doc:"Candles in the fast average"`
//		Risk float64 `param:"risk" default:"0.02" above:"0" max:"0.9" search:"log"`
//		Mode string  `param:"mode" default:"close" enum:"close,typical"`
//	}
//
// Fields are integers, floats, bool or string. The tags:
//
//	param     name in JSON, ^[a-z][a-z0-9_]{0,62}$; "-" leaves the field out
//	default   value when the user gives none; the zero value if absent
//	min, max  inclusive bounds of a number
//	above     exclusive lower bound
//	below     exclusive upper bound
//	enum      the allowed values, separated by commas
//	doc       one sentence for people
//	title     label of the form field
//	unit      what is counted, for the form
//	group     heading of the form
//	step      step of the form field and of grid searches
//	search    how to search: log, linear, off and low..high, separated by commas
//
// Fields of embedded structs count as fields of the struct itself; fields that are
// not exported and have no tag are the author's own.
type Params[P any] struct {
	fields []field
}

// ParamsOf reads the tags of P. An error says which field is wrong and how.
func ParamsOf[P any]() (Params[P], error) {
	t := reflect.TypeFor[P]()
	if t.Kind() != reflect.Struct {
		return Params[P]{}, fmt.Errorf("parameters must be a struct, not %s", t)
	}
	var fields []field
	var errs []error
	seen := map[string]string{}
	for _, sf := range reflect.VisibleFields(t) {
		name, tagged := sf.Tag.Lookup("param")
		if sf.Anonymous && sf.Type.Kind() == reflect.Pointer {
			errs = append(errs, fmt.Errorf("parameter field %s.%s: embed the struct itself, not a pointer to it", t, sf.Name))
		}
		if name == "-" || (!tagged && (sf.Anonymous || !sf.IsExported())) {
			continue
		}
		f, err := newField(sf, name, tagged, len(fields)+1)
		if err == nil && seen[name] != "" {
			err = fmt.Errorf("name %q is taken by field %s", name, seen[name])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("parameter field %s.%s: %w", t, sf.Name, err))
			continue
		}
		seen[name] = sf.Name
		fields = append(fields, f)
	}
	return Params[P]{fields}, errors.Join(errs...)
}

// Names of the parameters in the order of the fields.
func (p Params[P]) Names() []string {
	names := make([]string, len(p.fields))
	for i, f := range p.fields {
		names[i] = f.name
	}
	return names
}

// ParamError is one bad parameter.
type ParamError struct {
	// Pointer is the RFC 6901 JSON pointer inside the parameters; "" means all of them.
	Pointer string
	Message string
}

// Error names the parameter and what is wrong with it.
func (e *ParamError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

// InvalidParam is the error of a constructor that does not like a parameter.
// Several go together with errors.Join.
func InvalidParam(name, message string) error {
	return &ParamError{Pointer: pointerTo(name), Message: message}
}

// ParamErrors lists every ParamError inside err. An error that holds none becomes
// one that concerns all parameters.
func ParamErrors(err error) []ParamError {
	if err == nil {
		return nil
	}
	var list []ParamError
	collect(err, &list)
	if len(list) == 0 {
		list = append(list, ParamError{Message: err.Error()})
	}
	return list
}

func collect(err error, list *[]ParamError) {
	switch e := err.(type) {
	case *ParamError:
		*list = append(*list, *e)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			collect(inner, list)
		}
	case interface{ Unwrap() error }:
		collect(e.Unwrap(), list)
	}
}

func pointerTo(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// validParamName is ^[a-z][a-z0-9_]{0,62}$. Every start of a plugin asks it for each
// parameter, and compiling the expression took longer than the rest of ParamsOf.
func validParamName(s string) bool {
	for i, c := range []byte(s) {
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 63
}
