package v1

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/field"
)

// Candidate is a bundle that the lab has packed.
type Candidate struct {
	CandidateRevisionID string   `json:"candidate_revision_id"`
	CandidateID         string   `json:"candidate_id"`
	FamilyID            string   `json:"family_id"`
	Slug                string   `json:"slug"`
	Owner               string   `json:"owner"`
	StrategyName        string   `json:"strategy_name"`
	Symbols             []string `json:"symbols"`
	Timeframes          []string `json:"timeframes"`
	ParentRevisionID    *string  `json:"parent_revision_id"`
	ChangeClass         string   `json:"change_class"`
	RequestedStage      string   `json:"requested_stage"`
	RequestedAt         string   `json:"requested_at"`
	ExpiresAt           string   `json:"expires_at"`
	RunIDs              []string `json:"run_ids"`
	// Verification is packed where no control plane has sealed the bundle yet, sealed where the seal holds,
	// unchecked where there is one and no pinned key or remembered log to check it with, else failed, with
	// the Problems.
	Verification string   `json:"verification"`
	Problems     []string `json:"problems"`
}

// CandidateDetail is a candidate with its documents, as they were packed and answered; null where they
// cannot be read or there is none.
type CandidateDetail struct {
	Candidate
	Bundle  json.RawMessage `json:"bundle"`
	Receipt json.RawMessage `json:"receipt"`
	// Steps are those of the verifier, NotChecked what it leaves open.
	Steps      []VerifiedStep `json:"steps"`
	NotChecked []string       `json:"not_checked"`
}

// VerifiedStep is one step of a verification.
type VerifiedStep struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

// governance is the operations on what was packed, and on what the control plane says of it.
type governance struct{ of *API }

func (g governance) routes() []edge.Route {
	get := func(path string, f func(*http.Request) (*edge.Answer, error)) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: Base + path, Handler: g.of.handler(f)}
	}
	const subject = "/{subject_type}/{subject_id}"
	return []edge.Route{
		get("/candidates", g.listCandidates),
		get("/candidates/{candidate_revision_id}", g.getCandidate),
		get("/governance", g.reach),
		get("/governance/promotion-state"+subject, g.read("promotion-state")),
		get("/governance/promotion-plans"+subject+"/{stage}", g.read("promotion-plans")),
		get("/governance/pending-experiments"+subject, g.read("pending-experiments")),
		get("/governance/pending-experiments"+subject+"/{stage}", g.read("pending-experiments")),
		get("/governance/deployable-registry/{family_id}", g.read(client.Registry)),
	}
}

func (g governance) listCandidates(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "slug", "run_id", "cursor", "limit")
	offset, limit := q.page(r, 200)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	all, err := g.packedWith(r.Context(), q.text("run_id"))
	if err != nil {
		return nil, err
	}
	slug := q.text("slug")
	all = pick(all, func(c Candidate) bool { return slug == "" || c.Slug == slug })
	offset = follow(q, all, offset, func(c *Candidate) string { return c.CandidateRevisionID })
	return tagged(listOf(r, q, cut(all, offset, limit), offset, len(all)))
}

// packedWith are the bundles that a run was packed with, of "" all.
func (g governance) packedWith(ctx context.Context, runID string) ([]Candidate, error) {
	all, err := g.of.opts.Lab.Candidates(ctx)
	return pick(all, func(c Candidate) bool { return runID == "" || slices.Contains(c.RunIDs, runID) }), err
}

func (g governance) getCandidate(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	c, err := g.of.opts.Lab.Candidate(r.Context(), param(r, 0))
	if err != nil {
		return nil, err
	}
	return tagged(c)
}

func (g governance) reach(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	if g.of.opts.Governance == nil {
		return tagged(client.Reach{})
	}
	reach, err := g.of.opts.Governance.Check(r.Context())
	if err != nil {
		return nil, err
	}
	return tagged(reach)
}

// read answers with one of the plane's documents. What is no subject or stage is refused here.
func (g governance) read(kind string) func(*http.Request) (*edge.Answer, error) {
	return func(r *http.Request) (*edge.Answer, error) {
		if err := readQuery(r).refusal(); err != nil {
			return nil, err
		}
		path := []string{kind}
		for i := range edge.From(r.Context()).Params {
			path = append(path, param(r, i))
		}
		if bad := checkSubject(path); len(bad) > 0 {
			return nil, invalid(bad)
		}
		if g.of.opts.Governance == nil {
			return nil, problem.New(problem.ControlUnreachable).With("reason", "not configured")
		}
		doc, err := g.of.opts.Governance.Read(r.Context(), path...)
		if err != nil {
			return nil, g.problem(err, path)
		}
		return tagged(doc)
	}
}

var (
	subjectTypes = []string{"candidate_revision", "candidate", "family", "strategy"}
	stages       = []string{"research", "paper", "canary", "live"}
)

// checkSubject refuses what the plane would refuse, by its place in the path.
func checkSubject(path []string) (bad []schema.Violation) {
	refuse := func(name, message, rule string) {
		bad = append(bad, schema.Violation{Pointer: "/path/" + name, Message: message, Rule: rule})
	}
	if path[0] == client.Registry {
		if !field.IsIdentifier(path[1]) {
			refuse("family_id", "is no id of a family", "pattern")
		}
		return bad
	}
	if !slices.Contains(subjectTypes, path[1]) {
		refuse("subject_type", "is none of candidate_revision, candidate, family, strategy", "enum")
	}
	if !field.IsIdentifier(path[2]) || path[1] == subjectTypes[0] && !field.IsRevision(path[2]) {
		refuse("subject_id", "is no id of this type", "pattern")
	}
	if len(path) > 3 && !slices.Contains(stages, path[3]) {
		refuse("stage", "is none of research, paper, canary, live", "enum")
	}
	return bad
}

// problem is the answer to an error of the plane.
func (g governance) problem(err error, path []string) error {
	var away *client.UnreachableError
	var refused *client.RefusedError
	switch {
	case errors.As(err, &away):
		return problem.New(problem.ControlUnreachable).WithCause(err).With("reason", away.Cause.Error())
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		code := problem.CandidateNotFound
		if path[0] == client.Registry || path[1] == "family" {
			code = problem.FamilyNotFound
		}
		return problem.WithMessage(code, "The control plane knows nothing with this id.").WithCause(err)
	case errors.As(err, &refused):
		return problem.New(problem.ControlUnreachable).WithCause(err).
			With("reason", "the control plane refuses: "+refused.Code)
	}
	return err
}
