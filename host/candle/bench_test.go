package candle_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

const million = 1_000_000

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

// BenchmarkImportCSV imports a million rows of canonical CSV, from the file to the
// synced dataset in the catalogue.
func BenchmarkImportCSV(b *testing.B) {
	ctx := context.Background()
	store, err := candle.Open(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	path := filepath.Join(b.TempDir(), "x.csv")
	if err := os.WriteFile(path,
		csvOf(sdktest.Synth(1, million, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC), time.Minute)),
		0o600); err != nil {
		b.Fatal(err)
	}
	in, err := importer.File(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		req := candle.ImportRequest{Exchange: "bench", Files: []importer.Input{in},
			Options: importer.Options{Symbol: "SYNTH/USD"}}
		if _, err := store.Import(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(million*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkScan opens a dataset of a million rows through the store, checks it and
// sums every column.
func BenchmarkScan(b *testing.B) {
	ctx := context.Background()
	store, err := candle.Open(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	d, err := store.Put(ctx,
		candle.PutRequest{Exchange: "bench",
			Series: sdktest.Synth(1, million, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC),
				time.Minute)})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		f, err := store.OpenSeries(d)
		if err != nil {
			b.Fatal(err)
		}
		if sum(f.Series()) == 0 {
			b.Fatal("nothing summed")
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/Mrows")
}

func sum(s *market.Series) float64 {
	var t int64
	var o, h, l, c, v float64
	for i := range s.Time {
		t += int64(s.Time[i])
		o += s.Open[i]
		h += s.High[i]
		l += s.Low[i]
		c += s.Close[i]
		v += s.Volume[i]
	}
	return float64(t) + o + h + l + c + v
}
