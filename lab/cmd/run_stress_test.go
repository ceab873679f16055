package cmd

import (
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

// TestStressLineRemarksWhatIsTooGood: a stress that helps is said in words, whatever
// its verdict is.
func TestStressLineRemarksWhatIsTooGood(t *testing.T) {
	const remark = "; far better than the base: find out why before you rely on either"
	for _, c := range []struct {
		base, net string
		late      int64
		want      string
	}{
		{"-8726.54", "35564.96", 0, "stress delay_1: pass (net 35564.96, base -8726.54)" + remark},
		{"1000", "2000.01", 0, "stress delay_1: pass (net 2000.01, base 1000)" + remark},
		{"1000", "2000", 0, "stress delay_1: pass (net 2000, base 1000)"},
		{"-1000", "-10", 0, "stress delay_1: pass (net -10, base -1000)"},
		{"0", "0", 0, "stress delay_1: pass (net 0, base 0)"},
		{"1000", "900", 12, "stress delay_1: pass (net 900, base 1000, 12 late messages)"},
	} {
		got := stressLine(&artifact.Stress{
			ID: "delay_1", Verdict: "pass", Base: artifact.StressResult{NetPnL: c.base},
			Stressed: artifact.StressResult{NetPnL: c.net, LateMessages: c.late},
		})
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
