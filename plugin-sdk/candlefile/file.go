// Package candlefile reads and writes the column file in which candles rest: one
// symbol and timeframe, immutable, the same bytes for the same candles.
//
// A file is a header of 64 bytes and six whole columns, all little-endian:
//
//	 0  "ASSAYCDL"
//	 8  uint32 version 1
//	12  uint32 header size 64
//	16  uint64 rows, at least 1
//	24  int64 first and 32 int64 last open time, Unix milliseconds
//	40  timeframe in ASCII, padded with zeros to 8
//	48  uint32 CRC-32C of the bytes from 64 to the end
//	52  uint32 flags 0
//	56  uint32 reserved 0
//	60  uint32 CRC-32C of the bytes 0 to 59
//	64  open time int64, then open, high, low, close, volume float64
//
// Times strictly ascend, prices are finite and above zero, volumes are finite, not
// negative and never -0. Every Open checks all of it, so that a changed byte is
// found before a strategy sees it; what is wrong comes back as a *CorruptError.
//
// The host writes these files into its candle store and hands their paths to the
// plugin processes; both sides map them read-only and look at the columns in
// place. The symbol is not part of the file: who asks for the Series knows it.
//
// The package imports market and nothing else of this module.
package candlefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// CorruptError is why a file is no candle file. Path is empty for
// candles in memory.
type CorruptError struct {
	Path   string
	Reason string
}

// Error names the file and the reason.
func (e *CorruptError) Error() string {
	if e.Path == "" {
		return "corrupt candle file: " + e.Reason
	}
	return fmt.Sprintf("corrupt candle file %s: %s", e.Path, e.Reason)
}

// File is an open, checked candle file. Its methods may be called from several
// goroutines, but none after Close, and no Series of it may be touched after Close.
type File struct {
	data      []byte
	candles   *market.Series
	release   func() error
	hash      func() string
	closeOnce sync.Once
	closeErr  error
}

// Open maps the file read-only and checks header, checksum and values. A file that
// fails a check gives a *CorruptError; one that cannot be read, the error of the
// operating system. The file must not be changed or cut while it is open.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &CorruptError{Path: path, Reason: "not a regular file"}
	}
	if info.Size() < headerSize+rowSize {
		return nil, &CorruptError{Path: path,
			Reason: fmt.Sprintf("%d bytes are too few for one candle", info.Size())}
	}
	if info.Size() != int64(int(info.Size())) {
		return nil, &CorruptError{Path: path, Reason: "larger than this machine can map"}
	}
	data, release, err := mapFile(f, int(info.Size()))
	if err != nil {
		return nil, err
	}
	return newFile(path, data, release)
}

// Decode checks candles in memory, with the same errors as Open. The Series aliases b.
func Decode(b []byte) (*File, error) {
	return newFile("", b, func() error { return nil })
}

// Map opens the file at path and gives its rows [first, first+rows), which is how a
// plugin gets at the candles that the host names. The Series lives until the File is
// closed; its Symbol is for the caller to set.
func Map(path string, first, rows int) (*File, *market.Series, error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	s := f.Series()
	if first < 0 || rows < 1 || first > s.Len() || rows > s.Len()-first {
		_ = f.Close()
		return nil, nil,
			fmt.Errorf("rows %d to %d are outside of %s, which has %d", first, first+rows-1, path, s.Len())
	}
	return f, s.Slice(first, first+rows), nil
}

func newFile(path string, data []byte, release func() error) (*File, error) {
	candles, err := check(data)
	if err != nil {
		_ = release()
		return nil, &CorruptError{Path: path, Reason: err.Error()}
	}
	return &File{
		data: data, candles: candles, release: release,
		hash: sync.OnceValue(func() string {
			sum := sha256.Sum256(data)
			return hex.EncodeToString(sum[:])
		}),
	}, nil
}

// check is everything that makes bytes a candle file.
func check(data []byte) (*market.Series, error) {
	h, tf, err := decodeHeader(data, int64(len(data)))
	if err != nil {
		return nil, err
	}
	s := series(data[headerSize:], int(h.Rows), tf)
	crc, objection := checkBody(s, data[headerSize:])
	if crc != h.ColumnsCRC {
		return nil, errors.New("checksum of the columns does not match")
	}
	if objection != nil {
		return nil, objection
	}
	if s.Time[0] != h.First || s.Time[s.Len()-1] != h.Last {
		return nil, errors.New("first or last open time differs from the header")
	}
	return s, nil
}

// Series is the candles; Symbol is for the caller to set. Where the machine's byte
// order allows, the columns are the mapped file itself: read-only, gone after Close.
func (f *File) Series() *market.Series {
	s := *f.candles
	return &s
}

// Size is the length of the file in bytes.
func (f *File) Size() int64 { return int64(len(f.data)) }

// SHA256 of the whole file in lower-case hex, computed on the first call.
func (f *File) SHA256() string { return f.hash() }

// Close gives the mapping back. Further calls change nothing and answer the same.
func (f *File) Close() error {
	f.closeOnce.Do(func() { f.closeErr = f.release() })
	return f.closeErr
}

// RowError names a candle of a Series that cannot be written.
type RowError struct {
	Row    int
	Reason string
}

// Error names the row, counted from 0.
func (e *RowError) Error() string { return fmt.Sprintf("candle %d: %s", e.Row, e.Reason) }

// Write validates the candles and writes their file. Equal candles of one timeframe
// give equal bytes, whatever their symbol. Nothing is written when a candle is refused.
func Write(w io.Writer, s *market.Series) error {
	if err := Validate(s); err != nil {
		return err
	}
	cols := [columns][]byte{
		toBytes(s.Time), toBytes(s.Open), toBytes(s.High), toBytes(s.Low), toBytes(s.Close),
		toBytes(s.Volume),
	}
	crc := uint32(0)
	for _, c := range cols {
		crc = crc32.Update(crc, castagnoli(), c)
	}
	if _, err := w.Write(newHeader(s, crc).encode()); err != nil {
		return err
	}
	for _, c := range cols {
		if _, err := w.Write(c); err != nil {
			return err
		}
	}
	return nil
}

// Encode is Write into memory.
func Encode(s *market.Series) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(headerSize + s.Len()*rowSize)
	if err := Write(&b, s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Create writes the candles into a new file, for short-lived ones: nothing is synced
// to disk. An existing file is refused, and a failed attempt leaves none.
func Create(path string, s *market.Series) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	return Write(f, s)
}
