package stat

import "math"

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
