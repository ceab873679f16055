// Package eval is the table of all statistics: their identifiers, their inputs, what they
// give, and the code that does it. `lab stats list` prints the table, `lab stats eval`
// answers from it, and so nothing can be computed that is not listed.
//
// To add a function, copy a neighbour in the file of its group: define takes the identifier,
// the value, one line of documentation, and a function whose argument is a struct. The
// struct's tags are the inputs and their domains (function.go); the function runs when all
// inputs fit. A request is one line of strict JSON, and so is its answer, in
// which nothing is NaN or infinite: what is undefined is null, with the reason beside it
// (answer.go).
//
// The package may import everything below stat, packages split and design, digest, metric
// and the market nouns. It reads no clock and no file; Run has one goroutine, which reads.
package eval

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/base/digest"
)

// Table answers requests. It is safe for concurrent use.
type Table struct{ functions map[string]*Function }

// New is the table of All.
func New() *Table {
	t := &Table{map[string]*Function{}}
	for _, f := range All() {
		for _, name := range slices.Concat(f.Names, f.also) {
			t.functions[name] = &f
		}
	}
	return t
}

// Line answers one request, without the end of the  The error, nil if there is a
// value, is in the answer already.
func (t *Table) Line(text []byte) ([]byte, *Error) {
	req, bad := parse(text)
	if bad != nil {
		if req == nil {
			return Refusal(nil, bad), bad
		}
		return Refusal(req.ID, bad), bad
	}
	f, known := t.functions[req.Function]
	if !known {
		bad := Errorf(UnknownFunction, []any{"fn"}, "there is no function %q: lab stats list shows all",
			req.Function)
		return Refusal(req.ID, bad), bad
	}
	value, bad := f.answer(req.Function, req.Inputs)
	if bad != nil {
		return Refusal(req.ID, bad), bad
	}
	return Answer(req.ID, value), nil
}

// Run answers every line of in, in order, by calling answer, and returns how many of them
// were errors. wait is called when no further line has arrived yet. A read that blocks
// cannot be interrupted: when ctx ends, Run returns and leaves the reading goroutine to
// the end of the process.
func (t *Table) Run(ctx context.Context, in io.Reader, answer func(text []byte),
	wait func() error) (lines, failed int, err error) {
	arrived := make(chan read)
	go readLines(ctx, bufio.NewReaderSize(in, 1<<16), arrived)
	for {
		var next read
		select {
		case next = <-arrived:
		default:
			if err := wait(); err != nil {
				return lines, failed, err
			}
			select {
			case next = <-arrived:
			case <-ctx.Done():
				return lines, failed, ctx.Err()
			}
		}
		switch {
		case ctx.Err() != nil:
			return lines, failed, ctx.Err()
		case errors.Is(next.err, io.EOF):
			return lines, failed, wait()
		case next.err != nil:
			return lines, failed, next.err
		}
		text, bad := t.answer(next)
		answer(text)
		if lines++; bad != nil {
			failed++
		}
	}
}

func (t *Table) answer(r read) ([]byte, *Error) {
	if r.tooLong {
		bad := &Error{Code: UnsupportedInput, Message: fmt.Sprintf("a line has at most %d bytes", MaxBytes)}
		return Refusal(nil, bad), bad
	}
	return t.Line(r.text)
}

// read is a line, or why there are no more.
type read struct {
	text    []byte
	tooLong bool
	err     error
}

// readLines sends the lines of in and then an error, until ctx ends.
func readLines(ctx context.Context, in *bufio.Reader, out chan<- read) {
	for {
		r := readLine(in)
		select {
		case out <- r:
		case <-ctx.Done():
			return
		}
		if r.err != nil {
			return
		}
	}
}

// readLine reads to the next line feed, or to the end. Of a line that is too long nothing
// is kept.
func readLine(in *bufio.Reader) read {
	var r read
	for {
		part, err := in.ReadSlice('\n')
		if !r.tooLong {
			r.text = append(r.text, part...)
		}
		if len(bytes.TrimRight(r.text, "\r\n")) > MaxBytes {
			r.text, r.tooLong = nil, true
		}
		switch {
		case err == nil:
			return r
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (len(r.text) > 0 || r.tooLong):
			return r
		default:
			return read{err: err}
		}
	}
}

// Code is what is wrong with a request.
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
		b.WriteString(digest.PointerStep(fmt.Sprint(step)))
	}
	return b.String()
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
			return req, Errorf(UnknownInput, []any{m.name},
				"%q is not a member of a request: write fn, inputs and, if you like, id", m.name)
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
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(false),
		jsontext.AllowInvalidUTF8(false))
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
