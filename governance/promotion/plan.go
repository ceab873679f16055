package promotion

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// Digest computes the plan_digest again from the gates of the plan: who signs a plan that
// another person has worked out signs what they were shown.
func (p *Plan) Digest() string {
	return digestOf(p.ResolvedRevisionID, p.Stage, p.Policy.Digest, p.Gates)
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
	TrustDigest        *string        `json:"trust_digest"` // null in open mode
	Policy             PolicyName     `json:"policy"`
	Gates              []PlanGate     `json:"gates"`
	Approvals          Approvals      `json:"approvals"`
	Numbers            Numbers        `json:"numbers"`
	Shadow             *ShadowView    `json:"shadow"`
}

// PolicyName names the policy of a plan.
type PolicyName struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
	// Note is what such a policy cannot show, absent where there is nothing to note.
	Note string `json:"note,omitempty"`
}

// PlanGate is one gate of a plan. Times are RFC 3339.
type PlanGate struct {
	GateID     string         `json:"gate_id"`
	Kind       string         `json:"kind"`
	Required   bool           `json:"required"`
	Verdict    policy.Verdict `json:"verdict"`
	Observed   any            `json:"observed"`
	Op         *string        `json:"op"`
	Threshold  any            `json:"threshold"`
	ValidUntil *string        `json:"valid_until"`
	Evidence   []Evidence     `json:"evidence"`
	Reason     string         `json:"reason"`
	// Why is the policy's reason for the gate and its bound, "" where it gives none; WaivableBy
	// are the roles that can waive it together, none where it cannot be waived.
	Why          string   `json:"why"`
	WaivableBy   []string `json:"waivable_by"`
	Refs         []string `json:"refs"`
	ExperimentID *string  `json:"experiment_id"` // null where nothing is missing
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
	v := viewAt(w, w.AsOf(now))
	list, refused := v.subject(subjectType, subjectID, stage)
	if refused == nil && stage == "" {
		refused = field.Refuse(field.InvalidStage, "", "stage: one of research, paper, canary, live")
	}
	if refused != nil {
		return nil, refused
	}
	s := bundle.Stage(stage)
	r := newest(list)
	j := v.judgePlan(r, s)
	p := &Plan{
		Head: v.head(SchemaPlan, subjectType, subjectID), ResolvedRevisionID: r.id, Stage: s,
		Verdict: j.verdict, PlanDigest: v.planDigest(r, j),
		TrustDigest: SealTrust(w), Policy: v.policyName(), Gates: []PlanGate{},
		Approvals: v.approvalsOf(r, j),
		Numbers:   v.numbers(r),
		Shadow:    v.shadow(r),
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

func (v views) policyName() PolicyName {
	p := v.w.policy
	n := PolicyName{ID: p.ID, Version: p.Version, Digest: p.Digest}
	if p.Solo {
		n.Note = policy.SoloNote
	}
	return n
}

func (v views) approvalsOf(r *revision, j *judged) Approvals {
	return approvalsBody(r, v.w.policy.Stage(j.stage).Approvals,
		v.promoteApprovals(r, j.stage, v.planDigest(r, j)))
}

// resumption is who must agree that a stopped revision goes on, and who has.
func (v views) resumption(r *revision) *Approvals {
	a := approvalsBody(r, v.w.policy.Stage(bundle.Canary).Approvals, v.resumeApprovals(r))
	return &a
}

func approvalsBody(r *revision, required []policy.Requirement, granted []approval) Approvals {
	a := Approvals{Required: append([]policy.Requirement{}, required...), Excluded: r.excluded(),
		Granted: []Granted{}, Missing: missing(required, granted)}
	for _, g := range granted {
		a.Granted = append(a.Granted, Granted{g.Principal, g.Approval.Approval.Role, g.seq, g.ExpiresAt})
	}
	return a
}

func planGate(r *revision, stage bundle.Stage, g *policy.Gate, result *policy.Result) PlanGate {
	p := PlanGate{
		GateID: g.ID, Kind: g.Kind, Required: true, Verdict: result.Verdict, Observed: result.Observed,
		Op:        orNull(result.Op),
		Threshold: result.Threshold, ValidUntil: timeOrNull(result.ValidUntil), Evidence: []Evidence{},
		Reason: result.Reason, Why: g.Reason, WaivableBy: []string{},
		Refs: append([]string{}, g.Refs...),
	}
	if g.Waivable() {
		p.WaivableBy = append(p.WaivableBy, g.Waivers()...)
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

// open reports whether something must still be done about a gate.
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

// Numbers are what whoever approves looks at besides the gates: what the runs came to by the
// files that the plane has read, and what has changed since people last agreed.
type Numbers struct {
	Runs           []RunNumbers      `json:"runs"`
	Falsifications []FalsificationOf `json:"falsifications"`
	Trials         TrialNumbers      `json:"trials"`
	// Since is the revision of this candidate that people have approved last, null if there is
	// none; Changes are what differs from it.
	Since   *string  `json:"since"`
	Changes []Change `json:"changes"`
}

// RunNumbers are the results of one run out of sample: its test, its walk-forward windows, or
// the whole of a paper or live run.
type RunNumbers struct {
	RunID       string         `json:"run_id"`
	Role        bundle.Role    `json:"role"`
	CompletedAt string         `json:"completed_at"`
	Splits      []SplitNumbers `json:"splits"`
	// Derived are the numbers that the plane has worked out of the daily results.
	Derived map[string]float64 `json:"derived"`
}

// SplitNumbers are four numbers of a split, null where one is undefined.
type SplitNumbers struct {
	SplitID     string   `json:"split_id"`
	Kind        string   `json:"kind"`
	TotalReturn *float64 `json:"total_return"`
	SharpeRatio *float64 `json:"sharpe_ratio"`
	MaxDrawdown *float64 `json:"max_drawdown"`
	TotalTrades *float64 `json:"total_trades"`
}

// FalsificationOf is a falsification with its run; Page is its page below the state directory
// of whoever has made it.
type FalsificationOf struct {
	RunID string `json:"run_id"`
	Page  string `json:"page"`
	bundle.Falsification
	Derived map[string]float64 `json:"derived"`
}

// TrialNumbers are how many trials the bundle declares, and how many its falsifications have
// counted.
type TrialNumbers struct {
	Declared int64 `json:"declared"`
	Counted  int64 `json:"counted"`
	// Plane is what gates judge by: those of all submissions on the days of the bundle, whatever
	// their owner, family and candles, up to its newest submission, and never fewer than it
	// declares. SameCandles are those on its own candles.
	Plane       int64 `json:"plane"`
	SameCandles int64 `json:"same_candles"`
	// Looks counts the looks at held out candles that the bundle lists, which no file shows; null if it lists
	// no trials. Limit is what no count covers.
	Looks *int64 `json:"looks"`
	Limit string `json:"limit"`
	// Plan is the search that was registered before it ran, null if none was.
	Plan *PlanNumbers `json:"plan"`
}

// trialLimit is the limit of every count of trials.
const trialLimit = "searches elsewhere and charts seen before are not in it"

// Change is one value of the bundle, by its pointer, before and now; null where there is none.
type Change struct {
	Pointer string `json:"pointer"`
	Before  any    `json:"before"`
	Now     any    `json:"now"`
}

// shown are the kinds of splits whose results no choice was made by.
var shown = []string{"test", "walk_forward", "full"}

// numbers are those of a revision; of runs that were not read there are none.
func (v views) numbers(r *revision) Numbers {
	n := Numbers{Runs: []RunNumbers{}, Falsifications: []FalsificationOf{}, Changes: []Change{}}
	n.Trials = TrialNumbers{Plane: r.trials, SameCandles: r.sameCandles, Limit: trialLimit,
		Plan: planOf(v.w, r)}
	if t := r.bundle.Trials; t != nil {
		n.Trials.Declared = t.FamilyTrials
		n.Trials.Plane = max(r.trials, t.FamilyTrials)
		if p := n.Trials.Plan; p != nil && p.Applies {
			n.Trials.Plane = max(p.Registered, t.FamilyTrials)
		}
		if t.Tried != nil {
			looks := int64(len(t.Looks))
			n.Trials.Looks = &looks
		}
	}
	if r.evidence != nil {
		n.Trials.Counted = v.w.evidenceOf(r).Trials()
		for i := range r.runs {
			n.add(&r.runs[i].Run, r.evidence[r.runs[i].RunID])
		}
	}
	var last *revision
	for _, o := range append(v.w.otherRevisions(r), r) {
		if len(o.approvedBy) > 0 && (last == nil || o.approvedAt.After(last.approvedAt)) {
			last = o
		}
	}
	if last != nil {
		n.Since = &last.id
		n.Changes = append(n.Changes, changes("", judgedParts(last), judgedParts(r))...)
	}
	return n
}

func (n *Numbers) add(run *bundle.Run, read bundle.RunEvidence) {
	derived := map[string]float64{}
	if read.Derived != nil {
		maps.Copy(derived, read.Derived.Figures)
	}
	if read.Falsification != nil {
		n.Falsifications = append(n.Falsifications, FalsificationOf{
			run.RunID, "runs/" + run.RunID + "/falsify/summary.html", *read.Falsification, derived,
		})
		return
	}
	one := RunNumbers{
		RunID: run.RunID, Role: run.Role, CompletedAt: run.CompletedAt, Splits: []SplitNumbers{},
		Derived: derived,
	}
	for _, s := range run.Splits {
		if !slices.Contains(shown, s.Kind) {
			continue
		}
		get := func(name string) *float64 {
			if v, ok := s.Metrics[name]; ok {
				return &v
			}
			return nil
		}
		one.Splits = append(one.Splits, SplitNumbers{
			s.SplitID, s.Kind,
			get("total_return"), get("sharpe_ratio"), get("max_drawdown"), get("total_trades"),
		})
	}
	n.Runs = append(n.Runs, one)
}

// judgedParts are the parts of a bundle that say what would run and on what it was judged.
func judgedParts(r *revision) any {
	b := r.bundle
	trials := b.Trials
	if trials != nil { // the list itself would hide every other change
		trials = &bundle.Trials{FamilyTrials: trials.FamilyTrials}
	}
	return treeOf(map[string]any{
		"strategy": b.Strategy, "engine": b.Engine, "limits": r.limits, "data": b.Data, "trials": trials,
		"owner": b.Candidate.Owner,
	})
}

// changes are the leaves in which two values differ, by pointer.
func changes(at string, before, now any) []Change {
	steps := map[string][2]any{}
	for i, v := range [2]any{before, now} {
		for name, child := range children(v) {
			pair := steps[name]
			pair[i] = child
			steps[name] = pair
		}
	}
	if len(steps) == 0 {
		if reflect.DeepEqual(before, now) {
			return nil
		}
		return []Change{{at, before, now}}
	}
	var list []Change
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		list = append(list, changes(at+"/"+digest.PointerStep(name), steps[name][0], steps[name][1])...)
	}
	return list
}

func children(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case []any:
		out := map[string]any{}
		for i, e := range v {
			out[strconv.Itoa(i)] = e
		}
		return out
	}
	return nil
}
