package stat

import "math"

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
		return -math.Log(q)/2 + math.Log(2*math.Pi)/2 + correction + (p-0.5)*math.Log(p/(p+q)) + q*math.Log1p(-p/(p+q))
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
