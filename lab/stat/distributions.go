package stat

import (
	"math"
	"slices"
)

// Phi is the standard normal distribution function.
func Phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Upper is 1 - Phi(z), exact where that is small.
func Upper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// Density is the standard normal density.
func Density(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }

// Z is the inverse of Phi for p in (0, 1), -Inf at 0 and +Inf at 1, NaN outside.
func Z(p float64) float64 {
	if p > 0.5 {
		return UpperZ(1 - p)
	}
	return -UpperZ(p)
}

// UpperZ is Z(1 - q), exact where q is small and 1 - q would round it away: the
// standard library's Erfcinv goes through 1 - x and loses those digits.
func UpperZ(q float64) float64 {
	switch {
	case math.IsNaN(q) || q < 0 || q > 1:
		return math.NaN()
	case q == 0:
		return math.Inf(1)
	case q > 0.5:
		return -UpperZ(1 - q)
	case q == 0.5:
		return 0
	}
	// The start is good to 4.5e-4 (Abramowitz and Stegun 26.2.23); each Halley step
	// triples the digits.
	// math.Log is wrong for subnormal numbers on some CPUs, hence the factor.
	const factor = 0x1p100
	t := math.Sqrt(-2 * (math.Log(q*factor) - math.Log(factor)))
	z := t - (2.515517+t*(0.802853+t*0.010328))/(1+t*(1.432788+t*(0.189269+t*0.001308)))
	if q < 1e-307 {
		return z // densities are subnormal there and would only spoil the start
	}
	for range 3 {
		e := (Upper(z) - q) / Density(z)
		z += e / (1 - z*e/2)
	}
	return z
}

// Stirling correction: ln Gamma(x) = (x - 1/2) ln x - x + ln(2 pi)/2 + stirling(x).
// Exact to 1e-15 from stirlingFrom on. Source: Abramowitz and Stegun 6.1.41.
const stirlingFrom = 10

func stirling(x float64) float64 {
	r := 1 / x
	s := r * r
	return r * (1.0/12 - s*(1.0/360-s*(1.0/1260-s*(1.0/1680-s*(1.0/1188-s*(691.0/360360))))))
}

// lnBeta is the logarithm of the complete beta function for positive a and b. Large
// arguments go through the corrections alone: differences of ln Gamma would lose all
// digits that the result has.
func lnBeta(a, b float64) float64 {
	p, q := min(a, b), max(a, b)
	lgamma := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	switch {
	case p >= stirlingFrom:
		correction := stirling(p) + stirling(q) - stirling(p+q)
		return -math.Log(q)/2 + math.Log(2*math.Pi)/2 + correction + (p-0.5)*math.Log(p/(p+q)) + q*math.Log1p(
			-p/(p+q))
	case q >= stirlingFrom:
		correction := stirling(q) - stirling(p+q)
		return lgamma(p) + correction + p - p*math.Log(p+q) + (q-0.5)*math.Log1p(-p/(p+q))
	}
	return lgamma(p) + lgamma(q) - lgamma(p+q)
}

// IncompleteBeta is the regularised incomplete beta function I_x(a, b) for positive a
// and b, with y = 1 - x given beside x so that neither is rounded when it is small. The
// result is in [0, 1]; outside the domain it is NaN. Source: the continued fraction of
// Abramowitz and Stegun 26.5.8, evaluated by Lentz' method.
func IncompleteBeta(a, b, x, y float64) float64 {
	switch {
	case !(a > 0) || !(b > 0) || !(x >= 0) || !(y >= 0):
		return math.NaN()
	case x == 0:
		return 0
	case y == 0:
		return 1
	}
	// The fraction converges fast on the side of the mean that x is on.
	if x > (a+1)/(a+b+2) {
		return 1 - betaTail(b, a, y, x)
	}
	return betaTail(a, b, x, y)
}

func betaTail(a, b, x, y float64) float64 {
	front := math.Exp(a*logOf(x, y)+b*logOf(y, x)-lnBeta(a, b)) / a
	return min(front*betaFraction(a, b, x), 1)
}

// logOf is the logarithm of x, where x + y = 1.
func logOf(x, y float64) float64 {
	if y < 0.5 {
		return math.Log1p(-y)
	}
	return math.Log(x)
}

func betaFraction(a, b, x float64) float64 {
	const (
		tiny  = 1e-300
		terms = 20000
	)
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m < terms; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		h *= d * c
		if math.Abs(d*c-1) < 1e-16 {
			break
		}
	}
	return h
}

// StudentTwoSided is the probability that the absolute value of Student's t with df
// degrees of freedom, df > 0, is at least |t|.
func StudentTwoSided(t, df float64) float64 {
	sq := t * t
	if math.IsInf(sq, 1) {
		return 0
	}
	return IncompleteBeta(df/2, 0.5, df/(df+sq), sq/(df+sq))
}

// StudentT is the t >= 0 that StudentTwoSided turns into p, 0 < p <= 1, for df > 0
// degrees of freedom. It is +Inf at p = 0 and NaN outside.
func StudentT(p, df float64) float64 {
	switch {
	case math.IsNaN(p) || p < 0 || p > 1 || !(df > 0):
		return math.NaN()
	case p == 0:
		return math.Inf(1)
	case p == 1:
		return 0
	}
	low, high := 0.0, max(UpperZ(p/2), 1)
	for StudentTwoSided(high, df) > p {
		if low, high = high, 2*high; math.IsInf(high, 1) {
			return high
		}
	}
	// Newton on the logarithm of the tail, which is nearly straight, kept inside the
	// bracket by bisection.
	t := (low + high) / 2
	for range 200 {
		tail := StudentTwoSided(t, df)
		if tail > p {
			low = t
		} else {
			high = t
		}
		next := t + math.Log(tail/p)*tail/(2*studentDensity(t, df))
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-t) <= 1e-15*t || next == low || next == high {
			return next
		}
		t = next
	}
	return t
}

func studentDensity(t, df float64) float64 {
	return math.Exp(-(df+1)/2*math.Log1p(t*t/df)-lnBeta(df/2, 0.5)) / math.Sqrt(df)
}

// Rule is a Gauss-Legendre rule on [-1, 1].
type Rule struct{ nodes, weights []float64 }

// GaussLegendre is the rule with n nodes, n >= 1, exact for polynomials below degree 2n.
// The nodes are the roots of the Legendre polynomial, found by Newton's method.
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

// Eigenvalues are the eigenvalues of a symmetric matrix, descending; the matrix is not
// changed. Only its lower half is trusted to be symmetric with the upper. Source: the
// cyclic Jacobi method, Golub and Van Loan, Matrix Computations, chapter 8.
func Eigenvalues(matrix [][]float64) []float64 {
	n := len(matrix)
	a := make([][]float64, n)
	norm := 0.0
	for i := range a {
		a[i] = slices.Clone(matrix[i])
		norm += Dot(a[i], a[i])
	}
	for sweep := 0; sweep < 60 && offDiagonal(a) > 1e-32*norm; sweep++ {
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, p, q)
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = a[i][i]
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

func offDiagonal(a [][]float64) float64 {
	sum := 0.0
	for i := range a {
		for _, v := range a[i][i+1:] {
			sum += v * v
		}
	}
	return sum
}

// rotate makes a[p][q] zero. Rows are worked on, and mirrored into columns.
func rotate(a [][]float64, p, q int) {
	if a[p][q] == 0 {
		return
	}
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(theta) + math.Hypot(theta, 1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	app, aqq, apq := a[p][p], a[q][q], a[p][q]
	rp, rq := a[p], a[q]
	for k := range a {
		if k == p || k == q {
			continue
		}
		x, y := rp[k], rq[k]
		rp[k], rq[k] = c*x-s*y, s*x+c*y
		a[k][p], a[k][q] = rp[k], rq[k]
	}
	rp[p], rq[q] = app-t*apq, aqq+t*apq
	rp[q], rq[p] = 0, 0
}
