package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/project"
)

// Options are those of the command; what is empty or nil is as lab.json has it.
type Options struct {
	Hypothesis string
	Method     string
	MaxTrials  *int
	Seed       *uint64
	// Amends is the plan that this one changes.
	Amends *File
}

// Subject is what is searched.
type Subject struct {
	Config *project.Config
	// Request is a canonical evaluation request of kind trial, with every parameter; those
	// of the space are taken out.
	Request json.RawMessage
	// PriorTrials is N so far, by the registry.
	PriorTrials int
	// Windows is how many walk-forward windows the splits have.
	Windows int
}

// Made is a new plan.
type Made struct {
	*File
	// Left is how many points of a grid were left out for max_trials.
	Left int
}

// Make plans a search. The error is an *evaluate.Error: HYPOTHESIS_REQUIRED,
// LAB_JSON_INVALID, USAGE, PLAN_SPACE_TOO_TIGHT, PLAN_TOO_LARGE.
func Make(s Subject, o Options) (*Made, error) {
	hypothesis, err := hypothesisOf(s.Config, o)
	if err != nil {
		return nil, err
	}
	family, err := familyOf(s.Config, o)
	if err != nil {
		return nil, err
	}
	if err := windowsFit(family, s.Windows); err != nil {
		return nil, err
	}
	p := &Plan{
		Schema: Schema, Slug: s.Config.Slug, FamilyID: s.Config.FamilyID, Hypothesis: hypothesis, Family: family, Seed: s.Config.Seed,
		StopRule: DefaultStopRule(), FalsifyProfile: FalsifyProfile, PriorTrials: s.PriorTrials,
	}
	if o.Seed != nil {
		p.Seed = strconv.FormatUint(*o.Seed, 10)
	}
	if p.Request, err = fixedRequest(s.Request, family.Space); err != nil {
		return nil, err
	}
	if err := p.amend(o.Amends); err != nil {
		return nil, err
	}
	points, err := p.points(o)
	if err != nil {
		return nil, err
	}
	for i, params := range points.Params {
		p.Trials = append(p.Trials, Trial{i, params})
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("the plan that was made is no good: %w", err)
	}
	f, err := seal(p)
	if err != nil {
		return nil, err
	}
	if len(f.Text) > maxBytes {
		return nil, refuse("PLAN_TOO_LARGE", "pointer", "/family/max_trials", "the plan would have %d bytes, more than %d", len(f.Text), maxBytes)
	}
	return &Made{f, points.Left}, nil
}

func hypothesisOf(c *project.Config, o Options) (string, error) {
	text, flag := strings.TrimSpace(o.Hypothesis), true
	if text == "" {
		text, flag = strings.TrimSpace(c.Hypothesis), false
	}
	switch {
	case text == "":
		return "", &evaluate.Error{
			Code:    "HYPOTHESIS_REQUIRED",
			Message: "say in one sentence why this should work, before the search: --hypothesis, or hypothesis in lab.json",
			Details: map[string]any{"flag": "--hypothesis", "pointer": "/hypothesis"},
		}
	case flag && len([]rune(text)) > maxHypothesis:
		return "", refuse("USAGE", "flag", "--hypothesis", "--hypothesis has more than %d characters", maxHypothesis)
	case flag && strings.ToValidUTF8(text, "") != text:
		return "", refuse("USAGE", "flag", "--hypothesis", "--hypothesis is not UTF-8")
	}
	return text, nil
}

// familyOf is the block of lab.json with the options in place of its fields.
func familyOf(c *project.Config, o Options) (project.Family, error) {
	if c.Family == nil || c.Family.Space.Len() == 0 {
		return project.Family{}, refuse("LAB_JSON_INVALID", "pointer", "/family/space",
			`/family/space must say what is searched, such as {"fast":{"type":"int","low":5,"high":30}}: `+
				"no parameter of the strategy has bounds of its own")
	}
	f := *c.Family
	if o.Method != "" {
		m, err := design.ParseMethod(o.Method)
		if err != nil {
			return f, refuse("USAGE", "flag", "--method", "--method %v", err)
		}
		f = f.WithMethod(m)
	}
	if o.MaxTrials != nil {
		if *o.MaxTrials < 1 {
			return f, refuse("USAGE", "flag", "--max-trials", "--max-trials must be at least 1")
		}
		f.MaxTrials = *o.MaxTrials
	}
	return f, nil
}

// windowsFit says whether the splits have what the trials are judged on.
func windowsFit(f project.Family, windows int) error {
	if windows < 1 {
		return refuse("LAB_JSON_INVALID", "pointer", "/splits", "/splits has no walk-forward windows, which a search is judged on: take the scheme default")
	}
	if f.SHA != nil && f.SHA.MinWindows > windows {
		return refuse("LAB_JSON_INVALID", "pointer", "/family/sha/min_windows", "/family/sha/min_windows is more than the %d windows that there are", windows)
	}
	return nil
}

// fixedRequest takes the searched parameters out of a request.
func fixedRequest(request json.RawMessage, space design.Space) (json.RawMessage, error) {
	var r, params map[string]json.RawMessage
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(r["strategy_params"], &params); err != nil {
		return nil, err
	}
	for _, p := range space.Parameters() {
		delete(params, p.Name)
	}
	fixed, err := digest.JCS(params)
	if err != nil {
		return nil, err
	}
	r["strategy_params"] = fixed
	return digest.JCS(r)
}

// amend notes which plan this one changes.
func (p *Plan) amend(old *File) error {
	if old == nil {
		return nil
	}
	if old.Plan.Slug != p.Slug || old.Plan.FamilyID != p.FamilyID {
		return refuse("USAGE", "flag", "--amends", "--amends %.12s… is a plan of %s in the family %s, not of %s in %s",
			old.Hash, old.Plan.Slug, old.Plan.FamilyID, p.Slug, p.FamilyID)
	}
	hash := old.Hash
	p.Amends = &hash
	return nil
}

// points picks the trials; its refusals are those of Make.
func (p *Plan) points(o Options) (*design.Points, error) {
	fixed, err := p.Fixed()
	if err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(p.Seed, 10, 64)
	if err != nil {
		return nil, err
	}
	points, err := Points(p.Family, fixed, seed)
	var refused *evaluate.Error
	if errors.As(err, &refused) && o.MaxTrials != nil && refused.Details["pointer"] == "/family/max_trials" {
		refused.Details = map[string]any{"flag": "--max-trials"}
	}
	return points, err
}

// Points picks the trials of a family; fixed are the other parameters, which a
// constraint may name. The error is an *evaluate.Error: PLAN_SPACE_TOO_TIGHT,
// PLAN_TOO_LARGE, LAB_JSON_INVALID.
func Points(f project.Family, fixed json.RawMessage, seed uint64) (*design.Points, error) {
	points, err := design.Design{Space: f.Space, Constraints: f.Constraints, Fixed: fixed, Method: f.Method, Seed: seed, Max: f.MaxTrials}.Enumerate()
	var tight *design.TightError
	var large *design.LargeError
	switch {
	case errors.As(err, &tight):
		e := refuse("PLAN_SPACE_TOO_TIGHT", "pointer", "/family/space", "%v", tight)
		e.Details["wanted"], e.Details["found"], e.Details["draws"] = tight.Wanted, tight.Found, tight.Draws
		return nil, e
	case errors.As(err, &large):
		return nil, refuse("PLAN_TOO_LARGE", "pointer", "/family"+large.Pointer, "%v", large)
	case err != nil:
		list := design.FieldErrors(err)
		if list == nil {
			return nil, err
		}
		e := refuse("LAB_JSON_INVALID", "pointer", "/family"+list[0].Pointer, "/family%v", list[0])
		if n := len(list) - 1; n > 0 {
			e.Message += fmt.Sprintf(", and %d more", n)
		}
		return nil, e
	}
	return points, nil
}
