package library

import (
	"encoding/json"
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

// TestFinding: every verdict is one sentence, and a pass claims no more than that nothing refuted it.
func TestFinding(t *testing.T) {
	for _, test := range [][2]string{
		{`{"id":"costs","class":"G","claim":"it survives","detail":"it loses 3 %","verdict":"fail"}`,
			"Not shown: that it survives, because it loses 3 %."},
		{`{"id":"costs","class":"W","claim":"it survives","verdict":"warn"}`, "Not shown: that it survives."},
		{`{"id":"costs","class":"G","claim":"it survives","detail":"few trades","verdict":"inconclusive"}`,
			"Open: whether it survives, because few trades."},
		{`{"id":"costs","claim":"it survives.","verdict":"pass"}`, "Not refuted: that it survives."},
		{`{"id":"some_costs","class":"D","verdict":"skipped"}`, "Not tested: whether some costs."},
		{`{"id":"costs","class":"D","claim":"it survives","note":"to 20 bps","verdict":"pass"}`,
			"About whether it survives: to 20 bps."},
	} {
		text, want := test[0], test[1]
		shown, _, err := tell(json.RawMessage(text), 7, "lab falsify x --only ")
		if err != nil || shown["sentence"] != want || shown["number"] != 7 ||
			shown["repeat"] != "lab falsify x --only "+shown["id"].(string) {
			t.Errorf("%s\nis %v, %v\nnot %s", text, shown, err, want)
		}
	}
	for _, text := range []string{`null`, `[]`, `{"id":1}`} {
		if _, _, err := tell(json.RawMessage(text), 1, ""); err == nil {
			t.Errorf("%s is a test", text)
		}
	}
}

func trial(index int64, ratio float64) FamilyTrial {
	return FamilyTrial{Index: index, Metrics: artifact.Headline{SharpeRatio: &ratio}}
}

func TestSortTrials(t *testing.T) {
	for by, want := range map[string][]int64{"sharpe_ratio": {3, 0, 2, 1}, "-sharpe_ratio": {0, 2, 3, 1},
		"-index": {3, 2, 1, 0}, "total_return": {0, 1, 2, 3}} {
		trials := []FamilyTrial{{Index: 1}, trial(2, 1), trial(0, 1), trial(3, -1)}
		SortTrials(trials, by)
		for i, at := range want {
			if trials[i].Index != at {
				t.Errorf("%s: %v, not %v", by, trials, want)
				break
			}
		}
	}
}

// TestObserve: each ratio is in one bin, the largest in the last.
func TestObserve(t *testing.T) {
	for n, ratios := range map[int][]float64{luckBins: {-1, 0, 0.5, 1}, 1: {2, 2}, 0: {}} {
		trials := []FamilyTrial{{Index: 9}}
		for i, x := range ratios {
			trials = append(trials, trial(int64(i), x))
		}
		var l Luck
		l.Observe(trials)
		sum := 0
		for _, b := range l.Bins {
			sum += b.Count
		}
		if len(l.Bins) != n || sum != len(ratios) || (l.Observed == nil) != (n == 0) {
			t.Errorf("%v: %+v", ratios, l)
		}
		if n > 0 && (*l.Observed != ratios[len(ratios)-1] || l.Bins[n-1].Count == 0 ||
			l.Bins[0].From != ratios[0]) {
			t.Errorf("%v: %+v", ratios, l)
		}
	}
}
