package superior

import "math"

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
