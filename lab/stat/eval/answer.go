package eval

import (
	"fmt"
	"reflect"
	"strconv"

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
	w := &writer{}
	if o, ok := value.(Object); ok {
		if why, all := allUndefined(o); all {
			value = Undefined{why}
		}
	}
	if u, ok := value.(Undefined); ok {
		return []byte(start(id) + `"value":null,"reason":` + quote(string(u.Reason)) + `}`)
	}
	w.value("", value)
	if x, ok := value.(float64); ok && len(w.undefined) > 0 {
		return Answer(id, Defined(x, stat.NotApplicable))
	}
	out := append([]byte(start(id)+`"value":`), w.text...)
	if len(w.undefined) > 0 {
		out = append(out, `,"undefined":{`...)
		for i, u := range w.undefined {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, quote(u.Name)+":"+quote(u.Value.(string))...)
		}
		out = append(out, '}')
	}
	return append(out, '}')
}

// Refusal is the line, without its end, for an error.
func Refusal(id jsontext.Value, e *Error) []byte {
	return fmt.Appendf(nil, `%s"error":{"code":%s,"message":%s,"pointer":%s}}`, start(id), quote(string(e.Code)), quote(e.Message), quote(e.Pointer))
}

func start(id jsontext.Value) string {
	if id == nil {
		return "{"
	}
	compact := id.Clone()
	_ = compact.Compact() // it was read strictly before
	return `{"id":` + string(compact) + `,`
}

// quote is s as JSON. Messages may quote a line that was refused for its encoding:
// what is not UTF-8 is replaced.
func quote(s string) string {
	q, _ := jsontext.AppendQuote(nil, []byte(s))
	return string(q)
}

// allUndefined says whether no part of an object has a value, with the first reason.
func allUndefined(o Object) (stat.Reason, bool) {
	var first stat.Reason
	for _, f := range o {
		switch v := f.Value.(type) {
		case Undefined:
			if first == "" {
				first = v.Reason
			}
		default:
			return "", false
		}
	}
	return first, len(o) > 0
}

type writer struct {
	text      []byte
	undefined []Field
}

func (w *writer) value(path string, value any) {
	switch v := value.(type) {
	case float64:
		w.number(path, v)
	case int:
		w.text = strconv.AppendInt(w.text, int64(v), 10)
	case int64:
		w.text = strconv.AppendInt(w.text, v, 10)
	case bool:
		w.text = strconv.AppendBool(w.text, v)
	case string:
		w.text = append(w.text, quote(v)...)
	case jsontext.Value:
		w.text = append(w.text, v...)
	case Undefined:
		w.null(path, v.Reason)
	case Object:
		w.object(path, v)
	default:
		w.list(path, reflect.ValueOf(value))
	}
}

// list writes a slice or an array of values that have a form.
func (w *writer) list(path string, items reflect.Value) {
	if k := items.Kind(); k != reflect.Slice && k != reflect.Array {
		panic(fmt.Sprintf("eval: a value of type %s has no form in JSON", items.Type()))
	}
	w.text = append(w.text, '[')
	for i := range items.Len() {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.value(below(path, strconv.Itoa(i)), items.Index(i).Interface())
	}
	w.text = append(w.text, ']')
}

func (w *writer) object(path string, o Object) {
	w.text = append(w.text, '{')
	for i, f := range o {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.text = append(append(w.text, quote(f.Name)...), ':')
		w.value(below(path, escape(f.Name)), f.Value)
	}
	w.text = append(w.text, '}')
}

func (w *writer) number(path string, x float64) {
	text, err := digest.Number(x)
	if err != nil {
		w.null(path, stat.NotApplicable)
		return
	}
	w.text = append(w.text, text...)
}

func (w *writer) null(path string, why stat.Reason) {
	w.text = append(w.text, "null"...)
	w.undefined = append(w.undefined, Field{path, string(why)})
}

func below(path, step string) string {
	if path == "" {
		return step
	}
	return path + "/" + step
}
