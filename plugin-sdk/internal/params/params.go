// Package params reads the parameters of a strategy from the tags of a struct: their
// JSON Schema, their defaults, and values out of JSON. Package sdk describes the tags.
package params

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// Params is the parameters of a strategy: the fields of the struct P and their tags.
type Params[P any] struct {
	fields []field
}

// Of reads the tags of P. An error names the field and what is wrong.
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
			errs = append(errs,
				fmt.Errorf("parameter field %s.%s: embed the struct itself, not a pointer to it", t, sf.Name))
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

// Decode reads parameters from a JSON object. What is missing takes its default.
// The error joins a sdk.ParamError for everything that is wrong: Errors lists them.
func (p Params[P]) Decode(raw []byte) (P, error) {
	var out P
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil || given == nil {
			return out, &sdk.ParamError{Message: "must be a JSON object of parameters"}
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
				errs = append(errs, sdk.InvalidParam(f.name, problem))
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
		errs[i] = sdk.InvalidParam(name, message)
	}
	return errs
}

// decode reads a JSON value; problem is what is wrong with it.
func (f *field) decode(text json.RawMessage) (value any, problem string) {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&v)
	fits := false
	switch x := v.(type) {
	case bool:
		value, fits = x, f.kind == "boolean"
	case string:
		value, fits = x, f.kind == "string"
	case json.Number:
		number, err := strconv.ParseFloat(x.String(), 64)
		if err != nil {
			return nil, "is too large"
		}
		value, fits = number, f.kind == "number" || f.kind == "integer" && isInteger(number)
	}
	if err != nil || !fits {
		return nil, map[string]string{
			"integer": "must be an integer", "number": "must be a number",
			"boolean": "must be true or false", "string": "must be a string",
		}[f.kind]
	}
	return value, f.outside(value)
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

// Encode writes values as the JSON object that Decode reads.
func (p Params[P]) Encode(values P) json.RawMessage {
	from := reflect.ValueOf(values)
	var o object
	for i := range p.fields {
		o.add(p.fields[i].name, encode(from.FieldByIndex(p.fields[i].index).Interface()))
	}
	return o.end()
}

// object writes a JSON object whose members keep their order, so that a form shows
// parameters as their author listed them.
type object struct{ bytes.Buffer }

func (o *object) add(key string, value json.RawMessage) {
	if o.Len() == 0 {
		o.WriteByte('{')
	} else {
		o.WriteByte(',')
	}
	o.Write(encode(key))
	o.WriteByte(':')
	o.Write(value)
}

func (o *object) end() json.RawMessage {
	if o.Len() == 0 {
		return json.RawMessage("{}")
	}
	o.WriteByte('}')
	return o.Bytes()
}

// encode is v as JSON, without the escapes that are for HTML.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null") // only numbers, strings, booleans and lists of them come here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Schema is the JSON Schema (2020-12) of the parameters. Beside the usual words a
// property has x-ui {order, group?, unit?, step?} for forms and, where it can be
// searched, x-search {low, high, step?, log?} or {choices} for optimisers.
func (p Params[P]) Schema() json.RawMessage {
	var properties object
	for i := range p.fields {
		properties.add(p.fields[i].name, encode(p.fields[i].schema()))
	}
	return encode(struct {
		Schema     string          `json:"$schema"`
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		More       bool            `json:"additionalProperties"`
	}{"https://json-schema.org/draft/2020-12/schema", "object", properties.end(), false})
}

// Defaults is a JSON object of every parameter's default.
func (p Params[P]) Defaults() json.RawMessage {
	var o object
	for _, f := range p.fields {
		o.add(f.name, encode(f.initial))
	}
	return o.end()
}

// property is the schema of one parameter.
type property struct {
	Type         string    `json:"type"`
	Title        string    `json:"title,omitempty"`
	Description  string    `json:"description,omitempty"`
	Default      any       `json:"default"`
	Enum         []any     `json:"enum,omitempty"`
	Above        *float64  `json:"exclusiveMinimum,omitempty"`
	Minimum      *float64  `json:"minimum,omitempty"`
	Below        *float64  `json:"exclusiveMaximum,omitempty"`
	Maximum      *float64  `json:"maximum,omitempty"`
	Form         form      `json:"x-ui"`
	SearchBounds *searched `json:"x-search,omitempty"`
}

type form struct {
	Order int      `json:"order"`
	Group string   `json:"group,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	Step  *float64 `json:"step,omitempty"`
}

type searched struct {
	Choices []any    `json:"choices,omitempty"`
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Step    *float64 `json:"step,omitempty"`
	Log     bool     `json:"log,omitempty"`
}

func (f *field) schema() property {
	p := property{
		Type: f.kind, Title: f.title, Description: f.doc, Default: f.initial, Enum: f.enum,
		Form: form{f.order, f.group, f.unit, f.step}, SearchBounds: f.searchSpace(),
	}
	if f.above {
		p.Above = f.low
	} else {
		p.Minimum = f.low
	}
	if f.below {
		p.Below = f.high
	} else {
		p.Maximum = f.high
	}
	return p
}

// searchSpace is nil for what cannot or shall not be searched.
func (f *field) searchSpace() *searched {
	low, high := f.searchBounds()
	switch {
	case f.search.off:
		return nil
	case len(f.enum) > 0:
		return &searched{Choices: f.enum}
	case f.kind == "boolean":
		return &searched{Choices: []any{false, true}}
	case low == nil || high == nil:
		return nil
	}
	return &searched{Low: low, High: high, Step: f.step, Log: f.search.log}
}
