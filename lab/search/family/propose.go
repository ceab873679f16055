package family

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
)

// Proposal is what a plan is made from.
type Proposal struct {
	Project *project.Project
	Built   project.Built
	Options PlanOptions
	// Amends names the plan that this one changes, by hash, id or their beginning; empty
	// for a first one.
	Amends string
	// Author is who registers it.
	Author string
}

// Proposed is a plan that is registered.
type Proposed struct {
	*PlanFile
	// Added is true where it is new.
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
// plan, also after trials have been counted. The error is an *request.Error.
func Propose(ctx context.Context, h *request.Host, in Proposal) (*Proposed, error) {
	known, err := h.Registry.Plans(ctx, in.Project.Slug)
	if err != nil {
		return nil, err
	}
	if in.Amends != "" {
		old, err := find(ctx, h, in.Project.Slug, in.Amends, "--amends")
		if err != nil {
			return nil, err
		}
		if in.Options.Amends, err = ParsePlan(old.Payload); err != nil {
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
	book, err := selection.ReadBook(ctx, h.Registry, h.Artifacts)
	if err != nil {
		return nil, err
	}
	n, own := book.Count(selection.DaysOf(prepared.Manifest.Data), in.Project.Config.FamilyID)
	made, err := MakePlan(PlanSubject{
		Config: in.Project.Config, Request: request, PriorTrials: n, Windows: prepared.Windows(),
	}, in.Options)
	if err != nil {
		return nil, err
	}
	if err := checkPoints(made.Plan, prepared.Strategy); err != nil {
		return nil, err
	}
	out := &Proposed{PlanFile: made.PlanFile, Trials: n, FamilyTrials: own, Left: made.Left,
		Windows: prepared.Windows()}
	for _, k := range known {
		if k.Hash != out.Hash && samePlan(k.Payload, made.Text) {
			if out.PlanFile, err = ParsePlan(k.Payload); err != nil {
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
	return out, h.Look(ctx, days)
}

func (p *Proposed) register(ctx context.Context, h *request.Host, author string) error {
	if err := WritePlan(h.StateDir, p.PlanFile); err != nil {
		return err
	}
	row := registry.Plan{Hash: p.Hash, ID: p.ID, Slug: p.Plan.Slug, FamilyID: p.Plan.FamilyID, Author: author,
		Payload: p.Text}
	if p.Plan.Amends != nil {
		row.Amends = *p.Plan.Amends
	}
	var err error
	p.Added, err = h.Registry.RegisterPlan(ctx, row)
	return err
}

// samePlan reports whether two plans differ at most in how many trials there were before.
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
func find(ctx context.Context, h *request.Host, slug, name, flag string) (registry.Plan, error) {
	p, err := h.Registry.FindPlan(ctx, slug, name)
	var several *registry.AmbiguousError
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return p, &request.Error{
			Code: CodePlanNotFound, Cause: err, Details: map[string]any{"flag": flag, "plan": name},
			Message: fmt.Sprintf("there is no plan %q of %s: lab family plan %s makes one", name, slug, slug),
		}
	case errors.As(err, &several):
		return p, &request.Error{
			Code: CodePlanNotFound, Cause: err,
			Details: map[string]any{"flag": flag, "plan": name, "plans": several.IDs},
			Message: fmt.Sprintf("%v: write more of its name", err),
		}
	}
	return p, err
}

// trialRequest is that of lab.json for a trial with these parameters.
func trialRequest(p *project.Project, built project.Built, params json.RawMessage) request.Request {
	q := request.FromProject(p, built)
	q.Kind, q.Params = artifact.KindTrial, params
	return q
}

// withSpace is the project of a proposal. Where its lab.json has no space, the
// parameters of the strategy give one.
func withSpace(ctx context.Context, h *request.Host, in Proposal) (*project.Project, error) {
	if f := in.Project.Config.Family; f != nil && f.Space.Len() > 0 {
		return in.Project, nil
	}
	strategy, err := h.Describe(ctx, request.FromProject(in.Project, in.Built))
	if err != nil {
		return nil, err
	}
	family, err := FamilyOf(in.Project.Config, strategy.ParamsSchema)
	if err != nil || family == nil {
		return in.Project, err
	}
	p, config := *in.Project, *in.Project.Config
	config.Family, p.Config = family, &config
	return &p, nil
}

// FamilyOf is the family of a lab.json, whose space is, where it has none, that which the schema of
// the strategy's parameters gives; nil where neither gives one.
func FamilyOf(c *project.Config, schema json.RawMessage) (*project.Family, error) {
	if c.Family != nil && c.Family.Space.Len() > 0 {
		return c.Family, nil
	}
	space, err := design.SpaceOf(schema)
	if err != nil || space.Len() == 0 {
		return nil, err
	}
	family := project.DefaultFamily()
	if c.Family != nil {
		family = *c.Family
	}
	family.Space = space
	return &family, nil
}

// prepareSpace prepares a trial at the lower corner of the space: the parameters that are
// searched may be missing in lab.json, and a strategy may insist on them.
func prepareSpace(ctx context.Context, h *request.Host, in Proposal) (*request.Prepared, error) {
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
	p, err := h.Prepare(ctx, trialRequest(in.Project, in.Built, params))
	var bad *request.Error
	if config.Family != nil && errors.As(err, &bad) && bad.Code == request.CodeParams {
		pointer, _ := bad.Details["pointer"].(string)
		return nil, inSpace(config.Family.Space, strings.TrimPrefix(pointer, "/params"), err,
			strings.TrimPrefix(bad.Message, pointer+" "))
	}
	return p, err
}

// inSpace is a refused parameter as a fault of the space, if it is one of it; else err.
func inSpace(space design.Space, pointer string, err error, message string) error {
	for _, p := range space.Parameters() {
		if pointer == "/"+digest.PointerStep(p.Name) {
			place := "/family/space" + pointer
			return &request.Error{Code: request.CodeLabJSON,
				Message: place + ": the strategy refuses a value: " + message,
				Details: map[string]any{"pointer": place}, Cause: err}
		}
	}
	return err
}

// checkPoints asks the strategy's schema about every point, so that none of them fails
// for what could have been known before.
func checkPoints(p *Plan, s *catalog.Strategy) error {
	for i := range p.Trials {
		params, err := p.Params(i)
		if err != nil {
			return err
		}
		if _, bad := s.ValidateParams(params); len(bad) > 0 {
			err := &request.Error{
				Code:    request.CodeParams,
				Message: fmt.Sprintf("/params%s %s", bad[0].Pointer, bad[0].Message),
				Details: map[string]any{"pointer": "/params" + bad[0].Pointer},
			}
			return inSpace(p.Space, bad[0].Pointer, err,
				fmt.Sprintf("%s (trial %d has %s)", bad[0].Message, i, p.Trials[i].Params))
		}
	}
	return nil
}

// Search is a registered plan whose inputs are what they were.
type Search struct {
	*PlanFile
	// Dir is the folder of plan.json and of everything that is put out.
	Dir string
	// Windows is how many walk-forward windows there are.
	Windows int
	// Departs is true where lab.json differs from the plan by now; the plan's rules are used.
	Departs bool

	host  *request.Host // for one trial at a time
	whole *request.Host // for the selected run
	kept  *selection.KeptFile
	base  *request.Prepared // owns the program
	root  *request.Prepared // trial 0 by the plan's rules
}

// Find reads the plan that a name stands for, its id, its hash or their beginning; the
// newest one of the strategy if it is empty. The error is an *request.Error:
// PLAN_NOT_FOUND, or PLAN_HASH_MISMATCH when plan.json is not what was registered.
func Find(ctx context.Context, h *request.Host, slug, name string) (*PlanFile, error) {
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	if name == "" {
		newest, err := h.Registry.NewestPlan(ctx, slug)
		if err != nil {
			return nil, err
		}
		if name = newest; name == "" {
			return nil, &request.Error{
				Code: CodePlanNotFound, Details: map[string]any{"flag": "<slug>"},
				Message: fmt.Sprintf("no search of %s is planned: lab family plan %s plans one", slug, slug),
			}
		}
	}
	row, err := find(ctx, h, slug, name, "--plan")
	if err != nil {
		return nil, err
	}
	return ReadPlan(h.StateDir, slug, row.Hash)
}

// Open makes sure that the plugin, the engine, the candles and the splits are those of
// the plan, else the error is PLAN_INPUTS_CHANGED. Close must be called.
func Open(ctx context.Context, h *request.Host, p *project.Project, built project.Built,
	f *PlanFile) (_ *Search, err error) {
	var then artifact.Request
	if err := json.Unmarshal(f.Plan.Request, &then); err != nil {
		return nil, err
	}
	params, err := f.Plan.Params(0)
	if err != nil {
		return nil, err
	}
	var changed changes
	changed.note("plugin", then.Inputs.PluginSHA256, built.SHA256)
	changed.note("engine", then.Inputs.Engine.SHA256, h.Engine.SHA256)
	base, err := h.Prepare(ctx, trialRequest(p, built, params))
	if err != nil {
		// Of another program or window anything may be wrong.
		return nil, cmp.Or(changed.err(f), err)
	}
	defer func() {
		if err != nil {
			base.Close()
		}
	}()
	now := &base.Manifest.Request
	changed.note("data", then.Inputs.Data, now.Inputs.Data)
	changed.note("metrics", then.Inputs.Engine.Metrics, now.Inputs.Engine.Metrics)
	changed.note("statistics", then.Inputs.Engine.Statistics, now.Inputs.Engine.Statistics)
	changed.note("protocol", then.Inputs.ProtocolVersion, now.Inputs.ProtocolVersion)
	changed.note("splits", then.Splits.SHA256, now.Splits.SHA256)
	if err := changed.err(f); err != nil {
		return nil, err
	}
	s := &Search{PlanFile: f, Dir: PlanDir(h.StateDir, f.Plan.Slug, f.ID), base: base}
	if s.kept, err = selection.OpenKept(s.Dir); err != nil {
		return nil, err
	}
	whole := *h
	whole.Trials = trialStore{s.kept, f.Plan.Objective.Metric}
	s.whole = &whole
	one := whole
	one.Workers, one.Procs, one.Plain = 1, 1, true
	s.host = &one
	if s.root, err = h.WithOverrides(base, func(q *request.Request) { s.applyRules(q, &then) }); err != nil {
		return nil, err
	}
	s.Windows = s.root.Windows()
	if s.Departs, err = s.departs(now); err != nil {
		return nil, err
	}
	same, err := s.departs(&s.root.Manifest.Request)
	if err == nil && same {
		changed.note("request", f.Hash, "what lab.json and this program make of it")
		err = changed.err(f)
	}
	return s, err
}

// Candles is how many there are from the first to the last of the search.
func (s *Search) Candles() int { return s.root.Manifest.Splits.Candles }

// Root is the request that the trials vary.
func (s *Search) Root() *request.Prepared { return s.root }

// Close ends what is left of the plugin.
func (s *Search) Close() { s.base.Close() }

// applyRules puts the plan's rules in the place of those of lab.json.
func (s *Search) applyRules(q *request.Request, r *artifact.Request) {
	q.Exchange, q.InitialCash, q.Execution, q.Stress = r.Exchange, r.InitialCash, r.Execution, r.Stress
	q.FamilyID = r.FamilyID
	_, _ = fmt.Sscan(r.Seed, &q.Seed) // of a request that was canonical
}

// departs reports whether a request differs from the plan's, parameters left out: those of a
// trial are no part of it.
func (s *Search) departs(r *artifact.Request) (bool, error) {
	fixed, err := s.Plan.Fixed()
	if err != nil {
		return false, err
	}
	asked := *r
	asked.StrategyParams = fixed
	text, err := asked.Canonical()
	return !bytes.Equal(text, s.Plan.Request), err
}

// prepareTrial is the request of one trial over the first windows.
func (s *Search) prepareTrial(index, windows int) (*request.Prepared, error) {
	params, err := s.Plan.Params(index)
	if err != nil {
		return nil, err
	}
	if windows == s.Windows {
		windows = 0
	}
	return s.host.WithOverrides(s.root, func(q *request.Request) {
		q.Params, q.Splits.First = params, windows
	})
}

// changes are the inputs that are not what they were, as the details of the error have them.
type changes []map[string]string

func (c *changes) note(name string, was, is any) {
	if old, now := textOf(was), textOf(is); old != now {
		*c = append(*c, map[string]string{"input": name, "old": old, "new": now})
	}
}

// textOf is a text as it is, anything else as canonical JSON.
func textOf(x any) string {
	if text, plain := x.(string); plain {
		return text
	}
	text, _ := digest.JCS(x) // of a request, which has a hash
	return string(text)
}

func (c changes) err(f *PlanFile) error {
	if len(c) == 0 {
		return nil
	}
	var names, text []string
	for _, d := range c {
		names = append(names, d["input"])
		text = append(text, fmt.Sprintf("%s was %s, is %s", d["input"], brief(d["old"]), brief(d["new"])))
	}
	return &request.Error{
		Code:    CodeInputsChanged,
		Details: map[string]any{"plan_id": f.ID, "changed": names, "changes": []map[string]string(c)},
		Message: fmt.Sprintf(
			"not what was registered with %s: %s. Nothing was executed. Plan again: lab family plan %s "+
				"--amends %s",
			f.ID, strings.Join(text, "; "), f.Plan.Slug, f.Hash),
	}
}

// brief is a hash by its beginning; anything else is shown whole.
func brief(text string) string {
	if len(text) == 64 && !strings.ContainsAny(text, " {") {
		return text[:12] + "…"
	}
	return text
}

// prepareRun is the selected parameters as a run: all splits of lab.json's scheme, which
// are those that the trials were cut from.
func (s *Search) prepareRun(params json.RawMessage) (*request.Prepared, error) {
	return s.whole.WithOverrides(s.root, func(q *request.Request) {
		q.Kind, q.Params, q.Splits.First = artifact.KindRun, params, 0
	})
}
