package indicator

// ROC is the rate of change in percent: 100 * (x / x of n values ago - 1). Ready with
// value number n+1. As in TA-Lib it is 0 where the earlier value is 0.
type ROC struct {
	line
	window window
}

// NewROC looks n values back, 1 to MaxPeriod.
func NewROC(n int) ROC {
	return ROC{window: newWindow(checkPeriod("NewROC", "n", n) + 1)}
}

// Add takes the next value.
func (r *ROC) Add(x float64) {
	now, _ := r.window.push(x)
	if !r.window.full() {
		return
	}
	rate := 0.0
	if then := r.window.oldest(); then != 0 {
		rate = (now/then - 1) * 100
	}
	r.set(r.window.trusted(rate))
}
