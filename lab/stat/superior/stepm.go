package superior

import (
	"context"
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
)

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
