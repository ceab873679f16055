package promotion

import (
	"fmt"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

func sha(name string) string { return digest.SHA256Hex([]byte(name)) }

// submittedBy is a bundle of an owner with its trials, each by key and returns, on some candles.
func submittedBy(owner, candles, from, to string, trials ...[2]string) *Ingested {
	b := &Ingested{
		DeployableID: "dep-" + owner + candles, Candidate: bundle.Candidate{Owner: owner, FamilyID: owner},
		Data: []bundle.Dataset{{SHA256: sha(candles), Start: from, End: to}},
	}
	if trials != nil {
		b.Trials = &bundle.Trials{FamilyTrials: int64(len(trials)), Tried: []bundle.Trial{}}
	}
	for _, t := range trials {
		one := bundle.Trial{Key: sha(t[0]), Candles: []string{sha(candles)}, From: from, To: to}
		if t[1] != "" {
			one.ReturnsSHA256 = sha(t[1])
		}
		b.Trials.Tried = append(b.Trials.Tried, one)
	}
	return b
}

// TestTheLedgerKnowsNoOwner: another state directory, slug, owner or symbol resets nothing, and
// what is the same by its key or its returns is one trial.
func TestTheLedgerKnowsNoOwner(t *testing.T) {
	var l triedLedger
	for i, c := range []struct {
		b         *Ingested
		all, same int64
	}{
		{submittedBy("ann", "btc", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", [2]string{"a", "1"},
			[2]string{"b", "2"}, [2]string{"c", ""}), 3, 3},
		// The same program from another folder: its own key, the same returns.
		{submittedBy("bob", "btc", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", [2]string{"a2", "1"}), 3,
			3},
		// Another symbol on the same days.
		{submittedBy("eve", "eth", "2020-06-01T00:00:00Z", "2021-06-01T00:00:00Z", [2]string{"d", "4"}), 4,
			1},
		// Days that nothing else is on.
		{submittedBy("eve", "eth", "2021-06-01T00:00:00Z", "2022-01-01T00:00:00Z", [2]string{"e", "5"}), 1,
			1},
		// A bundle of an earlier version counts as one trial, however often it is submitted.
		{submittedBy("old", "btc", "2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z"), 4, 4},
		{submittedBy("old", "btc", "2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z"), 4, 4},
		// One that shows that two trials are the same.
		{submittedBy("ann", "btc", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", [2]string{"c", "2"}), 4,
			3},
	} {
		if all, same := l.submitted(c.b); all != c.all || same != c.same {
			t.Errorf("%d: %d trials, %d on the same candles, want %d and %d", i, all, same, c.all, c.same)
		}
	}
}

// TestReturnsInFilesJoin: the same program from another folder is one trial where files show it. No
// list is fewer than it has, and none makes what was there fewer.
func TestReturnsInFilesJoin(t *testing.T) {
	const from, to = "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"
	read := func(owner string, trials ...[2]string) *Ingested {
		b := submittedBy(owner, "btc", from, to, trials...)
		b.Evidence = []bundle.RunEvidence{{}, {Returns: []bundle.Places{{From: 0, To: int64(len(trials))}}}}
		return b
	}
	var l triedLedger
	for i, c := range []struct {
		b   *Ingested
		all int64
	}{
		{read("ann", [2]string{"a", "1"}, [2]string{"b", "2"}, [2]string{"c", ""}), 3},
		{read("bob", [2]string{"a2", "1"}), 3},
		{submittedBy("eve", "btc", from, to, [2]string{"a3", "1"}), 4}, // declared only
		{read("ann", [2]string{"c", "2"}), 4},                          // joins nothing that stands apart
		{read("eve", [2]string{"d", "1"}, [2]string{"e", "1"}, [2]string{"f", "1"}), 6},
		{read("eve", [2]string{"g", "1"}, [2]string{"a", "1"}), 7}, // a is that class already
		{submittedBy("old", "btc", from, to), 8},
		{submittedBy("old", "btc", from, to), 8},
	} {
		l.enter(c.b)
		if all, _ := l.count(daysOf(c.b.Data)); all != c.all {
			t.Errorf("%d: %d trials, want %d", i, all, c.all)
		}
	}
}

// TestTheBestOfFiftySymbols: fifty submissions of one trial each, from fifty folders, are fifty
// trials, and what would have passed alone does not.
func TestTheBestOfFiftySymbols(t *testing.T) {
	var l triedLedger
	var all int64
	for i := range 50 {
		name := fmt.Sprint("symbol-", i)
		all, _ = l.submitted(submittedBy(fmt.Sprint("owner-", i), name, "2020-01-01T00:00:00Z",
			"2021-01-01T00:00:00Z", [2]string{name, name}))
	}
	if all != 50 {
		t.Errorf("%d trials", all)
	}
	if x := policy.AmongTrials(0.98, 1, all); x > 0.37 || x < 0.36 { // 0.98^50
		t.Error(x)
	}
}

func TestAmongTrials(t *testing.T) {
	for _, c := range []struct {
		dsr            float64
		counted, there int64
		want           float64
	}{
		{0.9, 4, 0, 0.9}, {0.9, 4, 4, 0.9}, {0.9, 4, 3, 0.9}, {0.9, 0, 9, 0.9}, {0.5, 4, 5, 0.25},
		{0.5, 4, 8, 0.25},
		{0.5, 4, 9, 0.125}, {0.5, 1, 10, 1.0 / 1024}, {1, 1, 1000, 1}, {0, 1, 2, 0},
	} {
		if got := policy.AmongTrials(c.dsr, c.counted, c.there); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
