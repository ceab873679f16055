package candlefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// CorruptError says why a file is not what a candle file must be. Path is empty for
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
		return nil, &CorruptError{Path: path, Reason: fmt.Sprintf("%d bytes are too few for one candle", info.Size())}
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
		return nil, nil, fmt.Errorf("rows %d to %d are outside of %s, which has %d", first, first+rows-1, path, s.Len())
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
	h, err := decodeHeader(data, int64(len(data)))
	if err != nil {
		return nil, err
	}
	s := series(data[headerSize:], h.rows, h.timeframe)
	crc, objection := checkBody(s, data[headerSize:])
	if crc != h.columnsCRC {
		return nil, errors.New("checksum of the columns does not match")
	}
	if objection != nil {
		return nil, objection
	}
	if s.Time[0] != h.first || s.Time[h.rows-1] != h.last {
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
