package field

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/digest"
)

// Checker is a struct that checks what no tag expresses, after its members were read.
type Checker interface {
	Check(o Object)
}

// Struct takes v for an object at a pointer that has the members of a struct, and reads them in
// the order of its fields. into points to the struct. Tags of a field:
//
//   - json names the member; with omitempty it may be absent.
//   - is names the form of a text, or of each text of a list: filled, id, revision, sha256,
//     digest, decimal, time, symbol, timeframe, free (of any length), or oneof or stage with
//     the words that are known. A question mark in front lets a pointer be null.
//   - min and max bound a number, and how many items a list has; without them a number is
//     from 0 to 2^53-1.
func (r *Reader) Struct(v any, at string, into any) Object {
	s := reflect.ValueOf(into).Elem()
	shape := shapeOf(s.Type())
	o := r.Object(v, at, shape.need, shape.may)
	o.into(s, shape)
	return o
}

// Members takes v for an object at a pointer that has the members of a struct, and reads none.
func (r *Reader) Members(v any, at string, of any) Object {
	shape := shapeOf(reflect.TypeOf(of))
	return r.Object(v, at, shape.need, shape.may)
}

// Into reads those members of an object that a struct has, see [Reader.Struct].
func (o Object) Into(into any) {
	s := reflect.ValueOf(into).Elem()
	o.into(s, shapeOf(s.Type()))
}

func (o Object) into(s reflect.Value, shape *shape) {
	for i := range shape.members {
		m := &shape.members[i]
		o.read(s.FieldByIndex(m.index), m)
	}
	if c, ok := s.Addr().Interface().(Checker); ok && !o.r.Failed() {
		c.Check(o)
	}
}

// shape is a struct by its tags.
type shape struct {
	need, may []string
	members   []member
}

type member struct {
	name     string
	index    []int
	null     bool // a pointer may be null
	form     string
	words    []string
	min, max int64
}

var shapes sync.Map // of *shape by reflect.Type

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" || name == "-" {
			continue
		}
		if tagged && options == "omitempty" {
			s.may = append(s.may, name)
		} else {
			s.need = append(s.need, name)
		}
		m := member{name: name, index: f.Index, min: bound(f, "min", 0), max: bound(f, "max", 0)}
		m.form, m.null = strings.CutPrefix(f.Tag.Get("is"), "?")
		if words := strings.Fields(m.form); len(words) > 0 {
			m.form, m.words = words[0], words[1:]
		}
		s.members = append(s.members, m)
	}
	known, _ := shapes.LoadOrStore(t, s)
	return known.(*shape)
}

func bound(f reflect.StructField, tag string, missing int64) int64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return missing
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err) // a mistake of the program
	}
	return n
}

// maxExact is the largest whole number that a document may hold.
const maxExact = 1<<53 - 1

// read reads a member into a field by the field's type.
func (o Object) read(f reflect.Value, m *member) {
	switch p := f.Addr().Interface().(type) {
	case *json.RawMessage:
		*p = o.canonical(m.name)
	case *time.Time:
		_, *p = o.Time(m.name)
	case *[]string:
		*p = o.Texts(m.name, int(m.max), m.check())
	case *map[string]float64:
		if o.Has(m.name) {
			*p = o.Numbers(m.name)
		}
	case *[]float64:
		*p = o.Series(m.name, int(m.max))
	case **bool:
		*p = o.Bool(m.name)
	case *bool:
		if b := o.Bool(m.name); b != nil {
			*p = *b
		}
	default:
		o.readKind(f, m)
	}
}

func (o Object) readKind(f reflect.Value, m *member) {
	switch f.Kind() {
	case reflect.String:
		f.SetString(o.text(m))
	case reflect.Int, reflect.Int64:
		highest := m.max
		if highest == 0 {
			highest = maxExact
		}
		f.SetInt(o.Integer(m.name, m.min, highest))
	case reflect.Float64:
		f.SetFloat(o.Number(m.name, float64(m.min)))
	case reflect.Pointer:
		if v, ok := o.get(m.name); ok && (v != nil || !m.null) {
			f.Set(reflect.New(f.Type().Elem()))
			o.read(f.Elem(), m)
		}
	case reflect.Struct:
		if v, ok := o.get(m.name); ok {
			o.r.Struct(v, o.At(m.name), f.Addr().Interface())
		}
	case reflect.Slice:
		if !o.Has(m.name) {
			return
		}
		list := reflect.MakeSlice(f.Type(), 0, 0)
		o.Each(m.name, int(m.max), func(_ int, v any, at string) {
			one := reflect.New(f.Type().Elem())
			o.r.Struct(v, at, one.Interface())
			list = reflect.Append(list, one.Elem())
		})
		f.Set(list)
	default:
		panic("field: " + m.name + " is a " + f.Type().String())
	}
}

func (o Object) text(m *member) string {
	switch m.form {
	case "oneof":
		return o.OneOf(m.name, InvalidField, m.words...)
	case "stage":
		return o.OneOf(m.name, InvalidStage, m.words...)
	}
	return o.Form(m.form, m.name)
}

// check returns the form of the texts of a list.
func (m *member) check() func(string) string {
	must := func(ok func(string) bool, what string) func(string) string {
		return func(s string) string {
			if ok(s) {
				return ""
			}
			return what
		}
	}
	switch m.form {
	case "symbol":
		return must(IsSymbol, "must be BASE/QUOTE")
	case "timeframe":
		return must(IsTimeframe, "must be a timeframe such as 1h")
	case "oneof":
		known := func(s string) bool { return slices.Contains(m.words, s) }
		return must(known, "must be one of "+strings.Join(m.words, ", "))
	}
	return nil
}

// canonical returns the canonical form of an object with any members, nil where it is absent. Only
// the length of its strings is bounded.
func (o Object) canonical(name string) []byte {
	if !o.Has(name) {
		return nil
	}
	free := o.Open(name)
	if o.r.Failed() {
		return nil
	}
	if !o.r.Lax {
		o.r.short(o.Raw(name), free.Pointer())
	}
	return digest.Tree(o.Raw(name))
}

func (r *Reader) short(v any, at string) {
	switch v := v.(type) {
	case string:
		if len(v) > MaxText {
			r.Fail(InvalidField, at, "is longer than %d bytes", MaxText)
		}
	case []any:
		for i, e := range v {
			r.short(e, at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			r.short(name, at)
			r.short(v[name], at+"/"+digest.PointerStep(name))
		}
	}
}
