package indicator

// WMA is the linearly weighted moving average of the last n values: the newest counts
// n times, the one before n-1 times, the oldest once. Ready with the n-th value.
type WMA struct {
	line
	window   window
	total    sum
	weighted sum
	divisor  float64
}

// NewWMA is a weighted average over n values, 1 to MaxPeriod.
func NewWMA(n int) WMA {
	w := WMA{window: newWindow(checkPeriod("NewWMA", "n", n))}
	w.divisor = float64(n) * float64(n+1) / 2
	return w
}

// Add takes the next value.
func (w *WMA) Add(x float64) {
	if w.window.full() {
		// Every value loses one of its weight; the oldest had one left.
		w.weighted.add(-w.total.hi)
		w.weighted.add(-w.total.lo)
	}
	in, out := w.window.push(x)
	w.total.add(-out)
	w.total.add(in)
	w.weighted.addProduct(float64(w.window.filled), in)
	if w.window.full() {
		w.set(w.window.trusted(w.weighted.hi / w.divisor))
	}
}
