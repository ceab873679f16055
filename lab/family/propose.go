package family

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/family/plan"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/selection/trials"
)

// Proposal is what a plan is made from.
type Proposal struct {
	Project *project.Project
	Built   project.Built
	Options plan.Options
	// Amends names the plan that this one changes, by hash, id or their beginning; empty
	// for a first one.
	Amends string
	// Author is who registers it.
	Author string
}

// Proposed is a plan that is registered.
type Proposed struct {
	*plan.File
	// Added says that it is new.
	Added bool
	// Trials is N so far: what has been tried on these days, FamilyTrials how much of it in
	// the family.
	Trials, FamilyTrials int
	// Left is how many points of a grid were left out for max_trials, Windows how many
	// walk-forward windows each trial has.
	Left, Windows int
	// Others are the plans of the strategy that were there before.
	Others []string
}

// Propose makes, writes and registers a plan. The same proposal made again is the same
// plan, also after trials have been counted. The error is an *evaluate.Error.
func Propose(ctx context.Context, h *evaluate.Host, in Proposal) (*Proposed, error) {
	known, err := h.Registry.Plans(ctx, in.Project.Slug)
	if err != nil {
		return nil, err
	}
	if in.Amends != "" {
		old, err := find(ctx, h, in.Project.Slug, in.Amends, "--amends")
		if err != nil {
			return nil, err
		}
		if in.Options.Amends, err = plan.Parse(old.Payload); err != nil {
			return nil, err
		}
	}
	if in.Project, err = withSpace(ctx, h, in); err != nil {
		return nil, err
	}
	prepared, err := prepareSpace(ctx, h, in)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	request, err := prepared.Manifest.Request.Canonical()
	if err != nil {
		return nil, err
	}
	book, err := trials.Read(ctx, h.Registry, h.Artifacts)
	if err != nil {
		return nil, err
	}
	n, own := book.Count(trials.DaysOf(prepared.Manifest.Data), in.Project.Config.FamilyID)
	made, err := plan.Make(plan.Subject{
		Config: in.Project.Config, Request: request, PriorTrials: n, Windows: prepared.Windows(),
	}, in.Options)
	if err != nil {
		return nil, err
	}
	if err := checkPoints(made.Plan, prepared.Strategy); err != nil {
		return nil, err
	}
	out := &Proposed{File: made.File, Trials: n, FamilyTrials: own, Left: made.Left, Windows: prepared.Windows()}
	for _, k := range known {
		if k.Hash != out.Hash && samePlan(k.Payload, made.Text) {
			if out.File, err = plan.Parse(k.Payload); err != nil {
				return nil, err
			}
		}
	}
	for _, k := range known {
		if k.Hash != out.Hash {
			out.Others = append(out.Others, k.ID)
		}
	}
	if err := out.register(ctx, h, in.Author); err != nil {
		return nil, err
	}
	days, err := prepared.Days(registry.Windows{ID: out.ID, Command: registry.LookFamily, Author: in.Author})
	if err != nil {
		return nil, err
	}
	days.Shown = nil // nothing is played yet
	return out, h.Registry.Look(ctx, days)
}

func (p *Proposed) register(ctx context.Context, h *evaluate.Host, author string) error {
	if err := plan.Write(h.StateDir, p.File); err != nil {
		return err
	}
	row := registry.Plan{Hash: p.Hash, ID: p.ID, Slug: p.Plan.Slug, FamilyID: p.Plan.FamilyID, Author: author, Payload: p.Text}
	if p.Plan.Amends != nil {
		row.Amends = *p.Plan.Amends
	}
	var err error
	p.Added, err = h.Registry.RegisterPlan(ctx, row)
	return err
}

// samePlan says whether two plans differ in nothing but how many trials there were
// before: then nobody has changed anything.
func samePlan(a, b []byte) bool {
	var plans [2]map[string]json.RawMessage
	for i, text := range [][]byte{a, b} {
		if json.Unmarshal(text, &plans[i]) != nil {
			return false
		}
		delete(plans[i], "prior_trials")
	}
	return maps.EqualFunc(plans[0], plans[1], func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// find is the registered plan that a name stands for, or that of a flag.
func find(ctx context.Context, h *evaluate.Host, slug, name, flag string) (registry.Plan, error) {
	p, err := h.Registry.FindPlan(ctx, slug, name)
	var several *registry.AmbiguousError
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return p, &evaluate.Error{
			Code: "PLAN_NOT_FOUND", Cause: err, Details: map[string]any{"flag": flag, "plan": name},
			Message: fmt.Sprintf("there is no plan %q of %s: lab family plan %s makes one", name, slug, slug),
		}
	case errors.As(err, &several):
		return p, &evaluate.Error{
			Code: "PLAN_NOT_FOUND", Cause: err, Details: map[string]any{"flag": flag, "plan": name, "plans": several.IDs},
			Message: fmt.Sprintf("%v: write more of the one that is meant", err),
		}
	}
	return p, err
}

// question is that of lab.json for a trial with these parameters.
func question(p *project.Project, built project.Built, params json.RawMessage) evaluate.Question {
	q := evaluate.Ask(p, built)
	q.Kind, q.Params = artifact.KindTrial, params
	return q
}

// withSpace is the project of a proposal. Where its lab.json does not say what is searched,
// that is what the parameters of the strategy offer.
func withSpace(ctx context.Context, h *evaluate.Host, in Proposal) (*project.Project, error) {
	if f := in.Project.Config.Family; f != nil && f.Space.Len() > 0 {
		return in.Project, nil
	}
	strategy, err := h.Describe(ctx, evaluate.Ask(in.Project, in.Built))
	if err != nil {
		return nil, err
	}
	space, err := design.SpaceOf(strategy.ParamsSchema)
	if err != nil || space.Len() == 0 {
		return in.Project, err
	}
	p, config, family := *in.Project, *in.Project.Config, project.DefaultFamily()
	if config.Family != nil {
		family = *config.Family
	}
	family.Space = space
	config.Family, p.Config = &family, &config
	return &p, nil
}

// prepareSpace prepares a trial at the lower corner of the space: the parameters that are
// searched may be missing in lab.json, and a strategy may insist on them.
func prepareSpace(ctx context.Context, h *evaluate.Host, in Proposal) (*evaluate.Prepared, error) {
	config := in.Project.Config
	params := config.Params
	if f := config.Family; f != nil && f.Space.Len() > 0 {
		corner, err := f.Space.At(make([]float64, f.Space.Len()))
		if err != nil {
			return nil, err
		}
		if params, err = design.Merge(params, corner); err != nil {
			return nil, err
		}
	}
	p, err := h.Prepare(ctx, question(in.Project, in.Built, params))
	var bad *evaluate.Error
	if config.Family != nil && errors.As(err, &bad) && bad.Code == "PARAMS_INVALID" {
		pointer, _ := bad.Details["pointer"].(string)
		return nil, inSpace(config.Family.Space, strings.TrimPrefix(pointer, "/params"), err, strings.TrimPrefix(bad.Message, pointer+" "))
	}
	return p, err
}

// inSpace is a refused parameter as a fault of the space, if it is one of it; else err.
func inSpace(space design.Space, pointer string, err error, message string) error {
	for _, p := range space.Parameters() {
		if pointer == "/"+design.Escape(p.Name) {
			place := "/family/space" + pointer
			return &evaluate.Error{Code: "LAB_JSON_INVALID", Message: place + ": the strategy refuses a value: " + message, Details: map[string]any{"pointer": place}, Cause: err}
		}
	}
	return err
}

// checkPoints asks the strategy's schema about every point, so that none of them fails
// for what could have been known before.
func checkPoints(p *plan.Plan, s *catalog.Strategy) error {
	for i := range p.Trials {
		params, err := p.Params(i)
		if err != nil {
			return err
		}
		if _, bad := s.ValidateParams(params); len(bad) > 0 {
			err := &evaluate.Error{
				Code: "PARAMS_INVALID", Message: fmt.Sprintf("/params%s %s", bad[0].Pointer, bad[0].Message), Details: map[string]any{"pointer": "/params" + bad[0].Pointer},
			}
			return inSpace(p.Space, bad[0].Pointer, err, fmt.Sprintf("%s (trial %d has %s)", bad[0].Message, i, p.Trials[i].Params))
		}
	}
	return nil
}
