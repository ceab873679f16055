package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/assay-run/assay/governance/bundle"
)

// Missing is what one gate of a revision waits for, as the plane reports it.
type Missing struct {
	GateID  string `json:"gate_id"`
	Kind    string `json:"kind"`
	Status  string `json:"status"` // missing, failed or expired
	Reason  string `json:"reason"`
	Command string `json:"command"`
	// Sentence is what is not shown and why, SeeWith the command that shows it; "" from an earlier plane.
	Sentence string `json:"sentence"`
	SeeWith  string `json:"see_with"`
}

// Plan is the part of a plan that a lab shows.
type Plan struct {
	Verdict string `json:"verdict"`
	Policy  struct {
		ID      string `json:"id"`
		Version int64  `json:"version"`
		Note    string `json:"note"`
	} `json:"policy"`
}

// Pending is what a revision lacks for a stage. It is not signed.
func (c *Client) Pending(ctx context.Context, revision string, stage bundle.Stage) ([]Missing, error) {
	var body struct {
		Experiments []Missing `json:"experiments"`
	}
	err := c.read(ctx, &body, "pending-experiments", bundle.SubjectRevision, revision, string(stage))
	return body.Experiments, err
}

// Plan is the plan of a revision for a stage. It is not signed.
func (c *Client) Plan(ctx context.Context, revision string, stage bundle.Stage) (*Plan, error) {
	p := &Plan{}
	return p, c.read(ctx, p, "promotion-plans", bundle.SubjectRevision, revision, string(stage))
}

// State is where a revision stands. It is not signed.
func (c *Client) State(ctx context.Context, revision string) (*Standing, error) {
	s := &Standing{}
	return s, c.read(ctx, s, "promotion-state", bundle.SubjectRevision, revision)
}

func (c *Client) read(ctx context.Context, into any, path ...string) error {
	text, err := c.call(ctx, http.MethodGet, nil, path...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return c.unreachable(ctx, err)
	}
	return nil
}
