package eval

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/stat/deflate"
)

// Input is one input of a function.
type Input struct {
	Name string `json:"name"`
	// Shape is "" for a scalar, [] for an array, [[]] for a matrix.
	Shape string `json:"shape,omitempty"`
	// Note is what the name and the shape do not show.
	Note     string `json:"note,omitempty"`
	Optional bool   `json:"optional,omitempty"`
}

// String is the input as the table shows it.
func (i Input) String() string { return strings.TrimSpace(i.Name + i.Shape + " " + i.Note) }

// Function is one statistic.
type Function struct {
	// Names has the identifier. Names of earlier versions are answered and not listed.
	Names []string `json:"names"`
	// Forms are the inputs; of two forms, the first counts where its first input was given.
	Forms [][]Input `json:"forms"`
	Value string    `json:"value"`
	Doc   string    `json:"doc"`

	also []string
	// compute has a computation for each form: a value for [Answer], or an *Error.
	compute []func(given members) any
}

// define makes a function that takes its inputs as a struct, whose tags stand below.
func define[T any](name, value, doc string, compute func(in T) any) Function {
	return or(Function{Names: []string{name}, Value: value, Doc: doc}, compute)
}

// or adds a form to a function.
func or[T any](f Function, compute func(in T) any) Function {
	fields := fieldsOf(reflect.TypeFor[T]())
	form := make([]Input, len(fields))
	for i, field := range fields {
		form[i] = field.Input
	}
	f.Forms = append(f.Forms, form)
	f.compute = append(f.compute, func(given members) any {
		var in T
		if bad := bind(fields, given, reflect.ValueOf(&in).Elem()); bad != nil {
			return bad
		}
		return compute(in)
	})
	return f
}

// named adds the names of earlier versions.
func (f Function) named(also ...string) Function {
	f.also = also
	return f
}

// Answers reports whether name, listed or not, is one of the function.
func (f *Function) Answers(name string) bool {
	return slices.Contains(f.Names, name) || slices.Contains(f.also, name)
}

// Inputs are the inputs as the table shows them.
func (f *Function) Inputs() string {
	var forms []string
	for _, form := range f.Forms {
		var names []string
		for _, i := range form {
			names = append(names, i.String())
		}
		forms = append(forms, strings.Join(names, ", "))
	}
	return strings.Join(forms, "; or ")
}

// All is the table, in the order in which it is shown.
func All() []Function {
	return slices.Concat(
		returnFunctions(),
		errorFunctions(),
		probabilityFunctions(),
		deflateFunctions(),
		nullFunctions(),
		discoveryFunctions(),
		multipleFunctions(),
		overfittingFunctions(),
		splitFunctions(),
		bootstrapFunctions(),
		superiorFunctions(),
		permutationFunctions(),
		equityFunctions(),
		costFunctions(),
		designFunctions(),
		randomFunctions(),
		byteFunctions(),
	)
}

// answer checks the names of the inputs and runs the function, which was asked for under
// name: a value for [Answer], or an error.
func (f *Function) answer(name string, given members) (any, *Error) {
	at := 0
	if len(f.Forms) > 1 && given.find(f.Forms[0][0].Name) == nil {
		at = 1
	}
	form := f.Forms[at]
	for _, m := range given {
		if !slices.ContainsFunc(form, func(i Input) bool { return i.Name == m.name }) {
			return nil, Errorf(UnknownInput, []any{"inputs", m.name},
				"%q is not an input of %s: it takes %s", m.name, name, f.Inputs())
		}
	}
	for _, i := range form {
		if !i.Optional && given.find(i.Name) == nil {
			return nil, Errorf(MissingInput, []any{"inputs", i.Name},
				"%s is missing: %s takes %s", i.Name, name, f.Inputs())
		}
	}
	v := f.compute[at](given)
	if bad, refused := v.(*Error); refused {
		return nil, bad
	}
	return v, nil
}

// refused is the answer to an input that only the computation found to be wrong; path is the
// name of the input and the indices below it.
func refused(path []any, format string, args ...any) *Error {
	return Errorf(InvalidArgument, append([]any{"inputs"}, path...), format, args...)
}

// tooMuch is the answer to a request that would take too long.
func tooMuch(name, format string, args ...any) *Error {
	return Errorf(UnsupportedInput, []any{"inputs", name}, format, args...)
}

// at is the place of an input, or of a part of it.
func at(path ...any) []any { return path }

// each is a value for every element.
func each[T any](items []T, f func(T) any) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// The tags of an input:
//
//	in       the input as the table lists it: `returns[]`, `rows[[sr, T]]`, `dist` with a note behind it
//	is       the domain of its numbers, none for any finite one; of the columns of a row, separated by ";"
//	one      the texts that it may be, separated by "|"
//	default  the number that an optional input has where it is not given
//
// A domain is ">0", ">=1", "0..1" or "(0,1)", the last without its ends. Its ends may be candles, folds,
// trials, dimensions or max, or depend on an input above it: "index x" is below x or its length, "column x"
// below the length of its rows.
const (
	tagInput   = "in"
	tagDomain  = "is"
	tagTexts   = "one"
	tagDefault = "default"
)

// maxInteger is the largest integer that a JSON number carries exactly.
const maxInteger = 1 << 53

// ends are the names that the tag of a domain may use.
var ends = map[string]float64{
	"candles": mostCandles, "folds": mostFolds, "trials": deflate.MostTrials,
	"dimensions": design.MostDimensions, "max": maxInteger,
}

// lists is an input that is an object of arrays: its names in their order, and the elements of each array.
type lists struct {
	names  []string
	values [][]jsontext.Value
}

// field is an input with its place in the struct that a computation takes.
type field struct {
	Input
	reflect.StructField
}

// fieldsOf lists the inputs of a struct, those of embedded structs in their place.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		if !f.Anonymous {
			out = append(out, field{inputOf(f), f})
			continue
		}
		for _, below := range fieldsOf(f.Type) {
			below.Index = append(slices.Clone(f.Index), below.Index...)
			out = append(out, below)
		}
	}
	return out
}

func inputOf(f reflect.StructField) Input {
	text := f.Tag.Get(tagInput)
	_, optional := f.Tag.Lookup(tagDefault)
	name, note, _ := strings.Cut(text, " ")
	if at := strings.IndexAny(text, "[{"); at >= 0 && at < len(name) {
		end := strings.LastIndexAny(text, "]}") + 1
		return Input{Name: text[:at], Shape: text[at:end], Note: strings.TrimSpace(text[end:]),
			Optional: optional}
	}
	return Input{Name: name, Note: note, Optional: optional}
}

// bind reads the inputs of a request into a struct. The first that does not fit is the error.
func bind(fields []field, given members, into reflect.Value) *Error {
	read := map[string]reflect.Value{}
	for _, f := range fields {
		v := into.FieldByIndex(f.Index)
		read[f.Name()] = v
		raw := given.find(f.Name())
		if raw == nil {
			x, err := strconv.ParseFloat(f.Tag.Get(tagDefault), 64)
			if err != nil {
				panic(fmt.Sprintf("eval: the default of %s: %v", f.Name(), err))
			}
			setNumber(v, x)
			continue
		}
		r := &reader{
			name: f.Name(), path: []any{"inputs", f.Name()}, d: jsontext.NewDecoder(bytes.NewReader(raw)),
			raw: raw, columns: domains(f, read),
		}
		if texts := f.Tag.Get(tagTexts); texts != "" {
			r.texts = strings.Split(texts, "|")
		}
		if bad := r.value(v, 0); bad != nil {
			return bad
		}
	}
	return nil
}

// Name returns the name of the input, not that of the struct's field.
func (f *field) Name() string { return f.Input.Name }

// reader walks over the value of one input, which is known to be strict JSON.
type reader struct {
	name    string
	path    []any
	raw     jsontext.Value
	d       *jsontext.Decoder
	columns []domain
	texts   []string
}

func (r *reader) refuse(format string, args ...any) *Error {
	return Errorf(InvalidArgument, r.path, format, args...)
}

// value reads the next value into v; column is its place in a row.
func (r *reader) value(v reflect.Value, column int) *Error {
	switch into := v.Addr().Interface().(type) {
	case *jsontext.Value:
		*into = r.raw
		return nil
	case *lists:
		return r.lists(into)
	}
	switch v.Kind() {
	case reflect.Float64, reflect.Int:
		return r.number(v, r.columns[column])
	case reflect.Uint64:
		return r.uint64(v)
	case reflect.String:
		return r.text(v)
	case reflect.Bool:
		if k := r.d.PeekKind(); k != 't' && k != 'f' {
			return r.refuse("%s must be true or false", r.name)
		}
		v.SetBool(r.d.PeekKind() == 't')
		return nil
	default:
		return r.array(v)
	}
}

// array reads a slice, or an array, which is a row of a fixed length.
func (r *reader) array(v reflect.Value) *Error {
	if r.d.PeekKind() != '[' {
		return r.refuse("%s must be an array here", r.name)
	}
	row := v.Kind() == reflect.Array
	if !row {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	_, _ = r.d.ReadToken()
	at, n := len(r.path), 0
	for ; r.d.PeekKind() != ']'; n++ {
		r.path = append(r.path[:at], n)
		switch {
		case !row:
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		case n == v.Len():
			return r.refuse("a row has %d numbers", v.Len())
		}
		if bad := r.value(v.Index(n), min(n, len(r.columns)-1)); bad != nil {
			return bad
		}
	}
	_, _ = r.d.ReadToken()
	r.path = r.path[:at]
	if row && n != v.Len() {
		return r.refuse("a row has %d numbers, not %d", v.Len(), n)
	}
	return nil
}

func (r *reader) number(v reflect.Value, in domain) *Error {
	if r.d.PeekKind() != '0' {
		return r.refuse("%s must be a number here", r.name)
	}
	t, err := r.d.ReadToken()
	if err != nil {
		return r.refuse("%v", err)
	}
	x, err := strconv.ParseFloat(t.String(), 64)
	if err != nil || math.IsInf(x, 0) {
		return r.refuse("%s is not in the range of a 64-bit float", t.String())
	}
	if !in.holds(x) {
		return r.refuse("%s is %s here: it must be %s", r.name, t.String(), in.must)
	}
	setNumber(v, x)
	return nil
}

func setNumber(v reflect.Value, x float64) {
	if v.Kind() == reflect.Int {
		v.SetInt(int64(x))
		return
	}
	v.SetFloat(x + 0) // -0 is 0
}

// domain are the numbers that an input may have, and how a message states them.
type domain struct {
	holds func(float64) bool
	must  string
}

// domains are those of the columns of an input, one for all where it has no rows.
func domains(f field, read map[string]reflect.Value) []domain {
	t := f.Type
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	var out []domain
	for text := range strings.SplitSeq(f.Tag.Get(tagDomain), ";") {
		switch text = strings.TrimSpace(text); t.Kind() {
		case reflect.Float64:
			out = append(out, floats(text))
		case reflect.Int:
			out = append(out, integers(limits(text, read)))
		}
	}
	return out
}

func integers(low, high float64) domain {
	must := fmt.Sprintf("an integer from %d to %d", int(low), int(high))
	if high == maxInteger {
		must = fmt.Sprintf("an integer of at least %d", int(low))
	}
	return domain{func(x float64) bool { return x == math.Trunc(x) && x >= low && x <= high }, must}
}

func floats(text string) domain {
	switch {
	case text == "":
		return domain{func(float64) bool { return true }, "a number"}
	case strings.HasPrefix(text, ">="):
		low := end(text[2:])
		return domain{func(x float64) bool { return x >= low }, fmt.Sprintf("at least %v", low)}
	case strings.HasPrefix(text, ">"):
		low := end(text[1:])
		return domain{func(x float64) bool { return x > low }, fmt.Sprintf("above %v", low)}
	case strings.HasPrefix(text, "("):
		first, last, _ := strings.Cut(strings.Trim(text, "()"), ",")
		low, high := end(first), end(last)
		must := fmt.Sprintf("between %v and %v, ends excluded", low, high)
		return domain{func(x float64) bool { return x > low && x < high }, must}
	default:
		low, high := limits(text, nil)
		return domain{func(x float64) bool {
			return x >= low && x <= high
		}, fmt.Sprintf("from %v to %v", low, high)}
	}
}

// limits are the ends of a closed domain.
func limits(text string, read map[string]reflect.Value) (low, high float64) {
	if name, found := strings.CutPrefix(text, "index "); found {
		return 0, float64(max(size(read[name])-1, 0))
	}
	if name, found := strings.CutPrefix(text, "column "); found {
		if rows := read[name]; rows.Len() > 0 {
			return 0, float64(max(rows.Index(0).Len()-1, 0))
		}
		return 0, 0
	}
	first, last, _ := strings.Cut(text, "..")
	return end(first), end(last)
}

// size is an integer, or the length of a slice.
func size(v reflect.Value) int {
	if v.Kind() == reflect.Int {
		return int(v.Int())
	}
	return v.Len()
}

func end(text string) float64 {
	if x, named := ends[text]; named {
		return x
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("eval: the end of a domain: %v", err))
	}
	return x
}

func (r *reader) text(v reflect.Value) *Error {
	if r.d.PeekKind() != '"' {
		return r.refuse("%s must be a text here", r.name)
	}
	t, _ := r.d.ReadToken()
	v.SetString(t.String())
	switch {
	case r.texts == nil || slices.Contains(r.texts, v.String()):
		return nil
	case len(r.path) > 2:
		return r.refuse("%q is not one of %s", v.String(), strings.Join(r.texts, ", "))
	default:
		return r.refuse("%s is %q, not one of %q", r.name, v.String(), r.texts)
	}
}

// uint64 reads an integer in [0, 2^64), as a number or in a string.
func (r *reader) uint64(v reflect.Value) *Error {
	digits := []byte(r.raw)
	if r.raw.Kind() == '"' {
		digits, _ = jsontext.AppendUnquote(nil, r.raw)
	}
	x, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return r.refuse("%s must be an integer from 0 to 2^64 - 1", r.name)
	}
	v.SetUint(x)
	return nil
}

func (r *reader) lists(into *lists) *Error {
	if r.raw.Kind() != '{' {
		return r.refuse("%s must be an object of arrays", r.name)
	}
	list, _ := object(r.raw) // it was read strictly before
	for _, m := range list {
		if m.value.Kind() != '[' {
			r.path = append(r.path, m.name)
			return r.refuse("%s must be an array", m.name)
		}
		d := jsontext.NewDecoder(bytes.NewReader(m.value))
		_, _ = d.ReadToken()
		items := []jsontext.Value{}
		for d.PeekKind() != ']' {
			v, _ := d.ReadValue()
			v = v.Clone()
			_ = v.Compact()
			items = append(items, v)
		}
		into.names, into.values = append(into.names, m.name), append(into.values, items)
	}
	return nil
}
