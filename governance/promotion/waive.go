package promotion

import (
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// applyWaiver lets a gate that does not pass be, while a waiver for it counts: that which lasts
// longest. When that has run out the gate is expired since then, unless it fails by what
// has come to light after the waiver was given.
func (rs rules) applyWaiver(r *revision, stage bundle.Stage, g *policy.Gate,
	result policy.Result) policy.Result {
	if result.Verdict == policy.Pass || result.Verdict == policy.NotApplicable || !g.Waivable() {
		return result
	}
	best := rs.waivers(r, stage, g)
	if best == nil {
		return result
	}
	if !rs.at.Before(best.expires) {
		return ranOut(result, best)
	}
	result.Verdict, result.ValidUntil, result.Blame = policy.Waived, best.expires, ""
	reason := result.Reason
	result.Reason = "waived"
	for i, w := range best.all {
		result.Evidence = append(result.Evidence, policy.Piece{Seq: w.seq, SHA256: w.PAESHA256})
		result.Reason += []string{" by ", " and by "}[min(i, 1)] + w.Principal + ": " + w.Reason
	}
	result.Reason += " (" + reason + ")"
	return result
}

// together are the waivers of a gate that count as one: they end with the first that ends.
type together struct {
	all     []*waiver
	expires time.Time
}

// waivers are those that let a gate pass: one for each role that the gate asks for, of different
// people, which together last longest; nil where one is missing.
func (rs rules) waivers(r *revision, stage bundle.Stage, g *policy.Gate) *together {
	roles := g.Waivers()
	var best *together
	var choose func(chosen []*waiver)
	choose = func(chosen []*waiver) {
		if len(chosen) < len(roles) {
			for i := range r.waivers {
				x := &r.waivers[i]
				if x.Stage == stage && x.GateID == g.ID && rs.mayWaive(r, x, roles[len(chosen)], chosen) &&
					(len(roles) == 1 || strings.TrimSpace(x.Reason) != "") {
					choose(append(slices.Clone(chosen), x))
				}
			}
			return
		}
		last := slices.MinFunc(chosen, func(a, b *waiver) int { return a.expires.Compare(b.expires) })
		t := &together{chosen, last.expires}
		if best == nil || t.expires.After(best.expires) || t.expires.Equal(best.expires) &&
			slices.CompareFunc(t.all, best.all, func(a, b *waiver) int {
				return strings.Compare(a.PAESHA256, b.PAESHA256)
			}) < 0 {
			best = t
		}
	}
	choose(nil)
	return best
}

// mayWaive reports whether a waiver counts for a role beside those that were chosen.
func (rs rules) mayWaive(r *revision, x *waiver, role string, chosen []*waiver) bool {
	return rs.w.signatureCounts(x.By, role) && !r.excludes(x.Principal) &&
		!slices.ContainsFunc(chosen, func(o *waiver) bool {
			return bundle.SamePrincipal(o.Principal, x.Principal)
		})
}

func ranOut(result policy.Result, x *together) policy.Result {
	result.ValidUntil = x.expires
	newest, names := int64(0), []string{}
	for _, w := range x.all {
		newest, names = max(newest, w.seq), append(names, w.Principal)
	}
	news := func(p policy.Piece) bool { return p.Seq > newest }
	if result.Verdict == policy.Fail && slices.ContainsFunc(result.Evidence, news) {
		return result
	}
	result.Verdict = policy.Expired
	result.Reason = "the waiver of " + strings.Join(names, " and ") + " has run out: " + result.Reason
	return result
}

// takeOver gives a revision whose program trades as that of its parent the parent's stage, once
// its own plan for that stage passes and a person has agreed to it.
func (rs rules) takeOver(r *revision) (StageDecision, bool) {
	p, ok := rs.w.revisions[r.parent]
	if !ok || !prospective(rs.w) || bundle.Rank(r.Stage) >= bundle.Rank(p.Stage) ||
		r.Status != defaultStatus(r.Stage) || r.held ||
		p.Status != Active || !rs.inheritsByApproval(r, p) || !rs.mayInherit(r, p) {
		return StageDecision{}, false
	}
	sum := rs.planDigest(r, rs.judgePlan(r, p.Stage))
	if len(rs.promoteApprovals(r, p.Stage, sum)) == 0 {
		return StageDecision{}, false
	}
	d := to(p.Stage, Active, CauseInherited)
	d.RelatedRevisionID, d.PlanDigest = p.id, &sum
	return d, true
}

// inheritsByApproval reports whether a person must agree that a revision takes its parent's place:
// another program, and a stage for real money.
func (rs rules) inheritsByApproval(r, parent *revision) bool {
	return prospective(rs.w) && bundle.Rank(parent.Stage) >= bundle.Rank(bundle.Canary) &&
		rs.w.changeClass(r) == bundle.ChangeNonMaterial
}
