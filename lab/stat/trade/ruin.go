package trade

import "math"

// Ruin is the probability that a gambler who wins one unit with probability p, and else
// loses one, ever loses all of so many units: ((1-p)/p)^units, and 1 for p <= 1/2.
// Source: the classical ruin problem, Feller, volume 1, chapter XIV.
func Ruin(p, units float64) float64 {
	if p <= 0.5 {
		return 1
	}
	return math.Pow((1-p)/p, units)
}
