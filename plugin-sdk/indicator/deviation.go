package indicator

import (
	"fmt"
	"math"
)

// StdDev is the population standard deviation (divisor n, as in TA-Lib) of the last n
// values, ready with the n-th. It is exactly 0 when all of them are equal.
type StdDev struct {
	line
	window  window
	total   sum
	squares sum
	last    float64
	equal   int // how many of the newest values are the same
}

// NewStdDev is a standard deviation over n values, 1 to MaxPeriod.
func NewStdDev(n int) StdDev {
	return StdDev{window: newWindow(checkPeriod("NewStdDev", "n", n))}
}

// Add takes the next value.
func (s *StdDev) Add(x float64) {
	in, out := s.window.push(x)
	s.total.add(-out)
	s.total.add(in)
	s.squares.addProduct(-out, out)
	s.squares.addProduct(in, in)
	if in != s.last {
		s.last, s.equal = in, 0
	}
	if s.equal < s.window.filled {
		s.equal++
	}
	if s.window.full() {
		s.set(s.window.trusted(math.Sqrt(s.variance())))
	}
}

func (s *StdDev) mean() float64 { return s.total.hi / float64(s.window.filled) }

// variance is (n*sum(x^2) - sum(x)^2) / n^2. The difference is taken in double-double:
// in float64 nothing is left of it when prices are large and quiet.
func (s *StdDev) variance() float64 {
	if s.equal >= s.window.filled {
		return 0
	}
	n := float64(s.window.filled)
	var d sum
	d.addProduct(n, s.squares.hi)
	d.addProduct(-s.total.hi, s.total.hi)
	d.addProduct(n, s.squares.lo)
	d.addProduct(-2*s.total.hi, s.total.lo)
	d.addProduct(-s.total.lo, s.total.lo)
	return max(d.hi, 0) / (n * n)
}

// Bollinger is a band of k population standard deviations around the simple average of
// the last n values, ready with the n-th. Value is Middle.
type Bollinger struct {
	line
	deviation    StdDev
	k            float64
	upper, lower line
}

// NewBollinger takes the period, 1 to MaxPeriod, and the width k in standard deviations,
// finite and above 0; usually 20 and 2.
func NewBollinger(n int, k float64) Bollinger {
	checkPeriod("NewBollinger", "n", n)
	if !(k > 0) || math.IsInf(k, 1) {
		panic(fmt.Sprintf("indicator.NewBollinger: k is %g, must be a finite number above 0", k))
	}
	return Bollinger{deviation: NewStdDev(n), k: k}
}

// Add takes the next value.
func (b *Bollinger) Add(x float64) {
	b.deviation.Add(x)
	if !b.deviation.Ready() {
		return
	}
	middle := b.deviation.window.trusted(b.deviation.mean())
	reach := float64(b.k * b.deviation.value)
	b.set(middle)
	b.upper.set(middle + reach)
	b.lower.set(middle - reach)
}

// Upper is Middle plus k deviations.
func (b *Bollinger) Upper() float64 { return b.upper.value }

// Middle is the simple average.
func (b *Bollinger) Middle() float64 { return b.value }

// Lower is Middle minus k deviations.
func (b *Bollinger) Lower() float64 { return b.lower.value }

// UpperLine is Upper as a line, for crossings.
func (b *Bollinger) UpperLine() Line { return &b.upper }

// LowerLine is Lower as a line, for crossings.
func (b *Bollinger) LowerLine() Line { return &b.lower }
