package client

import (
	"context"
	"encoding/json"

	"github.com/assay-run/assay/governance/bundle"
)

// The schemas of what can be read.
const (
	SchemaState       = "promotion-state/v1"
	SchemaPlan        = "promotion-plan/v1"
	SchemaExperiments = "pending-experiments/v1"
)

// State is promotion-state/v1, as far as clients act on it. Times are RFC 3339; null is
// what there is none of.
type State struct {
	SubjectType         string   `json:"subject_type"`
	SubjectID           string   `json:"subject_id"`
	AsOf                string   `json:"as_of"`
	CandidateRevisionID string   `json:"candidate_revision_id"`
	DeployableID        string   `json:"deployable_id"`
	Stage               string   `json:"stage"`
	StageStatus         string   `json:"stage_status"`
	TargetStage         string   `json:"target_stage"`
	NextStage           *string  `json:"next_stage"`
	Assurance           string   `json:"assurance"`
	Rungs               []string `json:"rungs"`
	ChangeClass         string   `json:"change_class"`
	DeployableModes     []string `json:"deployable_modes"`
	Suspended           bool     `json:"suspended"`
	EvidenceValidUntil  *string  `json:"evidence_valid_until"`
}

// Plan is promotion-plan/v1, as far as clients act on it.
type Plan struct {
	ResolvedRevisionID string  `json:"resolved_revision_id"`
	Stage              string  `json:"stage"`
	FromStage          *string `json:"from_stage"`
	Verdict            string  `json:"verdict"`
	PlanDigest         string  `json:"plan_digest"`
	Gates              []Gate  `json:"gates"`
	Approvals          struct {
		Missing int `json:"missing"`
	} `json:"approvals"`
}

// Gate is one gate of a plan.
type Gate struct {
	GateID     string  `json:"gate_id"`
	Kind       string  `json:"kind"`
	Verdict    string  `json:"verdict"`
	Reason     string  `json:"reason"`
	ValidUntil *string `json:"valid_until"`
}

// Experiments is pending-experiments/v1.
type Experiments struct {
	Stage       *string      `json:"stage"`
	Count       int          `json:"count"`
	Experiments []Experiment `json:"experiments"`
}

// Experiment is what one gate waits for. Command is to be read by a person: nothing runs
// it by itself.
type Experiment struct {
	ExperimentID        string          `json:"experiment_id"`
	CandidateRevisionID string          `json:"candidate_revision_id"`
	Stage               string          `json:"stage"`
	GateID              string          `json:"gate_id"`
	Kind                string          `json:"kind"`
	Status              string          `json:"status"`
	Blocking            bool            `json:"blocking"`
	Spec                json.RawMessage `json:"spec"`
	RequestHash         *string         `json:"request_hash"`
	Command             string          `json:"command"`
	Then                *string         `json:"then"`
	HTTP                json.RawMessage `json:"http"`
	Reason              string          `json:"reason"`
}

// State is where a subject stands: subjectType is one of bundle.SubjectRevision,
// SubjectCandidate, SubjectFamily and SubjectStrategy.
func (c *Client) State(ctx context.Context, subjectType, id string) (*State, error) {
	s := &State{}
	return s, c.get(ctx, SchemaState, s, "promotion-state", subjectType, id)
}

// Plan is what a subject lacks for a stage.
func (c *Client) Plan(ctx context.Context, subjectType, id string, stage bundle.Stage) (*Plan, error) {
	p := &Plan{}
	return p, c.get(ctx, SchemaPlan, p, "promotion-plans", subjectType, id, string(stage))
}

// Experiments is what a subject waits for: for one stage, or with "" up to its target.
func (c *Client) Experiments(ctx context.Context, subjectType, id string, stage bundle.Stage) (*Experiments, error) {
	path := []string{"pending-experiments", subjectType, id}
	if stage != "" {
		path = append(path, string(stage))
	}
	x := &Experiments{}
	return x, c.get(ctx, SchemaExperiments, x, path...)
}
