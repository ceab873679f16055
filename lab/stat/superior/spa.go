package superior

import (
	"context"
	"math"

	"github.com/assay-run/assay/lab/stat"
)

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
