package cmd

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/client"
)

// What keeps the shadow from a day is said: it is in the answer, not in the error of the command.
func TestRoundsSayWhyNothingWasPlayed(t *testing.T) {
	w := &walk{result: &promoted{CandidateRevisionID: "cr-a"}}
	for _, c := range []struct{ text, reason, failed string }{
		{`{"revisions":[{"candidate_revision_id":"cr-a","status":"waiting","reason":"2026-12-01 is not over"}]}`,
			"2026-12-01 is not over", ""},
		{`{"revisions":[{"candidate_revision_id":"cr-b","status":"failed","reason":"there is no connector made"},
			{"candidate_revision_id":"cr-a","status":"waiting","reason":"its days are those of cr-b"}]}`,
			"its days are those of cr-b", "there is no connector made"},
		{`{"revisions":[{"candidate_revision_id":"cr-a","status":"failed","reason":"x"},
			{"candidate_revision_id":"cr-b","status":"failed","reason":"x"}]}`, "", "x"},
		{`no answer`, "", ""},
	} {
		step, failed := w.readRound([]byte(c.text))
		if step.Step != "shadow" || step.Done || step.Reason != c.reason || strings.Join(failed, "; ") != c.failed {
			t.Errorf("%s: %+v, %q", c.text, step, failed)
		}
	}
	step, _ := w.readRound([]byte(`{"revisions":[{"candidate_revision_id":"cr-a","status":"posted","days":2}]}`))
	if !step.Done {
		t.Errorf("two days were stated: %+v", step)
	}
}

// What failed comes first, and a command that several gates wait for is printed once.
func TestPromotedPrintsFailuresFirst(t *testing.T) {
	var out strings.Builder
	(&promoted{Steps: []promotedStep{{Step: "shadow", Reason: "too early"}}, Prospective: "not shown", Pending: []client.Missing{
		{Status: "missing", Sentence: "Not shown: a.", SeeWith: "lab falsify x"},
		{Status: "failed", Sentence: "Not shown: b.", SeeWith: "lab report run_a"},
		{Status: "missing", Sentence: "Not shown: c.", SeeWith: "lab falsify x"},
	}}).Print(&out)
	const want = "  shadow   nothing new: too early\nNot shown: b.\n  see it with lab report run_a\nNot shown: a.\n" +
		"Not shown: c.\n  see it with lab falsify x\nnot shown\n"
	if _, got, _ := strings.Cut(out.String(), "\n"); got != want {
		t.Errorf("%s", got)
	}
}
