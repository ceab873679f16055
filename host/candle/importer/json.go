package importer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/candle/importer/refusal"
)

// jsonRows turns an array of arrays into lines of cells, one a row, so that the line of
// a case is its row. It holds one row at a time.
type jsonRows struct {
	name string
	dec  *jsontext.Decoder
	in   *leash
	line []byte // what is left of the row to be read
	row  int    // from 1
	open bool   // the outer array has begun
}

func newJSONRows(name string, f *bufio.Reader) *jsonRows {
	if begin, err := f.Peek(len(utf8Mark)); err == nil && bytes.Equal(begin, utf8Mark) {
		_, _ = f.Discard(len(utf8Mark)) // it is in the buffer
	}
	in := &leash{r: f, left: 2 * maxLine}
	return &jsonRows{name: name, dec: jsontext.NewDecoder(in), in: in}
}

// leash lets go of so many bytes a row: the decoder keeps a whole value in memory,
// however long it is.
type leash struct {
	r       io.Reader
	left    int
	tooLong bool
}

var errTooLong = errors.New("a row without end")

func (l *leash) Read(p []byte) (int, error) {
	if l.left <= 0 {
		l.tooLong = true
		return 0, errTooLong
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// Read gives the next lines.
func (j *jsonRows) Read(p []byte) (n int, err error) {
	for len(j.line) == 0 {
		if err := j.next(); err != nil {
			return 0, err
		}
	}
	n = copy(p, j.line)
	j.line = j.line[n:]
	return n, nil
}

// next reads one row.
func (j *jsonRows) next() error {
	if !j.open {
		if err := j.want('['); err != nil {
			return err
		}
		j.open = true
	}
	j.row++
	if j.dec.PeekKind() == ']' {
		return j.finish()
	}
	if err := j.want('['); err != nil {
		return err
	}
	j.line = j.line[:0]
	for {
		t, err := j.dec.ReadToken()
		if err != nil {
			return j.broken(err)
		}
		switch t.Kind() {
		case ']':
			j.line = append(j.line, '\n')
			j.in.left = 2 * maxLine
			return nil
		case '[', '{':
			return j.notRows("a value of the row is an array or object")
		}
		if len(j.line) > 0 {
			j.line = append(j.line, ',')
		}
		cell := t.String()
		if strings.ContainsAny(cell, ",\"\n\r") {
			return j.notRows("a value of the row is text with commas, quotes or lines")
		}
		j.line = append(j.line, cell...)
	}
}

// finish wants nothing behind the outer array.
func (j *jsonRows) finish() error {
	if _, err := j.dec.ReadToken(); err != nil {
		return j.broken(err)
	}
	switch _, err := j.dec.ReadToken(); {
	case err == nil:
		return j.damaged("there is more behind the array")
	case !errors.Is(err, io.EOF):
		return j.broken(err)
	}
	return io.EOF
}

// want reads the begin of an array.
func (j *jsonRows) want(kind jsontext.Kind) error {
	t, err := j.dec.ReadToken()
	if err != nil {
		return j.broken(err)
	}
	if t.Kind() != kind {
		return j.notRows("it has a " + t.Kind().String() + " where a row should be")
	}
	return nil
}

func (j *jsonRows) notRows(what string) error {
	return refusal.New(refusal.ColumnsRequired, "JSON is read as [[ms,open,high,low,close,volume],...] only: %s", what).At(j.name, max(j.row, 1), "")
}

// broken tells a file that is no JSON from one that could not be read.
func (j *jsonRows) broken(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case j.in.tooLong:
		return refusal.New(refusal.Encoding, "a row of more than %d bytes: these are no candles", maxLine).At(j.name, max(j.row, 1), "")
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return j.damaged(strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	return err
}

func (j *jsonRows) damaged(what string) error {
	return refusal.New(refusal.Encoding, "the JSON is damaged or cut short: %s", what).At(j.name, max(j.row, 1), "")
}
