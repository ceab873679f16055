package indicator

// SMA is the simple moving average of the last n values, ready with the n-th.
type SMA struct {
	line
	window window
	total  sum
}

// NewSMA is a moving average over n values, 1 to MaxPeriod.
func NewSMA(n int) SMA {
	return SMA{window: newWindow(checkPeriod("NewSMA", "n", n))}
}

// Add takes the next value.
func (s *SMA) Add(x float64) {
	in, out := s.window.push(x)
	s.total.add(-out)
	s.total.add(in)
	if s.window.full() {
		s.set(s.window.trusted(s.total.hi / float64(s.window.filled)))
	}
}
