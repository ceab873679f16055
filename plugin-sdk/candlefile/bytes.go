package candlefile

import (
	"encoding/binary"
	"unsafe"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// value is what a column is made of: eight bytes each.
type value interface{ ~int64 | ~float64 }

// littleEndian says that memory has the byte order of the file, so that columns
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
