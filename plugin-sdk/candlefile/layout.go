package candlefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"sync"
	"unsafe"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	magic      = "ASSAYCDL"
	version    = 1
	headerSize = 64
	columns    = 6
	valueSize  = 8
	rowSize    = columns * valueSize
)

// header is the first 64 bytes.
type header struct {
	Magic           [8]byte
	Version, Size   uint32
	Rows            uint64
	First, Last     market.Time
	Timeframe       [8]byte
	ColumnsCRC      uint32
	Flags, Reserved uint32
	CRC             uint32 // of what stands before it
}

func newHeader(s *market.Series, columnsCRC uint32) header {
	h := header{
		Magic: [8]byte([]byte(magic)), Version: version, Size: headerSize, Rows: uint64(s.Len()),
		First: s.Time[0], Last: s.Time[s.Len()-1], ColumnsCRC: columnsCRC,
	}
	copy(h.Timeframe[:], s.Timeframe.String())
	return h
}

// encode is the header with its checksum.
func (h header) encode() []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, h) // of fixed size
	return binary.LittleEndian.AppendUint32(b[:headerSize-4], crc32.Checksum(b[:headerSize-4], castagnoli()))
}

// decodeHeader reads the header of a file of the given size, and its timeframe. The order of the
// checks is that of the likely causes: not such a file, a newer one, a damaged one, a cut one.
func decodeHeader(b []byte, size int64) (h header, tf market.Timeframe, err error) {
	if _, err := binary.Decode(b, binary.LittleEndian, &h); err != nil {
		return h, tf, fmt.Errorf("%d bytes are too few for a header", len(b))
	}
	body := size - headerSize
	switch {
	case string(h.Magic[:]) != magic:
		err = errors.New("does not begin with " + magic)
	case h.Version != version:
		err = fmt.Errorf("version %d is not known, only %d is", h.Version, version)
	case h.Size != headerSize:
		err = fmt.Errorf("header size %d, want %d", h.Size, headerSize)
	case h.CRC != crc32.Checksum(b[:headerSize-4], castagnoli()):
		err = errors.New("header checksum does not match")
	case h.Flags != 0 || h.Reserved != 0:
		err = errors.New("flags or reserved field set")
	case h.Rows < 1 || body%rowSize != 0 || h.Rows != uint64(body/rowSize):
		err = fmt.Errorf("%d bytes do not hold %d rows", size, h.Rows)
	default:
		tf, err = decodeTimeframe(h.Timeframe[:])
	}
	return h, tf, err
}

// decodeTimeframe accepts the one spelling of every timeframe, so that equal candles
// have one file.
func decodeTimeframe(b []byte) (market.Timeframe, error) {
	name := bytes.TrimRight(b, "\x00")
	if bytes.IndexByte(name, 0) >= 0 {
		return market.Timeframe{}, errors.New("timeframe is not padded with zeros")
	}
	return market.ParseTimeframe(string(name))
}

// castagnoli is the table that hash/crc32 computes in hardware.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// value is what a column is made of: eight bytes each.
type value interface{ ~int64 | ~float64 }

// littleEndian reports whether memory has the byte order of the file, so that columns
// need no conversion.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// toBytes is a column as the file holds it. On little-endian machines the bytes
// alias the column.
func toBytes[T value](column []T) []byte {
	if len(column) == 0 {
		return nil
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&column[0])), len(column)*valueSize)
	if littleEndian() {
		return b
	}
	return swapped(b)
}

// fromBytes is the column that toBytes gave. It aliases b where byte order and
// alignment allow.
func fromBytes[T value](b []byte) []T {
	n := len(b) / valueSize
	if n == 0 {
		return nil
	}
	if !littleEndian() {
		b = swapped(b)
	}
	if uintptr(unsafe.Pointer(&b[0]))%valueSize != 0 {
		aligned := make([]T, n)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&aligned[0])), n*valueSize), b)
		return aligned
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// swapped is a copy of b with the bytes of every value in the other order.
func swapped(b []byte) []byte {
	out := make([]byte, len(b))
	for i := 0; i+valueSize <= len(b); i += valueSize {
		binary.BigEndian.PutUint64(out[i:], binary.LittleEndian.Uint64(b[i:]))
	}
	return out
}

// series is the columns of a file's body, which holds rows*rowSize bytes.
func series(body []byte, rows int, tf market.Timeframe) *market.Series {
	column := func(i int) []byte { return body[i*rows*valueSize : (i+1)*rows*valueSize] }
	return &market.Series{
		Timeframe: tf,
		Time:      fromBytes[market.Time](column(0)),
		Open:      fromBytes[float64](column(1)),
		High:      fromBytes[float64](column(2)),
		Low:       fromBytes[float64](column(3)),
		Close:     fromBytes[float64](column(4)),
		Volume:    fromBytes[float64](column(5)),
	}
}

// block is how many values are summed and judged at a time: few enough to stay in
// the processor's nearest cache between the two.
const block = 2048

// parallelFrom is the number of rows from which a second processor pays.
const parallelFrom = 1 << 16

// finding is what a walk over one stretch of the body saw: its checksum, its length
// in bytes, and the first objection to a value.
type finding struct {
	crc       uint32
	size      int
	objection error
}

// checkBody walks the columns once, checksum and values together, large files in a
// few stretches side by side. It returns the CRC-32C of the body and the first
// objection to a value, if any.
func checkBody(s *market.Series, body []byte) (uint32, error) {
	parts := 1
	if s.Len() >= parallelFrom {
		parts = min(runtime.GOMAXPROCS(0), 4)
	}
	found := make([]finding, parts)
	values := columns * s.Len()
	var wg sync.WaitGroup
	for i := 1; i < parts; i++ {
		wg.Go(func() { found[i] = checkStretch(s, body, values*i/parts, values*(i+1)/parts) })
	}
	found[0] = checkStretch(s, body, 0, values/parts)
	wg.Wait()

	crc, objection := found[0].crc, found[0].objection
	for _, f := range found[1:] {
		crc = joinCRC(crc, f.crc, f.size)
		if objection == nil {
			objection = f.objection
		}
	}
	return crc, objection
}

// checkStretch walks the values [from, to) of the body, counted over all columns.
func checkStretch(s *market.Series, body []byte, from, to int) finding {
	rows := s.Len()
	f := finding{size: (to - from) * valueSize}
	for from < to {
		column, row := from/rows, from%rows
		n := min(block, rows-row, to-from)
		f.crc = crc32.Update(f.crc, castagnoli(), body[from*valueSize:(from+n)*valueSize])
		if f.objection == nil {
			f.objection = checkColumn(s, column, row, row+n)
		}
		from += n
	}
	return f
}

// checkColumn judges the rows [from, to) of one column.
func checkColumn(s *market.Series, column, from, to int) error {
	if column == 0 {
		if i := unsorted(s.Time, from, to); i >= 0 {
			return &RowError{Row: i, Reason: "open times do not ascend"}
		}
		return nil
	}
	c := [...][]float64{s.Open, s.High, s.Low, s.Close, s.Volume}[column-1]
	if column == columns-1 {
		if i := badVolume(c, from, to); i >= 0 {
			return &RowError{Row: i,
				Reason: fmt.Sprintf("volume %v is not a finite number of zero or more", c[i])}
		}
		return nil
	}
	if i := badPrice(c, from, to); i >= 0 {
		name := [...]string{"open", "high", "low", "close"}[column-1]
		return &RowError{Row: i, Reason: fmt.Sprintf("%s %v is not a finite number above zero", name, c[i])}
	}
	return nil
}

// Validate reports whether s can be written: columns of equal length, at least one row,
// a timeframe, and every value as the file format requires. The error is a *RowError
// where one row is to blame.
func Validate(s *market.Series) error {
	n := s.Len()
	if n == 0 {
		return errors.New("no candles to write")
	}
	for _, c := range [][]float64{s.Open, s.High, s.Low, s.Close, s.Volume} {
		if len(c) != n {
			return fmt.Errorf("columns of different length: %d and %d", n, len(c))
		}
	}
	if _, err := market.ParseTimeframe(s.Timeframe.String()); err != nil {
		return err
	}
	for column := range columns {
		if err := checkColumn(s, column, 0, n); err != nil {
			return err
		}
	}
	return nil
}

// unsorted is the first row in [from, to) that does not open after the row before it; -1 if all do.
func unsorted(t []market.Time, from, to int) int {
	if from == 0 {
		from = 1
	}
	for i := from; i < to; i++ {
		if t[i] <= t[i-1] {
			return i
		}
	}
	return -1
}

// badPrice is the first row in [from, to) whose price is not finite or not above zero.
func badPrice(c []float64, from, to int) int {
	for i, x := range c[from:to] {
		if !(x > 0 && x <= math.MaxFloat64) {
			return from + i
		}
	}
	return -1
}

// badVolume is the first row in [from, to) whose volume is negative, -0 or not finite.
// As bits: everything above the largest finite number, the sign included, is bad.
func badVolume(c []float64, from, to int) int {
	for i, x := range c[from:to] {
		if math.Float64bits(x) > math.Float64bits(math.MaxFloat64) {
			return from + i
		}
	}
	return -1
}

// A CRC is a polynomial over GF(2), bit-reversed: the highest bit of the word is the
// coefficient of x^0.
const (
	one   = uint32(1) << 31 // x^0
	xByte = uint32(1) << 23 // x^8: one more byte
)

// joinCRC is the checksum of a text whose first part has checksum a and whose second
// part, of size bytes, has checksum b: a moved up by size bytes, and b added.
func joinCRC(a, b uint32, size int) uint32 {
	shift, base := one, xByte
	for n := size; n > 0; n >>= 1 {
		if n&1 == 1 {
			shift = multiply(shift, base)
		}
		base = multiply(base, base)
	}
	return multiply(shift, a) ^ b
}

// multiply multiplies two polynomials modulo that of CRC-32C.
func multiply(a, b uint32) uint32 {
	product := uint32(0)
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry == 1 {
			b ^= crc32.Castagnoli
		}
	}
	return product
}
