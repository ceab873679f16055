package importer_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// csvOf returns a series as canonical CSV.
func csvOf(s *market.Series) []byte {
	b := []byte("time_ms,open,high,low,close,volume\n")
	for i := range s.Len() {
		b = strconv.AppendInt(b, int64(s.Time[i]), 10)
		for _, x := range []float64{s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i]} {
			b = append(b, ',')
			b = strconv.AppendFloat(b, x, 'f', -1, 64)
		}
		b = append(b, '\n')
	}
	return b
}

// BenchmarkRead is an import without the storing: a million rows of canonical CSV.
func BenchmarkRead(b *testing.B) {
	const rows = 1_000_000
	path := filepath.Join(b.TempDir(), "x.csv")
	if err := os.WriteFile(path,
		csvOf(sdktest.Synth(1, rows, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC), time.Minute)),
		0o600); err != nil {
		b.Fatal(err)
	}
	in, err := importer.File(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := importer.Read(context.Background(), []importer.Input{in},
			importer.Options{Symbol: "SYNTH/USD"}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
