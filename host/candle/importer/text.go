package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/assay-run/assay/host/candle/importer/profile"
	"github.com/assay-run/assay/host/candle/importer/refusal"
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

// text reads a file of lines into the table. read says how much of the packed file is
// behind us.
func (r *run) text(ctx context.Context, name, packed string, f *bufio.Reader, read func() int64) (err error) {
	r.start(name)
	if r.src, err = openSource(name, packed, f, r.spend); err != nil {
		return err
	}
	return r.end(r.blocks(ctx, read))
}

// spend counts unpacked bytes, of all files together.
func (r *run) spend(n int) error {
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

// notText refuses what is better told now than as a byte that is no letter.
func notText(name string, begin []byte, packed bool) error {
	table := "Feather and Parquet are not read here: lab data import does"
	if packed {
		table = "Feather and Parquet are read as they are, not inside a packed file: unpack it"
	}
	for _, k := range []struct{ magic, message string }{
		{"\xff\xfe", "the file is UTF-16: save it as UTF-8"},
		{"\xfe\xff", "the file is UTF-16: save it as UTF-8"},
		{"PK\x03\x04", "a packed file inside a packed file (a spreadsheet is one, too): unpack it, or save it as CSV"},
		{"\x1f\x8b", "the file is packed twice: unpack it"},
		{"ARROW1", table},
		{"PAR1", table},
		{"FEA1", "Feather version 1 is not read: save the table as Feather version 2, Parquet or CSV"},
		{"\xd0\xcf\x11\xe0", "the file is an old spreadsheet: save it as CSV"},
		{"SQLite format 3", "the file is a database: export the candles as CSV"},
	} {
		if bytes.HasPrefix(begin, []byte(k.magic)) {
			return refusal.New(refusal.Encoding, "%s", k.message).At(name, 1, "")
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
	h := profile.NewHead(r.src.name, block)
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
	r.reserve(block)
	return block, true, nil
}

// reserve makes room for the whole file, estimated from the first block.
func (r *run) reserve(block []byte) {
	lines := bytes.Count(block, []byte("\n"))
	if lines == 0 || r.src.packed != "" || r.src.json {
		return // packed: the size says little
	}
	rows := int64(float64(r.total-r.done) / float64(len(block)) * float64(lines) * 1.1)
	r.table.grow(int(min(rows, int64(r.opts.maxRows()))))
}

// next is the next block: whole lines, all valid UTF-8. At the end of the file the
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
	e := refusal.New(refusal.Encoding, "the file is not UTF-8 text")
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
			return refusal.New(refusal.Encoding, "a line of more than %d bytes: this is not a table of candles", maxLine).
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
