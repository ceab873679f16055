package selection

import (
	"cmp"
	"math"
	"slices"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
)

// SurfacePoint is a point of the search: its position in the unit cube, and its objective in the
// unit of its metric, nil if it has none.
type SurfacePoint struct {
	At        []float64
	Objective *float64
}

// Importance is how much the objective depends on one parameter alone. What is undefined is null
// and has a reason in Undefined.
type Importance struct {
	Param string `json:"param"`
	// RankCorrelation is Spearman's, between position and objective.
	RankCorrelation *float64 `json:"rank_correlation"`
	// VarianceExplained is the share of the variance of the objective that lies between
	// eight equal bins of the position, 0 to 1. It sees what is not monotonous, but is
	// above 0 by chance: about 7/(n - 1) where nothing depends on anything.
	VarianceExplained *float64               `json:"variance_explained"`
	Undefined         map[string]stat.Reason `json:"undefined,omitempty"`
}

const bins = 8

// ImportanceOf describes each parameter; names are in the order of the coordinates. Trials
// without an objective are left out. The reasons are TooFewReturns for fewer than two
// trials and ZeroVariance where all positions or all objectives are equal.
func ImportanceOf(names []string, trials []SurfacePoint) []Importance {
	var y []float64
	var at [][]float64
	for _, t := range trials {
		if t.Objective != nil {
			y, at = append(y, *t.Objective), append(at, t.At)
		}
	}
	out := make([]Importance, len(names))
	x := make([]float64, len(y))
	for k, name := range names {
		for i := range at {
			x[i] = at[i][k]
		}
		d := Importance{Param: name, Undefined: map[string]stat.Reason{}}
		noted(d.Undefined, "rank_correlation", &d.RankCorrelation)(correlation(ranks(x), ranks(y)))
		noted(d.Undefined, "variance_explained", &d.VarianceExplained)(explained(x, y))
		out[k] = d
	}
	return out
}

// ranks are 1 for the least; equal values share the mean of their ranks.
func ranks(x []float64) []float64 {
	order := stat.Order(x)
	out := make([]float64, len(x))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return out
}

// correlation is Pearson's.
func correlation(x, y []float64) (float64, stat.Reason) {
	switch {
	case len(x) < 2:
		return 0, stat.TooFewReturns
	case stat.AllEqual(x) || stat.AllEqual(y):
		return 0, stat.ZeroVariance
	}
	ex, ey := stat.Deviations(x), stat.Deviations(y)
	r, why := stat.Finite(stat.Dot(ex, ey) / math.Sqrt(float64(stat.Dot(ex, ex)*stat.Dot(ey, ey))))
	return min(max(r, -1), 1), why
}

// explained is the sum of squares between the bins of x over that of y.
func explained(x, y []float64) (float64, stat.Reason) {
	switch {
	case len(y) < 2:
		return 0, stat.TooFewReturns
	case stat.AllEqual(x) || stat.AllEqual(y):
		return 0, stat.ZeroVariance
	}
	var sums [bins]stat.Accumulator
	var n [bins]float64
	e := stat.Deviations(y)
	for i, u := range x {
		b := min(max(int(u*bins), 0), bins-1)
		sums[b].Add(e[i])
		n[b]++
	}
	var between stat.Accumulator
	for b := range sums {
		if n[b] > 0 {
			v := sums[b].Value()
			between.Add(float64(v * v / n[b]))
		}
	}
	r, why := stat.Finite(between.Value() / stat.Dot(e, e))
	return min(max(r, 0), 1), why
}

const neighbours = 8

// Plateau is the score of each trial: the median objective of it and its eight nearest
// neighbours in the unit cube, fewer where there are fewer. Distances are Euclidean, of
// equal ones the lower index is nearer. Trials without an objective have no score and are
// no neighbours. The median of an even number is the lower of the middle two, the
// order statistic ceil(n/2). The time grows with the square of the number of trials.
func Plateau(trials []SurfacePoint) []*float64 {
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
