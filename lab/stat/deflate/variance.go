package deflate

import (
	"context"

	"github.com/assay-run/assay/lab/stat"
)

// VarianceOf is the variance (ddof 1) of the Sharpe ratios of trials as it would be if each
// had t returns: of the distinct ones, because copies of a trial would make ratios look
// closer to each other than a search finds them. For trials at the same t rows that is the
// variance of their ratios, nothing else.
//
// A variance is half the mean squared difference of all pairs. Two trials that have not
// seen the same rows are compared on those that they share, so that a good or bad time of
// the market is in both ratios; each on its own rows where they share too few. Over fewer
// than t rows a difference holds more noise than over t: per pair
//
//	(1 - rho) (1/n - 1/t)
//
// for n rows, with rho the mean correlation of the pairs of such trials, clipped to [0,1].
// That is taken off, but not more than leaves what pure noise makes over t rows,
// (1 - rho)/t. It is the sampling variance of a small Sharpe ratio: Lo (2002).
//
// The reason is TooFewReturns unless two distinct trials have a ratio; the error is only
// that of ctx.
func VarianceOf(ctx context.Context, columns []Column, t int) (float64, stat.Reason, error) {
	distinct, err := Distinct(ctx, columns)
	if err != nil {
		return 0, "", err
	}
	var all differences
	err = meet(ctx, distinct, groupsOf(distinct), func(m meeting) error { return all.add(ctx, m, float64(t)) })
	switch {
	case err != nil:
		return 0, "", err
	case all.pairs == 0:
		return 0, stat.TooFewReturns, nil
	}
	v, why := stat.Finite(all.variance(float64(t)))
	return v, why, nil
}

// differences are sums over pairs of trials: of half the squared differences of their
// ratios, of the noise in them that t rows would not have, of their correlations.
type differences struct {
	pairs                       float64
	squares, noise, correlation stat.Accumulator
}

func (d *differences) variance(t float64) float64 {
	mean := d.squares.Value() / d.pairs
	noise := d.noise.Value() / d.pairs
	if noise == 0 {
		return mean
	}
	least := (1 - clip(d.correlation.Value()/d.pairs)) / t
	return max(mean-noise, min(mean, least))
}

// add takes the pairs of a meeting. Trials without a ratio on the shared rows are left out.
func (d *differences) add(ctx context.Context, m meeting, t float64) error {
	x, own := withRatio(m.x), m.a == m.b
	m.x = x.columns
	y := x
	if !own {
		y = withRatio(m.y)
		m.y = y.columns
	}
	correlation, err := m.correlation(ctx)
	if err != nil {
		return err
	}
	n, k := float64(len(x.ratios)), float64(len(y.ratios))
	pairs, squares := n*k, k*x.squares+n*y.squares+float64(n*k*(x.mean-y.mean)*(x.mean-y.mean))
	if own {
		pairs, squares = n*(n-1)/2, n*x.squares
	}
	if pairs == 0 {
		return nil
	}
	rows := func(g *group) float64 {
		if m.shared > 0 {
			return float64(m.shared)
		}
		return float64(len(g.rows))
	}
	d.pairs += pairs
	d.squares.Add(squares / 2)
	d.correlation.Add(correlation)
	if excess := (1/rows(m.a)+1/rows(m.b))/2 - 1/t; t > 0 && excess > 0 {
		d.noise.Add(pairs * float64((1-clip(correlation/pairs))*excess))
	}
	return nil
}

// clip keeps a mean correlation from making anything easier than independent trials do.
func clip(rho float64) float64 { return min(max(rho, 0), 1) }

// rated are the columns that have a Sharpe ratio, with the ratios, their mean, and the sum
// of their squared deviations from it.
type rated struct {
	columns       [][]float64
	ratios        []float64
	mean, squares float64
}

func withRatio(columns [][]float64) rated {
	var r rated
	for _, x := range columns {
		if ratio, ok := ratioOf(x); ok {
			r.columns, r.ratios = append(r.columns, x), append(r.ratios, ratio)
		}
	}
	if len(r.ratios) > 0 {
		r.mean = stat.Mean(r.ratios)
	}
	if len(r.ratios) > 1 && !stat.AllEqual(r.ratios) {
		e := stat.Deviations(r.ratios)
		r.squares = stat.Dot(e, e)
	}
	return r
}

func ratioOf(x []float64) (float64, bool) {
	m, why := stat.Of(x)
	return m.Mean / m.SD, why == ""
}
