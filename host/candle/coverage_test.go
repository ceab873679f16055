package candle_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// holed is candles of an hour of which keep says which are there.
func holed(n int, keep func(i int) bool) *market.Series {
	s := &market.Series{Symbol: "A/Q", Timeframe: market.MustTimeframe("1h")}
	for i := range n {
		if keep(i) {
			s.Append(market.Candle{OpenTime: market.Time(1704067200000 + i*3600000), Open: 1,
				High: 2, Low: 1, Close: 2, Volume: float64(i)})
		}
	}
	return s
}

func TestCoverage(t *testing.T) {
	store, err := candle.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	// Every third candle is missing: more gaps than the catalogue lists. The last hundred are whole.
	const n = 6100
	keep := func(i int) bool { return i%3 != 1 || i >= 6000 }
	d, err := store.Put(t.Context(), candle.PutRequest{Exchange: "x", Series: holed(n, keep)})
	if err != nil {
		t.Fatal(err)
	}
	gaps, err := store.AllGaps(t.Context(), d)
	if err != nil || len(gaps) != 2000 || d.Report.Gaps.GapCount != 2000 || len(d.Report.Gaps.Gaps) != 1000 {
		t.Fatalf("%d gaps, %v", len(gaps), err)
	}
	if !slices.IsSortedFunc(gaps, func(a, b candle.Gap) int { return int(a.From - b.From) }) {
		t.Error("the gaps are not in order")
	}
	shares := d.Coverage(gaps, 61)
	for k, share := range shares {
		have := 0
		for i := k * n / 61; i < (k+1)*n/61; i++ {
			if keep(i) {
				have++
			}
		}
		if want := float64(have) / 100; share != want {
			t.Errorf("stretch %d: %v, want %v", k, share, want)
		}
	}
	// They are known now, so the file is not read again.
	if err := os.Remove(store.Path(d.SHA256)); err != nil {
		t.Fatal(err)
	}
	if again, err := store.AllGaps(t.Context(), d); err != nil || len(again) != 2000 {
		t.Errorf("%d gaps, %v", len(again), err)
	}
	few := candle.Dataset{Rows: 3}
	if got := fmt.Sprint(few.Coverage(nil, 200)); got != "[1 1 1]" {
		t.Error(got)
	}
}

func TestMerged(t *testing.T) {
	s := holed(5, func(int) bool { return true })
	s.High[1], s.Low[2], s.Close[4] = 9, 0.5, 7
	got := candle.Merged(s, 2)
	if len(got) != 2 || got[0].High != 9 || got[0].Low != 0.5 || got[0].Volume != 3 || got[1].Close != 7 ||
		got[1].OpenTime != s.Time[3] {
		t.Errorf("%+v", got)
	}
	if got := candle.Merged(s, 5); len(got) != 5 {
		t.Errorf("%+v", got)
	}
}
