package columnar

import (
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// groupRows is how many rows a row group has.
const groupRows = 1 << 20

// WriteParquet writes candles as a Parquet file with the columns time (a timestamp of
// milliseconds in UTC), open, high, low, close and volume, compressed by Zstandard. The same
// candles are the same bytes, as long as the Arrow library stays the same.
func WriteParquet(w io.Writer, s *market.Series) (err error) {
	stamp, err := schema.NewPrimitiveNodeLogical("time", parquet.Repetitions.Required,
		schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int64, 0, -1)
	if err != nil {
		return err
	}
	fields := schema.FieldList{stamp}
	values := [][]float64{s.Open, s.High, s.Low, s.Close, s.Volume}
	for _, name := range []string{"open", "high", "low", "close", "volume"} {
		fields = append(fields, schema.NewFloat64Node(name, parquet.Repetitions.Required, -1))
	}
	root, err := schema.NewGroupNode("candles", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return err
	}
	// Without its other methods, so that the library does not close it.
	out := file.NewParquetWriter(struct{ io.Writer }{w}, root,
		file.WithWriterProps(parquet.NewWriterProperties(
			parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(false),
			parquet.WithEncodingFor("time", parquet.Encodings.DeltaBinaryPacked))))
	for from := 0; from < s.Len(); from += groupRows {
		to := min(from+groupRows, s.Len())
		if err := writeGroup(out, s.Time[from:to], values, from, to); err != nil {
			return err
		}
	}
	return out.Close()
}

func writeGroup(out *file.Writer, times []market.Time, values [][]float64, from, to int) error {
	group, err := out.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	column, err := group.NextColumn()
	if err != nil {
		return err
	}
	ms := make([]int64, len(times))
	for i, t := range times {
		ms[i] = int64(t)
	}
	if _, err := column.(*file.Int64ColumnChunkWriter).WriteBatch(ms, nil, nil); err != nil {
		return err
	}
	if err := column.Close(); err != nil {
		return err
	}
	for _, all := range values {
		if column, err = group.NextColumn(); err != nil {
			return err
		}
		if _, err := column.(*file.Float64ColumnChunkWriter).WriteBatch(all[from:to], nil, nil); err != nil {
			return err
		}
		if err := column.Close(); err != nil {
			return err
		}
	}
	return group.Close()
}
