package candlefile_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

const million = 1_000_000

// BenchmarkScan opens a file of a million rows, checksum and values included, and
// sums every column.
func BenchmarkScan(b *testing.B) {
	path := filepath.Join(b.TempDir(), "scan.candles")
	if err := candlefile.Create(path,
		sdktest.Synth(1, million, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC),
			time.Minute)); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		f, err := candlefile.Open(path)
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

// BenchmarkOpen is the part of BenchmarkScan that is not the reader's own work.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "open.candles")
	if err := candlefile.Create(path,
		sdktest.Synth(1, million, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC),
			time.Minute)); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		f, err := candlefile.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
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
