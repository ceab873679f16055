package order

import (
	"errors"
	"strings"
	"testing"
)

// TestEveryPair enumerates every state x evidence against the page's table, written here a
// second time as a matrix: one row per state in the order of States, one word per
// evidence in the order of AllEvidence; "." is an error, "=" the same state.
func TestEveryPair(t *testing.T) {
	const matrix = `
new       denied intent . . . . . . . . . . . . . . . .
denied    . . . . . . . . . . . . . . . . . =
intent    . . sent . . rejected . unknown . . . . . . . . . =
sent      . . . rejected intent . unknown unknown open partial filled . = = canceled expired . =
unknown   . . . rejected . . . . open partial filled . = = canceled expired rejected =
open      . . . . . . . . . partial filled . = = canceled expired . =
partial   . . . . . . . . . = filled . = = canceled expired . =
filled    . . . . . . . . . . . = . . . . . =
canceled  . . . . . . . . . partial filled . . . . . . =
rejected  . . . . . . . . . partial filled . . . . . . =
expired   . . . . . . . . . partial filled . . . . . . =`
	rows := strings.Split(strings.TrimSpace(matrix), "\n")
	if len(rows) != len(States) {
		t.Fatalf("%d rows for %d states", len(rows), len(States))
	}
	pairs := 0
	for i, row := range rows {
		words := strings.Fields(row)
		if name := string(States[i]); words[0] != name && (name != "" || words[0] != "new") {
			t.Fatalf("row %d is of %s, not of %s", i, words[0], name)
		}
		if len(words) != len(AllEvidence)+1 {
			t.Fatalf("row %s has %d words for %d kinds of evidence", words[0], len(words)-1, len(AllEvidence))
		}
		for j, want := range words[1:] {
			pairs++
			checkPair(t, States[i], AllEvidence[j], want)
		}
	}
	if pairs != len(States)*len(AllEvidence) {
		t.Errorf("%d pairs", pairs)
	}
}

func checkPair(t *testing.T, from State, on Evidence, want string) {
	t.Helper()
	got, err := Next(from, on)
	if want == "." {
		var illegal *TransitionError
		if !errors.As(err, &illegal) || got != from {
			t.Errorf("%q + %s = %q, %v; want an error", from, on, got, err)
		}
		return
	}
	if want == "=" {
		want = string(from)
	}
	if err != nil || string(got) != want {
		t.Errorf("%q + %s = %q, %v; want %s", from, on, got, err, want)
	}
}

func TestTableHasEachPairOnce(t *testing.T) {
	seen := map[rule]bool{}
	for _, r := range table {
		key := rule{from: r.from, on: r.on}
		if seen[key] {
			t.Errorf("%q + %s stands twice", r.from, r.on)
		}
		seen[key] = true
	}
}

func TestStateSets(t *testing.T) {
	for _, s := range States {
		if s != None && s.Terminal() == s.Exposed() {
			t.Errorf("%s must be either terminal or exposed", s)
		}
		if s.Working() && !s.Exposed() {
			t.Errorf("%s works but is no exposure", s)
		}
	}
}

// States are all of them, for whoever must handle each.
var States = []State{None, Denied, Intent, Sent, Lost, Open, Partial, Filled, Canceled, Rejected, Expired}

// AllEvidence is every kind.
var AllEvidence = []Evidence{
	Deny, Commit, HandOver, Refused, Unsent, TooLate, Doubt, Restarted, Acked, FilledPart, FilledAll,
	Overfill, CancelWanted, CancelDoubt, CanceledThere, ExpiredThere, Absent, Stale,
}
