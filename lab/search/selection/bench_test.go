package selection

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// The budget: CSCV with S = 10 and SPA with B = 999 over 1,217
// days and 200 trials in 2 s, red at 5 s, on 2 cores.
const (
	budgetDays   = 1217
	budgetTrials = 200
	budget       = 2 * time.Second
)

// yardstick is arithmetic of the kind that the budget is spent on: as many additions as
// the means of 999 replicas take. It measures how fast this machine is just now.
func yardstick(l *TrialList) (time.Duration, float64) {
	var all []*Series
	for i := range l.Trials {
		all = append(all, l.Trials[i].Series)
	}
	rows := rowsOf(all, l.countDays())
	begun := time.Now()
	sums := make([]float64, len(all))
	for range replicas {
		for _, row := range rows {
			for k, v := range row {
				sums[k] += v
			}
		}
	}
	return time.Since(begun), sums[0]
}

// TestSelectionIsFast holds the budget whatever else the machine is doing: all that Select
// does takes no more than a dozen times the yardstick, which is some 0.1 s of the 2.
func TestSelectionIsFast(t *testing.T) {
	ring.Slow(t, "it measures speed")
	ring.Undetected(t, "it measures speed")
	l := search(1, budgetTrials, budgetDays, 1)
	const most = 12
	var share float64
	for range 3 { // a busy moment is not a slow program
		unit, _ := yardstick(l)
		begun := time.Now()
		l.mustSelect(t)
		took := time.Since(begun)
		if share = float64(took) / float64(unit); share <= most {
			t.Logf("%v, %.1f times the yardstick of %v", took, share, unit)
			return
		}
	}
	t.Errorf("%.1f times the yardstick, at most %d", share, most)
}

func BenchmarkSelect(b *testing.B) {
	l := search(1, budgetTrials, budgetDays, 1)
	unit, _ := yardstick(l)
	for b.Loop() {
		l.mustSelect(b)
	}
	each := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(each)/float64(unit), "yardsticks")
	if each > budget {
		b.Logf("%v, the budget is %v", each, budget)
	}
}

func BenchmarkDigest(b *testing.B) {
	l := search(1, budgetTrials, budgetDays, 1)
	for b.Loop() {
		l.Digest()
	}
}
