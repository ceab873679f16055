package buyandhold

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The file byte by byte: 12 digits, null empty.
func TestFile(t *testing.T) {
	const text = "date,strategy,benchmark,difference\n2020-01-01,1,0,1\n2020-01-01T00:00:00.001Z,2,1,1\n"
	got := fileOf(&Benchmark{Time: []market.Time{1577836800000, 1577836800001}, Strategy: []float64{1, 2},
		Holding: []float64{0, 1}, Difference: []float64{1, 1}})
	if got.Path != "falsify/buy_and_hold/benchmark.csv" || got.Rows != 2 || string(got.Content) != text {
		t.Errorf("%s, %d rows:\n%s\nwant\n%s", got.Path, got.Rows, got.Content, text)
	}
}
