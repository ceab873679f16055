package cmd

import (
	"testing"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/search/family"
)

// TestNoTrialIsLeftOutSilently: a completed trial without an objective is named with the reason.
func TestNoTrialIsLeftOutSilently(t *testing.T) {
	one := 1.0
	trials := []*family.Trial{
		{Index: 0, Status: family.Completed, Objective: &one},
		{Index: 1, Status: family.Completed, Why: metric.Insufficient},
		{Index: 2, Status: family.Failed}, {Index: 3, Status: family.Completed, Why: metric.Insufficient},
		{Index: 4, Status: family.Completed},
	}
	want := "not ranked: 3 of 4 completed trials have no sharpe_ratio (insufficient: t1, t3; undefined: t4)"
	if got := unranked("sharpe_ratio", trials); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := unranked("sharpe_ratio", trials[:1]); got != "" {
		t.Error(got)
	}
}
