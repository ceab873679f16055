package columnar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// column is a column of a file in the making.
type column struct {
	name string
	typ  arrow.DataType
	fill func(b array.Builder)
}

// hours are three candles from the epoch on, times in milliseconds.
var hours = []int64{3600000, 7200000, 10800000}

const want3 = "3600000 1 3 1 2 10\n7200000 2 4 2 3 20\n10800000 3 5 3 4 30\n"

func timestamps(name string, unit arrow.TimeUnit, zone string) column {
	per := map[arrow.TimeUnit]int64{arrow.Second: 1, arrow.Millisecond: 1e3, arrow.Microsecond: 1e6,
		arrow.Nanosecond: 1e9}[unit]
	return column{name, &arrow.TimestampType{Unit: unit, TimeZone: zone}, func(b array.Builder) {
		for _, h := range hours {
			b.(*array.TimestampBuilder).Append(arrow.Timestamp(h / 1000 * per))
		}
	}}
}

func ints(name string, values ...int64) column {
	return column{name, arrow.PrimitiveTypes.Int64, func(b array.Builder) {
		b.(*array.Int64Builder).AppendValues(values, nil)
	}}
}

// doubles are floats; NaN becomes null.
func doubles(name string, values ...float64) column {
	return column{name, arrow.PrimitiveTypes.Float64, func(b array.Builder) {
		for _, v := range values {
			if math.IsNaN(v) {
				b.AppendNull()
			} else {
				b.(*array.Float64Builder).Append(v)
			}
		}
	}}
}

func words(name string, values ...string) column {
	return column{name, arrow.BinaryTypes.String, func(b array.Builder) {
		b.(*array.StringBuilder).AppendValues(values, nil)
	}}
}

// prices are the four columns of the three candles, and the volume.
func prices() []column {
	return []column{doubles("open", 1, 2, 3), doubles("high", 3, 4, 5), doubles("low", 1, 2, 3),
		doubles("close", 2, 3, 4), doubles("volume", 10, 20, 30)}
}

func with(first column, rest ...column) []column { return append([]column{first}, rest...) }

func record(t testing.TB, columns []column) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.typ, Nullable: true})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	for i, c := range columns {
		c.fill(b.Field(i))
	}
	return b.NewRecordBatch()
}

// featherOf is a Feather file of batches.
func featherOf(t testing.TB, options []ipc.Option, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ipc.NewFileWriter(&b, append([]ipc.Option{ipc.WithSchema(batches[0].Schema())}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range batches {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parquetOf is a Parquet file of one row group a batch. Without the schema of Arrow
// it has only what the format itself can express.
func parquetOf(t testing.TB, keepSchema bool, options []parquet.WriterProperty,
	batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var b bytes.Buffer
	arrowOptions := []pqarrow.WriterOption{}
	if keepSchema {
		arrowOptions = append(arrowOptions, pqarrow.WithStoreSchema())
	}
	w, err := pqarrow.NewFileWriter(batches[0].Schema(), &b, parquet.NewWriterProperties(options...),
		pqarrow.NewArrowWriterProperties(arrowOptions...))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range batches {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// files is the same columns in both kinds of files.
func files(t testing.TB, columns []column) map[string][]byte {
	t.Helper()
	r := record(t, columns)
	return map[string][]byte{"x.feather": featherOf(t, nil, r), "x.parquet": parquetOf(t, false, nil, r)}
}

func read(name string, content []byte, o importer.Options) (*importer.Result, error) {
	o.Formats = Formats()
	if o.Symbol == "" && !strings.Contains(name, "_") {
		o.Symbol = "X/USD"
	}
	return importer.Read(context.Background(), []importer.Input{importer.Bytes(name, content)}, o)
}

func rows(s *market.Series) string {
	var b strings.Builder
	for i := range s.Len() {
		fmt.Fprintln(&b, int64(s.Time[i]), s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i])
	}
	return b.String()
}

func refused(t *testing.T, what string, err error, code importer.Code) *importer.Error {
	t.Helper()
	var e *importer.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%s: %v, want %s", what, err, code)
	}
	return e
}

func TestTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	clock := func(shift int64) column { // what a clock in Berlin showed, in winter
		return column{"time", &arrow.TimestampType{Unit: arrow.Millisecond}, func(b array.Builder) {
			for _, h := range hours {
				b.(*array.TimestampBuilder).Append(arrow.Timestamp(h + shift))
			}
		}}
	}
	for what, c := range map[string]struct {
		time column
		zone *time.Location
		unit string
	}{
		"s UTC":        {timestamps("time", arrow.Second, "UTC"), nil, "s ms"}, // Parquet has no seconds
		"ms UTC":       {timestamps("time", arrow.Millisecond, "UTC"), nil, "ms"},
		"us UTC":       {timestamps("time", arrow.Microsecond, "UTC"), nil, "us"},
		"ns UTC":       {timestamps("time", arrow.Nanosecond, "UTC"), nil, "ns"},
		"ns elsewhere": {timestamps("time", arrow.Nanosecond, "Asia/Tokyo"), nil, "ns"},
		"ms in a zone": {clock(3600000), berlin, "ms"},
		"us in UTC":    {timestamps("time", arrow.Microsecond, ""), time.UTC, "us"},
		"ns in UTC":    {timestamps("time", arrow.Nanosecond, ""), time.UTC, "ns"},
		"integer s":    {ints("time", 3600, 7200, 10800), nil, "s"},
		"integer ns": {ints("unix", 1700000000000000000, 1700003600000000000, 1700007200000000000), nil,
			"ns"},
		"whole floats": {doubles("time", 3600, 7200, 10800), nil, "s"},
		"ISO text": {words("time", "1970-01-01T01:00:00Z", "1970-01-01T02:00:00Z",
			"1970-01-01T04:00:00+01:00"), nil, "iso"},
		"text in Berlin": {words("time", "1970-01-01 02:00:00", "1970-01-01 03:00:00", "1970-01-01 04:00:00"),
			berlin, "iso"},
	} {
		for name, content := range files(t, with(c.time, prices()...)) {
			r, err := read(name, content, importer.Options{Zone: c.zone})
			if err != nil {
				t.Errorf("%s, %s: %v", what, name, err)
				continue
			}
			want := want3
			if what == "integer ns" {
				want = strings.NewReplacer("3600000 ", "1700000000000 ", "7200000 ", "1700003600000 ",
					"10800000 ", "1700007200000 ").Replace(want3)
			}
			units := fmt.Sprint(r.Report.TimeUnits)
			if rows(r.Series) != want || !slices.ContainsFunc(strings.Fields(c.unit), func(u string) bool {
				return units == "map["+u+":3]"
			}) {
				t.Errorf("%s, %s: %s\n%s", what, name, units, rows(r.Series))
			}
		}
	}
}

func TestDates(t *testing.T) {
	day32 := column{"Date", arrow.FixedWidthTypes.Date32, func(b array.Builder) {
		b.(*array.Date32Builder).AppendValues([]arrow.Date32{19000, 19001, 19002}, nil)
	}}
	day64 := column{"Date", arrow.FixedWidthTypes.Date64, func(b array.Builder) {
		b.(*array.Date64Builder).AppendValues([]arrow.Date64{19000 * 86400000, 19001 * 86400000,
			19002 * 86400000}, nil)
	}}
	for _, c := range []column{day32, day64, words("Date", "2022-01-08", "2022-01-09", "2022-01-10")} {
		for name, content := range files(t, with(c, prices()...)) {
			r, err := read(name, content, importer.Options{})
			if err != nil || r.Series.Time[0].String() != "2022-01-08T00:00:00.000Z" ||
				r.Series.Timeframe.String() != "1d" || r.Report.TimeUnits["date"] != 3 {
				t.Errorf("%s %s: %+v, %v", name, c.typ, r, err)
			}
		}
	}
	for _, bad := range []arrow.Date32{math.MaxInt32, math.MinInt32, -1} {
		c := column{"Date", arrow.FixedWidthTypes.Date32, func(b array.Builder) {
			b.(*array.Date32Builder).AppendValues([]arrow.Date32{19000, bad, 19002}, nil)
		}}
		for name, content := range files(t, with(c, prices()...)) {
			_, err := read(name, content, importer.Options{})
			if e := refused(t, name, err, importer.TimeOutOfRange); e.Cases[0].Line != 2 {
				t.Errorf("%+v", e)
			}
		}
	}
}

func TestTimesThatAreRefused(t *testing.T) {
	far := func(unit arrow.TimeUnit, n int64) column {
		return column{"time", &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}, func(b array.Builder) {
			b.(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{3600000, arrow.Timestamp(n), 10800000},
				nil)
		}}
	}
	for what, c := range map[string]struct {
		time column
		code importer.Code
		line int
		hint string
	}{
		"no zone": {timestamps("time", arrow.Nanosecond, ""), importer.TimezoneRequired, 1, "--tz"},
		"text no zone": {words("time", "2024-01-01 00:00:00", "2024-01-01 01:00:00",
			"2024-01-01 02:00:00"), importer.TimezoneRequired, 1, "--tz"},
		"half a second": {doubles("time", 3600, 7200.5, 10800), importer.TimeNotInteger, 2,
			"not an integer"},
		"large float": {doubles("time", 3600, 1.7e18, 10800), importer.TimeNotInteger, 2,
			"not an integer"},
		"no time": {doubles("time", 3600, math.NaN(), 10800), importer.BadNumber, 2, "not a time"},
		"year 2200": {far(arrow.Millisecond, 7258118400000), importer.TimeOutOfRange, 2,
			"1970 to 2100"},
		"far ms": {far(arrow.Millisecond, math.MaxInt64), importer.TimeOutOfRange, 2,
			"1970 to 2100"},
		"far us": {far(arrow.Microsecond, math.MinInt64), importer.TimeOutOfRange, 2,
			"1970 to 2100"},
		"far ns":  {far(arrow.Nanosecond, -1), importer.TimeOutOfRange, 2, "1970 to 2100"},
		"integer": {ints("time", 3600, -1, 10800), importer.TimeOutOfRange, 2, "1970 to 2100"},
		"compact date": {ints("time", 20240102, 20240103, 20240104), importer.TimeOutOfRange, 1,
			"write dates as"},
		"ambiguous dates": {words("date", "01/02/2024", "01/03/2024", "01/04/2024"),
			importer.DateOrderAmbiguous, 1, "--date-order"},
	} {
		for name, content := range files(t, with(c.time, prices()...)) {
			_, err := read(name, content, importer.Options{})
			e := refused(t, what, err, c.code)
			if len(e.Cases) == 0 || e.Cases[0].Line != c.line || e.Cases[0].File != name ||
				!strings.Contains(e.Message, c.hint) {
				t.Errorf("%s: %+v", what, e)
			}
		}
	}
	// A clock in Berlin that shows an hour which daylight saving skips.
	if berlin, err := time.LoadLocation("Europe/Berlin"); err == nil {
		skipped := column{"time", &arrow.TimestampType{Unit: arrow.Millisecond}, func(b array.Builder) {
			// 2024-03-31 00:00, 02:30, 03:00
			b.(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1711843200000, 1711852200000,
				1711854000000}, nil)
		}}
		for name, content := range files(t, with(skipped, prices()...)) {
			_, err := read(name, content, importer.Options{Zone: berlin})
			if e := refused(t, name, err, importer.BadNumber); e.Cases[0].Line != 2 ||
				!strings.Contains(e.Message, "daylight saving skips in Europe/Berlin") {
				t.Errorf("%+v", e)
			}
		}
	}
	seconds := with(far(arrow.Second, math.MaxInt64), prices()...)
	_, err := read("x.feather", featherOf(t, nil, record(t, seconds)), importer.Options{})
	refused(t, "far seconds", err, importer.TimeOutOfRange)
}

// numbered is a column of numbers of some type: the high of the candles.
func numbered(typ arrow.DataType, fill func(b array.Builder)) []column {
	c := prices()
	c[1] = column{"high", typ, fill}
	return with(ints("time", 3600, 7200, 10800), c...)
}

func TestNumbers(t *testing.T) {
	d128 := &arrow.Decimal128Type{Precision: 20, Scale: 4}
	wide := &arrow.Decimal128Type{Precision: 38, Scale: 30}
	d256 := &arrow.Decimal256Type{Precision: 60, Scale: 50}
	for what, c := range map[string]struct {
		typ  arrow.DataType
		fill func(b array.Builder)
		want []float64
	}{
		"int8": {arrow.PrimitiveTypes.Int8, func(b array.Builder) {
			b.(*array.Int8Builder).AppendValues([]int8{3, 4, 5}, nil)
		}, nil},
		"int16": {arrow.PrimitiveTypes.Int16, func(b array.Builder) {
			b.(*array.Int16Builder).AppendValues([]int16{3, 4, 5}, nil)
		}, nil},
		"int32": {arrow.PrimitiveTypes.Int32, func(b array.Builder) {
			b.(*array.Int32Builder).AppendValues([]int32{3, 4, 5}, nil)
		}, nil},
		"int64": {arrow.PrimitiveTypes.Int64, func(b array.Builder) {
			b.(*array.Int64Builder).AppendValues([]int64{3, 4, 5}, nil)
		}, nil},
		"uint8": {arrow.PrimitiveTypes.Uint8, func(b array.Builder) {
			b.(*array.Uint8Builder).AppendValues([]uint8{3, 4, 255}, nil)
		}, []float64{3, 4, 255}},
		"uint16": {arrow.PrimitiveTypes.Uint16, func(b array.Builder) {
			b.(*array.Uint16Builder).AppendValues([]uint16{3, 4, 65535}, nil)
		}, []float64{3, 4, 65535}},
		"uint32": {arrow.PrimitiveTypes.Uint32, func(b array.Builder) {
			b.(*array.Uint32Builder).AppendValues([]uint32{3, 4, math.MaxUint32}, nil)
		}, []float64{3, 4, math.MaxUint32}},
		"uint64": {arrow.PrimitiveTypes.Uint64, func(b array.Builder) {
			b.(*array.Uint64Builder).AppendValues([]uint64{3, 4, 1 << 60}, nil)
		}, []float64{3, 4, 1 << 60}},
		"float32": {arrow.PrimitiveTypes.Float32, func(b array.Builder) {
			b.(*array.Float32Builder).AppendValues([]float32{3.1, 4, 5}, nil)
		}, []float64{float64(float32(3.1)), 4, 5}},
		"float16": {arrow.FixedWidthTypes.Float16, func(b array.Builder) {
			b.(*array.Float16Builder).AppendValues([]float16.Num{float16.New(3.5), float16.New(4),
				float16.New(5)}, nil)
		}, []float64{3.5, 4, 5}},
		"decimal": {d128, func(b array.Builder) {
			for _, n := range []int64{31415, 40000, 51234} {
				b.(*array.Decimal128Builder).Append(decimal128.FromI64(n))
			}
		}, []float64{3.1415, 4, 5.1234}},
		"decimal of 32 bits": {&arrow.Decimal32Type{Precision: 9, Scale: 3}, func(b array.Builder) {
			b.(*array.Decimal32Builder).AppendValues([]decimal.Decimal32{3141, 4000, 5000}, nil)
		}, []float64{3.141, 4, 5}},
		"decimal of 64 bits": {&arrow.Decimal64Type{Precision: 18, Scale: 9}, func(b array.Builder) {
			b.(*array.Decimal64Builder).AppendValues([]decimal.Decimal64{3141592653, 4e9, 5e9}, nil)
		}, []float64{3.141592653, 4, 5}},
		"decimal of 38 digits": {wide, func(b array.Builder) {
			n, err := decimal128.FromString("3.141592653589793238462643383279", 38, 30)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				b.(*array.Decimal128Builder).Append(n.Add(n))
			}
		}, []float64{2 * math.Pi, 2 * math.Pi, 2 * math.Pi}},
		"decimal of 256 bits": {d256, func(b array.Builder) {
			n, err := decimal256.FromString("7.1", 60, 50)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				b.(*array.Decimal256Builder).Append(n)
			}
		}, []float64{7.1, 7.1, 7.1}},
		"text": {arrow.BinaryTypes.String, func(b array.Builder) {
			b.(*array.StringBuilder).AppendValues([]string{"3", "4.5", " 5e0 "}, nil)
		}, []float64{3, 4.5, 5}},
		"long text": {arrow.BinaryTypes.LargeString, func(b array.Builder) {
			b.(*array.LargeStringBuilder).AppendValues([]string{"3", "4.5", "5"}, nil)
		}, []float64{3, 4.5, 5}},
		"dictionary of text": {&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8,
			ValueType: arrow.BinaryTypes.String}, func(b array.Builder) {
			for _, s := range []string{"5", "4", "5"} {
				if err := b.(*array.BinaryDictionaryBuilder).AppendString(s); err != nil {
					t.Fatal(err)
				}
			}
		}, []float64{5, 4, 5}},
		"dictionary of floats": {&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32,
			ValueType: arrow.PrimitiveTypes.Float64}, func(b array.Builder) {
			for _, x := range []float64{5.5, 4.5, 5.5} {
				if err := b.(*array.Float64DictionaryBuilder).Append(x); err != nil {
					t.Fatal(err)
				}
			}
		}, []float64{5.5, 4.5, 5.5}},
		"dictionary of integers": {&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16,
			ValueType: arrow.PrimitiveTypes.Int64}, func(b array.Builder) {
			for _, x := range []int64{5, 4, 5} {
				if err := b.(*array.Int64DictionaryBuilder).Append(x); err != nil {
					t.Fatal(err)
				}
			}
		}, []float64{5, 4, 5}},
	} {
		if c.want == nil {
			c.want = []float64{3, 4, 5}
		}
		r := record(t, numbered(c.typ, c.fill))
		made := map[string][]byte{"x.feather": featherOf(t, nil, r)}
		// the library does not write those to Parquet
		if id := c.typ.ID(); id != arrow.DECIMAL32 && id != arrow.DECIMAL64 {
			made["plain.parquet"], made["arrow.parquet"] = parquetOf(t, false, nil, r),
				parquetOf(t, true, nil, r)
		}
		for name, content := range made {
			got, err := read(name, content, importer.Options{})
			if err != nil || !slices.Equal(got.Series.High, c.want) {
				t.Errorf("%s in %s: %v, want %v (%v)", what, name, got, c.want, err)
				continue
			}
			if single := strings.HasPrefix(what, "float"); single != (len(got.Report.Warnings) == 1) {
				t.Errorf("%s in %s: %v", what, name, got.Report.Warnings)
			}
		}
	}
}

func TestColumnsThatHoldNoNumbers(t *testing.T) {
	yes := func(b array.Builder) { b.(*array.BooleanBuilder).AppendValues([]bool{true, true, true}, nil) }
	lists := func(b array.Builder) {
		for range 3 {
			b.(*array.ListBuilder).Append(true)
			b.(*array.ListBuilder).ValueBuilder().(*array.Float64Builder).Append(1)
		}
	}
	for what, columns := range map[string][]column{
		"booleans": numbered(arrow.FixedWidthTypes.Boolean, yes),
		"lists":    numbered(arrow.ListOf(arrow.PrimitiveTypes.Float64), lists),
	} {
		for name, content := range files(t, columns) {
			if what == "lists" && strings.HasSuffix(name, "parquet") {
				continue // there, the leaves have other names
			}
			_, err := read(name, content, importer.Options{})
			if e := refused(t, what, err, importer.BadNumber); !strings.Contains(e.Message, "high") {
				t.Errorf("%s: %v", what, e)
			}
		}
	}
	for what, c := range map[string]column{
		"a time as price": timestamps("close", arrow.Millisecond, "UTC"),
		"words":           words("close", "one", "two", "three"),
	} {
		p := prices()
		p[3] = c
		for name, content := range files(t, with(ints("time", 3600, 7200, 10800), p...)) {
			_, err := read(name, content, importer.Options{})
			if e := refused(t, what, err, importer.BadNumber); e.Cases[0].Line != 1 {
				t.Errorf("%s in %s: %+v", what, name, e)
			}
		}
	}
	// A column that is not selected may be anything.
	extra := append(numbered(arrow.PrimitiveTypes.Float64,
		func(b array.Builder) { b.(*array.Float64Builder).AppendValues([]float64{3, 4, 5}, nil) }),
		column{"signal", arrow.FixedWidthTypes.Boolean, yes},
		column{"levels", arrow.ListOf(arrow.PrimitiveTypes.Float64), lists})
	for name, content := range files(t, extra) {
		if r, err := read(name, content, importer.Options{}); err != nil || rows(r.Series) != want3 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNulls(t *testing.T) {
	nan := math.NaN()
	gone := column{"volume", arrow.Null, func(b array.Builder) { b.(*array.NullBuilder).AppendNulls(4) }}
	columns := []column{
		ints("time", 3600, 5400, 7200, 10800), doubles("open", 1, nan, 2, 3), doubles("high", 3, nan, 4, 5),
		doubles("low", 1, nan, 2, 3), doubles("close", 2, nan, 3, 4), doubles("volume", 10, nan, 20, 30),
	}
	for name, content := range files(t, columns) {
		r, err := read(name, content, importer.Options{})
		if err != nil || rows(r.Series) != want3 || r.Report.Skipped != 1 || r.Report.RowsRead != 4 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	columns[5] = gone
	for name, content := range files(t, columns) {
		r, err := read(name, content, importer.Options{})
		if err != nil || r.Series.Volume[2] != 0 || r.Report.Warnings[0].Code != "VOLUME_MISSING" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	// What int64 does not hold is how uint64 marks a missing value.
	none := with(ints("time", 3600, 5400, 7200, 10800), doubles("open", 1, 1, 2, 3),
		column{"high", arrow.PrimitiveTypes.Uint64, func(b array.Builder) {
			b.(*array.Uint64Builder).AppendValues([]uint64{3, math.MaxUint64, 4, 5}, nil)
		}}, doubles("low", 1, 1, 2, 3), doubles("close", 2, 1, 3, 4), doubles("volume", 10, 1, 20, 30))
	for name, content := range files(t, none) {
		if r, err := read(name, content, importer.Options{}); err != nil || rows(r.Series) != want3 ||
			r.Report.Skipped != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	inf := prices()
	inf[1] = doubles("high", 3, math.Inf(1), 5)
	for name, content := range files(t, with(ints("time", 3600, 7200, 10800), inf...)) {
		_, err := read(name, content, importer.Options{})
		if e := refused(t, name, err, importer.BadNumber); e.Cases[0].Line != 2 ||
			e.Cases[0].Text != "7200,2,+Inf,2,3,20" {
			t.Errorf("%+v", e)
		}
	}
}

func TestNamesAndColumns(t *testing.T) {
	p := prices()
	shuffled := []column{words("exchange", "a", "a", "a"), p[4], p[3], p[2], p[1], p[0],
		ints("open_time", 3600, 7200, 10800), doubles("close", 9, 9, 9)}
	for name, content := range files(t, shuffled) {
		r, err := read(name, content, importer.Options{})
		if err != nil || rows(r.Series) != want3 || r.Report.Profile != "binance-header" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	nameless := with(ints("t", 3600, 7200, 10800), doubles("o", 1, 2, 3), doubles("h", 3, 4, 5),
		doubles("l", 1, 2, 3), doubles("c", 2, 3, 4), doubles("v", 10, 20, 30))
	columns, err := importer.ParseColumns("time,open,high,low,close,volume")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files(t, nameless) {
		_, err := read(name, content, importer.Options{})
		if e := refused(t, name, err, importer.ColumnsMissing); e.Cases[0].Text != "t,o,h,l,c,v" {
			t.Errorf("%+v", e)
		}
		r, err := read(name, content, importer.Options{Columns: columns})
		if err != nil || rows(r.Series) != want3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, content := range files(t, with(ints("time", 3600, 7200, 10800), p[0], p[1], p[2])) {
		_, err := read(name, content, importer.Options{})
		if e := refused(t, name, err, importer.ColumnsMissing); !strings.Contains(e.Message,
			"does not name close") {
			t.Errorf("%v", e)
		}
		_, err = read(name, content, importer.Options{Columns: columns})
		refused(t, name, err, importer.ColumnsMissing)
	}
	// Freqtrade names its series in the name of the file.
	for name, content := range files(t, with(timestamps("date", arrow.Millisecond, "UTC"), p...)) {
		r, err := read("BTC_USDT-1h"+name[1:], content, importer.Options{})
		if err != nil || r.Series.Symbol != "BTC/USDT" || r.Report.Profile != "freqtrade" ||
			rows(r.Series) != want3 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestTickersInColumns(t *testing.T) {
	ticker := column{"ticker",
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		func(b array.Builder) {
			for _, s := range []string{"A", "B", "A"} {
				if err := b.(*array.BinaryDictionaryBuilder).AppendString(s); err != nil {
					t.Fatal(err)
				}
			}
		}}
	for name, content := range files(t, with(ticker, append(prices(), ints("time", 3600, 7200, 10800))...)) {
		_, err := read(name, content, importer.Options{})
		if e := refused(t, name, err, importer.MultipleTickers); e.Cases[0].Line != 2 {
			t.Errorf("%+v", e)
		}
		r, err := read(name, content, importer.Options{Ticker: "A"})
		if err != nil || r.Series.Len() != 2 || r.Report.Skipped != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestIntegersOfDatabento(t *testing.T) {
	columns := with(ints("ts_event", 1700000000000000000, 1700003600000000000), ints("open", 1e9, 2e9),
		ints("high", 3e9, 4500000001), ints("low", 1e9, 2e9), ints("close", 2e9, 3e9), ints("volume", 10, 20))
	for name, content := range files(t, columns) {
		r, err := read(name, content, importer.Options{})
		if err != nil || !slices.Equal(r.Series.High, []float64{3, 4.500000001}) ||
			!slices.Equal(r.Series.Volume, []float64{10, 20}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	floats := with(ints("ts_event", 1700000000000000000, 1700003600000000000), doubles("open", 1, 2),
		doubles("high", 3, 4), doubles("low", 1, 2), doubles("close", 2, 3))
	for name, content := range files(t, floats) {
		if r, err := read(name, content, importer.Options{}); err != nil ||
			!slices.Equal(r.Series.High, []float64{3, 4}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// begin is the time of the first of many.
const begin = 1_700_000_040_000

// many is n candles of a minute.
func many(n int) []column {
	times, values := make([]int64, n), make([]float64, n)
	for i := range n {
		times[i], values[i] = begin+int64(i)*60000, float64(i+1)
	}
	return with(ints("time_ms", times...), doubles("open", values...), doubles("high", values...),
		doubles("low", values...), doubles("close", values...), doubles("volume", values...))
}

func check(t *testing.T, what string, n int, r *importer.Result, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	s := r.Series
	if s.Len() != n || r.Report.RowsKept != n || s.Time[n-1] != market.Time(begin+int64(n-1)*60000) {
		t.Errorf("%s: %d rows", what, s.Len())
		return
	}
	for i := range n {
		if x := float64(i + 1); s.Time[i] != market.Time(begin+int64(i)*60000) || s.Open[i] != x ||
			s.Low[i] != x || s.Volume[i] != x {
			t.Fatalf("%s: row %d is %+v", what, i, s.At(i))
		}
	}
}

func TestCompression(t *testing.T) {
	const n = 5000
	r := record(t, many(n))
	for what, options := range map[string][]ipc.Option{"none": nil, "LZ4": {ipc.WithLZ4()},
		"Zstandard": {ipc.WithZstd()}} {
		got, err := read("x.feather", featherOf(t, options, r), importer.Options{})
		check(t, what, n, got, err)
	}
	for _, codec := range []compress.Compression{
		compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli,
		compress.Codecs.Zstd, compress.Codecs.Lz4Raw,
	} {
		for what, more := range map[string][]parquet.WriterProperty{
			"dictionary": nil, "plain": {parquet.WithDictionaryDefault(false)},
			"version 2 pages": {parquet.WithDataPageVersion(parquet.DataPageV2),
				parquet.WithDataPageSize(1000)},
		} {
			got, err := read("x.parquet",
				parquetOf(t, false, append(more, parquet.WithCompression(codec)), r), importer.Options{})
			check(t, codec.String()+" "+what, n, got, err)
		}
	}
}

// Batches, row groups and the portions in which they are handed on have nothing to do
// with each other.
func TestBatchesAndRowGroups(t *testing.T) {
	const n = 3*batchRows + 17
	r := record(t, many(n))
	var parts []arrow.RecordBatch
	for from := 0; from < n; {
		to := min(n, from+1+from/2)
		parts = append(parts, r.NewSlice(int64(from), int64(to)))
		from = to
	}
	empty := r.NewSlice(0, 0)
	parts = append(slices.Insert(parts, 3, empty), empty)
	for what, content := range map[string][]byte{
		"one batch":     featherOf(t, nil, r),
		"batches":       featherOf(t, []ipc.Option{ipc.WithLZ4()}, parts...),
		"one row group": parquetOf(t, false, []parquet.WriterProperty{parquet.WithDataPageSize(4096)}, r),
		"row groups":    parquetOf(t, true, nil, parts...),
		"short groups": parquetOf(t, false, []parquet.WriterProperty{parquet.WithMaxRowGroupLength(1000)},
			r),
		"delta encoding": parquetOf(t, false,
			[]parquet.WriterProperty{parquet.WithDictionaryFor("time_ms", false),
				parquet.WithEncodingFor("time_ms", parquet.Encodings.DeltaBinaryPacked)}, r),
	} {
		heard := int64(0)
		got, err := read("x", content, importer.Options{Progress: func(done, total int64) {
			if done < heard || done > total {
				t.Errorf("%s: %d of %d after %d", what, done, total, heard)
			}
			heard = done
		}})
		check(t, what, n, got, err)
		if heard < int64(len(content))*9/10 { // an empty batch at the end is no progress
			t.Errorf("%s: heard of %d bytes of %d", what, heard, len(content))
		}
	}
	for what, content := range map[string][]byte{"feather": featherOf(t, nil, empty),
		"parquet": parquetOf(t, false, nil, empty)} {
		_, err := read("x", content, importer.Options{})
		refused(t, what, err, importer.NoRows)
	}
}

// Columns of text that span pages: what was read of one must outlive the next.
func TestTextAcrossPages(t *testing.T) {
	const n = 20_000
	columns := many(n)
	text := make([]string, n)
	for i := range n {
		text[i] = fmt.Sprint(float64(i + 1))
	}
	columns[3] = words("low", text...)
	r := record(t, columns)
	small := []parquet.WriterProperty{parquet.WithDataPageSize(512), parquet.WithDictionaryDefault(false),
		parquet.WithCompression(compress.Codecs.Snappy)}
	got, err := read("x.parquet", parquetOf(t, false, small, r), importer.Options{})
	check(t, "text", n, got, err)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, content := range files(t, many(10)) {
		_, err := importer.Read(ctx, []importer.Input{importer.Bytes(name, content)},
			importer.Options{Symbol: "X/USD", Formats: Formats()})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
