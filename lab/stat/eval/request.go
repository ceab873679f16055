package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Code says what is wrong with a request.
type Code string

// The codes.
const (
	// InvalidJSON: the line is not one strict JSON object.
	InvalidJSON     Code = "INVALID_JSON"
	UnknownFunction Code = "UNKNOWN_FUNCTION"
	MissingInput    Code = "MISSING_INPUT"
	UnknownInput    Code = "UNKNOWN_INPUT"
	// InvalidArgument: an input has the wrong type or is outside the domain.
	InvalidArgument Code = "INVALID_ARGUMENT"
	// UnsupportedInput: a request that makes sense and is not computed here.
	UnsupportedInput Code = "UNSUPPORTED_INPUT"
)

// Error is the answer to a request that cannot be computed. Pointer is the JSON pointer
// into the line of what is wrong, "" for the whole of it.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
}

// Error is the code with the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an Error for a place in the line, given as the names and indices that
// lead to it.
func Errorf(code Code, path []any, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...), pointer(path)}
}

func pointer(path []any) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(escape(fmt.Sprint(step)))
	}
	return b.String()
}

// escape is a name in a JSON pointer (RFC 6901).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// MaxBytes is the longest line that is read.
const MaxBytes = 16 << 20

// request is one line: the function's name, its inputs, and an id to be echoed.
type request struct {
	ID       jsontext.Value // nil if there is none
	Function string
	Inputs   members
}

// parse reads a line. Names must be unique and text valid UTF-8. With an error there
// may still be a request, for the sake of its ID.
func parse(text []byte) (*request, *Error) {
	members, bad := object(text)
	if bad != nil {
		return nil, bad
	}
	req := &request{ID: members.find("id")}
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
	req.Inputs = list
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
