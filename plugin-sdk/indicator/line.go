// Package indicator holds streaming indicators for strategies: one Add per candle,
// constant work per Add (amortised; Quantile's grows with log n, CCI's with n), no
// allocation after the constructor. Values are those of TA-Lib where it has the
// indicator, from the first on, unless the comment says otherwise.
//
// Values go in as float64 (a close, usually) or as market.Candle where an indicator
// needs the whole candle; they come out of Value, and of a named method each where an
// indicator has several lines. The package imports market alone, and keeps no clock,
// file or global: the same values in the same order give the same bits on every CPU.
//
// What holds for all of them:
//
//   - New... returns a value to be kept in a struct field. Methods have pointer
//     receivers. Do not copy an indicator once it was fed: the copy shares its window.
//   - Until Ready, Value is 0 and no crossing is reported.
//   - CrossedAbove and CrossedBelow compare the newest two values of two lines. Feed
//     both lines with the same candle before asking. Track makes a line of any number,
//     so that a price can cross an average.
//   - A period outside 1 to MaxPeriod, or another impossible argument, is a mistake in
//     the program and panics with a message that names what is allowed. Check what a
//     user may choose before, in the strategy's parameters.
//   - Values must be finite and within 1e140 in size; those of candles are. Anything
//     else makes Value NaN, which is on no side of any level: until it has left the
//     window where there is one, for good where an indicator remembers all its past
//     (EMA, MACD, RSI, ATR and what is made of them, KAMA, ADX, ParabolicSAR, OBV,
//     HeikinAshi), until Reset or the next session in SessionVWAP, in the next
//     session in Pivots.
//
// Sums over a window are kept in double-double, so an indicator that has seen a
// million candles agrees with one that has seen only the last window.
package indicator

import (
	"fmt"
	"math"
)

// Line is a series of values of which the newest two are known. Every indicator of
// this package is one, so any two can be tested for a crossing.
type Line interface {
	// Value is the newest value, 0 if there is none.
	Value() float64
	// Previous is the value before the newest, 0 if there is none.
	Previous() float64
	// Ready reports whether there is a value.
	Ready() bool
	// Count is how many values there were so far: Previous is one from 2 on.
	Count() int
}

// line is the Line that the indicators embed.
type line struct {
	value, previous float64
	count           int
}

func (l *line) set(x float64) {
	l.previous, l.value = l.value, x
	l.count++
}

// Value is the newest value, 0 until Ready.
func (l *line) Value() float64 { return l.value }

// Previous is the value one candle before Value, 0 if there was none.
func (l *line) Previous() float64 { return l.previous }

// Ready reports whether enough was added for a value.
func (l *line) Ready() bool { return l.count > 0 }

// Count is how many values there were so far.
func (l *line) Count() int { return l.count }

// CrossedAbove reports whether this line was at or below other one candle ago and is
// above it now; false until both lines have two values.
func (l *line) CrossedAbove(other Line) bool {
	return l.count > 1 && other.Count() > 1 && l.previous <= other.Previous() && l.value > other.Value()
}

// CrossedBelow reports whether this line was at or above other one candle ago and is
// below it now; false until both lines have two values.
func (l *line) CrossedBelow(other Line) bool {
	return l.count > 1 && other.Count() > 1 && l.previous >= other.Previous() && l.value < other.Value()
}

// CrossedAboveLevel reports whether this line was at or below level one candle ago and
// is above it now.
func (l *line) CrossedAboveLevel(level float64) bool {
	return l.count > 1 && l.previous <= level && l.value > level
}

// CrossedBelowLevel reports whether this line was at or above level one candle ago and
// is below it now.
func (l *line) CrossedBelowLevel(level float64) bool {
	return l.count > 1 && l.previous >= level && l.value < level
}

// Track is a line of whatever is added to it, so that a price, a spread or a number of
// one's own can cross an indicator. The zero value is ready for use.
type Track struct{ line }

// Add appends x to the line.
func (t *Track) Add(x float64) { t.set(x) }

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
func checkPeriod(constructor, name string, n int) int { return checkFrom(1, constructor, name, n) }

// checkFrom is checkPeriod for an indicator that needs more than one value.
func checkFrom(least int, constructor, name string, n int) int {
	if n < least || n > MaxPeriod {
		panic(fmt.Sprintf("indicator.%s: %s is %d, must be %d to %d", constructor, name, n, least, MaxPeriod))
	}
	return n
}

// checkWidth returns k, a number of deviations or ranges, or panics unless it is finite and
// above 0.
func checkWidth(constructor, name string, k float64) float64 {
	if !(k > 0) || math.IsInf(k, 1) {
		panic(fmt.Sprintf("indicator.%s: %s is %g, must be a finite number above 0", constructor, name, k))
	}
	return k
}

// percent is 100 * part / whole, 0 where whole is.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
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

// newest is the value of the last push.
func (w *window) newest() float64 { return w.buf[(w.next+len(w.buf)-1)%len(w.buf)] }

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

// rolling is a window with the sum of its values.
type rolling struct {
	window
	sum     sum
	nonzero int
}

func newRolling(n int) rolling { return rolling{window: newWindow(n)} }

// add takes x in and returns it with the value that x pushed out.
func (r *rolling) add(x float64) (in, out float64) {
	in, out = r.push(x)
	r.sum.add(-out)
	r.sum.add(in)
	if out != 0 {
		r.nonzero--
	}
	if in != 0 {
		r.nonzero++
	}
	return in, out
}

// total is the sum, exactly 0 while every value is.
func (r *rolling) total() float64 {
	if r.nonzero == 0 {
		return 0
	}
	return r.sum.hi
}

// mean is the average of the values of a full window.
func (r *rolling) mean() float64 { return r.sum.hi / float64(r.filled) }

// run counts how many of the newest values are the same.
type run struct {
	last   float64
	length int
}

func (r *run) add(x float64) {
	if x != r.last {
		r.last, r.length = x, 0
	}
	r.length++
}

// twoSum is a+b rounded, and the exact error of that rounding.
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}
