package main

import "github.com/assay-run/assay/lab/stat"

// Rate is K of N cases with their exact limits.
type rate struct {
	k, n      int
	low, high float64
}

// rateOf has 95 % limits.
func rateOf(k, n int) rate {
	low, high := clopperPearson(k, n, 0.05)
	return rate{k, n, low, high}
}

func (r rate) value() float64 {
	if r.n == 0 {
		return 0
	}
	return float64(r.k) / float64(r.n)
}

// clopperPearson are the exact two-sided limits of a probability of which k of n were
// seen, at 1 - alpha. Source: Clopper and Pearson 1934, by quantiles of the beta
// distribution, which are found by halving.
func clopperPearson(k, n int, alpha float64) (low, high float64) {
	low, high = 0, 1
	if k > 0 {
		low = betaQuantile(float64(k), float64(n-k+1), alpha/2)
	}
	if k < n {
		high = betaQuantile(float64(k+1), float64(n-k), 1-alpha/2)
	}
	return low, high
}

func betaQuantile(a, b, p float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		x := (low + high) / 2
		if stat.IncompleteBeta(a, b, x, 1-x) < p {
			low = x
		} else {
			high = x
		}
	}
	return (low + high) / 2
}

// binomialInterval are the fewest and the most of n cases that are not too few and not
// too many for a probability p, each side at alpha/2.
func binomialInterval(n int, p, alpha float64) (least, most int) {
	// P(X <= k) = I_(1-p)(n-k, k+1), Abramowitz and Stegun 26.5.24.
	atMost := func(k int) float64 {
		if k >= n {
			return 1
		}
		return stat.IncompleteBeta(float64(n-k), float64(k+1), 1-p, p)
	}
	for least < n && atMost(least) <= alpha/2 {
		least++
	}
	for most < n && atMost(most) < 1-alpha/2 {
		most++
	}
	return least, most
}
