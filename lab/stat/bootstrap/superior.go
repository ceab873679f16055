package bootstrap

import (
	"context"
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
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
		v, _, why := Variance(x, meanBlock)
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

// RealityCheck compares the largest sqrt(T) d_k with the largest sqrt(T) (d*_k - d_k)
// of each replica. Source: White (2000), A Reality Check for Data Snooping.
func (p *Panel) RealityCheck() (statistic float64, test Test) {
	root := p.root()
	statistic = math.Inf(-1)
	for _, d := range p.means {
		statistic = max(statistic, root*d)
	}
	return statistic, p.test(statistic, func(means []float64) float64 {
		most := math.Inf(-1)
		for k, d := range means {
			most = max(most, root*(d-p.means[k]))
		}
		return most
	})
}

// SPA is the result of Hansen's test.
type SPA struct {
	// Statistic is max(0, the largest studentised mean).
	Statistic float64
	// Omega are the bootstrap deviations of sqrt(T) d_k. Threshold is -Omega sqrt(2 ln ln
	// T / T): a column whose mean is below counts as poor in the consistent test.
	Omega, Threshold         []float64
	Lower, Consistent, Upper Test
}

// SPA tests whether any column beats the benchmark. The replicas are recentred in three
// ways: lower by max(d, 0), upper by d, consistent by d unless that is below the
// threshold, then not at all; their p-values ascend in the order lower, consistent,
// upper. The reasons are TooFewReturns below three rows, where ln ln T has no root, and
// ZeroVariance when a column is constant, the error is only that of ctx. Source: Hansen
// (2005), A Test for Superior Predictive Ability.
func (p *Panel) SPA(ctx context.Context, meanBlock float64) (SPA, stat.Reason, error) {
	n := float64(len(p.rows))
	if n < 3 {
		return SPA{}, stat.TooFewReturns, nil
	}
	omega, why, err := p.deviations(ctx, meanBlock)
	if why != "" || err != nil {
		return SPA{}, why, err
	}
	out := SPA{Omega: omega, Threshold: make([]float64, len(omega))}
	root, width := p.root(), math.Sqrt(2*math.Log(math.Log(n))/n)
	lower, consistent := make([]float64, len(omega)), make([]float64, len(omega))
	for k, d := range p.means {
		out.Threshold[k] = -omega[k] * width
		out.Statistic = max(out.Statistic, root*d/omega[k])
		lower[k] = max(d, 0)
		if d >= out.Threshold[k] {
			consistent[k] = d
		}
	}
	around := func(centre []float64) Test {
		return p.test(out.Statistic, func(means []float64) float64 {
			most := 0.0
			for k, d := range means {
				most = max(most, root*(d-centre[k])/omega[k])
			}
			return most
		})
	}
	out.Lower, out.Consistent, out.Upper = around(lower), around(consistent), around(p.means)
	return out, "", nil
}

// StepM is the result of the stepwise test.
type StepM struct {
	// Rejected are the columns that beat the benchmark, ascending.
	Rejected []int
	// CriticalValues are those of each step; the last rejected nothing unless all are
	// rejected.
	CriticalValues []float64
	// T are the studentised means.
	T []float64
}

// StepM finds the columns that beat the benchmark with a familywise error of at most
// alpha: reject every t_k above the critical value, the quantile 1 - alpha of the
// largest studentised and recentred replica among the columns that are left, and repeat
// until nothing is rejected. The reasons and the error are those of SPA. Source: Romano and Wolf
// (2005), Stepwise Multiple Testing as Formalized Data Snooping.
func (p *Panel) StepM(ctx context.Context, meanBlock, alpha float64) (StepM, stat.Reason, error) {
	omega, why, err := p.deviations(ctx, meanBlock)
	if why != "" || err != nil {
		return StepM{}, why, err
	}
	out := StepM{Rejected: []int{}}
	root := p.root()
	var left []int
	for k, d := range p.means {
		out.T = append(out.T, root*d/omega[k])
		left = append(left, k)
	}
	for len(left) > 0 {
		if ctx.Err() != nil {
			return StepM{}, "", context.Cause(ctx)
		}
		maxima := make([]float64, len(p.replicas))
		for b, means := range p.replicas {
			maxima[b] = math.Inf(-1)
			for _, k := range left {
				maxima[b] = max(maxima[b], root*(means[k]-p.means[k])/omega[k])
			}
		}
		c, _ := stat.Quantile(maxima, 1-alpha)
		out.CriticalValues = append(out.CriticalValues, c)
		before := len(left)
		left = slices.DeleteFunc(left, func(k int) bool {
			if out.T[k] > c {
				out.Rejected = append(out.Rejected, k)
				return true
			}
			return false
		})
		if len(left) == before {
			break
		}
	}
	slices.Sort(out.Rejected)
	return out, "", nil
}
