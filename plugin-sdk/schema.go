package sdk

import (
	"bytes"
	"encoding/json"
)

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
	var properties, schema object
	for i := range p.fields {
		properties.add(p.fields[i].name, p.fields[i].schema())
	}
	schema.add("$schema", encode("https://json-schema.org/draft/2020-12/schema"))
	schema.add("type", encode("object"))
	schema.add("properties", properties.end())
	schema.add("additionalProperties", encode(false))
	return schema.end()
}

// Defaults is a JSON object of every parameter's default.
func (p Params[P]) Defaults() json.RawMessage {
	var o object
	for _, f := range p.fields {
		o.add(f.name, encode(f.initial))
	}
	return o.end()
}

func (f *field) schema() json.RawMessage {
	var o object
	o.add("type", encode(f.kind))
	if f.title != "" {
		o.add("title", encode(f.title))
	}
	if f.doc != "" {
		o.add("description", encode(f.doc))
	}
	o.add("default", encode(f.initial))
	if len(f.enum) > 0 {
		o.add("enum", encode(f.enum))
	}
	if f.low != nil {
		o.add(pick(f.above, "exclusiveMinimum", "minimum"), encode(*f.low))
	}
	if f.high != nil {
		o.add(pick(f.below, "exclusiveMaximum", "maximum"), encode(*f.high))
	}
	o.add("x-ui", f.form())
	if s := f.searchSpace(); s != nil {
		o.add("x-search", s)
	}
	return o.end()
}

func (f *field) form() json.RawMessage {
	var o object
	o.add("order", encode(f.order))
	if f.group != "" {
		o.add("group", encode(f.group))
	}
	if f.unit != "" {
		o.add("unit", encode(f.unit))
	}
	if f.step != nil {
		o.add("step", encode(*f.step))
	}
	return o.end()
}

// searchSpace is nil for what cannot or shall not be searched.
func (f *field) searchSpace() json.RawMessage {
	var o object
	low, high := f.searchBounds()
	switch {
	case f.search.off:
		return nil
	case len(f.enum) > 0:
		o.add("choices", encode(f.enum))
	case f.kind == "boolean":
		o.add("choices", encode([]bool{false, true}))
	case low == nil || high == nil:
		return nil
	default:
		o.add("low", encode(*low))
		o.add("high", encode(*high))
		if f.step != nil {
			o.add("step", encode(*f.step))
		}
		if f.search.log {
			o.add("log", encode(true))
		}
	}
	return o.end()
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
