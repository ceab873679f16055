package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxLine   = 1 << 20
	blockSize = 256 << 10
)

var utf8Mark = []byte("\xef\xbb\xbf")

// source is an open text: unpacked, cut into blocks of whole lines.
type source struct {
	name   string
	packed string // as what, for messages; empty: not
	json   bool
	text   io.Reader
	buf    []byte
	// buf[start:end] is read and not yet handed out.
	start, end   int
	begun, ended bool
	line         int // of the first line of the next block
	// spend takes what has been unpacked from what may be.
	spend func(n int) error
}

// text reads a file of lines into the table. read is how much of the packed file is
// behind us.
func (r *run) text(ctx context.Context, name, packed string, f *bufio.Reader, read func() int64) (err error) {
	r.startSource(name)
	if r.src, err = openSource(name, packed, f, r.countUnpacked); err != nil {
		return err
	}
	return r.endSource(r.blocks(ctx, read))
}

// countUnpacked counts unpacked bytes, of all files together.
func (r *run) countUnpacked(n int) error {
	if r.unpacked += int64(n); r.unpacked > r.opts.maxBytes() {
		return r.opts.tooManyBytes(r.sources[r.index])
	}
	return nil
}

// openSource looks at the first bytes of a text: gzip, JSON, or something else.
func openSource(name, packed string, f *bufio.Reader, spend func(int) error) (*source, error) {
	s := &source{name: name, packed: packed, text: f, buf: make([]byte, blockSize), line: 1, spend: spend}
	begin, err := f.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, damaged(name, packed, err)
	}
	if bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, damaged(name, "gzip", err)
		}
		f = bufio.NewReaderSize(z, 64<<10)
		s.text, s.packed = f, "gzip"
		if begin, err = f.Peek(512); err != nil && !errors.Is(err, io.EOF) {
			return nil, damaged(name, s.packed, err)
		}
	}
	if err := notText(name, begin, s.packed != ""); err != nil {
		return nil, err
	}
	begin = bytes.TrimLeft(bytes.TrimPrefix(begin, utf8Mark), " \t\r\n")
	if len(begin) > 0 && (begin[0] == '[' || begin[0] == '{') {
		s.text, s.json = newJSONRows(name, f), true
	}
	return s, nil
}

// notText refuses what is better refused now than as a byte that is no letter.
func notText(name string, begin []byte, packed bool) error {
	table := "Feather and Parquet are not read here: lab data import does"
	if packed {
		table = "Feather and Parquet are read as they are, not inside a packed file: unpack it"
	}
	for _, k := range []struct{ magic, message string }{
		{"\xff\xfe", "the file is UTF-16: save it as UTF-8"},
		{"\xfe\xff", "the file is UTF-16: save it as UTF-8"},
		{"PK\x03\x04",
			"a packed file inside a packed file (a spreadsheet is one, too): unpack it, or save it as CSV"},
		{"\x1f\x8b", "the file is packed twice: unpack it"},
		{"ARROW1", table},
		{"PAR1", table},
		{"FEA1", "Feather version 1 is not read: save the table as Feather version 2, Parquet or CSV"},
		{"\xd0\xcf\x11\xe0", "the file is an old spreadsheet: save it as CSV"},
		{"SQLite format 3", "the file is a database: export the candles as CSV"},
	} {
		if bytes.HasPrefix(begin, []byte(k.magic)) {
			return Refuse(Encoding, "%s", k.message).At(name, 1, "")
		}
	}
	return nil
}

// blocks reads the file block by block.
func (r *run) blocks(ctx context.Context, read func() int64) error {
	begun := false
	for {
		block, err := r.src.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !begun {
			if block, begun, err = r.begin(block); err != nil {
				return err
			}
		}
		if err := r.rows(block); err != nil {
			return err
		}
		if r.report.RowsRead > r.opts.maxRows() {
			return r.opts.tooManyRows()
		}
		r.progress(read())
	}
}

// begin recognises the format from the first block that is not blank and returns the
// block behind the header.
func (r *run) begin(block []byte) (rest []byte, begun bool, err error) {
	h := NewHead(r.src.name, block)
	h.JSON = r.src.json
	if len(h.Lines) == 0 {
		r.src.line += h.Blank
		return nil, false, nil
	}
	if err := r.recognise(h); err != nil {
		return nil, true, err
	}
	for range h.Blank + r.layout.Skip {
		_, block, _ = bytes.Cut(block, []byte("\n"))
		r.src.line++
	}
	r.reserveRows(block)
	return block, true, nil
}

// reserveRows makes room for the whole file, estimated from the first block.
func (r *run) reserveRows(block []byte) {
	lines := bytes.Count(block, []byte("\n"))
	if lines == 0 || r.src.packed != "" || r.src.json {
		return // packed: the size means little
	}
	rows := int64(float64(r.total-r.done) / float64(len(block)) * float64(lines) * 1.1)
	r.table.grow(int(min(rows, int64(r.opts.maxRows()))))
}

// next returns the next block: whole lines, all valid UTF-8. At the end of the file the
// error is io.EOF. The block lives until the following call.
func (s *source) next() ([]byte, error) {
	for {
		if cut := bytes.LastIndexByte(s.buf[s.start:s.end], '\n'); cut >= 0 {
			return s.handOut(cut + 1)
		}
		if s.ended {
			if s.start == s.end {
				return nil, io.EOF
			}
			return s.handOut(s.end - s.start)
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

func (s *source) handOut(n int) ([]byte, error) {
	b := s.buf[s.start : s.start+n]
	s.start += n
	if !s.begun {
		b = bytes.TrimPrefix(b, utf8Mark)
		s.begun = true
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) {
		return nil, s.encodingError(b)
	}
	return b, nil
}

// encodingError finds the line that is not text.
func (s *source) encodingError(b []byte) error {
	e := Refuse(Encoding, "the file is not UTF-8 text")
	line := s.line
	for l := range bytes.Lines(b) {
		if bytes.IndexByte(l, 0) >= 0 || !utf8.Valid(l) {
			if e.Add(s.name, line, string(l)) {
				break
			}
		}
		line++
	}
	return e
}

// fill fills the buffer behind what is left of the last block.
func (s *source) fill() error {
	copy(s.buf, s.buf[s.start:s.end])
	s.start, s.end = 0, s.end-s.start
	if s.end == len(s.buf) {
		if len(s.buf) >= maxLine {
			return Refuse(Encoding, "a line of more than %d bytes: this is not a table of candles", maxLine).
				At(s.name, s.line, string(s.buf[:256]))
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for s.end < len(s.buf) && !s.ended {
		n, err := s.text.Read(s.buf[s.end:])
		s.end += n
		switch {
		case errors.Is(err, io.EOF):
			s.ended = true
		case err != nil:
			return damaged(s.name, s.packed, err)
		}
		if err := s.spend(n); err != nil {
			return err
		}
	}
	return nil
}

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
		if err := j.expect('['); err != nil {
			return err
		}
		j.open = true
	}
	j.row++
	if j.dec.PeekKind() == ']' {
		return j.finish()
	}
	if err := j.expect('['); err != nil {
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

// finish refuses anything behind the outer array.
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

// expect reads the begin of an array.
func (j *jsonRows) expect(kind jsontext.Kind) error {
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
	return Refuse(ColumnsRequired, "JSON is read as [[ms,open,high,low,close,volume],...] only: %s",
		what).At(j.name, max(j.row, 1), "")
}

// broken distinguishes a file that is no JSON from one that could not be read.
func (j *jsonRows) broken(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case j.in.tooLong:
		return Refuse(Encoding, "a row of more than %d bytes: these are not candles", maxLine).At(j.name,
			max(j.row, 1), "")
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return j.damaged(strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	return err
}

func (j *jsonRows) damaged(what string) error {
	return Refuse(Encoding, "the JSON is damaged or cut short: %s", what).At(j.name, max(j.row, 1), "")
}
