package importer

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// Input is one file to read.
type Input struct {
	// Name for messages and the report, without folder.
	Name string
	// Size in bytes, for the progress; 0 if unknown.
	Size int64
	Open func() (io.ReadCloser, error)
}

// File is the Input at a path.
func File(path string) (Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Input{}, err
	}
	if info.IsDir() {
		return Input{}, &os.PathError{Op: "import", Path: path, Err: errors.New("is a folder")}
	}
	return Input{
		Name: filepath.Base(path), Size: info.Size(),
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}, nil
}

// The limits of one import, and of a line.
const (
	maxBytes  = 8 << 30
	maxRows   = 100_000_000
	maxLine   = 1 << 20
	blockSize = 256 << 10
)

// source is an open file: unpacked, cut into blocks of whole lines, hashed on the way.
type source struct {
	name   string
	closer io.Closer
	raw    *meter
	text   io.Reader
	buf    []byte
	// buf[start:end] is read and not yet handed out.
	start, end   int
	begun, ended bool
	read         int64 // unpacked bytes so far
	line         int   // of the first line of the next block
}

// meter counts and hashes what is read through it.
type meter struct {
	r    io.Reader
	sum  hash.Hash
	read int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.read += int64(n)
	m.sum.Write(p[:n])
	return n, err
}

func openSource(in Input) (*source, error) {
	f, err := in.Open()
	if err != nil {
		return nil, err
	}
	s := &source{name: in.Name, closer: f, raw: &meter{r: f, sum: sha256.New()}, buf: make([]byte, blockSize), line: 1}
	head := bufio.NewReaderSize(s.raw, 64<<10)
	s.text = head
	begin, err := head.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		if s.text, err = gzip.NewReader(head); err != nil {
			return nil, errors.Join(s.unpackError(err), f.Close())
		}
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}), bytes.HasPrefix(begin, []byte{0xfe, 0xff}):
		e := refuse(Encoding, "the file is UTF-16: save it as UTF-8")
		e.add(in.Name, 1, "")
		return nil, errors.Join(e, f.Close())
	}
	return s, nil
}

func (s *source) unpackError(err error) error {
	var flateError flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &flateError) {
		e := refuse(Encoding, "the gzip file is damaged or cut short: %v", err)
		e.add(s.name, s.line, "")
		return e
	}
	return err
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
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
		s.begun = true
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) {
		return nil, s.encodingError(b)
	}
	return b, nil
}

// encodingError finds the line that is not text.
func (s *source) encodingError(b []byte) error {
	e := refuse(Encoding, "the file is not UTF-8 text")
	line := s.line
	for l := range bytes.Lines(b) {
		if bytes.IndexByte(l, 0) >= 0 || !utf8.Valid(l) {
			if e.add(s.name, line, string(l)) {
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
			e := refuse(Encoding, "a line of more than %d bytes: this is not a table of candles", maxLine)
			e.add(s.name, s.line, string(s.buf[:maxCaseText]))
			return e
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for s.end < len(s.buf) && !s.ended {
		n, err := s.text.Read(s.buf[s.end:])
		s.end += n
		s.read += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			s.ended = true
		case err != nil:
			return s.unpackError(err)
		}
	}
	if s.read > maxBytes {
		return refuse(TooLarge, "%s is larger than 8 GiB: import it in parts with --merge", s.name)
	}
	return nil
}

// finish reads what a decompressor has left, so that the hash is that of the whole
// file, and closes it.
func (s *source) finish() (FileReport, error) {
	_, err := io.Copy(io.Discard, s.raw)
	return FileReport{Name: s.name, SHA256: hex.EncodeToString(s.raw.sum.Sum(nil)), Bytes: s.raw.read}, errors.Join(err, s.closer.Close())
}
