package risk

import "testing"

// TestTransfersAreNoLoss: money that is withdrawn breaks neither the day's loss nor the drawdown; what is
// lost of the rest does.
func TestTransfersAreNoLoss(t *testing.T) {
	g := guard(t, func(l *Limits) { l.MaxDailyLoss, l.MaxDrawdown = d("0.03"), d("0.1") })
	g.Transfer(d("-5000"))
	if got := codes(g.OnStep(noon, d("5000"))); got != "" {
		t.Error(got)
	}
	if got := codes(g.OnStep(noon, d("4840"))); got != string(DailyLoss) {
		t.Errorf("%q", got)
	}
	if got := codes(g.OnStep(noon, d("4490"))); got != string(Kill) {
		t.Errorf("%q", got)
	}
}
