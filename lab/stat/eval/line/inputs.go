package line

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Inputs are the inputs of a request. The first one that does not fit is kept as the
// error of all; from then on every method answers with a zero value. It must not be used
// concurrently.
type Inputs struct {
	members members
	err     *Error
}

// maxInteger is the largest integer that a JSON number carries exactly.
const maxInteger = 1 << 53

// Names are the names that were given, in their order.
func (in *Inputs) Names() []string {
	out := make([]string, len(in.members))
	for i, m := range in.members {
		out[i] = m.name
	}
	return out
}

// Has says whether an input was given.
func (in *Inputs) Has(name string) bool { return in.members.find(name) != nil }

// Raw is the JSON text of an input.
func (in *Inputs) Raw(name string) jsontext.Value { return in.members.find(name) }

// Err is what did not fit, nil if everything did.
func (in *Inputs) Err() *Error { return in.err }

// Refuse remembers that an input does not fit; path are the indices and names below it.
func (in *Inputs) Refuse(code Code, name string, path []any, format string, args ...any) {
	if in.err == nil {
		in.err = Errorf(code, append([]any{"inputs", name}, path...), format, args...)
	}
}

// Number is an input that must be a number inside a bound.
func (in *Inputs) Number(name string, b Bound) float64 {
	r := in.read(name)
	x := r.number(b)
	r.done()
	return x
}

// Integer is an input that must be an integer in [low, high].
func (in *Inputs) Integer(name string, low, high int) int {
	return int(in.Number(name, Whole(low, high)))
}

// Numbers is an array of numbers.
func (in *Inputs) Numbers(name string, b Bound) []float64 {
	r := in.read(name)
	out := r.numbers(b)
	r.done()
	return out
}

// Integers is an array of integers in [low, high].
func (in *Inputs) Integers(name string, low, high int) []int {
	return integers(in.Numbers(name, Whole(low, high)))
}

// Matrix is an array of arrays of numbers, of any lengths.
func (in *Inputs) Matrix(name string, b Bound) [][]float64 {
	r := in.read(name)
	out := [][]float64{}
	r.array(func() { out = append(out, r.numbers(b)) })
	r.done()
	return out
}

// IntegerMatrix is an array of arrays of integers in [low, high].
func (in *Inputs) IntegerMatrix(name string, low, high int) [][]int {
	out := [][]int{}
	for _, row := range in.Matrix(name, Whole(low, high)) {
		out = append(out, integers(row))
	}
	return out
}

// Rows is an array of rows with a bound for each column.
func (in *Inputs) Rows(name string, columns ...Bound) [][]float64 {
	r := in.read(name)
	out := [][]float64{}
	r.array(func() {
		at := len(out)
		row := []float64{}
		r.array(func() {
			if len(row) < len(columns) {
				row = append(row, r.number(columns[len(row)]))
			} else {
				r.refuse("a row has %d numbers", len(columns))
			}
		})
		if len(row) != len(columns) {
			in.Refuse(InvalidArgument, name, []any{at}, "a row has %d numbers, not %d", len(columns), len(row))
		}
		out = append(out, row)
	})
	r.done()
	return out
}

// Text is an input that must be a string.
func (in *Inputs) Text(name string) string {
	r := in.read(name)
	s := r.text()
	r.done()
	return s
}

// Texts is an array of strings.
func (in *Inputs) Texts(name string) []string {
	r := in.read(name)
	out := []string{}
	r.array(func() { out = append(out, r.text()) })
	r.done()
	return out
}

// Flag is an input that must be true or false.
func (in *Inputs) Flag(name string) bool {
	v := in.members.find(name)
	if k := v.Kind(); k != 't' && k != 'f' {
		in.Refuse(InvalidArgument, name, nil, "%s must be true or false", name)
	}
	return v.Kind() == 't'
}

// Literal is an input that must be one of some texts.
func (in *Inputs) Literal(name string, allowed ...string) string {
	s := in.Text(name)
	for _, a := range allowed {
		if s == a {
			return s
		}
	}
	in.Refuse(InvalidArgument, name, nil, "%s is %q, not one of %q", name, s, allowed)
	return ""
}

// Uint64 is an input that must be an integer in [0, 2^64), as a number or in a string.
func (in *Inputs) Uint64(name string) uint64 {
	v := in.members.find(name)
	digits := string(v)
	if v.Kind() == '"' {
		digits = in.Text(name)
	}
	x, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		in.Refuse(InvalidArgument, name, nil, "%s must be an integer from 0 to 2^64 - 1", name)
	}
	return x
}

// Lists is an input that must be an object of arrays: its names in their order, and the
// elements of each array as compact JSON.
func (in *Inputs) Lists(name string) (names []string, values [][]jsontext.Value) {
	raw := in.members.find(name)
	if raw.Kind() != '{' {
		in.Refuse(InvalidArgument, name, nil, "%s must be an object of arrays", name)
		return nil, nil
	}
	list, _ := object(raw) // it was read strictly before
	for _, m := range list {
		if m.value.Kind() != '[' {
			in.Refuse(InvalidArgument, name, []any{m.name}, "%s must be an array", m.name)
			return nil, nil
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
		names, values = append(names, m.name), append(values, items)
	}
	return names, values
}

func integers(x []float64) []int {
	out := make([]int, len(x))
	for i, v := range x {
		out[i] = int(v)
	}
	return out
}

// reader walks over the value of one input, which is known to be strict JSON.
type reader struct {
	in   *Inputs
	name string
	d    *jsontext.Decoder
	path []any
}

func (in *Inputs) read(name string) *reader {
	return &reader{in: in, name: name, d: jsontext.NewDecoder(bytes.NewReader(in.members.find(name)))}
}

func (r *reader) done() { r.d = nil }

func (r *reader) refuse(format string, args ...any) {
	r.in.Refuse(InvalidArgument, r.name, r.path, format, args...)
	_ = r.d.SkipValue() // strict JSON, and the error is kept already
}

// array calls item for every element, which must read or refuse it.
func (r *reader) array(item func()) {
	if r.d.PeekKind() != '[' {
		r.refuse("%s must be an array here", r.name)
		return
	}
	_, _ = r.d.ReadToken()
	at := len(r.path)
	r.path = append(r.path, 0)
	for i := 0; r.d.PeekKind() != ']' && r.in.err == nil; i++ {
		r.path[at] = i
		item()
	}
	if r.in.err == nil {
		_, _ = r.d.ReadToken()
	}
	r.path = r.path[:at]
}

func (r *reader) numbers(b Bound) []float64 {
	out := []float64{}
	r.array(func() { out = append(out, r.number(b)) })
	return out
}

func (r *reader) number(b Bound) float64 {
	if r.d.PeekKind() != '0' {
		r.refuse("%s must be a number here", r.name)
		return 0
	}
	t, err := r.d.ReadToken()
	if err != nil {
		r.in.Refuse(InvalidArgument, r.name, r.path, "%v", err)
		return 0
	}
	x, err := strconv.ParseFloat(t.String(), 64)
	if err != nil || math.IsInf(x, 0) {
		r.in.Refuse(InvalidArgument, r.name, r.path, "%s is not in the range of a 64-bit float", t.String())
		return 0
	}
	if !b.holds(x) {
		r.in.Refuse(InvalidArgument, r.name, r.path, "%s is %s here: it must be %s", r.name, t.String(), b.text)
		return 0
	}
	return x + 0 // -0 is 0
}

func (r *reader) text() string {
	if r.d.PeekKind() != '"' {
		r.refuse("%s must be a text here", r.name)
		return ""
	}
	t, _ := r.d.ReadToken()
	return t.String()
}
