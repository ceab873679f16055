package main

//ring:no-detector what is tested runs in other processes

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// binomial is P(X <= k), term by term, each through its logarithm.
func binomial(k, n int, p float64) float64 {
	choose := func(i int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		return a - b - c
	}
	sum := 0.0
	for i := 0; i <= k; i++ {
		sum += math.Exp(choose(i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

func TestLimitsAreThoseOfTheTables(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 20, 0, 0.168433}, {20, 20, 0.831567, 1}, {5, 50, 0.033275, 0.218135}, {1, 10, 0.002529, 0.445016},
		{10, 200, 0.024235, 0.090026},
	} {
		r := rateOf(c.k, c.n)
		if math.Abs(r.low-c.low) > 1e-5 || math.Abs(r.high-c.high) > 1e-5 {
			t.Errorf("%d of %d: %.6f to %.6f, want %.6f to %.6f", c.k, c.n, r.low, r.high, c.low, c.high)
		}
	}
	if r := rateOf(0, 0); r.value() != 0 || r.low != 0 || r.high != 1 {
		t.Errorf("nothing says %+v", r)
	}
}

// The limits are where what was seen is just as improbable as they say.
func TestLimitsInvertTheBinomial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		low, high := clopperPearson(k, n, 0.05)
		if !(low <= float64(k)/float64(n) && float64(k)/float64(n) <= high) {
			t.Fatalf("%g to %g", low, high)
		}
		if got := 1 - binomial(k-1, n, low); k > 0 && math.Abs(got-0.025) > 1e-9 {
			t.Fatalf("at %g, %d or more of %d have probability %g", low, k, n, got)
		}
		if got := binomial(k, n, high); k < n && math.Abs(got-0.025) > 1e-9 {
			t.Fatalf("at %g, %d or fewer of %d have probability %g", high, k, n, got)
		}
	})
}

func TestTheIntervalHoldsWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		least, most := binomialInterval(n, 0.05, 0.01)
		below, inside := binomial(least-1, n, 0.05), binomial(most, n, 0.05)
		if least > 0 && below > 0.005 || 1-inside > 0.005+1e-12 {
			t.Fatalf("%d to %d of %d leave out %g and %g", least, most, n, below, 1-inside)
		}
		if most > 0 && 1-binomial(most-1, n, 0.05) <= 0.005-1e-12 || binomial(least, n, 0.05) <= 0.005-1e-12 {
			t.Fatalf("%d to %d of %d is wider than it has to be", least, most, n)
		}
	})
	if least, most := binomialInterval(200, 0.05, 0.01); least != 3 || most != 19 {
		t.Errorf("of 200: %d to %d", least, most)
	}
}
