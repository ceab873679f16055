package eval

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
		bad := Errorf(UnknownFunction, []any{"fn"}, "there is no function %q: lab stats list shows all", req.Function)
		return Refusal(req.ID, bad), bad
	}
	value, bad := f.answer(req.Function, req.Inputs)
	if bad != nil {
		return Refusal(req.ID, bad), bad
	}
	return Answer(req.ID, value), nil
}

// Run answers every line of in, in order, by calling answer, and says how many of them
// were errors. wait is called when no further line has arrived yet. A read that blocks
// cannot be interrupted: when ctx ends, Run returns and leaves the reading goroutine to
// the end of the process.
func (t *Table) Run(ctx context.Context, in io.Reader, answer func(text []byte), wait func() error) (lines, failed int, err error) {
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
