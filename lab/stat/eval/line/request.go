package line

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBytes is the longest line that is read.
const MaxBytes = 16 << 20

// Request is one line: the function's name, its inputs, and an id to be echoed.
type Request struct {
	ID       jsontext.Value // nil if there is none
	Function string
	Inputs   *Inputs
}

// Parse reads a line. Names must be unique and text valid UTF-8. With an error there
// may still be a Request, for the sake of its ID.
func Parse(text []byte) (*Request, *Error) {
	members, bad := object(text)
	if bad != nil {
		return nil, bad
	}
	req := &Request{ID: members.find("id")}
	for _, m := range members {
		if m.name != "id" && m.name != "fn" && m.name != "inputs" {
			return req, Errorf(UnknownInput, []any{m.name}, "%q is not a member of a request: write fn, inputs and, if you like, id", m.name)
		}
	}
	fn, inputs := members.find("fn"), members.find("inputs")
	switch {
	case fn == nil:
		return req, Errorf(MissingInput, []any{"fn"}, "fn, the name of the function, is missing")
	case fn.Kind() != '"':
		return req, Errorf(InvalidArgument, []any{"fn"}, "fn must be the name of a function")
	}
	name, _ := jsontext.AppendUnquote(nil, fn) // it was read strictly before
	req.Function = string(name)
	switch {
	case inputs == nil:
		return req, Errorf(MissingInput, []any{"inputs"}, "inputs is missing: write {} for none")
	case inputs.Kind() != '{':
		return req, Errorf(InvalidArgument, []any{"inputs"}, "inputs must be an object")
	}
	list, bad := object(inputs)
	if bad != nil {
		return req, bad
	}
	req.Inputs = &Inputs{members: list}
	return req, nil
}

type member struct {
	name  string
	value jsontext.Value
}

type members []member

func (m members) find(name string) jsontext.Value {
	for _, x := range m {
		if x.name == name {
			return x.value
		}
	}
	return nil
}

// object reads the members of one JSON object, in their order, and nothing behind it.
func object(text []byte) (members, *Error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	t, err := d.ReadToken()
	if err != nil {
		return nil, invalid(err)
	}
	if t.Kind() != '{' {
		return nil, &Error{InvalidJSON, "a line is one JSON object", ""}
	}
	out := members{}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, invalid(err)
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, invalid(err)
		}
		out = append(out, member{name, v.Clone()})
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, invalid(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &Error{InvalidJSON, "there is something behind the object", ""}
	}
	return out, nil
}

func invalid(err error) *Error {
	var bad *jsontext.SyntacticError
	if errors.As(err, &bad) {
		return &Error{InvalidJSON, bad.Err.Error(), string(bad.JSONPointer)}
	}
	if errors.Is(err, io.EOF) {
		return &Error{InvalidJSON, "the line is empty", ""}
	}
	return &Error{InvalidJSON, err.Error(), ""}
}
