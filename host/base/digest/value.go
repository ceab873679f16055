package digest

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// JCS returns the canonical JSON of a Go value, marshalled by the rules of encoding/json (tags,
// omitempty, nil slices as null) but refusing bad UTF-8 instead of replacing it. Structs, maps
// with text as keys, lists, texts and numbers are written sorted in one pass. What that does not
// know goes through [marshal], as does every value that has no form, so that result and error are
// always those of marshal.
func JCS(v any) ([]byte, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	b, ok := appendValue((*scratch)[:0], reflect.ValueOf(v))
	if !ok {
		return marshal(v)
	}
	*scratch = b
	return bytes.Clone(b), nil
}

var scratches = sync.Pool{New: func() any { return new([]byte) }}

// member is one field of a struct that is written.
type member struct {
	quoted    string // its name, with the colon
	name      string
	index     []int
	omitEmpty bool
}

var (
	rawMessage    = reflect.TypeFor[json.RawMessage]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	plans         sync.Map // reflect.Type to []member, nil for a type that is not known
)

// appendValue reports whether it could write v; the rest JCS leaves to marshal.
func appendValue(b []byte, v reflect.Value) ([]byte, bool) {
	if !v.IsValid() {
		return append(b, "null"...), true
	}
	t := v.Type()
	if t == rawMessage {
		if v.IsNil() {
			return append(b, "null"...), true
		}
		text, err := CanonicalJSON(v.Bytes())
		return append(b, text...), err == nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, "null"...), true
		}
		if writesItself(t) {
			return nil, false
		}
		return appendValue(b, v.Elem())
	case reflect.Struct, reflect.Map, reflect.Slice:
		if writesItself(t) {
			return nil, false
		}
		return appendMany(b, v)
	}
	if v.Kind() != reflect.String && writesItself(t) {
		return nil, false
	}
	return appendPlain(b, v)
}

func writesItself(t reflect.Type) bool {
	if t.PkgPath() == "" && t.Kind() != reflect.Pointer {
		return false
	}
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) ||
		reflect.PointerTo(t).Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(textMarshaler)
}

// appendPlain writes what holds no other value.
func appendPlain(b []byte, v reflect.Value) ([]byte, bool) {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), true
	case reflect.String:
		b, err := jsontext.AppendQuote(b, v.String())
		return b, err == nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		return strconv.AppendInt(b, n, 10), n <= maxInteger && n >= -maxInteger
	case reflect.Float64:
		x := v.Float()
		s, err := Number(x)
		abs := math.Abs(x)
		return append(b, s...), err == nil && (abs <= maxInteger || abs >= 1e21)
	}
	return nil, false
}

func appendMany(b []byte, v reflect.Value) ([]byte, bool) {
	switch v.Kind() {
	case reflect.Struct:
		return appendStruct(b, v)
	case reflect.Map:
		return appendMap(b, v)
	}
	if v.IsNil() {
		return append(b, "null"...), true
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil, false
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var ok bool
		if b, ok = appendValue(b, v.Index(i)); !ok {
			return nil, false
		}
	}
	return append(b, ']'), true
}

func appendMap(b []byte, v reflect.Value) ([]byte, bool) {
	if v.Type().Key().Kind() != reflect.String || writesItself(v.Type().Key()) {
		return nil, false
	}
	if v.IsNil() {
		return append(b, "null"...), true
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareUTF16(a.String(), b.String()) })
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, key.String()); err != nil {
			return nil, false
		}
		var ok bool
		if b, ok = appendValue(append(b, ':'), v.MapIndex(key)); !ok {
			return nil, false
		}
	}
	return append(b, '}'), true
}

func appendStruct(b []byte, v reflect.Value) ([]byte, bool) {
	plan, ok := planOf(v.Type())
	if !ok {
		return nil, false
	}
	b = append(b, '{')
	first := true
	for i := range plan {
		m := &plan[i]
		field := v.FieldByIndex(m.index)
		if m.omitEmpty && isEmpty(field) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if b, ok = appendValue(append(b, m.quoted...), field); !ok {
			return nil, false
		}
	}
	return append(b, '}'), true
}

// isEmpty returns what omitempty means to encoding/json.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func planOf(t reflect.Type) ([]member, bool) {
	if p, ok := plans.Load(t); ok {
		list, _ := p.([]member)
		return list, list != nil
	}
	list, err := members(t, nil)
	if err != nil {
		list = nil
	}
	plans.Store(t, list)
	return list, list != nil
}

// members are the fields of a struct and of those embedded in it, sorted. The error is
// what only encoding/json knows the rules of.
func members(t reflect.Type, above []int) ([]member, error) {
	list := []member{}
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(above), i)
		tag, tagged := f.Tag.Lookup("json")
		if f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct && !writesItself(f.Type) {
			more, err := members(f.Type, index)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
			continue
		}
		if f.Anonymous {
			return nil, fmt.Errorf("%s is embedded", f.Name)
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if options != "" && options != "omitempty" {
			return nil, fmt.Errorf("%s has other options", f.Name)
		}
		name = cmp.Or(name, f.Name)
		quoted, err := jsontext.AppendQuote(nil, name)
		if err != nil {
			return nil, err
		}
		list = append(list, member{string(quoted) + ":", name, index, options == "omitempty"})
	}
	slices.SortFunc(list, func(a, b member) int { return compareUTF16(a.name, b.name) })
	for i := range list[min(1, len(list)):] {
		if list[i].name == list[i+1].name {
			return nil, fmt.Errorf("two fields are called %s", list[i].name)
		}
	}
	return list, nil
}
