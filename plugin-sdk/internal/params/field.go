package params

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxInteger is the largest integer that every JSON reader keeps exactly.
const maxInteger = 1<<53 - 1

// field is one parameter.
type field struct {
	name, doc, title, unit, group string
	order                         int
	index                         []int
	kind                          string // integer, number, boolean or string, as in JSON Schema
	initial                       any    // float64, bool or string
	low, high, step               *float64
	above, below                  bool // the bound is exclusive
	enum                          []any
	search                        search
}

// search is how an optimiser walks through a parameter.
type search struct {
	off, log  bool
	low, high *float64
}

func newField(sf reflect.StructField, name string, tagged bool, order int) (field, error) {
	f := field{
		name: name, order: order, index: sf.Index,
		doc: sf.Tag.Get("doc"), title: sf.Tag.Get("title"), unit: sf.Tag.Get("unit"),
		group: sf.Tag.Get("group"),
	}
	switch {
	case !tagged:
		return f, errors.New(`has no param tag: write param:"name", or param:"-" to leave it out`)
	case !sf.IsExported():
		return f, errors.New("is not exported: begin its name with a capital letter")
	case !validParamName(name):
		return f, fmt.Errorf(
			"name %q must begin with a-z and go on with a-z, 0-9 and _, 63 characters at most", name)
	}
	if f.kind = kindOf(sf.Type); f.kind == "" {
		return f, fmt.Errorf("type %s cannot be a parameter: use an integer, float64, bool or string",
			sf.Type)
	}
	steps := []func(reflect.StructField) error{f.readBounds, f.readEnum, f.readSearch, f.readDefault}
	for _, read := range steps {
		if err := read(sf); err != nil {
			return f, err
		}
	}
	return f, nil
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	}
	return ""
}

// readBounds reads min, max, above, below and step. An integer also has the
// bounds of its Go type.
func (f *field) readBounds(sf reflect.StructField) error {
	tags := []struct {
		key       string
		to        **float64
		exclusive *bool
	}{{"min", &f.low, nil}, {"above", &f.low, &f.above}, {"max", &f.high, nil}, {"below", &f.high, &f.below},
		{"step", &f.step, nil}}
	for _, tag := range tags {
		text, ok := sf.Tag.Lookup(tag.key)
		if !ok {
			continue
		}
		if *tag.to != nil {
			return fmt.Errorf("%s:%q: the bound is set already", tag.key, text)
		}
		x, err := f.parseNumber(text)
		if err != nil {
			return fmt.Errorf("%s:%q: %w", tag.key, text, err)
		}
		*tag.to = &x
		if tag.exclusive != nil {
			*tag.exclusive = true
		}
	}
	if f.step != nil && *f.step <= 0 {
		return fmt.Errorf("step:%q: must be above 0", sf.Tag.Get("step"))
	}
	if f.kind == "integer" {
		f.typeBounds(sf.Type)
	}
	if f.low != nil && f.high != nil && (*f.low > *f.high || (*f.low == *f.high && (f.above || f.below))) {
		return errors.New("no value is within the bounds")
	}
	return nil
}

// typeBounds narrows the bounds to what the Go type can hold. Bounds that JSON
// numbers have anyway are left out.
func (f *field) typeBounds(t reflect.Type) {
	low, high := math.Inf(-1), math.Inf(1)
	switch bits := t.Bits(); {
	case t.Kind() >= reflect.Uint:
		low = 0
		if bits < 64 {
			high = float64(uint64(1)<<bits - 1)
		}
	case bits < 64:
		high = float64(int64(1)<<(bits-1) - 1)
		low = -high - 1
	}
	if !math.IsInf(low, -1) && (f.low == nil || *f.low < low) {
		f.low, f.above = &low, false
	}
	if !math.IsInf(high, 1) && (f.high == nil || *f.high > high) {
		f.high, f.below = &high, false
	}
}

func (f *field) parseNumber(text string) (float64, error) {
	if f.kind != "integer" && f.kind != "number" {
		return 0, fmt.Errorf("a %s has none", f.kind)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errors.New("is not a number")
	}
	if f.kind == "integer" && !isInteger(x) {
		return 0, errors.New("is not an integer")
	}
	return x, nil
}

func isInteger(x float64) bool { return x == math.Trunc(x) && math.Abs(x) <= maxInteger }

func (f *field) readEnum(sf reflect.StructField) error {
	list := sf.Tag.Get("enum")
	if list == "" {
		return nil
	}
	if f.kind == "boolean" {
		return fmt.Errorf("enum:%q: a boolean has none", list)
	}
	var values []any
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		v, err := f.parse(text)
		if err != nil {
			return fmt.Errorf("enum:%q: %q %w", list, text, err)
		}
		if slices.Contains(values, v) {
			return fmt.Errorf("enum:%q: %q is there twice", list, text)
		}
		if m := f.outside(v); m != "" {
			return fmt.Errorf("enum:%q: %q %s", list, text, m)
		}
		values = append(values, v)
	}
	f.enum = values
	return nil
}

func (f *field) readSearch(sf reflect.StructField) error {
	list := sf.Tag.Get("search")
	if list == "" {
		return nil
	}
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		low, high, isRange := strings.Cut(word, "..")
		switch {
		case word == "off":
			f.search.off = true
		case word == "linear":
		case word == "log" && (f.kind == "integer" || f.kind == "number"):
			f.search.log = true
		case isRange:
			if err := f.searchRange(low, high); err != nil {
				return fmt.Errorf("search:%q: %w", list, err)
			}
		default:
			return fmt.Errorf("search:%q: write log, linear, off or low..high", list)
		}
	}
	if low, _ := f.searchBounds(); f.search.log && (low == nil || *low < 0 || (*low == 0 && !f.above)) {
		return fmt.Errorf("search:%q: a logarithmic search needs a lower bound above 0", list)
	}
	return nil
}

func (f *field) searchRange(low, high string) error {
	var bounds [2]float64
	for i, text := range []string{low, high} {
		var err error
		if bounds[i], err = f.parseNumber(text); err != nil {
			return fmt.Errorf("%q %w", text, err)
		}
	}
	f.search.low, f.search.high = &bounds[0], &bounds[1]
	if bounds[0] > bounds[1] || f.outside(bounds[0]) != "" || f.outside(bounds[1]) != "" {
		return errors.New("the range must ascend and lie within the bounds")
	}
	return nil
}

// searchBounds is where an optimiser looks; nil where nothing bounds it.
func (f *field) searchBounds() (low, high *float64) {
	low, high = f.low, f.high
	if f.search.low != nil {
		low, high = f.search.low, f.search.high
	}
	return low, high
}

func (f *field) readDefault(sf reflect.StructField) error {
	text, given := sf.Tag.Lookup("default")
	if !given {
		switch f.kind {
		case "boolean":
			text = "false"
		case "integer", "number":
			text = "0"
		}
	}
	v, err := f.parse(text)
	if err != nil {
		return fmt.Errorf("default:%q: %w", text, err)
	}
	if m := f.outside(v); m != "" {
		return fmt.Errorf("default:%q: %s", text, m)
	}
	f.initial = v
	return nil
}

// parse reads a value out of a tag.
func (f *field) parse(text string) (any, error) {
	switch f.kind {
	case "boolean":
		v, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("is neither true nor false")
		}
		return v, nil
	case "string":
		return text, nil
	}
	return f.parseNumber(text)
}

// outside describes what is wrong with a value of the right type; "" if nothing is.
func (f *field) outside(v any) string {
	if len(f.enum) > 0 && !slices.Contains(f.enum, v) {
		words := make([]string, len(f.enum))
		for i, e := range f.enum {
			words[i] = string(encode(e))
		}
		return "must be one of " + strings.Join(words, ", ")
	}
	x, ok := v.(float64)
	switch {
	case !ok:
		return ""
	case f.low != nil && f.above && x <= *f.low:
		return "must be above " + string(encode(*f.low))
	case f.low != nil && x < *f.low:
		return "must be at least " + string(encode(*f.low))
	case f.high != nil && f.below && x >= *f.high:
		return "must be below " + string(encode(*f.high))
	case f.high != nil && x > *f.high:
		return "must be at most " + string(encode(*f.high))
	}
	return ""
}
