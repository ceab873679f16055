package superior

import (
	"context"
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
)

// Panel is a matrix of differences, T rows of K columns, with the means of its columns
// and of every replica.
type Panel struct {
	rows     [][]float64
	means    []float64
	replicas [][]float64
	// omega are the deviations for a mean block, once they were asked for.
	omega []float64
	block float64
}

// NewPanel takes rows of equal length and, for each replica, the indices of the rows
// that it has drawn, as many as there are rows. Neither is changed or copied. There is at
// least one row, one column and one replica. The error is only that of ctx, which is
// looked at for every replica and, later, every column.
func NewPanel(ctx context.Context, rows [][]float64, indices [][]int) (*Panel, error) {
	p := &Panel{rows: rows, means: make([]float64, len(rows[0])), replicas: make([][]float64, len(indices))}
	for k := range p.means {
		p.means[k] = stat.Mean(p.column(k))
	}
	n := float64(len(rows))
	for b, drawn := range indices {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		sums := make([]float64, len(p.means))
		for _, at := range drawn {
			for k, v := range rows[at] {
				sums[k] += v
			}
		}
		for k := range sums {
			sums[k] /= n
		}
		p.replicas[b] = sums
	}
	return p, nil
}

func (p *Panel) column(k int) []float64 {
	out := make([]float64, len(p.rows))
	for i, row := range p.rows {
		out[i] = row[k]
	}
	return out
}

// root is the square root of the number of rows.
func (p *Panel) root() float64 { return math.Sqrt(float64(len(p.rows))) }

// deviations are the bootstrap standard deviations of sqrt(T) times the mean of each
// column. A constant column has none: ZeroVariance. They take T^2 steps for each column
// and are kept for the next test.
func (p *Panel) deviations(ctx context.Context, meanBlock float64) ([]float64, stat.Reason, error) {
	if p.omega != nil && p.block == meanBlock {
		return p.omega, "", nil
	}
	out := make([]float64, len(p.means))
	for k := range out {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		x := p.column(k)
		if len(x) > 1 && stat.AllEqual(x) {
			return nil, stat.ZeroVariance, nil
		}
		v, _, why := bootstrap.Variance(x, meanBlock)
		if why == "" && v == 0 {
			why = stat.ZeroVariance
		}
		if why != "" {
			return nil, why, nil
		}
		out[k] = math.Sqrt(v)
	}
	p.omega, p.block = out, meanBlock
	return out, "", nil
}

// Test is a statistic with its resampling p-value: how many of B replicas reached it.
type Test struct {
	AsExtreme, B int
	P            float64
}

func (p *Panel) test(observed float64, replica func(means []float64) float64) Test {
	t := Test{B: len(p.replicas)}
	for _, means := range p.replicas {
		if replica(means) >= observed {
			t.AsExtreme++
		}
	}
	t.P = stat.ResampledP(t.AsExtreme, t.B)
	return t
}
