package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/assay-run/assay/host/candle/importer"
)

type reader func(chunk file.ColumnChunkReader, n int) (importer.Column, error)

// kindOf is how the values of a column are read; nil where they are neither numbers
// nor times nor text.
func kindOf(d *schema.Column) reader {
	switch l := d.LogicalType().(type) {
	case schema.DecimalLogicalType:
		return decimals(d.PhysicalType(), l.Scale())
	case schema.TimestampLogicalType:
		// One without a logical type of its own is UTC by the format's definition.
		return times(d.PhysicalType(), parquetUnit(l.TimeUnit()), l.IsAdjustedToUTC())
	case schema.DateLogicalType:
		return typed(importer.Dates, d.PhysicalType())
	case schema.IntLogicalType:
		return typed(importer.Integers, d.PhysicalType(), l)
	case schema.Float16LogicalType:
		return halves(d)
	case schema.NullLogicalType:
		return nothing
	case schema.StringLogicalType, schema.EnumLogicalType:
		return texts(d.PhysicalType())
	case schema.NoLogicalType, schema.UnknownLogicalType, nil:
		return plain(d.PhysicalType())
	}
	return nil
}

func plain(t parquet.Type) reader {
	switch t {
	case parquet.Types.Int32, parquet.Types.Int64:
		return typed(importer.Integers, t)
	case parquet.Types.Double:
		return columnOf((*file.Float64ColumnChunkReader).ReadBatchInPage, nil,
			func(v []float64, _ []bool) importer.Column {
				return importer.Column{Kind: importer.Floats, Floats: v}
			})
	case parquet.Types.Float:
		return columnOf((*file.Float32ColumnChunkReader).ReadBatchInPage, nil,
			func(v []float32, _ []bool) importer.Column {
				c := floats(len(v), func(i int) float64 { return float64(v[i]) })
				c.Single = true
				return c
			})
	case parquet.Types.Int96:
		return columnOf((*file.Int96ColumnChunkReader).ReadBatchInPage, nil, oldTimes)
	case parquet.Types.ByteArray:
		return texts(t)
	}
	return nil
}

// batchReader is how the library reads values of a page and their levels.
type batchReader[C, T any] func(chunk C, n int64, values []T, levels, repeated []int16) (int64, int, error)

// columnOf reads values by their reader in the library and makes a column of them, whose gaps
// are where no value is unless it has some already. Values that alias their page need a copy.
func columnOf[C file.ColumnChunkReader, T any](
	read batchReader[C, T], copied func(T) T, as func([]T, []bool) importer.Column,
) reader {
	return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
		v, valid, err := spaced(chunk.(C), n, read, copied)
		if err != nil {
			return importer.Column{}, err
		}
		c := as(v, valid)
		if c.Valid == nil {
			c.Valid = valid
		}
		return c, nil
	}
}

// spaced reads n values, with gaps where there is none. Values of a page are only
// good until the next one is read: copy what aliases it.
func spaced[C file.ColumnChunkReader, T any](
	chunk C, n int, read batchReader[C, T], copied func(T) T,
) (values []T, valid []bool, err error) {
	values = make([]T, n)
	most := chunk.Descriptor().MaxDefinitionLevel()
	var levels []int16
	if most > 0 {
		levels, valid = make([]int16, n), make([]bool, n)
	}
	for at := 0; at < n; {
		rows, got, err := read(chunk, int64(n-at), values[at:], levels[min(at, len(levels)):], nil)
		if err == nil {
			err = chunk.Err()
		}
		if err != nil {
			return nil, nil, err
		}
		if rows <= 0 || rows > int64(n-at) {
			return nil, nil, fmt.Errorf("%d values are missing", n-at)
		}
		for i := 0; i < got && copied != nil; i++ {
			values[at+i] = copied(values[at+i])
		}
		if err := spread(values[at:at+int(rows)], valid, levels, at, got, most); err != nil {
			return nil, nil, err
		}
		at += int(rows)
	}
	return values, valid, nil
}

// spread moves the values that are there to their rows.
func spread[T any](values []T, valid []bool, levels []int16, at, got int, most int16) error {
	if most == 0 {
		if got != len(values) {
			return errors.New("fewer values than rows")
		}
		return nil
	}
	there := 0
	for i := range values {
		if valid[at+i] = levels[at+i] == most; valid[at+i] {
			there++
		}
	}
	if there != got {
		return fmt.Errorf("%d values where %d rows have one", got, there)
	}
	for i := len(values) - 1; i >= 0; i-- {
		if valid[at+i] {
			there--
			values[i] = values[there]
		}
	}
	return nil
}

// typed reads integers of 32 or 64 bits as a kind.
func typed(kind importer.Kind, t parquet.Type, as ...schema.IntLogicalType) reader {
	isUnsigned := len(as) > 0 && !as[0].IsSigned()
	switch t {
	case parquet.Types.Int64:
		return columnOf((*file.Int64ColumnChunkReader).ReadBatchInPage, nil,
			func(v []int64, valid []bool) importer.Column {
				if isUnsigned {
					valid = belowZeroIsNone(v, valid)
				}
				return importer.Column{Kind: kind, Ints: v, Valid: valid}
			})
	case parquet.Types.Int32:
		return columnOf((*file.Int32ColumnChunkReader).ReadBatchInPage, nil,
			func(v []int32, _ []bool) importer.Column {
				c := integers(len(v), func(i int) int64 {
					if isUnsigned {
						return int64(uint32(v[i]))
					}
					return int64(v[i])
				})
				c.Kind = kind
				return c
			})
	}
	return nil
}

func times(t parquet.Type, unit importer.Unit, zoned bool) reader {
	if t != parquet.Types.Int64 {
		return nil
	}
	read := typed(importer.Times, t)
	return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
		c, err := read(chunk, n)
		c.Unit, c.Zoned = unit, zoned
		return c, err
	}
}

// oldTimes are the 96 bits of Impala and old Spark, which belong to no zone.
func oldTimes(v []parquet.Int96, valid []bool) importer.Column {
	c := integers(len(v), func(i int) int64 {
		if valid != nil && !valid[i] {
			return 0
		}
		return v[i].ToTime().UnixMilli()
	})
	c.Kind, c.Unit = importer.Times, importer.Milliseconds
	return c
}

func parquetUnit(u schema.TimeUnitType) importer.Unit {
	switch u {
	case schema.TimeUnitMillis:
		return importer.Milliseconds
	case schema.TimeUnitMicros:
		return importer.Microseconds
	}
	return importer.Nanoseconds
}

func nothing(chunk file.ColumnChunkReader, _ int) (importer.Column, error) {
	return importer.Column{Kind: importer.Nothing}, nil
}

func texts(t parquet.Type) reader {
	if t != parquet.Types.ByteArray {
		return nil
	}
	return byteArrays(func(v []parquet.ByteArray, _ []bool) importer.Column {
		c := importer.Column{Kind: importer.Texts, Texts: make([]string, len(v))}
		for i, b := range v {
			c.Texts[i] = string(b)
		}
		return c
	})
}

func byteArrays(as func([]parquet.ByteArray, []bool) importer.Column) reader {
	read := (*file.ByteArrayColumnChunkReader).ReadBatchInPage
	return columnOf(read, slices.Clone[parquet.ByteArray], as)
}

func fixedArrays(as func([]parquet.FixedLenByteArray, []bool) importer.Column) reader {
	read := (*file.FixedLenByteArrayColumnChunkReader).ReadBatchInPage
	return columnOf(read, slices.Clone[parquet.FixedLenByteArray], as)
}

func halves(d *schema.Column) reader {
	if d.PhysicalType() != parquet.Types.FixedLenByteArray || d.TypeLength() != 2 {
		return nil
	}
	return fixedArrays(func(v []parquet.FixedLenByteArray, _ []bool) importer.Column {
		c := floats(len(v), func(i int) float64 {
			if len(v[i]) != 2 {
				return 0
			}
			return halfFloat(float16.FromBits(binary.LittleEndian.Uint16(v[i])))
		})
		c.Single = true
		return c
	})
}

// decimals are integers with a scale, in any of four physical types.
func decimals(t parquet.Type, scale int32) reader {
	switch t {
	case parquet.Types.Int32, parquet.Types.Int64:
		read := typed(importer.Integers, t)
		return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
			whole, err := read(chunk, n)
			c := floats(len(whole.Ints), func(i int) float64 {
				return nearest(big.NewInt(whole.Ints[i]), scale)
			})
			c.Valid = whole.Valid
			return c, err
		}
	case parquet.Types.ByteArray:
		return byteArrays(func(v []parquet.ByteArray, _ []bool) importer.Column {
			return floats(len(v), func(i int) float64 { return nearest(bigEndian(v[i]), scale) })
		})
	case parquet.Types.FixedLenByteArray:
		return fixedArrays(func(v []parquet.FixedLenByteArray, _ []bool) importer.Column {
			return floats(len(v), func(i int) float64 { return nearest(bigEndian(v[i]), scale) })
		})
	}
	return nil
}

// bigEndian is a number in two's complement, the most significant byte first.
func bigEndian(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}

// values is n values of an array from one on; not ok: of a type that holds neither
// numbers nor times nor text.
func values(a arrow.Array, from, n int) (c importer.Column, ok bool) {
	switch a := a.(type) {
	case *array.Null:
		return importer.Column{Kind: importer.Nothing}, true
	case *array.Dictionary:
		return dictionary(a, from, n)
	case *array.Float64:
		c = importer.Column{Kind: importer.Floats, Floats: a.Float64Values()[from : from+n]}
	case *array.Float32:
		c = floats(n, func(i int) float64 { return float64(a.Value(from + i)) })
		c.Single = true
	case *array.Float16:
		c = floats(n, func(i int) float64 { return halfFloat(a.Value(from + i)) })
		c.Single = true
	case array.StringLike:
		c = importer.Column{Kind: importer.Texts, Texts: make([]string, n)}
		for i := range n {
			if a.IsValid(from + i) {
				c.Texts[i] = a.Value(from + i)
			}
		}
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		c = integers(n, func(i int) int64 { return int64(a.Value(from + i)) })
		c.Kind, c.Unit, c.Zoned = importer.Times, timeUnit(t.Unit), t.TimeZone != ""
	case *array.Date32:
		c = integers(n, func(i int) int64 { return int64(a.Value(from + i)) })
		c.Kind = importer.Dates
	case *array.Date64:
		c = integers(n, func(i int) int64 { return days(int64(a.Value(from + i))) })
		c.Kind = importer.Dates
	default:
		if c, ok = integerArray(a, from, n); !ok {
			if c, ok = decimalArray(a, from, n); !ok {
				return c, false
			}
		}
	}
	c.Valid = valid(a, from, n, c.Valid)
	return c, true
}

// valid is which values there are, nil for all; those that are known not to be stay so.
func valid(a arrow.Array, from, n int, known []bool) []bool {
	if a.NullN() == 0 {
		return known
	}
	if known == nil {
		known = slices.Repeat([]bool{true}, n)
	}
	for i := range n {
		known[i] = known[i] && a.IsValid(from+i)
	}
	return known
}

func integers(n int, at func(i int) int64) importer.Column {
	c := importer.Column{Kind: importer.Integers, Ints: make([]int64, n)}
	for i := range n {
		c.Ints[i] = at(i)
	}
	return c
}

func floats(n int, at func(i int) float64) importer.Column {
	c := importer.Column{Kind: importer.Floats, Floats: make([]float64, n)}
	for i := range n {
		c.Floats[i] = at(i)
	}
	return c
}

// belowZeroIsNone marks what was too large for int64: that is how files write none.
func belowZeroIsNone(v []int64, valid []bool) []bool {
	for i, x := range v {
		if x < 0 {
			if valid == nil {
				valid = slices.Repeat([]bool{true}, len(v))
			}
			valid[i] = false
		}
	}
	return valid
}

func integerArray(a arrow.Array, from, n int) (importer.Column, bool) {
	switch a := a.(type) {
	case *array.Int64:
		return importer.Column{Kind: importer.Integers, Ints: a.Int64Values()[from : from+n]}, true
	case *array.Int32:
		return whole(a.Int32Values()[from : from+n]), true
	case *array.Int16:
		return whole(a.Int16Values()[from : from+n]), true
	case *array.Int8:
		return whole(a.Int8Values()[from : from+n]), true
	case *array.Uint64: // int64 does not hold all of them
		c := whole(a.Uint64Values()[from : from+n])
		c.Valid = belowZeroIsNone(c.Ints, nil)
		return c, true
	case *array.Uint32:
		return whole(a.Uint32Values()[from : from+n]), true
	case *array.Uint16:
		return whole(a.Uint16Values()[from : from+n]), true
	case *array.Uint8:
		return whole(a.Uint8Values()[from : from+n]), true
	}
	return importer.Column{}, false
}

func whole[T int8 | int16 | int32 | uint8 | uint16 | uint32 | uint64](v []T) importer.Column {
	return integers(len(v), func(i int) int64 { return int64(v[i]) })
}

func decimalArray(a arrow.Array, from, n int) (importer.Column, bool) {
	var digits func(i int) *big.Int
	switch a := a.(type) {
	case *array.Decimal32:
		digits = func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) }
	case *array.Decimal64:
		digits = func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) }
	case *array.Decimal128:
		digits = func(i int) *big.Int { return a.Value(i).BigInt() }
	case *array.Decimal256:
		digits = func(i int) *big.Int { return a.Value(i).BigInt() }
	default:
		return importer.Column{}, false
	}
	scale := a.DataType().(arrow.DecimalType).GetScale()
	return floats(n, func(i int) float64 { return nearest(digits(from+i), scale) }), true
}

// nearest is the float64 nearest to digits with the point so far left.
func nearest(digits *big.Int, scale int32) float64 {
	if digits.BitLen() > 256 { // more than any type of decimals has
		return math.Inf(1)
	}
	x, err := strconv.ParseFloat(digits.String()+"e"+strconv.Itoa(-int(scale)), 64)
	if err != nil {
		return math.Inf(1) // too large for any price
	}
	return x
}

func halfFloat(x float16.Num) float64 { return float64(x.Float32()) }

func dictionary(a *array.Dictionary, from, n int) (importer.Column, bool) {
	words, ok := values(a.Dictionary(), 0, a.Dictionary().Len())
	if !ok || words.Kind == importer.Nothing {
		return words, ok
	}
	c := words
	c.Valid = make([]bool, n)
	at := make([]int, n)
	for i := range n {
		if a.IsValid(from + i) {
			at[i] = a.GetValueIndex(from + i)
			c.Valid[i] = words.Valid == nil || words.Valid[at[i]]
		}
	}
	c.Ints, c.Floats, c.Texts = picked(words.Ints, at, c.Valid), picked(words.Floats, at, c.Valid),
		picked(words.Texts, at, c.Valid)
	return c, true
}

func picked[T any](values []T, at []int, valid []bool) []T {
	if values == nil {
		return nil
	}
	out := make([]T, len(at))
	for i, k := range at {
		if valid[i] {
			out[i] = values[k]
		}
	}
	return out
}

func timeUnit(u arrow.TimeUnit) importer.Unit {
	switch u {
	case arrow.Second:
		return importer.Seconds
	case arrow.Millisecond:
		return importer.Milliseconds
	case arrow.Microsecond:
		return importer.Microseconds
	}
	return importer.Nanoseconds
}

func days(ms int64) int64 {
	const day = 24 * 3600 * 1000
	d := ms / day
	if ms%day < 0 {
		d--
	}
	return d
}
