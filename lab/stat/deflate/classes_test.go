package deflate_test

import (
	"slices"
	"testing"

	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/random"
)

// Copies stand for one column, also on other rows, and each column is of one class only.
func TestClasses(t *testing.T) {
	returns := searched(1, 3, 200, .5, 0)
	scaled := slices.Clone(returns[0])
	for i := range scaled {
		scaled[i] *= 3
	}
	rows := make([]int, 60)
	for i := range rows {
		rows[i] = i + 100
	}
	columns := append(whole(append(returns, scaled, make([]float64, 200))),
		deflate.Column{Rows: rows, Returns: returns[1][100:160]}, deflate.Column{Rows: rows[:20], Returns: returns[1][100:120]})
	of, err := deflate.Classes(t.Context(), columns)
	if err != nil || of[0] != of[3] || of[5] != 1 || of[1] != 1 || of[2] != 2 || of[4] != 4 || of[6] != 6 {
		t.Fatal(of, err)
	}
	kept, err := deflate.Distinct(t.Context(), columns)
	if err != nil || len(kept) != 4 { // the flat one has no ratio
		t.Errorf("%d are distinct, %v", len(kept), err)
	}
	other := random.New(3, random.Noise, 0)
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	for i := range order {
		k := i + int(other.IntN(len(order)-i))
		order[i], order[k] = order[k], order[i]
	}
	mixed := make([]deflate.Column, len(columns))
	for i, k := range order {
		mixed[i] = columns[k]
	}
	again, err := deflate.Classes(t.Context(), mixed)
	for i, k := range order {
		if err != nil || columns[order[again[i]]].Returns[0] != columns[of[k]].Returns[0] {
			t.Fatalf("in another order column %d is of %d: %v, %v", k, order[again[i]], of, err)
		}
	}
}
