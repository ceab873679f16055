package columnar

import (
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"

	"github.com/assay-run/assay/host/candle/importer"
)

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
		known = trues(n)
	}
	for i := range n {
		known[i] = known[i] && a.IsValid(from+i)
	}
	return known
}

func trues(n int) []bool {
	list := make([]bool, n)
	for i := range list {
		list[i] = true
	}
	return list
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

// unsigned are integers of which int64 does not hold all.
func unsigned(n int, at func(i int) uint64) importer.Column {
	c := integers(n, func(i int) int64 { return int64(at(i)) })
	c.Valid = belowZeroIsNone(c.Ints, nil)
	return c
}

// belowZeroIsNone marks what was too large for int64: that is how files write none.
func belowZeroIsNone(v []int64, valid []bool) []bool {
	for i, x := range v {
		if x < 0 {
			if valid == nil {
				valid = trues(len(v))
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
		return integers(n, func(i int) int64 { return int64(a.Value(from + i)) }), true
	case *array.Int16:
		return integers(n, func(i int) int64 { return int64(a.Value(from + i)) }), true
	case *array.Int8:
		return integers(n, func(i int) int64 { return int64(a.Value(from + i)) }), true
	case *array.Uint64:
		return unsigned(n, func(i int) uint64 { return a.Value(from + i) }), true
	case *array.Uint32:
		return integers(n, func(i int) int64 { return int64(a.Value(from + i)) }), true
	case *array.Uint16:
		return integers(n, func(i int) int64 { return int64(a.Value(from + i)) }), true
	case *array.Uint8:
		return integers(n, func(i int) int64 { return int64(a.Value(from + i)) }), true
	}
	return importer.Column{}, false
}

func decimalArray(a arrow.Array, from, n int) (importer.Column, bool) {
	switch a := a.(type) {
	case *array.Decimal32:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return floats(n, func(i int) float64 { return nearest(big.NewInt(int64(a.Value(from+i))), scale) }), true
	case *array.Decimal64:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return floats(n, func(i int) float64 { return nearest(big.NewInt(int64(a.Value(from+i))), scale) }), true
	case *array.Decimal128:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return floats(n, func(i int) float64 { return nearest(a.Value(from+i).BigInt(), scale) }), true
	case *array.Decimal256:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return floats(n, func(i int) float64 { return nearest(a.Value(from+i).BigInt(), scale) }), true
	}
	return importer.Column{}, false
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

// dictionary looks up the values behind the indices.
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
	c.Ints, c.Floats, c.Texts = picked(words.Ints, at, c.Valid), picked(words.Floats, at, c.Valid), picked(words.Texts, at, c.Valid)
	return c, true
}

// picked is the values at some places, where there are any.
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

// days are whole days of milliseconds.
func days(ms int64) int64 {
	const day = 24 * 3600 * 1000
	d := ms / day
	if ms%day < 0 {
		d--
	}
	return d
}
