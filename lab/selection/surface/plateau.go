package surface

import (
	"cmp"
	"slices"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
)

const neighbours = 8

// Plateau is the score of each trial: the median objective of it and its eight nearest
// neighbours in the unit cube, fewer where there are fewer. Distances are Euclidean, of
// equal ones the lower index is nearer. Trials without an objective have no score and are
// nobody's neighbours. The median of an even number is the lower of the middle two, the
// order statistic ceil(n/2). The time grows with the square of the number of trials.
func Plateau(trials []Trial) []*float64 {
	var with []int
	for i, t := range trials {
		if t.Objective != nil {
			with = append(with, i)
		}
	}
	out := make([]*float64, len(trials))
	near := make([]neighbour, 0, neighbours+2)
	var around []float64
	for _, i := range with {
		near = near[:0]
		for _, j := range with {
			if i != j {
				near = insert(near, neighbour{distance(trials[i].At, trials[j].At), j})
			}
		}
		around = append(around[:0], *trials[i].Objective)
		for _, n := range near {
			around = append(around, *trials[n.index].Objective)
		}
		median, _ := stat.Quantile(around, 0.5) // there is at least the trial itself
		median = metric.Round(median)
		out[i] = &median
	}
	return out
}

// neighbour is a trial at a squared distance.
type neighbour struct {
	square float64
	index  int
}

// insert keeps the nearest; indices come ascending, so that an equal one stays behind.
func insert(near []neighbour, n neighbour) []neighbour {
	if len(near) == neighbours && n.square >= near[neighbours-1].square {
		return near
	}
	at, _ := slices.BinarySearchFunc(near, n, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.square, b.square), cmp.Compare(a.index, b.index))
	})
	near = slices.Insert(near, at, n)
	return near[:min(len(near), neighbours)]
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for k := range a {
		d := a[k] - b[k]
		sum += float64(d * d)
	}
	return sum
}
