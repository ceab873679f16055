package cscv

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Metric is how a trial is judged on some rows.
type Metric int

// The metrics: mean over standard deviation (ddof 1), and the mean.
const (
	Sharpe Metric = iota
	Mean
)

// block is what a metric must know of some rows of one column: blocks are added without
// looking at the rows again. Source of the sum of squares: Chan, Golub and LeVeque (1983).
type block struct {
	n, mean, squares float64 // squares of the deviations from the mean
	first            float64
	constant         bool // all values are first
}

func blockOf(x []float64) block {
	e := stat.Deviations(x)
	return block{float64(len(x)), stat.Mean(x), stat.Dot(e, e), x[0], stat.AllEqual(x)}
}

func (b block) plus(o block) block {
	if b.n == 0 {
		return o
	}
	n, d := b.n+o.n, o.mean-b.mean
	return block{
		n:        n,
		mean:     float64(b.mean*(b.n/n)) + float64(o.mean*(o.n/n)),
		squares:  b.squares + o.squares + float64(float64(d*d)*(b.n*o.n/n)),
		first:    b.first,
		constant: b.constant && o.constant && b.first == o.first,
	}
}

// judge is the performance. A trial that did nothing in these rows has neither earned
// nor risked anything and counts as 0; any other constant has no Sharpe ratio.
func (m Metric) judge(b block) (float64, stat.Reason) {
	switch {
	case m == Mean:
		return stat.Finite(b.mean)
	case b.constant && b.first == 0:
		return 0, ""
	case b.constant || b.squares == 0:
		return 0, stat.ZeroVariance
	}
	return stat.Finite(b.mean / math.Sqrt(b.squares/(b.n-1)))
}
