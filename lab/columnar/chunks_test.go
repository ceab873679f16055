package columnar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/assay-run/assay/host/candle/importer"
)

// leaf is a column of a Parquet file as the format itself has it, without Arrow.
type leaf struct {
	node  schema.Node
	write func(w file.ColumnChunkWriter) error
}

func primitive(name string, logical schema.LogicalType, t parquet.Type, length int) schema.Node {
	if logical == nil {
		return schema.MustPrimitive(schema.NewPrimitiveNode(name, parquet.Repetitions.Required, t, -1,
			int32(length)))
	}
	return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required, logical, t,
		length, -1))
}

func int64s(node schema.Node, values ...int64) leaf {
	return leaf{node, func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.Int64ColumnChunkWriter).WriteBatch(values, nil, nil)
		return err
	}}
}

func int32s(node schema.Node, values ...int32) leaf {
	return leaf{node, func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.Int32ColumnChunkWriter).WriteBatch(values, nil, nil)
		return err
	}}
}

func byteArraysOf(node schema.Node, values ...[]byte) leaf {
	return leaf{node, func(w file.ColumnChunkWriter) (err error) {
		if fixed, ok := w.(*file.FixedLenByteArrayColumnChunkWriter); ok {
			var list []parquet.FixedLenByteArray
			for _, v := range values {
				list = append(list, v)
			}
			_, err = fixed.WriteBatch(list, nil, nil)
			return err
		}
		var list []parquet.ByteArray
		for _, v := range values {
			list = append(list, v)
		}
		_, err = w.(*file.ByteArrayColumnChunkWriter).WriteBatch(list, nil, nil)
		return err
	}}
}

func doublesOf(name string, values ...float64) leaf {
	return leaf{primitive(name, nil, parquet.Types.Double, -1), func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.Float64ColumnChunkWriter).WriteBatch(values, nil, nil)
		return err
	}}
}

// lowParquet writes one row group.
func lowParquet(t *testing.T, leaves ...leaf) []byte {
	t.Helper()
	var nodes schema.FieldList
	for _, l := range leaves {
		nodes = append(nodes, l.node)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root)
	g, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves {
		c, err := g.NextColumn()
		if err == nil {
			err = l.write(c)
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func hoursAs(node schema.Node, per int64) leaf {
	return int64s(node, hours[0]/1000*per, hours[1]/1000*per, hours[2]/1000*per)
}

// lowPrices are the columns of the three candles but the time.
func lowPrices() []leaf {
	return []leaf{doublesOf("open", 1, 2, 3), doublesOf("high", 3, 4, 5), doublesOf("low", 1, 2, 3),
		doublesOf("close", 2, 3, 4), doublesOf("volume", 10, 20, 30)}
}

// old96 is a time in the 96 bits of old writers: nanoseconds of the day, Julian day.
func old96(t time.Time) (v parquet.Int96) {
	day := t.Unix() / 86400
	binary.LittleEndian.PutUint64(v[:8], uint64(t.UnixNano()-day*86400*1e9))
	binary.LittleEndian.PutUint32(v[8:], uint32(day+2440588))
	return v
}

func TestTimesOfOldWriters(t *testing.T) {
	int96s := leaf{primitive("time", nil, parquet.Types.Int96, -1), func(w file.ColumnChunkWriter) error {
		var v []parquet.Int96
		for _, h := range hours {
			v = append(v, old96(time.UnixMilli(h)))
		}
		_, err := w.(*file.Int96ColumnChunkWriter).WriteBatch(v, nil, nil)
		return err
	}}
	converted := func(c schema.ConvertedType) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeConverted("time", parquet.Repetitions.Required,
			parquet.Types.Int64, c, 0, 0, 0, -1))
	}
	for what, c := range map[string]struct {
		time leaf
		zone *time.Location
		code importer.Code
	}{
		"96 bits":        {int96s, nil, importer.TimezoneRequired}, // they belong to no zone
		"96 bits in UTC": {int96s, time.UTC, ""},
		// UTC by definition
		"converted ms": {hoursAs(converted(schema.ConvertedTypes.TimestampMillis), 1e3), nil, ""},
		"converted us": {hoursAs(converted(schema.ConvertedTypes.TimestampMicros), 1e6), nil, ""},
		"adjusted ns": {
			hoursAs(primitive("time", schema.NewTimestampLogicalType(true, schema.TimeUnitNanos),
				parquet.Types.Int64, -1), 1e9), nil, ""},
		"not adjusted": {
			hoursAs(primitive("time", schema.NewTimestampLogicalType(false, schema.TimeUnitMicros),
				parquet.Types.Int64, -1), 1e6), nil, importer.TimezoneRequired},
		"not adjusted in UTC": {
			hoursAs(primitive("time", schema.NewTimestampLogicalType(false, schema.TimeUnitMicros),
				parquet.Types.Int64, -1), 1e6), time.UTC, ""},
		"a time of day": {
			hoursAs(primitive("time", schema.NewTimeLogicalType(true, schema.TimeUnitMicros),
				parquet.Types.Int64, -1), 1e6), nil, importer.BadNumber},
	} {
		r, err := read("x.parquet", lowParquet(t, append([]leaf{c.time}, lowPrices()...)...),
			importer.Options{Zone: c.zone})
		if c.code != "" {
			refused(t, what, err, c.code)
			continue
		}
		if err != nil || rows(r.Series) != want3 {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
}

// twos is a number as bytes in two's complement, the most significant first.
func twos(n int64, size int) []byte {
	b := bytes.Repeat([]byte{byte(n >> 63)}, size)
	for i := size - 1; i >= 0 && i >= size-8; i-- {
		b[i] = byte(n)
		n >>= 8
	}
	return b
}

func TestDecimalsOfParquet(t *testing.T) {
	logical := schema.NewDecimalLogicalType(9, 2)
	want := []float64{3.15, 4, 123.45}
	for what, high := range map[string]leaf{
		"32 bits": int32s(primitive("high", logical, parquet.Types.Int32, -1), 315, 400, 12345),
		"64 bits": int64s(primitive("high", logical, parquet.Types.Int64, -1), 315, 400, 12345),
		"bytes": byteArraysOf(primitive("high", logical, parquet.Types.ByteArray, -1), []byte{1, 59},
			[]byte{1, 0x90}, twos(12345, 9)),
		"five bytes": byteArraysOf(primitive("high", logical, parquet.Types.FixedLenByteArray, 5),
			twos(315, 5), twos(400, 5), twos(12345, 5)),
	} {
		p := lowPrices()
		p[1] = high
		content := lowParquet(t,
			append([]leaf{int64s(primitive("time", nil, parquet.Types.Int64, -1), 3600, 7200, 10800)},
				p...)...)
		r, err := read("x.parquet", content, importer.Options{})
		if err != nil || !slices.Equal(r.Series.High, want) {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	p := lowPrices()
	p[1] = byteArraysOf(primitive("high", logical, parquet.Types.FixedLenByteArray, 5), twos(315, 5),
		twos(-400, 5), twos(12345, 5))
	content := lowParquet(t,
		append([]leaf{int64s(primitive("time", nil, parquet.Types.Int64, -1), 3600, 7200, 10800)}, p...)...)
	_, err := read("x.parquet", content, importer.Options{})
	if e := refused(t, "negative", err, importer.BadNumber); e.Cases[0].Line != 2 ||
		e.Cases[0].Text != "7200,2,-4,2,3,20" {
		t.Errorf("%+v", e)
	}
	p[1] = byteArraysOf(primitive("high", logical, parquet.Types.ByteArray, -1), []byte{1}, []byte{1},
		bytes.Repeat([]byte{0x7f}, 5000))
	content = lowParquet(t,
		append([]leaf{int64s(primitive("time", nil, parquet.Types.Int64, -1), 3600, 7200, 10800)}, p...)...)
	_, err = read("x.parquet", content, importer.Options{})
	refused(t, "a number of twelve thousand digits", err, importer.BadNumber)
}

func TestIntegersOfParquet(t *testing.T) {
	for what, c := range map[string]struct {
		high leaf
		want []float64
	}{
		"int32": {int32s(primitive("high", nil, parquet.Types.Int32, -1), 3, 4, math.MaxInt32),
			[]float64{3, 4, math.MaxInt32}},
		"uint32": {
			int32s(primitive("high", schema.NewIntLogicalType(32, false), parquet.Types.Int32, -1), 3, 4, -1),
			[]float64{3, 4, math.MaxUint32}},
		"uint64": {
			int64s(primitive("high", schema.NewIntLogicalType(64, false), parquet.Types.Int64, -1), 3, 4,
				1<<62), []float64{3, 4, 1 << 62}},
		"text": {
			byteArraysOf(primitive("high", schema.StringLogicalType{}, parquet.Types.ByteArray, -1),
				[]byte("3"), []byte("4.5"), []byte("5")), []float64{3, 4.5, 5}},
		"bytes as text": {byteArraysOf(primitive("high", nil, parquet.Types.ByteArray, -1), []byte("3"),
			[]byte("4.5"), []byte("5")), []float64{3, 4.5, 5}},
		"words of a set": {
			byteArraysOf(primitive("high", schema.EnumLogicalType{}, parquet.Types.ByteArray, -1),
				[]byte("3"), []byte("4"), []byte("5")), []float64{3, 4, 5}},
	} {
		p := lowPrices()
		p[1] = c.high
		content := lowParquet(t,
			append([]leaf{int64s(primitive("time", nil, parquet.Types.Int64, -1), 3600, 7200, 10800)},
				p...)...)
		if r, err := read("x.parquet", content, importer.Options{}); err != nil ||
			!slices.Equal(r.Series.High, c.want) {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	for what, high := range map[string]leaf{
		"a UUID": byteArraysOf(primitive("high", schema.UUIDLogicalType{},
			parquet.Types.FixedLenByteArray, 16), make([]byte, 16), make([]byte, 16), make([]byte, 16)),
		"fixed bytes": byteArraysOf(primitive("high", nil, parquet.Types.FixedLenByteArray, 3),
			[]byte("1.0"), []byte("1.0"), []byte("1.0")),
		"JSON": byteArraysOf(primitive("high", schema.JSONLogicalType{}, parquet.Types.ByteArray, -1),
			[]byte("1"), []byte("1"), []byte("1")),
		"a date is no": int32s(primitive("high", schema.DateLogicalType{}, parquet.Types.Int32, -1), 1, 2, 3),
	} {
		p := lowPrices()
		p[1] = high
		content := lowParquet(t,
			append([]leaf{int64s(primitive("time", nil, parquet.Types.Int64, -1), 3600, 7200, 10800)},
				p...)...)
		_, err := read("x.parquet", content, importer.Options{})
		refused(t, what, err, importer.BadNumber)
	}
}

// Columns inside others have their path for a name, and one value a row or none.
func TestNestedColumns(t *testing.T) {
	repeated := schema.MustPrimitive(schema.NewPrimitiveNode("high", parquet.Repetitions.Repeated,
		parquet.Types.Double, -1, -1))
	p := lowPrices()
	p[1] = leaf{repeated, func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.Float64ColumnChunkWriter).WriteBatch([]float64{3, 4, 5}, []int16{1, 1, 1},
			[]int16{0, 0, 0})
		return err
	}}
	content := lowParquet(t,
		append([]leaf{int64s(primitive("time", nil, parquet.Types.Int64, -1), 3600, 7200, 10800)}, p...)...)
	_, err := read("x.parquet", content, importer.Options{})
	if e := refused(t, "repeated", err, importer.BadNumber); !strings.Contains(e.Message, "lists of DOUBLE") {
		t.Errorf("%v", e)
	}
}

func TestBigEndian(t *testing.T) {
	for n, b := range map[int64][]byte{0: {}, 1: {1}, -1: {0xff}, 255: {0, 0xff}, -256: {0xff, 0},
		128: {0, 0x80}, -128: {0x80}} {
		if got := bigEndian(b); got.Int64() != n {
			t.Errorf("%v is %s, want %d", b, got, n)
		}
		if got := bigEndian(twos(n, 12)); got.Int64() != n {
			t.Errorf("%d in 12 bytes is %s", n, got)
		}
	}
}

func TestDays(t *testing.T) {
	for ms, want := range map[int64]int64{0: 0, 1: 0, 86399999: 0, 86400000: 1, -1: -1, -86400000: -1,
		-86400001: -2} {
		if got := days(ms); got != want {
			t.Errorf("%d ms are day %d, want %d", ms, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	values := []int{7, 8, 9, 0, 0}
	valid := make([]bool, 6)
	if err := spread(values, valid, []int16{0, 1, 0, 1, 0, 1}, 1, 3, 1); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(values[0], values[2], values[4],
		valid); got != "7 8 9 [false true false true false true]" {
		t.Error(got)
	}
	if err := spread(values, valid, []int16{0, 1, 1, 1, 0, 0}, 1, 2, 1); err == nil {
		t.Error("two values for three rows")
	}
	if err := spread([]int{1, 2}, nil, nil, 0, 1, 0); err == nil {
		t.Error("one value for two rows")
	}
}
