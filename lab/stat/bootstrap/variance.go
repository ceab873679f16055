package bootstrap

import "github.com/assay-run/assay/lab/stat"

// Variance is the variance of sqrt(n) times the mean of x under the stationary
// bootstrap, without drawing: c_0 + 2 sum k_i c_i over the lags 1 .. n-1, with
//
//	k_i = (1 - i/n) (1-p)^i + (i/n) (1-p)^(n-i),  p = 1 / meanBlock
//
// kappa1 is k_1. A mean block below 1 counts as 1. The reason is TooFewReturns for fewer
// than two values. Source: Politis and Romano (1994), lemma 1.
func Variance(x []float64, meanBlock float64) (variance, kappa1 float64, why stat.Reason) {
	n := len(x)
	if n < 2 {
		return 0, 0, stat.TooFewReturns
	}
	e := stat.Deviations(x)
	sum := stat.Accumulator{}
	sum.Add(lagSum(e, 0))
	kappa := kernel(n, meanBlock)
	for i := 1; i < n; i++ {
		sum.Add(float64(2 * kappa[i] * lagSum(e, i)))
	}
	// The estimate is never negative in theory; rounding may leave a trace.
	v, why := stat.Finite(max(sum.Value()/float64(n), 0))
	return v, kappa[1], why
}

// kernel is k_0 .. k_(n-1); powers by multiplication, the same on every CPU.
func kernel(n int, meanBlock float64) []float64 {
	keep := 1 - 1/max(meanBlock, 1)
	powers := make([]float64, n+1)
	powers[0] = 1
	for i := 1; i <= n; i++ {
		powers[i] = powers[i-1] * keep
	}
	out := make([]float64, n)
	for i := range out {
		share := float64(i) / float64(n)
		out[i] = float64((1-share)*powers[i]) + float64(share*powers[n-i])
	}
	return out
}

// lagSum is the sum of the products of e with itself i steps later. The plain sum: all
// lags of a long series are asked for, and an error of one of them is spread thin.
func lagSum(e []float64, i int) float64 {
	sum := 0.0
	early := e[:len(e)-i]
	for t, v := range e[i:] {
		sum += float64(v * early[t])
	}
	return sum
}
