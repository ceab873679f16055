package promotion

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

// judged is a plan as the machine sees it.
type judged struct {
	stage   bundle.Stage
	verdict policy.Verdict
	gates   []policy.Gate
	results []policy.Result // one for each gate
}

// judge works out the plan of a revision for a stage: fail wins, then pending or expired.
// While nobody's approval counts, the stages for real money wait.
func (w *World) judge(r *revision, stage bundle.Stage, now time.Time) *judged {
	j := &judged{stage: stage, verdict: policy.Pass, gates: w.gates(stage)}
	e := w.evidence(r)
	for i := range j.gates {
		g := &j.gates[i]
		result := w.waive(r, stage, g, policy.Judge(g, stage, e, now), now)
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
	if j.verdict == policy.Pass && bundle.Rank(stage) >= bundle.Rank(bundle.Canary) && !w.peopleMayStart(now) {
		j.verdict = policy.Pending
	}
	return j
}

// The gates that hold whatever the policy says.
const (
	gateVerified = "evidence.verified"
	gateSigned   = "bundle.signed"
)

// gates are those of the policy for a stage. From paper on, whatever it says, the files of
// the runs must have been read and, where somebody is trusted, a lab must stand for the bundle.
func (w *World) gates(stage bundle.Stage) []policy.Gate {
	own := w.policy.Stage(stage).Gates
	if !w.strict() || bundle.Rank(stage) < bundle.Rank(bundle.Paper) || stage == bundle.Retired {
		return own
	}
	asks := func(kind string, enough func(*policy.Gate) bool) bool {
		return slices.ContainsFunc(own, func(g policy.Gate) bool { return g.Kind == kind && enough(&g) })
	}
	var more []policy.Gate
	if !asks(policy.Integrity, func(g *policy.Gate) bool { return g.Verified }) {
		more = append(more, policy.Gate{
			ID: gateVerified, Kind: policy.Integrity, Verified: true, Spec: json.RawMessage(`{"verified":true}`),
		})
	}
	signed := func(g *policy.Gate) bool { return slices.Contains(g.Rungs, bundle.RungSigned) }
	if w.trust != nil && !asks(policy.Assurance, signed) {
		more = append(more, policy.Gate{
			ID: gateSigned, Kind: policy.Assurance, Rungs: []string{bundle.RungSigned},
			Spec: json.RawMessage(`{"rungs":["signed"]}`),
		})
	}
	return append(more, own...)
}

// waive lets a gate that does not pass be, while a waiver for it counts: that which lasts
// longest. When that has run out the gate is expired since then, unless it fails by what
// has come to light after the waiver was given.
func (w *World) waive(r *revision, stage bundle.Stage, g *policy.Gate, result policy.Result, now time.Time) policy.Result {
	if result.Verdict == policy.Pass || result.Verdict == policy.NotApplicable || !g.Waivable() {
		return result
	}
	var best *waiver
	for i := range r.waivers {
		x := &r.waivers[i]
		if x.Stage != stage || x.GateID != g.ID || !w.counts(x.By, bundle.TrustRisk) || r.excludes(x.Principal) {
			continue
		}
		if best == nil || x.expires.After(best.expires) || x.expires.Equal(best.expires) && x.PAESHA256 < best.PAESHA256 {
			best = x
		}
	}
	if best == nil {
		return result
	}
	if !now.Before(best.expires) {
		return ranOut(result, best)
	}
	result.Verdict, result.ValidUntil, result.Blame = policy.Waived, best.expires, ""
	result.Evidence = append(result.Evidence, policy.Piece{Seq: best.seq, SHA256: best.PAESHA256})
	result.Reason = "waived by " + best.Principal + ": " + best.Reason + " (" + result.Reason + ")"
	return result
}

func ranOut(result policy.Result, x *waiver) policy.Result {
	result.ValidUntil = x.expires
	news := func(p policy.Piece) bool { return p.Seq > x.seq }
	if result.Verdict == policy.Fail && slices.ContainsFunc(result.Evidence, news) {
		return result
	}
	result.Verdict = policy.Expired
	result.Reason = "the waiver of " + x.Principal + " has run out: " + result.Reason
	return result
}

// planDigest is the plan_digest of a plan.
func (w *World) planDigest(r *revision, j *judged) string {
	gates := make([]PlanGate, len(j.gates))
	for i := range j.gates {
		gates[i] = PlanGate{GateID: j.gates[i].ID, Verdict: j.results[i].Verdict}
		for _, p := range j.results[i].Evidence {
			gates[i].Evidence = append(gates[i].Evidence, Evidence{SHA256: p.SHA256})
		}
	}
	return digestOf(r.id, j.stage, w.policy.Digest, gates)
}

// Digest works the plan_digest out again from what the plan says: who signs a plan that
// somebody else has worked out signs what they were shown.
func (p *Plan) Digest() string {
	return digestOf(p.ResolvedRevisionID, p.Stage, p.Policy.Digest, p.Gates)
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
		gates[i] = map[string]any{"gate_id": plan[i].GateID, "verdict": string(plan[i].Verdict), "evidence": list}
	}
	return bundle.DigestPrefix + digest.SHA256Hex(digest.Tree(map[string]any{
		"schema": "promotion-plan-digest/v1", "candidate_revision_id": revision, "stage": string(stage),
		"policy_digest": policyDigest, "gates": gates,
	}))
}

// SchemaPlan is the schema of a plan.
const SchemaPlan = "promotion-plan/v1"

// Plan is promotion-plan/v1: what a revision lacks for a stage.
type Plan struct {
	Head
	ResolvedRevisionID string         `json:"resolved_revision_id"`
	Stage              bundle.Stage   `json:"stage"`
	FromStage          *string        `json:"from_stage"` // null for research
	Verdict            policy.Verdict `json:"verdict"`
	PlanDigest         string         `json:"plan_digest"`
	Policy             PolicyName     `json:"policy"`
	Gates              []PlanGate     `json:"gates"`
	Approvals          Approvals      `json:"approvals"`
	Numbers            Numbers        `json:"numbers"`
}

// PolicyName says which policy a plan is by.
type PolicyName struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
}

// PlanGate is one gate of a plan. Times are RFC 3339.
type PlanGate struct {
	GateID       string         `json:"gate_id"`
	Kind         string         `json:"kind"`
	Required     bool           `json:"required"`
	Verdict      policy.Verdict `json:"verdict"`
	Observed     any            `json:"observed"`
	Op           *string        `json:"op"`
	Threshold    any            `json:"threshold"`
	ValidUntil   *string        `json:"valid_until"`
	Evidence     []Evidence     `json:"evidence"`
	Reason       string         `json:"reason"`
	Refs         []string       `json:"refs"`
	ExperimentID *string        `json:"experiment_id"` // null where nothing is missing
}

// Evidence is one piece of evidence of a gate.
type Evidence struct {
	Seq    int64   `json:"seq"`
	RunID  *string `json:"run_id"` // null where it is no run
	SHA256 string  `json:"sha256"`
}

// Approvals is who must agree and who has.
type Approvals struct {
	Required []policy.Requirement `json:"required"`
	Excluded []string             `json:"excluded"`
	Granted  []Granted            `json:"granted"`
	Missing  int                  `json:"missing"`
}

// Granted is one approval that counts.
type Granted struct {
	Principal string `json:"principal"`
	Role      string `json:"role"`
	Seq       int64  `json:"seq"`
	ExpiresAt string `json:"expires_at"`
}

// Plan is the plan of a subject for a stage; of a candidate, family or strategy that of
// its newest revision that has not ended.
func (w *World) Plan(subjectType, subjectID, stage string, now time.Time) (*Plan, *bundle.Error) {
	list, refused := w.subject(subjectType, subjectID)
	if refused != nil {
		return nil, refused
	}
	s, refused := readStage(stage)
	if refused != nil {
		return nil, refused
	}
	at := w.asOf(now)
	r := newest(list)
	j := w.judge(r, s, at)
	p := &Plan{
		Head: w.head(SchemaPlan, subjectType, subjectID, at), ResolvedRevisionID: r.id, Stage: s, Verdict: j.verdict, PlanDigest: w.planDigest(r, j),
		Policy: PolicyName{w.policy.ID, w.policy.Version, w.policy.Digest}, Gates: []PlanGate{}, Approvals: w.approvalsOf(r, j, at),
		Numbers: w.numbers(r),
	}
	if i := bundle.Rank(s); i > 0 {
		from := string(bundle.PromotionStages()[i-1])
		p.FromStage = &from
	}
	for i := range j.gates {
		p.Gates = append(p.Gates, planGate(r, s, &j.gates[i], &j.results[i]))
	}
	return p, nil
}

func (w *World) approvalsOf(r *revision, j *judged, at time.Time) Approvals {
	return toldApprovals(r, w.policy.Stage(j.stage).Approvals, w.promoteApprovals(r, j.stage, w.planDigest(r, j), at))
}

// resumption is who must agree that a stopped revision goes on, and who has.
func (w *World) resumption(r *revision, at time.Time) *Approvals {
	a := toldApprovals(r, w.policy.Stage(bundle.Canary).Approvals, w.resumeApprovals(r, at))
	return &a
}

func toldApprovals(r *revision, required []policy.Requirement, granted []approval) Approvals {
	a := Approvals{Required: append([]policy.Requirement{}, required...), Excluded: r.excluded(), Granted: []Granted{}, Missing: missing(required, granted)}
	for _, g := range granted {
		a.Granted = append(a.Granted, Granted{g.Principal, g.Approval.Approval.Role, g.seq, g.ExpiresAt})
	}
	return a
}

func planGate(r *revision, stage bundle.Stage, g *policy.Gate, result *policy.Result) PlanGate {
	p := PlanGate{
		GateID: g.ID, Kind: g.Kind, Required: true, Verdict: result.Verdict, Observed: result.Observed, Op: orNull(result.Op),
		Threshold: result.Threshold, ValidUntil: timeOrNull(result.ValidUntil), Evidence: []Evidence{}, Reason: result.Reason,
		Refs: append([]string{}, g.Refs...),
	}
	for _, piece := range result.Evidence {
		p.Evidence = append(p.Evidence, Evidence{piece.Seq, orNull(piece.RunID), piece.SHA256})
	}
	if open(result.Verdict) {
		id := experimentID(r.id, stage, g.ID)
		p.ExperimentID = &id
	}
	return p
}

// open says whether something must still be done about a gate.
func open(v policy.Verdict) bool {
	return v == policy.Fail || v == policy.Pending || v == policy.Expired
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := stamp(t)
	return &s
}

// stamp writes a time as RFC 3339 in UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
