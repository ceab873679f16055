package multiple

import (
	"slices"
)

// Adjusted are adjusted p-values in the order of the raw ones.
type Adjusted struct {
	Bonferroni, Holm []float64
	// BH controls the false discovery rate of independent tests, BY of any.
	BH, BY []float64
	// HLBHY is what Harvey and Liu (2015) print as BHY: it begins at the raw largest p
	// instead of its adjusted value. It exists for comparison with their tables only.
	HLBHY []float64
}

// Adjust adjusts p-values for each other. Sources: Bonferroni (1936), Holm (1979),
// Benjamini and Hochberg (1995), Benjamini and Yekutieli (2001).
func Adjust(p []float64) Adjusted {
	m := len(p)
	order := make([]int, m) // from the smallest p to the largest, ties by position
	harmonic := 0.0
	for i := range order {
		order[i] = i
		harmonic += 1 / float64(i+1)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	out := Adjusted{Bonferroni: make([]float64, m), Holm: make([]float64, m)}
	worst := 0.0
	for rank, i := range order {
		out.Bonferroni[i] = min(1, p[i]*float64(m))
		worst = max(worst, min(1, p[i]*float64(m-rank)))
		out.Holm[i] = worst
	}
	out.BH = stepUp(p, order, 1, 1)
	out.BY = stepUp(p, order, harmonic, 1)
	if m > 0 {
		out.HLBHY = stepUp(p, order, harmonic, p[order[m-1]])
	} else {
		out.HLBHY = []float64{}
	}
	return out
}

// stepUp is the running minimum, from the largest p down, of factor * m / rank * p,
// nowhere above limit.
func stepUp(p []float64, order []int, factor, limit float64) []float64 {
	m := len(p)
	out := make([]float64, m)
	least := limit
	for rank := m; rank >= 1; rank-- {
		i := order[rank-1]
		// The factor first, so that it is exactly 1 where it should be.
		least = min(least, p[i]*(factor*float64(m)/float64(rank)))
		out[i] = least
	}
	return out
}
