package market_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// What is visible is, of each time, the row that became known last by then: also when rows are
// revised, come late, and are more than are kept. A reader that hands out row by row, and one
// that first hands out all there is, show the same.
func TestInputHistoryIsWhatIsKnown(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{40, 3*market.MaxInputHistory + 7} {
		rows := make([]market.InputRow, 0, size)
		for k := range size {
			known := market.Time(1000 * k)
			at := known - market.Time(random.IntN(30_000))
			if k%5 == 0 {
				at = market.Time(random.IntN(1000 * size)) // of any time
			}
			rows = append(rows, market.InputRow{Time: at, Known: known, Value: float64(k)})
		}
		slices.SortFunc(rows, market.CompareInputRows)
		stepwise, atOnce := market.NewInputReader(rows), market.NewInputReader(rows)
		var slow, fast market.InputHistory
		for _, now := range []market.Time{-1, 0, 999, 20_000, market.Time(1000*size - 1000)} {
			for at := now - 1000; at <= now; at += 250 { // what is before comes with the first
				for _, r := range stepwise.Until(at) {
					slow.See(r)
				}
			}
			for _, r := range atOnce.Until(now) {
				if r.Known > now {
					t.Fatalf("a row known at %d is handed out at %d", r.Known, now)
				}
				fast.See(r)
			}
			want := visible(rows, now)
			for _, h := range []*market.InputHistory{&slow, &fast} {
				if got := h.Last(market.MaxInputHistory + 1); !slices.Equal(got, want) {
					t.Fatalf("%d rows, at %d: %d are visible, want %d", size, now, len(got), len(want))
				}
			}
		}
	}
}

// visible is the rule as it is written: slow, and of nothing but the rows.
func visible(rows []market.InputRow, now market.Time) []market.InputRow {
	latest := map[market.Time]market.InputRow{}
	for _, r := range rows {
		if r.Known <= now && r.Known >= latest[r.Time].Known {
			latest[r.Time] = r
		}
	}
	var list []market.InputRow
	for _, r := range latest {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b market.InputRow) int { return int(a.Time - b.Time) })
	return list[max(0, len(list)-market.MaxInputHistory):]
}
