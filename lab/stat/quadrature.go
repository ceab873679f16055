package stat

import "math"

// Rule is a Gauss-Legendre rule on [-1, 1].
type Rule struct{ nodes, weights []float64 }

// GaussLegendre is the rule with n nodes, n >= 1, exact for polynomials below degree
// 2n. The nodes are the roots of the Legendre polynomial, found by Newton's method.
func GaussLegendre(n int) Rule {
	r := Rule{make([]float64, n), make([]float64, n)}
	for i := range n {
		x := math.Cos(math.Pi * (float64(i) + 0.75) / (float64(n) + 0.5))
		var slope float64
		for range 8 {
			before, p := 0.0, 1.0
			for k := 1.0; k <= float64(n); k++ {
				before, p = p, ((2*k-1)*x*p-(k-1)*before)/k
			}
			slope = float64(n) * (x*p - before) / (x*x - 1)
			x -= p / slope
		}
		r.nodes[i], r.weights[i] = x, 2/((1-x*x)*slope*slope)
	}
	return r
}

// Integrate is the integral of f over [a, b], cut into equal panels with the rule on
// each. It is as good as f is smooth on the scale of a panel.
func (r Rule) Integrate(f func(float64) float64, a, b float64, panels int) float64 {
	var sum Accumulator
	half := (b - a) / float64(2*panels)
	for p := range panels {
		middle := a + half*float64(2*p+1)
		for i, x := range r.nodes {
			sum.Add(r.weights[i] * f(middle+half*x))
		}
	}
	return sum.Value() * half
}
