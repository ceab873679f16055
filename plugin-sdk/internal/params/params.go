// Package params reads the parameters of a strategy from the tags of a struct: their
// JSON Schema, their defaults, and values out of JSON. Package sdk describes the tags.
package params

import (
	"errors"
	"fmt"
	"reflect"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// Params is the parameters of a strategy: the fields of the struct P and their tags.
type Params[P any] struct {
	fields []field
}

// Of reads the tags of P. An error says which field is wrong and how.
func Of[P any]() (Params[P], error) {
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

// Errors lists every ParamError inside err. An error that holds none becomes
// one that concerns all parameters.
func Errors(err error) []sdk.ParamError {
	if err == nil {
		return nil
	}
	var list []sdk.ParamError
	collect(err, &list)
	if len(list) == 0 {
		list = append(list, sdk.ParamError{Message: err.Error()})
	}
	return list
}

func collect(err error, list *[]sdk.ParamError) {
	switch e := err.(type) {
	case *sdk.ParamError:
		*list = append(*list, *e)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			collect(inner, list)
		}
	case interface{ Unwrap() error }:
		collect(e.Unwrap(), list)
	}
}

// validParamName is ^[a-z][a-z0-9_]{0,62}$. Every start of a plugin asks it for each
// parameter, and compiling the expression took longer than the rest of Of.
func validParamName(s string) bool {
	for i, c := range []byte(s) {
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 63
}
