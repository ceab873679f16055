package stat

import "math"

// Moments describe a sample. Skew and Kurt are population moments (divided by n),
// Kurt is raw: a normal has 0 and 3.
type Moments struct {
	N          int
	Mean       float64
	SD         float64 // standard deviation, ddof 1
	Skew, Kurt float64
}

// Of are the moments of x. The reason is TooFewReturns for fewer than two values and
// ZeroVariance when all are equal; Mean and N are set all the same.
func Of(x []float64) (Moments, Reason) {
	m := Moments{N: len(x), Mean: Mean(x)}
	switch {
	case len(x) < 2:
		return m, TooFewReturns
	case AllEqual(x):
		return m, ZeroVariance
	}
	var s2, s3, s4 Accumulator
	for _, v := range x {
		d := v - m.Mean
		sq := float64(d * d)
		s2.Add(sq)
		s3.Add(float64(sq * d))
		s4.Add(float64(sq * sq))
	}
	n := float64(m.N)
	variance := s2.Value() / n
	m.SD = math.Sqrt(s2.Value() / (n - 1))
	m.Skew = s3.Value() / n / float64(variance*math.Sqrt(variance))
	m.Kurt = s4.Value() / n / float64(variance*variance)
	for _, v := range []float64{m.Mean, m.SD, m.Skew, m.Kurt} {
		if _, why := Finite(v); why != "" || m.SD == 0 {
			// Values so small or large that their powers leave the range of a float64.
			return Moments{N: m.N}, NotApplicable
		}
	}
	return m, ""
}

// Variance is the sample variance of x with ddof taken from the divisor. The reason is
// TooFewReturns unless there are more than ddof values.
func Variance(x []float64, ddof int) (float64, Reason) {
	if len(x) <= ddof || len(x) == 0 {
		return 0, TooFewReturns
	}
	if AllEqual(x) {
		return 0, ""
	}
	e := Deviations(x)
	return Finite(Dot(e, e) / float64(len(x)-ddof))
}
