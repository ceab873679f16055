package promotion

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

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
