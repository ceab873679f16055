package promotion

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

// SchemaExperiments is the schema of what is pending.
const SchemaExperiments = "pending-experiments/v1"

// Experiments is pending-experiments/v1: what would have to be done, gate by gate, for a
// stage or for all up to the one that was asked for (then Stage is null).
type Experiments struct {
	Head
	Stage       *string      `json:"stage"`
	Count       int          `json:"count"`
	Experiments []Experiment `json:"experiments"`
}

// Experiment is what one gate of one revision waits for.
type Experiment struct {
	ExperimentID        string          `json:"experiment_id"`
	CandidateRevisionID string          `json:"candidate_revision_id"`
	Stage               bundle.Stage    `json:"stage"`
	GateID              string          `json:"gate_id"`
	Kind                string          `json:"kind"`
	Status              string          `json:"status"` // missing, failed or expired
	Blocking            bool            `json:"blocking"`
	Spec                json.RawMessage `json:"spec"`         // the gate's fields
	RequestHash         *string         `json:"request_hash"` // of the run to repeat, null if there is none
	Command             string          `json:"command"`
	Then                *string         `json:"then"` // what brings the result here, null if Command does
	HTTP                *Request        `json:"http"`
	Reason              string          `json:"reason"`
	// Sentence says the same to who has never met the gate; SeeWith is the command that shows it: the page
	// of the run that failed, else Command.
	Sentence string `json:"sentence"`
	SeeWith  string `json:"see_with"`
}

// Request is a request to the host that starts what is missing.
type Request struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Body   StartRun `json:"body"`
}

// StartRun is the body that starts a paper or live run; which exchange, is left open
// where the bundle names none.
type StartRun struct {
	StrategyName string          `json:"strategy_name"`
	Params       json.RawMessage `json:"strategy_params"`
	Symbols      []string        `json:"symbols"`
	Timeframe    string          `json:"timeframe"`
	Exchange     string          `json:"exchange,omitempty"`
	Mode         string          `json:"mode"`
}

// experimentID is "pe-" and 16 hex digits of the SHA-256 of revision, stage and gate.
func experimentID(revision string, stage bundle.Stage, gateID string) string {
	return "pe-" + digest.SHA256Hex(digest.Tree([]any{revision, string(stage), gateID}))[:16]
}

// Experiments is what is pending for a subject: for one stage, or with stage "" from where
// each revision stands up to its target. Revisions that have ended wait for nothing.
func (w *World) Experiments(subjectType, subjectID, stage string,
	now time.Time) (*Experiments, *bundle.Error) {
	v := viewAt(w, w.AsOf(now))
	list, refused := v.subject(subjectType, subjectID, stage)
	if refused != nil {
		return nil, refused
	}
	p := &Experiments{Head: v.head(SchemaExperiments, subjectType, subjectID), Stage: orNull(stage),
		Experiments: []Experiment{}}
	for _, r := range list {
		if r.Status.Terminal() {
			continue
		}
		for _, s := range bundle.PromotionStages() {
			if string(s) == stage || stage == "" && bundle.Rank(s) >= bundle.Rank(r.Stage) &&
				bundle.Rank(s) <= bundle.Rank(r.target) {
				p.Experiments = append(p.Experiments, v.missingFor(r, s)...)
			}
		}
	}
	p.Count = len(p.Experiments)
	return p, nil
}

func (v views) missingFor(r *revision, stage bundle.Stage) []Experiment {
	j := v.judgePlan(r, stage)
	var list []Experiment
	for i := range j.gates {
		if open(j.results[i].Verdict) {
			list = append(list, v.experiment(r, stage, &j.gates[i], &j.results[i]))
		}
	}
	return list
}

func (v views) experiment(r *revision, stage bundle.Stage, g *policy.Gate, result *policy.Result) Experiment {
	status := map[policy.Verdict]string{policy.Fail: "failed", policy.Pending: "missing",
		policy.Expired: "expired"}[result.Verdict]
	x := Experiment{
		ExperimentID: experimentID(r.id, stage, g.ID), CandidateRevisionID: r.id, Stage: stage, GateID: g.ID,
		Kind:   g.Kind,
		Status: status, Blocking: true, Spec: g.Spec, Reason: result.Reason,
	}
	slug := r.bundle.Candidate.Slug
	pack := fmt.Sprintf("lab candidate pack %s --candidate %s --stage %s --submit", slug, r.id, stage)
	force := ""
	if result.Verdict == policy.Expired {
		force = " --force"
		if last := v.w.evidenceOf(r).Newest(bundle.Role(result.Blame)); last != nil {
			x.RequestHash = &last.RequestHash
		}
	}
	switch remedy(g, result) {
	case remedyRun:
		x.Command, x.Then = fmt.Sprintf("lab run %s --candidate %s%s", slug, r.id, force), &pack
	case remedyFalsify:
		x.Command, x.Then = fmt.Sprintf("lab falsify %s --candidate %s%s", slug, r.id, force), &pack
	case remedyReplay:
		x.Command = fmt.Sprintf("lab candidate replay %s --candidate %s --sign-key FILE --submit", slug, r.id)
	case remedyDrill:
		x.Command = fmt.Sprintf("governance incident %s --drill %s --run ID --result RESULT", r.id,
			result.Blame)
	case remedyShadow:
		x.Command = "governance shadow --once --key FILE"
	case remedyIncident:
		x.Command = fmt.Sprintf("governance incident %s --close %s", r.id, result.Blame)
	default:
		x.Command = pack
		if run := v.w.evidenceOf(r).Unhosted(bundle.Role(result.Blame)); run != "" {
			x.Command = fmt.Sprintf("governance hosted %s --run %s --key FILE", r.id, run)
		} else if g.Kind == policy.Soak {
			x.HTTP = r.startRun(g.Role)
		}
	}
	x.Sentence, x.SeeWith = g.Sentence(result), x.Command
	if run := refuting(result); run != "" && g.Kind != policy.Replay {
		x.SeeWith = "lab report " + run
	}
	return x
}

// refuting is the run of a lab that a gate has failed by, "" where there is none.
func refuting(result *policy.Result) string {
	for _, piece := range result.Evidence {
		if result.Verdict == policy.Fail && piece.RunID != "" && !bundle.Role(result.Blame).Venue() &&
			strings.Contains(result.Reason, piece.RunID) {
			return piece.RunID
		}
	}
	return ""
}

// The remedies: what helps a gate that does not pass.
const (
	remedyPack = iota
	remedyRun
	remedyFalsify
	remedyReplay
	remedyDrill
	remedyShadow
	remedyIncident
)

// remedy goes by what is to blame: the first role, rung or drill that is missing.
func remedy(g *policy.Gate, result *policy.Result) int {
	switch {
	case g.Kind == policy.NoOpenIncident:
		return remedyIncident
	case g.Kind == policy.Challenge && result.Observed == policy.ChallengeOpen:
		return remedyReplay
	case g.Kind == policy.Shadow, g.Kind == policy.Challenge:
		return remedyShadow
	case g.Kind == policy.Freshness && g.Drill != "":
		return remedyDrill
	case g.Kind == policy.Replay && len(g.Roles) > 0 && result.Blame == "":
		return remedyReplay
	case g.Kind == policy.Assurance && result.Blame == bundle.RungReproduced:
		return remedyReplay
	}
	switch bundle.Role(result.Blame) {
	case bundle.RoleBaseline, bundle.RoleOOS, bundle.RoleStress:
		return remedyRun
	case bundle.RoleFalsification:
		return remedyFalsify
	case bundle.RoleReplay:
		return remedyReplay
	}
	return remedyPack
}

// startRun is the request that starts a run in the mode of a role.
func (r *revision) startRun(role bundle.Role) *Request {
	s := r.bundle.Strategy
	mode := "live"
	if role == bundle.RolePaper {
		mode = "paper"
	}
	body := StartRun{StrategyName: s.Name, Params: s.Params, Symbols: s.Symbols, Mode: mode}
	if len(s.Timeframes) > 0 {
		body.Timeframe = s.Timeframes[0]
	}
	if len(s.Exchanges) > 0 {
		body.Exchange = s.Exchanges[0]
	}
	return &Request{Method: "POST", Path: "/api/v1/run/live", Body: body}
}
