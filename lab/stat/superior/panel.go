package superior

import (
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
}

// NewPanel takes rows of equal length and, for each replica, the indices of the rows
// that it has drawn, as many as there are rows. Neither is changed. There is at least
// one row, one column and one replica.
func NewPanel(rows [][]float64, indices [][]int) *Panel {
	p := &Panel{rows: rows, means: make([]float64, len(rows[0])), replicas: make([][]float64, len(indices))}
	for k := range p.means {
		p.means[k] = stat.Mean(p.column(k))
	}
	n := float64(len(rows))
	for b, drawn := range indices {
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
	return p
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
// column. A constant column has none: ZeroVariance.
func (p *Panel) deviations(meanBlock float64) ([]float64, stat.Reason) {
	out := make([]float64, len(p.means))
	for k := range out {
		x := p.column(k)
		if len(x) > 1 && stat.AllEqual(x) {
			return nil, stat.ZeroVariance
		}
		v, _, why := bootstrap.Variance(x, meanBlock)
		if why == "" && v == 0 {
			why = stat.ZeroVariance
		}
		if why != "" {
			return nil, why
		}
		out[k] = math.Sqrt(v)
	}
	return out, ""
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
