package indicator

import (
	"fmt"
	"math"
)

// MaxPeriod is the longest period an indicator takes.
const MaxPeriod = 10_000_000

// maxSize keeps sums of squares over MaxPeriod values from overflowing.
const maxSize = 1e140

const notMade = "indicator: Add on an indicator that was not made by its New function"

func usable(x float64) bool { return math.Abs(x) <= maxSize }

// orNaN is x, or NaN if x is not usable.
func orNaN(x float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	return x
}

// checkPeriod returns n, or panics naming the constructor and the allowed range.
func checkPeriod(constructor, name string, n int) int {
	if n < 1 || n > MaxPeriod {
		panic(fmt.Sprintf("indicator.%s: %s is %d, must be 1 to %d", constructor, name, n, MaxPeriod))
	}
	return n
}

// window is the last values added, in a ring.
type window struct {
	buf     []float64
	next    int
	filled  int
	tainted int // adds until the last unusable value has left
}

func newWindow(n int) window { return window{buf: make([]float64, n)} }

// push takes x in and returns it with the value that x pushed out (0 while the window
// fills). An unusable x is kept as 0, so that no sum over the window is spoilt for good.
func (w *window) push(x float64) (in, out float64) {
	n := len(w.buf)
	if n == 0 {
		panic(notMade)
	}
	switch {
	case !usable(x):
		x, w.tainted = 0, n
	case w.tainted > 0:
		w.tainted--
	}
	out = w.buf[w.next]
	w.buf[w.next] = x
	if w.next++; w.next == n {
		w.next = 0
	}
	if w.filled < n {
		w.filled++
	}
	return x, out
}

func (w *window) full() bool { return w.filled == len(w.buf) }

// oldest is the value that the next push drives out of a full window.
func (w *window) oldest() float64 { return w.buf[w.next] }

// trusted is x, or NaN while an unusable value is in the window.
func (w *window) trusted(x float64) float64 {
	if w.tainted > 0 {
		return math.NaN()
	}
	return x
}

// sum adds up in double-double: hi is the total rounded to a float64, lo what that
// rounding left out. A plain running sum that values enter and leave drifts.
type sum struct{ hi, lo float64 }

func (s *sum) add(x float64) {
	hi, e := twoSum(s.hi, float64(x)) // a product handed in must not be fused with the sum
	s.hi, s.lo = twoSum(hi, s.lo+e)
}

// addProduct adds a*b without rounding the product.
func (s *sum) addProduct(a, b float64) {
	p := float64(a * b)
	s.add(math.FMA(a, b, -p))
	s.add(p)
}

// twoSum is a+b rounded, and the exact error of that rounding.
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}
