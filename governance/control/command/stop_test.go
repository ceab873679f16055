package command_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
)

// TestWaivingWhatCannotBeWaived is refused before anything is signed.
func TestWaivingWhatCannotBeWaived(t *testing.T) {
	d := newDesk(t)
	doc := planetest.Good(d.p.Now())
	if a, err := d.p.Submit(doc, planetest.Signed()); err != nil || a.Status != 201 {
		t.Fatal(a.Status, err)
	}
	for gate, why := range map[string]string{"drill.kill_swich": "it has ",
		"assurance.signed": "cannot be waived"} {
		out := d.as("rita", 2, "approve", doc.Bundle.CandidateRevisionID, "--stage", "canary", "--waive",
			gate, "--reason", "x")
		if !strings.Contains(out, why) {
			t.Errorf("%s: %s", gate, out)
		}
	}
}

// TestStoppingAParentSaysWhoHoldsThePlace, and stops that one.
func TestStoppingAParentSaysWhoHoldsThePlace(t *testing.T) {
	d := newDesk(t)
	parent := planetest.Good(d.p.Now())
	successor := planetest.Good(d.p.Now(), planetest.Title("2"), func(b *bundle.Bundle) {
		b.Candidate.Lineage = bundle.Lineage{ParentRevisionID: &parent.Bundle.CandidateRevisionID,
			ChangeClass: bundle.ChangeNonMaterial}
	})
	for _, doc := range []*bundle.Document{parent, successor} {
		if a, err := d.p.Submit(doc, planetest.Signed()); err != nil || a.Status != 201 {
			t.Fatal(a.Status, err)
		}
	}
	d.stands(parent.Bundle.CandidateRevisionID, "paper/superseded")
	out := d.as("otto", 0, "suspend", parent.Bundle.CandidateRevisionID, "--kill", "--reason", "odd")
	if !strings.Contains(out,
		successor.Bundle.CandidateRevisionID+" runs the same and holds the place: active in paper") {
		t.Error(out)
	}
	d.stands(successor.Bundle.CandidateRevisionID, "paper/suspended")
}
