package control_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// TestNothingLiveWithoutUnseenDays: what was searched elsewhere, or knows the past, has every gate
// of paper and no day after its seal; for real money the gate of such days waits. Approvals do not
// stand for it, and no waiver does for live.
func TestNothingLiveWithoutUnseenDays(t *testing.T) {
	p := builtIn(t)
	now := p.Now()
	doc := planetest.Good(now, planetest.Earning, planetest.WithSoaks(now))
	submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, now))
	stands(t, p, doc, "paper/active")
	for _, stage := range []string{"canary", "live"} {
		g := gate(t, plan(t, p, doc, stage), "shadow.evidence")
		if g.Verdict != policy.Pending || g.Reason == "" {
			t.Errorf("%s: %+v", stage, g)
		}
	}
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "rita", "risk"),
		approval(t, p, doc, "anna", "approver"))
	stands(t, p, doc, "paper/active")
	for _, by := range []string{"rita", "anna"} {
		c := planetest.Common(doc, now)
		c.Reason, c.ExpiresAt = "it is urgent", bundle.FormatTime(now.Add(24*time.Hour))
		submit(t, p, http.StatusCreated, doc, planetest.Said{By: by, Type: bundle.TypeWaiver,
			Predicate: bundle.Waiver{Common: c, Stage: bundle.Live, GateID: "shadow.evidence"}})
	}
	if g := gate(t, plan(t, p, doc, "live"), "shadow.evidence"); g.Verdict != policy.Pending ||
		len(g.WaivableBy) != 0 {
		t.Errorf("waived for live: %+v", g)
	}
}
