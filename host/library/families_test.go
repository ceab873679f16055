package library

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// worded is a lab that says of a test that it was asked about it.
type worded struct{}

// Places implements Lab.
func (worded) Places(context.Context, []string) (map[string]*registry.Place, error) { return nil, nil }

// Sentence implements Lab.
func (worded) Sentence(test json.RawMessage) (string, error) {
	var t struct{ ID string }
	err := json.Unmarshal(test, &t)
	return "about " + t.ID, err
}

// TestFinding: a test keeps what the file has of it, and gets its number, sentence and command.
func TestFinding(t *testing.T) {
	const text = `{"id":"costs","class":"G","statistic":{"value":3,"threshold":4},"verdict":"fail"}`
	l := New(nil, nil, worded{})
	shown, failed, err := l.tell(json.RawMessage(text), 7, "lab falsify x --only ")
	if got, _ := json.Marshal(shown); err != nil || !failed || string(got) != `{"bound":4,"class":"G",`+
		`"id":"costs","number":7,"repeat":"lab falsify x --only costs","sentence":"about costs",`+
		`"statistic":{"threshold":4,"value":3},"value":3,"verdict":"fail"}` {
		t.Errorf("%s, %v, %v", got, failed, err)
	}
	for _, text := range []string{`null`, `[]`, `{"id":1}`} {
		if _, _, err := l.tell(json.RawMessage(text), 1, ""); err == nil {
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
