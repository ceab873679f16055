package stat

import "math"

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
