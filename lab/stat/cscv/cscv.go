// Package cscv estimates the probability that choosing the best of many trials
// overfits, by combinatorially symmetric cross-validation (Bailey, Borwein, Lopez de
// Prado and Zhu, 2017).
//
// A matrix of returns comes in, a row per observation, the oldest first, and a column
// per trial. The rows are cut into S blocks; every choice of half of them is in sample
// once, the other half is out of sample. Out comes how often the best in sample is below
// the median out of sample. It imports package stat; there is no randomness.
package cscv

import (
	"cmp"
	"fmt"
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Result is taken over all choices; slices have an entry per choice, in lexicographic order of the
// blocks that are in sample.
type Result struct {
	// PBO is the share of choices whose logit is not above 0.
	PBO float64
	// Omega is the rank out of sample of the best in sample, over N + 1: 1/(N+1) for the
	// worst. Ties share the mean of their ranks.
	Omega, Logits []float64
	// Pairs are the performance of the best in sample there and out of sample.
	Pairs [][2]float64
	// ProbLoss is the share of choices where the latter is below 0.
	ProbLoss float64
	// Slope is that of the regression of the latter on the former; SlopeReason is why
	// there is none.
	Slope       float64
	SlopeReason stat.Reason
	// Dropped are the oldest rows, which S does not divide.
	Dropped int
}

// ArgumentError is an argument that cannot be used, and why.
type ArgumentError struct{ Argument, Message string }

// Error names the argument.
func (e *ArgumentError) Error() string { return e.Argument + " " + e.Message }

// The arguments that an ArgumentError names.
const (
	ArgumentS      = "S"
	ArgumentMatrix = "matrix_T_by_N"
)

// Run judges T rows of N columns in s blocks. The error is an *ArgumentError: s is odd,
// below 2 or above MostBlocks, there are fewer than 2s rows or 2 columns, rows differ in
// length, or a number is not finite. The reason is ZeroVariance when a Sharpe ratio does
// not exist in some half.
func Run(rows [][]float64, s int, metric Metric) (Result, stat.Reason, error) {
	var columns [][]float64
	for i, row := range rows {
		if i == 0 {
			columns = make([][]float64, len(row))
		}
		if len(row) != len(columns) {
			return Result{}, "",
				&ArgumentError{ArgumentMatrix,
					fmt.Sprintf("row %d has %d columns, the first %d", i, len(row), len(columns))}
		}
		for k, x := range row {
			columns[k] = append(columns[k], x)
		}
	}
	return RunColumns(columns, s, metric)
}

// RunColumns is Run for columns, which need not be written down as a matrix: they have
// one length.
func RunColumns(columns [][]float64, s int, metric Metric) (Result, stat.Reason, error) {
	t := 0
	if len(columns) > 0 {
		t = len(columns[0])
	}
	if err := check(t, len(columns), s); err != nil {
		return Result{}, "", err
	}
	for k, x := range columns {
		if len(x) != t {
			return Result{}, "",
				&ArgumentError{ArgumentMatrix,
					fmt.Sprintf("column %d has %d rows, the first %d", k, len(x), t)}
		}
		if !finite(x) {
			return Result{}, "",
				&ArgumentError{ArgumentMatrix, fmt.Sprintf("column %d has a number that is not finite", k)}
		}
	}
	out, why := run(columns, s, metric)
	return out, why, nil
}

func run(columns [][]float64, s int, metric Metric) (Result, stat.Reason) {
	n := len(columns)
	out := Result{Dropped: len(columns[0]) % s}
	blocks := make([][]block, n)
	for k, x := range columns {
		blocks[k] = cut(x[out.Dropped:], s)
	}
	in, outside := make([]float64, n), make([]float64, n)
	var why stat.Reason
	halves(s, func(inside []bool) {
		if why != "" {
			return
		}
		for k := range n {
			var a, b block
			for i, isIn := range inside {
				if isIn {
					a = a.plus(blocks[k][i])
				} else {
					b = b.plus(blocks[k][i])
				}
			}
			var whyA, whyB stat.Reason
			in[k], whyA = metric.judge(a)
			outside[k], whyB = metric.judge(b)
			why = cmp.Or(why, whyA, whyB)
		}
		out.add(in, outside)
	})
	if why != "" {
		return Result{}, why
	}
	out.finish()
	return out, ""
}

func check(t, n, s int) error {
	switch {
	case s < 2 || s%2 != 0:
		return &ArgumentError{ArgumentS, fmt.Sprintf("is %d: it must be even and at least 2", s)}
	case s > MostBlocks:
		return &ArgumentError{ArgumentS, fmt.Sprintf("is %d: at most %d blocks are computed", s, MostBlocks)}
	case t < 2*s:
		return &ArgumentError{ArgumentMatrix, fmt.Sprintf("has %d rows: at least 2S = %d are needed", t, 2*s)}
	case n < 2:
		return &ArgumentError{ArgumentMatrix, fmt.Sprintf("has %d columns: at least 2 trials are needed", n)}
	}
	return nil
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func cut(x []float64, s int) []block {
	size := len(x) / s
	out := make([]block, s)
	for i := range out {
		out[i] = blockOf(x[i*size : (i+1)*size])
	}
	return out
}

// add is one choice: the performance of every trial in sample and outside.
func (r *Result) add(in, outside []float64) {
	best := 0
	for k, v := range in {
		if v > in[best] {
			best = k
		}
	}
	below, equal := 0, 0
	for _, v := range outside {
		switch {
		case v < outside[best]:
			below++
		case v == outside[best]:
			equal++
		}
	}
	rank, n := float64(below)+float64(equal+1)/2, float64(len(in))
	r.Omega = append(r.Omega, rank/(n+1))
	r.Logits = append(r.Logits, math.Log(rank/(n+1-rank)))
	r.Pairs = append(r.Pairs, [2]float64{in[best], outside[best]})
}

func (r *Result) finish() {
	overfit, losses := 0, 0
	x, y := make([]float64, len(r.Pairs)), make([]float64, len(r.Pairs))
	for i, pair := range r.Pairs {
		x[i], y[i] = pair[0], pair[1]
		if r.Logits[i] <= 0 {
			overfit++
		}
		if pair[1] < 0 {
			losses++
		}
	}
	count := float64(len(r.Pairs))
	r.PBO, r.ProbLoss = float64(overfit)/count, float64(losses)/count
	if stat.AllEqual(x) {
		r.SlopeReason = stat.ZeroVariance
		return
	}
	ex, ey := stat.Deviations(x), stat.Deviations(y)
	r.Slope, r.SlopeReason = stat.Finite(stat.Dot(ex, ey) / stat.Dot(ex, ex))
}

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

// MostBlocks is the largest S that is computed: 184,756 choices.
const MostBlocks = 20

// Choices is C(s, s/2), how many ways there are to choose half of s blocks, for an even
// s in 2..66; 0 for any other, whose count does not exist or does not fit an int64.
func Choices(s int) int64 {
	if s < 2 || s > 66 || s%2 != 0 {
		return 0
	}
	c := int64(1)
	for i := 1; i <= s/2; i++ {
		// C(s, i) = C(s, i-1) (s-i+1) / i, divided first so that nothing overflows.
		num, den := int64(s-i+1), int64(i)
		g := gcd(num, den)
		num, den = num/g, den/g
		c = c / den * num
	}
	return c
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// halves calls use with every choice of s/2 of 0..s-1 in lexicographic order, as a flag
// per block; use must not keep the slice.
func halves(s int, use func(inside []bool)) {
	inside := make([]bool, s)
	var choose func(from, left int)
	choose = func(from, left int) {
		if left == 0 {
			use(inside)
			return
		}
		for i := from; i <= s-left; i++ {
			inside[i] = true
			choose(i+1, left-1)
			inside[i] = false
		}
	}
	choose(0, s/2)
}
