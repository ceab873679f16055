package eval

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/stat"
)

// Field is a named part of an Object.
type Field struct {
	Name  string
	Value any
}

// Object is a JSON object whose members keep their order.
type Object []Field

// Undefined is a value that does not exist, and why.
type Undefined struct{ Reason stat.Reason }

// fields makes an Object of names and values in turn.
func fields(namesAndValues ...any) Object {
	var out Object
	for i := 0; i < len(namesAndValues); i += 2 {
		out = append(out, Field{namesAndValues[i].(string), namesAndValues[i+1]})
	}
	return out
}

// Defined is x, or Undefined where there is a reason.
func Defined[T any](x T, why stat.Reason) any {
	if why != "" {
		return Undefined{why}
	}
	return x
}

// Answer is the line, without its end, for a value: float64, int, int64, string, bool,
// jsontext.Value, Object, Undefined, or a slice of any of these. A number that is not
// finite counts as undefined, not_applicable. Undefined parts are null and listed in
// "undefined", path by path; an object all of whose parts are undefined is null itself.
func Answer(id jsontext.Value, value any) []byte {
	w := newLine(id)
	if why := undefined(value); why != "" {
		w.member("value", jsontext.Value("null"))
		w.member("reason", string(why))
		return w.end()
	}
	w.member("value", value)
	if len(w.undefined) > 0 {
		w.member("undefined", w.undefined)
	}
	return w.end()
}

// undefined is why a value as a whole is undefined, "" where it is not: of an object, the reason
// of its first part.
func undefined(value any) stat.Reason {
	switch v := value.(type) {
	case Undefined:
		return v.Reason
	case float64:
		_, why := stat.Finite(v)
		return why
	case Object:
		isDefined := func(f Field) bool { _, none := f.Value.(Undefined); return !none }
		if len(v) > 0 && !slices.ContainsFunc(v, isDefined) {
			return v[0].Value.(Undefined).Reason
		}
	}
	return ""
}

// Refusal is the line, without its end, for an error.
func Refusal(id jsontext.Value, e *Error) []byte {
	w := newLine(id)
	w.member("error", fields("code", string(e.Code), "message", e.Message, "pointer", e.Pointer))
	return w.end()
}

// line is an answer in the making. Writing to memory does not fail. Messages may quote a line
// that was refused for its encoding: what is not UTF-8 is replaced.
type line struct {
	out       *jsontext.Encoder
	text      bytes.Buffer
	undefined Object
}

func newLine(id jsontext.Value) *line {
	w := &line{}
	w.out = jsontext.NewEncoder(&w.text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true))
	w.token(jsontext.BeginObject)
	if id != nil {
		w.member("id", id)
	}
	return w
}

func (w *line) token(t jsontext.Token) { _ = w.out.WriteToken(t) }

func (w *line) raw(v jsontext.Value) { _ = w.out.WriteValue(v) }

func (w *line) member(name string, value any) {
	w.token(jsontext.String(name))
	w.value(value)
}

func (w *line) end() []byte {
	w.token(jsontext.EndObject)
	return bytes.TrimSuffix(w.text.Bytes(), []byte("\n"))
}

func (w *line) value(value any) {
	switch v := value.(type) {
	case float64:
		if text, err := digest.Number(v); err == nil {
			w.raw(jsontext.Value(text))
		} else {
			w.null(stat.NotApplicable)
		}
	case int:
		w.token(jsontext.Int(int64(v)))
	case int64:
		w.token(jsontext.Int(v))
	case bool:
		w.token(jsontext.Bool(v))
	case string:
		w.token(jsontext.String(v))
	case jsontext.Value:
		w.raw(v)
	case Undefined:
		w.null(v.Reason)
	case Object:
		w.token(jsontext.BeginObject)
		for _, f := range v {
			w.member(f.Name, f.Value)
		}
		w.token(jsontext.EndObject)
	default:
		w.list(reflect.ValueOf(value))
	}
}

// list writes a slice or an array of values that have a form.
func (w *line) list(items reflect.Value) {
	if k := items.Kind(); k != reflect.Slice && k != reflect.Array {
		panic(fmt.Sprintf("eval: a value of type %s has no form in JSON", items.Type()))
	}
	w.token(jsontext.BeginArray)
	for i := range items.Len() {
		w.value(items.Index(i).Interface())
	}
	w.token(jsontext.EndArray)
}

func (w *line) null(why stat.Reason) {
	w.token(jsontext.Null)
	path := strings.TrimPrefix(string(w.out.StackPointer()), "/value/")
	w.undefined = append(w.undefined, Field{path, string(why)})
}
