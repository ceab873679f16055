package gate

import (
	"fmt"
	"math/big"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// integrity passes for what was ingested; with verified, once its artifacts were read and
// found equal, and waits until then.
func integrity(g *policy.Gate, e *Evidence, _ time.Time) Result {
	if g.Verified && !e.Verified {
		return Result{Verdict: Pending, Observed: bundle.RungClaimed, Op: ">=", Threshold: bundle.RungVerified, Evidence: e.core(),
			Reason: "the artifacts have not been read yet"}
	}
	return Result{Verdict: Pass, Evidence: e.core(), Reason: "the bundle is what its id says"}
}

// requested passes when the newest submission asks for this stage or a higher one, and
// waits for such a submission.
func requested(stage bundle.Stage, e *Evidence) Result {
	r := Result{Verdict: Pass, Observed: string(e.Target), Op: ">=", Threshold: string(stage), Evidence: e.core(), Reason: "the stage was asked for"}
	if bundle.Rank(e.Target) < bundle.Rank(stage) {
		r.Verdict, r.Reason = Pending, fmt.Sprintf("only %s was asked for", e.Target)
	}
	return r
}

// lineage passes for a revision without parent, or with one that is in the log; it waits
// for an unknown parent. It fails when the same thing was rejected before in the family.
func lineage(_ *policy.Gate, e *Evidence, _ time.Time) Result {
	switch {
	case e.RejectedTwin != nil:
		return Result{Verdict: Fail, Evidence: []Piece{*e.RejectedTwin}, Reason: "the same plugin, parameters and markets were rejected in this family"}
	case e.Parent == "":
		return Result{Verdict: Pass, Evidence: e.core(), Reason: "the first revision"}
	case e.ParentSeq < 0:
		return Result{Verdict: Pending, Observed: e.Parent, Evidence: e.core(), Reason: "the parent revision is not in the log"}
	}
	parent := Piece{Seq: e.ParentSeq, SHA256: e.Parent[len(bundle.RevisionPrefix):]}
	return Result{Verdict: Pass, Observed: e.Parent, Evidence: []Piece{parent}, Reason: "the parent revision is in the log"}
}

// limitsDeclared passes when the seven limits that a bundle must have are above zero. It
// fails when one is zero.
func limitsDeclared(_ *policy.Gate, e *Evidence, _ time.Time) Result {
	l := &e.Limits
	amounts := []struct {
		name  string
		value string
	}{
		{"max_capital", l.MaxCapital}, {"max_order_value", l.MaxOrderValue}, {"max_position_value", l.MaxPositionValue},
		{"max_orders_per_minute", fmt.Sprint(l.MaxOrdersPerMinute)}, {"max_instruments", fmt.Sprint(l.MaxInstruments)},
		{"max_venues", fmt.Sprint(l.MaxVenues)}, {"max_drawdown", l.MaxDrawdown},
	}
	declared := 0
	r := Result{Verdict: Pass, Op: "==", Threshold: len(amounts), Evidence: e.core(), Reason: "all limits are declared"}
	for _, a := range amounts {
		if v, ok := new(big.Rat).SetString(a.value); ok && v.Sign() > 0 {
			declared++
			continue
		}
		if r.Verdict == Pass {
			r.Verdict, r.Reason = Fail, a.name+" is zero"
		}
	}
	r.Observed = declared
	return r
}
