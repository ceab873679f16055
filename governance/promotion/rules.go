package promotion

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// rules are the table of transitions and the policy, applied to a World at one time.
type rules struct {
	w  *World
	at time.Time
}

// Decision is what the machine decides about one revision: a stage-decision that the
// caller logs.
type Decision struct {
	Revision string
	StageDecision
}

// Entry is the entry that logs the decision.
func (d *Decision) Entry(seq int64) *Entry {
	return &Entry{
		Seq: seq, Type: bundle.TypeStageDecision, Subject: []bundle.Subject{RevisionSubject(d.Revision)},
		Predicate: &d.StageDecision,
	}
}

// Next is the next decision to make at this time, false when there is none: then all that
// is in the log so far is judged. Log it, Apply its facts, and ask again with the same time.
func (w *World) Next(now time.Time) (Decision, bool) {
	rs := rules{w, now.UTC()}
	w.together()
	due := make([]*revision, 0, len(w.due))
	for r := range w.due {
		due = append(due, r)
	}
	slices.SortFunc(due, func(a, b *revision) int { return a.index - b.index })
	for _, r := range due {
		if d, ok := rs.nextDecision(r); ok {
			return d, true
		}
	}
	clear(w.due)
	return Decision{}, false
}

// NextFor is what the machine decides about one revision at this time, whether or not
// it has new facts: a decision in a log is judged again by asking for it with
// the facts before it, at its own time.
func (w *World) NextFor(revision string, now time.Time) (Decision, bool) {
	r, ok := w.revisions[revision]
	if !ok {
		return Decision{}, false
	}
	return rules{w, now.UTC()}.nextDecision(r)
}

// transitions are the machine's rows of the table of transitions; the first that applies is the
// decision.
var transitions = []func(rules, *revision) (StageDecision, bool){
	rules.placeNew, rules.supersede, rules.reopen, rules.resume, rules.drifted, rules.demote, rules.takeOver,
	rules.promote,
}

func (rs rules) nextDecision(r *revision) (Decision, bool) {
	if r.Status.Terminal() {
		return Decision{}, false
	}
	for _, rule := range transitions {
		if d, ok := rule(rs, r); ok {
			d.PolicyDigest, d.EvaluatedAt = rs.w.policy.Digest, rs.at.Format(time.RFC3339Nano)
			d.TrustDigest = TrustNamed(rs.w)
			if !r.fresh {
				from := r.Place.String()
				d.From = &from
			}
			return Decision{Revision: r.id, StageDecision: d}, true
		}
		if r.fresh {
			break // it has no place that anything else could take it from
		}
	}
	return Decision{}, false
}

func to(stage bundle.Stage, status Status, cause Cause) StageDecision {
	return StageDecision{To: Place{Stage: stage, Status: status}.String(), Cause: cause}
}

// placeNew places a new revision: where its parent stands if it may inherit that, else in
// research. What was stopped before it had a place stays so.
func (rs rules) placeNew(r *revision) (StageDecision, bool) {
	if !r.fresh {
		return StageDecision{}, false
	}
	if p, ok := rs.w.revisions[r.parent]; ok && rs.mayInherit(r, p) && !rs.inheritsByApproval(r, p) {
		status := p.Status
		if r.Status == Suspended {
			status = Suspended
		}
		d := to(p.Stage, status, CauseInherited)
		d.RelatedRevisionID = p.id
		return d, true
	}
	return to(bundle.Research, r.Status, CauseFirst), true
}

// onPath reports whether a revision stands in a stage from paper on, active or suspended.
func onPath(r *revision) bool {
	return !r.fresh && bundle.Rank(r.Stage) >= bundle.Rank(bundle.Paper) &&
		(r.Status == Active || r.Status == Suspended)
}

// supersede takes the place from a revision whose successor has it, or that another revision
// of the candidate has come to later: of a candidate one revision is active in a stage.
func (rs rules) supersede(r *revision) (StageDecision, bool) {
	by := r.successor
	if by == "" && r.active() {
		for _, other := range rs.w.otherRevisions(r) {
			if other.active() && other.Stage == r.Stage && other.enteredSeq > r.enteredSeq {
				by = other.id
			}
		}
	}
	if by == "" || r.Status != Active && r.Status != Suspended {
		return StageDecision{}, false
	}
	d := to(r.Stage, Superseded, CauseSuperseded)
	d.RelatedRevisionID = by
	return d, true
}

// reopen takes a superseded revision that was submitted once more back to research.
func (rs rules) reopen(r *revision) (StageDecision, bool) {
	if !r.resubmitted || r.Status != Superseded || r.Stage != bundle.Paper {
		return StageDecision{}, false
	}
	return to(bundle.Research, Pending, CauseResubmitted), true
}

// resume lets a stopped revision go on when people have agreed.
func (rs rules) resume(r *revision) (StageDecision, bool) {
	if !rs.mayResume(r) {
		return StageDecision{}, false
	}
	return to(r.Stage, defaultStatus(r.Stage), CauseResumed), true
}

// demote lowers an active revision whose own stage's plan fails, to the next stage whose
// plan does not.
func (rs rules) demote(r *revision) (StageDecision, bool) {
	if !r.active() {
		return StageDecision{}, false
	}
	own := rs.judgePlan(r, r.Stage)
	if own.verdict != policy.Fail {
		return StageDecision{}, false
	}
	stages := bundle.PromotionStages()
	for i := bundle.Rank(r.Stage) - 1; i >= 0; i-- {
		if i > 0 && rs.judgePlan(r, stages[i]).verdict == policy.Fail {
			continue
		}
		d := to(stages[i], defaultStatus(stages[i]), CauseFailed)
		sum := rs.planDigest(r, own)
		d.PlanDigest = &sum
		return d, true
	}
	return StageDecision{}, false
}

// promote raises a revision by one stage when the plan passes and people have agreed.
func (rs rules) promote(r *revision) (StageDecision, bool) {
	next := nextStage(r)
	if next == "" || bundle.Rank(r.target) < bundle.Rank(next) || r.held || rs.wouldDisplace(r, next) {
		return StageDecision{}, false
	}
	stage := rs.w.policy.Stage(next)
	plan := rs.judgePlan(r, next)
	if plan.verdict != policy.Pass {
		return StageDecision{}, false
	}
	sum := rs.planDigest(r, plan)
	granted := rs.promoteApprovals(r, next, sum)
	if missing(stage.Approvals, granted) > 0 || len(granted) == 0 && !stage.Auto {
		return StageDecision{}, false
	}
	d := to(next, Active, CausePromoted)
	d.PlanDigest = &sum
	return d, true
}

// nextStage is where a revision goes next, "" if it goes nowhere as it stands.
func nextStage(r *revision) bundle.Stage {
	stages := bundle.PromotionStages()
	i := bundle.Rank(r.Stage)
	if i < 0 || i+1 >= len(stages) || r.Status != defaultStatus(r.Stage) {
		return ""
	}
	return stages[i+1]
}

// why is a decision in words.
func (r *revision) why(d *StageDecision) string {
	switch d.Cause {
	case CauseFirst:
		return "first submission"
	case CauseInherited:
		return "inherited from " + d.RelatedRevisionID
	case CausePromoted:
		if len(r.approvedBy) > 0 {
			return fmt.Sprintf("the plan passes, approved by %d people", len(r.approvedBy))
		}
		return "the plan passes"
	case CauseSuperseded:
		return "superseded by " + d.RelatedRevisionID
	case CauseResumed:
		return "resumed by approval"
	case CauseResubmitted:
		return "submitted again"
	}
	return "the plan of its stage fails"
}

// judged is a plan as the machine sees it.
type judged struct {
	stage   bundle.Stage
	verdict policy.Verdict
	gates   []policy.Gate
	results []policy.Result // one for each gate
}

// judgePlan works out the plan of a revision for a stage: fail wins, then pending or expired.
// While no approval can count, the stages for real money wait.
func (rs rules) judgePlan(r *revision, stage bundle.Stage) *judged {
	j := &judged{stage: stage, verdict: policy.Pass, gates: rs.gatesOf(stage)}
	e := rs.w.evidenceOf(r)
	for i := range j.gates {
		g := &j.gates[i]
		result := rs.applyWaiver(r, stage, g, policy.Judge(g, stage, e, rs.at))
		j.results = append(j.results, result)
		switch result.Verdict {
		case policy.Fail:
			j.verdict = policy.Fail
		case policy.Pending, policy.Expired:
			if j.verdict == policy.Pass {
				j.verdict = policy.Pending
			}
		}
	}
	if j.verdict == policy.Pass && bundle.Rank(stage) >= bundle.Rank(bundle.Canary) &&
		!rs.w.peopleMayStart(rs.at) {
		j.verdict = policy.Pending
	}
	return j
}

// The gates that hold under every policy.
const (
	gateVerified = "evidence.verified"
	gateSigned   = "bundle.signed"
)

// gatesOf are those of the policy for a stage. From paper on, under every policy, the files of
// the runs must have been read and, where keys are trusted, a lab must stand for the bundle.
func (rs rules) gatesOf(stage bundle.Stage) []policy.Gate {
	own := rs.w.policy.Stage(stage).Gates
	if !rs.w.strict() || bundle.Rank(stage) < bundle.Rank(bundle.Paper) || stage == bundle.Retired {
		return own
	}
	asks := func(kind string, enough func(*policy.Gate) bool) bool {
		return slices.ContainsFunc(own, func(g policy.Gate) bool { return g.Kind == kind && enough(&g) })
	}
	var more []policy.Gate
	if !asks(policy.Integrity, func(g *policy.Gate) bool { return g.Verified }) {
		more = append(more, policy.Gate{
			ID: gateVerified, Kind: policy.Integrity, Verified: true,
			Spec: json.RawMessage(`{"verified":true}`),
		})
	}
	signed := func(g *policy.Gate) bool { return slices.Contains(g.Rungs, bundle.RungSigned) }
	if rs.w.trust != nil && !asks(policy.Assurance, signed) {
		more = append(more, policy.Gate{
			ID: gateSigned, Kind: policy.Assurance, Rungs: []string{bundle.RungSigned},
			Spec: json.RawMessage(`{"rungs":["signed"]}`),
		})
	}
	return append(more, own...)
}

// planDigest is the plan_digest of a plan.
func (rs rules) planDigest(r *revision, j *judged) string {
	gates := make([]PlanGate, len(j.gates))
	for i := range j.gates {
		gates[i] = PlanGate{GateID: j.gates[i].ID, Verdict: j.results[i].Verdict}
		for _, p := range j.results[i].Evidence {
			gates[i].Evidence = append(gates[i].Evidence, Evidence{SHA256: p.SHA256})
		}
	}
	return digestOf(r.id, j.stage, rs.w.policy.Digest, gates)
}

// digestOf is "sha256:" and the SHA-256 of the canonical JSON of verdicts and evidence. A
// changed plan has another one, and voids approvals.
func digestOf(revision string, stage bundle.Stage, policyDigest string, plan []PlanGate) string {
	gates := make([]any, len(plan))
	for i := range plan {
		sums := make([]string, 0, len(plan[i].Evidence))
		for _, e := range plan[i].Evidence {
			sums = append(sums, e.SHA256)
		}
		slices.Sort(sums)
		list := make([]any, len(sums))
		for k, s := range sums {
			list[k] = s
		}
		gates[i] = map[string]any{"gate_id": plan[i].GateID, "verdict": string(plan[i].Verdict),
			"evidence": list}
	}
	return bundle.DigestPrefix + digest.SHA256Hex(digest.Tree(map[string]any{
		"schema": "promotion-plan-digest/v1", "candidate_revision_id": revision, "stage": string(stage),
		"policy_digest": policyDigest, "gates": gates,
	}))
}

// derivedStatus is the status with what only a reader needs: that evidence has run
// out, or that only people are missing.
func (rs rules) derivedStatus(r *revision, own *judged) Status {
	if r.active() && rs.lapseReason(r, own) != "" {
		return Expired
	}
	next := nextStage(r)
	if next == "" || bundle.Rank(r.target) < bundle.Rank(next) || r.held {
		return r.Status
	}
	stage := rs.w.policy.Stage(next)
	if len(stage.Approvals) == 0 && stage.Auto && !rs.wouldDisplace(r, next) {
		return r.Status
	}
	plan := rs.judgePlan(r, next)
	if plan.verdict == policy.Pass {
		return Eligible
	}
	return r.Status
}

// onTrial reports whether a stage asks for anything that could cease to hold.
func onTrial(s bundle.Stage) bool {
	return bundle.Rank(s) >= bundle.Rank(bundle.Paper) && s != bundle.Retired
}

// holdsUntil is until when a revision may stand where it does by what is known: the moment
// that the first gate of its stage runs out by time alone, or the trust that its approvals
// rest on, or that an incident was opened; zero for never. What is missing without having run out (a key
// that was revoked, evidence that a successor did not bring, a policy that asks for more) may never have been
// there, so the place has held for no time at all: until it was entered. It never is later
// than the moment at which the plan stopped passing.
func (rs rules) holdsUntil(r *revision, own *judged) time.Time {
	var first time.Time
	by := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if !onTrial(r.Stage) {
		return first
	}
	entered := r.entered[r.Stage]
	for i := range own.results {
		switch result := &own.results[i]; {
		case own.gates[i].Kind == policy.NoOpenIncident:
			for _, incident := range rs.w.deployable(r.bundle.DeployableID).openIncidents() {
				by(incident.opened.at)
			}
		case result.Verdict == policy.Pending, result.Verdict == policy.Fail && result.ValidUntil.IsZero():
			by(entered)
		default:
			by(result.ValidUntil)
		}
	}
	if bundle.Rank(r.Stage) >= bundle.Rank(bundle.Canary) {
		if rs.w.trust == nil {
			by(entered)
		} else if ends, ok := field.ParseTime(rs.w.trust.ExpiresAt); ok {
			by(ends)
		}
	}
	if !rs.approvalsStand(r) {
		by(entered)
	}
	return first
}

// lapseReason is why an active revision may not go on standing where it does, "" if it may: a
// gate of its stage does not pass any more, or its approvals do not count any more.
func (rs rules) lapseReason(r *revision, own *judged) string {
	if !onTrial(r.Stage) {
		return ""
	}
	for i := range own.results {
		if open(own.results[i].Verdict) {
			return "expired: " + own.gates[i].ID + ": " + own.results[i].Reason
		}
	}
	switch {
	case !rs.approvalsStand(r):
		return "expired: the keys of those who approved it are no longer trusted"
	case own.verdict != policy.Pass && rs.w.trust != nil && rs.w.trust.Expired(rs.at):
		return "expired: trust.json ended at " + rs.w.trust.ExpiresAt
	case own.verdict != policy.Pass:
		return "expired: no approver is trusted"
	}
	return ""
}

const (
	actionPromote = "promote"
	actionResume  = "resume"
)

// promoteApprovals are the approvals that count for a stage under a plan: unexpired, by a
// key that still counts, not by whom the revision belongs to, and given after the newest
// stop. By order of the log.
func (rs rules) promoteApprovals(r *revision, stage bundle.Stage, planDigest string) []approval {
	return rs.validApprovals(r, func(a *approval) bool {
		return planDigest != "" && a.Action == actionPromote && a.Stage == stage &&
			a.PlanDigest == planDigest && a.seq > r.heldSeq
	})
}

// resumeApprovals are the approvals that count for resuming from the newest stop. Of a
// revision that stands in research they cannot name the stage.
func (rs rules) resumeApprovals(r *revision) []approval {
	if r.stop == nil {
		return nil
	}
	return rs.validApprovals(r, func(a *approval) bool {
		return a.Action == actionResume && sameID(a.SuspensionID, r.stop.id) &&
			(a.Stage == r.Stage || r.Stage == bundle.Research)
	})
}

// sameID compares a fact_id that was written with or without its prefix.
func sameID(a, b string) bool {
	return a != "" && (a == b || bundle.DigestPrefix+a == b)
}

func (rs rules) validApprovals(r *revision, fits func(*approval) bool) []approval {
	if !rs.w.peopleMayStart(rs.at) {
		return nil
	}
	var list []approval
	excluded := r.excluded()
	for i := range r.approvals {
		a := &r.approvals[i]
		role := a.Approval.Approval.Role
		if fits(a) && rs.at.Before(a.expires) && (role == bundle.TrustRisk || role == bundle.TrustApprover) &&
			rs.w.signatureCounts(a.By, role) &&
			!bundle.Among(excluded, a.Principal) {
			list = append(list, *a)
		}
	}
	return list
}

// missing is how many more people must approve: each requirement takes another principal.
func missing(required []policy.Requirement, granted []approval) int {
	var slots []string
	for _, q := range required {
		for range q.Count {
			slots = append(slots, q.Role)
		}
	}
	var people []person
	for _, a := range granted {
		i := slices.IndexFunc(people, func(p person) bool {
			return bundle.SamePrincipal(p.name, a.Principal)
		})
		if i < 0 {
			i = len(people)
			people = append(people, person{name: a.Principal})
		}
		people[i].roles = append(people[i].roles, a.Approval.Approval.Role)
	}
	filled := 0
	taken := make([]int, len(slots)) // 1 + the person who fills the slot
	for i := range people {
		if assign(i, people, slots, taken, make([]bool, len(slots))) {
			filled++
		}
	}
	return len(slots) - filled
}

type person struct {
	name  string
	roles []string
}

// assign finds a slot for a person, moving others to other slots where they fit as well.
func assign(i int, people []person, slots []string, taken []int, tried []bool) bool {
	for s, role := range slots {
		if tried[s] || role != policy.RoleAny && !slices.Contains(people[i].roles, role) {
			continue
		}
		tried[s] = true
		if taken[s] == 0 || assign(taken[s]-1, people, slots, taken, tried) {
			taken[s] = i + 1
			return true
		}
	}
	return false
}

// recordApprovals notes by whose approvals a revision enters a stage or goes on. Where people have
// agreed, what was stopped for all that run the same is no longer.
func (w *World) recordApprovals(r *revision, by []approval, at time.Time) {
	names := []string{}
	for _, a := range by {
		names = appendNew(names, a.Principal)
	}
	slices.Sort(names)
	r.grants, r.approvedBy, r.approvedAt = by, names, at
	if len(by) > 0 {
		d := w.deployable(r.bundle.DeployableID)
		d.halted, d.kill = nil, false
	}
}

// approvalsStand reports whether the approvals that a place rests on still do: as many as were
// given are of keys that still count. That one has expired since does not matter.
func (rs rules) approvalsStand(r *revision) bool {
	required := rs.w.policy.Stage(r.Stage).Approvals
	left := slices.DeleteFunc(slices.Clone(r.grants), func(a approval) bool {
		return !rs.w.signatureCounts(a.By, a.Approval.Approval.Role)
	})
	return missing(required, left) <= missing(required, r.grants)
}

// mayResume reports whether people have agreed to let the revision go on.
func (rs rules) mayResume(r *revision) bool {
	if r.Status != Suspended && r.Status != Superseded ||
		rs.w.deployable(r.bundle.DeployableID).openCritical() {
		return false
	}
	required := rs.w.policy.Stage(bundle.Canary).Approvals
	return missing(required, rs.resumeApprovals(r)) == 0
}
