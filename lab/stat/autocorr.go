package stat

// Autocovariances are c_0 .. c_maxLag of x, each divided by n, the length of x, and
// not by the number of its products. maxLag is cut to n-1.
func Autocovariances(x []float64, maxLag int) []float64 {
	maxLag = min(maxLag, len(x)-1)
	e := Deviations(x)
	var c []float64
	for lag := 0; lag <= maxLag; lag++ {
		c = append(c, Dot(e[lag:], e[:len(e)-lag])/float64(len(e)))
	}
	return c
}

// Lag1 is the first autocorrelation c_1 / c_0 of x. The reason is TooFewReturns for
// fewer than three values and ZeroVariance when all are equal.
func Lag1(x []float64) (float64, Reason) {
	switch {
	case len(x) < 3:
		return 0, TooFewReturns
	case AllEqual(x):
		return 0, ZeroVariance
	}
	c := Autocovariances(x, 1)
	if c[0] == 0 {
		return 0, NotApplicable
	}
	return Finite(c[1] / c[0])
}
