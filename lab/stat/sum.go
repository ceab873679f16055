package stat

// Accumulator is a float64 sum that carries the rounding error of every addition.
// The zero value is 0. Source: Neumaier (1974), with the error term of Knuth, which
// needs no branch.
type Accumulator struct{ sum, lost float64 }

// Add adds x.
func (a *Accumulator) Add(x float64) {
	t := a.sum + x
	b := t - a.sum
	a.lost += (a.sum - (t - b)) + (x - b)
	a.sum = t
}

// Value is the sum so far.
func (a *Accumulator) Value() float64 { return a.sum + a.lost }

// Sum is the compensated sum of x in index order.
func Sum(x []float64) float64 {
	var a Accumulator
	for _, v := range x {
		a.Add(v)
	}
	return a.Value()
}

// Mean is the mean of x, 0 if x is empty.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return Sum(x) / float64(len(x))
}

// Dot is the compensated sum of the products of two slices of equal length.
func Dot(x, y []float64) float64 {
	var a Accumulator
	for i, v := range x {
		a.Add(float64(v * y[i]))
	}
	return a.Value()
}

// Deviations are the values of x less their mean.
func Deviations(x []float64) []float64 {
	mean := Mean(x)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - mean
	}
	return out
}

// AllEqual says whether x has one value only. The question is asked of the values, not
// of a computed variance, which rounding leaves a little above zero.
func AllEqual(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}
