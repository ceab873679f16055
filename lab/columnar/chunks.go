package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/assay-run/assay/host/candle/importer"
)

// reader reads n values of a column chunk.
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

// plain is by the physical type alone.
func plain(t parquet.Type) reader {
	switch t {
	case parquet.Types.Int32, parquet.Types.Int64:
		return typed(importer.Integers, t)
	case parquet.Types.Double:
		return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
			c := importer.Column{Kind: importer.Floats}
			var err error
			c.Floats, c.Valid, err = spaced(chunk, n, chunk.(*file.Float64ColumnChunkReader).ReadBatchInPage)
			return c, err
		}
	case parquet.Types.Float:
		return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
			v, valid, err := spaced(chunk, n, chunk.(*file.Float32ColumnChunkReader).ReadBatchInPage)
			c := floats(len(v), func(i int) float64 { return float64(v[i]) })
			c.Single, c.Valid = true, valid
			return c, err
		}
	case parquet.Types.Int96:
		return oldTimes
	case parquet.Types.ByteArray:
		return texts(t)
	}
	return nil
}

// spaced reads n values, with gaps where there is none. Values of a page are only
// good until the next one is read: copy what aliases it.
func spaced[T any](chunk file.ColumnChunkReader, n int, read func(int64, []T, []int16, []int16) (int64, int, error), keep ...func(T) T) (values []T, valid []bool, err error) {
	values = make([]T, n)
	most := chunk.Descriptor().MaxDefinitionLevel()
	var levels []int16
	if most > 0 {
		levels, valid = make([]int16, n), make([]bool, n)
	}
	for at := 0; at < n; {
		rows, got, err := read(int64(n-at), values[at:], levels[min(at, len(levels)):], nil)
		if err == nil {
			err = chunk.Err()
		}
		if err != nil {
			return nil, nil, err
		}
		if rows <= 0 || rows > int64(n-at) {
			return nil, nil, fmt.Errorf("%d values are missing", n-at)
		}
		for _, k := range keep {
			for i := range got {
				values[at+i] = k(values[at+i])
			}
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
	if t != parquet.Types.Int32 && t != parquet.Types.Int64 {
		return nil
	}
	isUnsigned := len(as) > 0 && !as[0].IsSigned()
	return func(chunk file.ColumnChunkReader, n int) (c importer.Column, err error) {
		c.Kind = kind
		if t == parquet.Types.Int64 {
			c.Ints, c.Valid, err = spaced(chunk, n, chunk.(*file.Int64ColumnChunkReader).ReadBatchInPage)
			if isUnsigned && err == nil {
				c.Valid = belowZeroIsNone(c.Ints, c.Valid)
			}
			return c, err
		}
		v, valid, err := spaced(chunk, n, chunk.(*file.Int32ColumnChunkReader).ReadBatchInPage)
		c.Ints, c.Valid = make([]int64, len(v)), valid
		for i, x := range v {
			if c.Ints[i] = int64(x); isUnsigned {
				c.Ints[i] = int64(uint32(x))
			}
		}
		return c, err
	}
}

func times(t parquet.Type, unit importer.Unit, zoned bool) reader {
	read := typed(importer.Times, t)
	if read == nil || t != parquet.Types.Int64 {
		return nil
	}
	return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
		c, err := read(chunk, n)
		c.Unit, c.Zoned = unit, zoned
		return c, err
	}
}

// oldTimes are the 96 bits of Impala and old Spark, which belong to no zone.
func oldTimes(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
	v, valid, err := spaced(chunk, n, chunk.(*file.Int96ColumnChunkReader).ReadBatchInPage)
	c := integers(len(v), func(i int) int64 {
		if valid != nil && !valid[i] {
			return 0
		}
		return v[i].ToTime().UnixMilli()
	})
	c.Kind, c.Unit, c.Valid = importer.Times, importer.Milliseconds, valid
	return c, err
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
	return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
		v, valid, err := byteArrays(chunk, n)
		c := importer.Column{Kind: importer.Texts, Texts: make([]string, len(v)), Valid: valid}
		for i, b := range v {
			c.Texts[i] = string(b)
		}
		return c, err
	}
}

func byteArrays(chunk file.ColumnChunkReader, n int) ([]parquet.ByteArray, []bool, error) {
	clone := func(b parquet.ByteArray) parquet.ByteArray { return append(parquet.ByteArray(nil), b...) }
	return spaced(chunk, n, chunk.(*file.ByteArrayColumnChunkReader).ReadBatchInPage, clone)
}

func fixedArrays(chunk file.ColumnChunkReader, n int) ([]parquet.FixedLenByteArray, []bool, error) {
	clone := func(b parquet.FixedLenByteArray) parquet.FixedLenByteArray {
		return append(parquet.FixedLenByteArray(nil), b...)
	}
	return spaced(chunk, n, chunk.(*file.FixedLenByteArrayColumnChunkReader).ReadBatchInPage, clone)
}

func halves(d *schema.Column) reader {
	if d.PhysicalType() != parquet.Types.FixedLenByteArray || d.TypeLength() != 2 {
		return nil
	}
	return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
		v, valid, err := fixedArrays(chunk, n)
		c := floats(len(v), func(i int) float64 {
			if len(v[i]) != 2 {
				return 0
			}
			return halfFloat(float16.FromBits(binary.LittleEndian.Uint16(v[i])))
		})
		c.Single, c.Valid = true, valid
		return c, err
	}
}

// decimals are integers with a scale, in any of four physical types.
func decimals(t parquet.Type, scale int32) reader {
	switch t {
	case parquet.Types.Int32, parquet.Types.Int64:
		read := typed(importer.Integers, t)
		return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
			whole, err := read(chunk, n)
			c := floats(len(whole.Ints), func(i int) float64 { return nearest(big.NewInt(whole.Ints[i]), scale) })
			c.Valid = whole.Valid
			return c, err
		}
	case parquet.Types.ByteArray:
		return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
			v, valid, err := byteArrays(chunk, n)
			c := floats(len(v), func(i int) float64 { return nearest(bigEndian(v[i]), scale) })
			c.Valid = valid
			return c, err
		}
	case parquet.Types.FixedLenByteArray:
		return func(chunk file.ColumnChunkReader, n int) (importer.Column, error) {
			v, valid, err := fixedArrays(chunk, n)
			c := floats(len(v), func(i int) float64 { return nearest(bigEndian(v[i]), scale) })
			c.Valid = valid
			return c, err
		}
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
