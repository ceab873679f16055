package family

import (
	"bytes"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
)

// PlanSchema names the format.
const PlanSchema = "family-plan/v1"

// FalsifyProfile is the profile that the selected run will be attacked with.
const FalsifyProfile = "falsify-profile/2"

const maxBytes = 64 << 20

// The codes of plans that cannot be made, found or executed.
const (
	CodeHypothesis    = library.CodeHypothesisRequired
	CodePlanTooLarge  = "PLAN_TOO_LARGE"
	CodeSpaceTooTight = "PLAN_SPACE_TOO_TIGHT"
	CodePlanNotFound  = "PLAN_NOT_FOUND"
	CodeHashMismatch  = "PLAN_HASH_MISMATCH"
	CodeInputsChanged = "PLAN_INPUTS_CHANGED"
)

// Plan is plan.json. Its fields but the first ones are those of lab.json's family block.
type Plan struct {
	Schema     string `json:"schema"`
	Slug       string `json:"slug"`
	FamilyID   string `json:"family_id"`
	Hypothesis string `json:"hypothesis"`
	// Amends is the hash of the plan that this one changes, nil for a first one.
	Amends *string `json:"amends"`
	project.Family
	// Seed is a decimal number below 2^64 as text.
	Seed string `json:"seed"`
	// Request is an evaluation request of kind trial; its strategy_params are the fixed
	// ones, those of a trial come to them.
	Request        json.RawMessage `json:"request"`
	StopRule       StopRule        `json:"stop_rule"`
	FalsifyProfile string          `json:"falsify_profile"`
	// PriorTrials is how many trials there were on these days when this was planned, of any
	// family, those of an amended plan included.
	PriorTrials int            `json:"prior_trials"`
	Trials      []PlannedTrial `json:"trials"`
}

// StopRule ends a family: so many failures in a row, or more than this share of the
// trials after as many of them.
type StopRule struct {
	MaxFailures     int     `json:"max_failures"`
	MaxFailureShare float64 `json:"max_failure_share"`
}

// DefaultStopRule is the one of every plan.
func DefaultStopRule() StopRule { return StopRule{MaxFailures: 20, MaxFailureShare: 0.5} }

// PlannedTrial is one point: the parameters of the space, canonical JSON.
type PlannedTrial struct {
	Index  int             `json:"index"`
	Params json.RawMessage `json:"params"`
}

// PlanFile is a plan and its bytes.
type PlanFile struct {
	Plan *Plan
	// Text is canonical JSON, Hash its SHA-256 in lower-case hex, ID the plan's name.
	Text     []byte
	Hash, ID string
}

func seal(p *Plan) (*PlanFile, error) {
	text, err := digest.JCS(p)
	if err != nil {
		return nil, err
	}
	return fileOf(p, text), nil
}

func fileOf(p *Plan, text []byte) *PlanFile {
	hash := digest.SHA256Hex(text)
	return &PlanFile{Plan: p, Text: text, Hash: hash, ID: idOf(hash)}
}

// idOf is plan_ and the first 10 bytes of a good hash in lower-case base32.
func idOf(hash string) string {
	sum, _ := hex.DecodeString(hash)
	return "plan_" + strings.ToLower(
		base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// PlanID is the name of the plan with a hash, 64 digits of lower-case hex.
func PlanID(hash string) (string, error) {
	if !digest.IsSHA256(hash) {
		return "", fmt.Errorf("%q is not a SHA-256", hash)
	}
	return idOf(hash), nil
}

// Fixed is the parameters that no trial changes, a JSON object.
func (p *Plan) Fixed() (json.RawMessage, error) {
	var r struct {
		Params json.RawMessage `json:"strategy_params"`
	}
	err := json.Unmarshal(p.Request, &r)
	return r.Params, err
}

// Params is all parameters of a trial, the fixed ones and its own, canonical JSON.
func (p *Plan) Params(index int) (json.RawMessage, error) {
	if index < 0 || index >= len(p.Trials) {
		return nil, fmt.Errorf("the plan has no trial %d: it has %d", index, len(p.Trials))
	}
	fixed, err := p.Fixed()
	if err != nil {
		return nil, err
	}
	return design.Merge(fixed, p.Trials[index].Params)
}

// Rungs are the rounds of successive halving over so many walk-forward windows, the last
// of them over all; one round of everything with another method.
func (p *Plan) Rungs(windows int) ([]design.Rung, error) {
	if p.SHA == nil {
		return []design.Rung{{Trials: len(p.Trials), Budget: windows}}, nil
	}
	return design.Halving(len(p.Trials), p.SHA.Eta, p.SHA.MinWindows, windows)
}

// ParsePlan reads plan.json strictly: the canonical bytes of a good plan and nothing else.
// The error is a *design.FieldError, or several joined, where a place can be named.
func ParsePlan(text []byte) (*PlanFile, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the plan has %d bytes, more than %d", len(text), maxBytes)
	}
	canonical, err := digest.CanonicalJSON(text)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(canonical, text) {
		return nil, errors.New("the plan is not canonical JSON")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return nil, errors.New("the plan is not a JSON object")
	}
	p := &Plan{}
	// The block has its own strict decoder, with defaults: what is missing differs from
	// the bytes below.
	block := map[string]json.RawMessage{}
	for _, name := range []string{"space", "constraints", "method", "sha", "max_trials", "objective",
		"secondary", "selection_rule"} {
		if fields[name] != nil {
			block[name] = fields[name]
		}
	}
	blockText, err := json.Marshal(block)
	if err != nil {
		return nil, err
	}
	family, err := project.ParseFamily(blockText)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("the plan cannot be read: %w", err)
	}
	p.Family = *family
	if err := p.check(); err != nil {
		return nil, err
	}
	f, err := seal(p)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(f.Text, text) {
		return nil, fmt.Errorf("the plan is not %s: fields are missing, unknown or not normal", PlanSchema)
	}
	return f, nil
}

// PlanOptions are those of the command; what is empty or nil is as lab.json has it.
type PlanOptions struct {
	Hypothesis string
	Method     string
	MaxTrials  *int
	Seed       *uint64
	// Amends is the plan that this one changes.
	Amends *PlanFile
}

// PlanSubject is what is searched.
type PlanSubject struct {
	Config *project.Config
	// Request is a canonical evaluation request of kind trial, with every parameter; those
	// of the space are taken out.
	Request json.RawMessage
	// PriorTrials is N so far, by the registry.
	PriorTrials int
	// Windows is how many walk-forward windows the splits have.
	Windows int
}

// MadePlan is a new plan.
type MadePlan struct {
	*PlanFile
	// Left is how many points of a grid were left out for max_trials.
	Left int
}

// MakePlan plans a search. The error is an *request.Error: HYPOTHESIS_REQUIRED,
// LAB_JSON_INVALID, USAGE, PLAN_SPACE_TOO_TIGHT, PLAN_TOO_LARGE.
func MakePlan(s PlanSubject, o PlanOptions) (*MadePlan, error) {
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
		Schema: PlanSchema, Slug: s.Config.Slug, FamilyID: s.Config.FamilyID, Hypothesis: hypothesis,
		Family: family, Seed: s.Config.Seed,
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
		p.Trials = append(p.Trials, PlannedTrial{i, params})
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("the plan that was made is not valid: %w", err)
	}
	f, err := seal(p)
	if err != nil {
		return nil, err
	}
	if len(f.Text) > maxBytes {
		return nil, refuse(CodePlanTooLarge, "pointer", "/family/max_trials",
			"the plan would have %d bytes, more than %d", len(f.Text), maxBytes)
	}
	return &MadePlan{f, points.Left}, nil
}

func hypothesisOf(c *project.Config, o PlanOptions) (string, error) {
	text, flag := strings.TrimSpace(o.Hypothesis), true
	if text == "" {
		text, flag = strings.TrimSpace(c.Hypothesis), false
	}
	switch {
	case text == "":
		return "", &request.Error{
			Code: CodeHypothesis,
			Message: "say in one sentence why this should work, before the search: --hypothesis, or " +
				"hypothesis in lab.json",
			Details: map[string]any{"flag": "--hypothesis", "pointer": "/hypothesis"},
		}
	case flag && len([]rune(text)) > maxHypothesis:
		return "", refuse("USAGE", "flag", "--hypothesis", "--hypothesis has more than %d characters",
			maxHypothesis)
	case flag && strings.ToValidUTF8(text, "") != text:
		return "", refuse("USAGE", "flag", "--hypothesis", "--hypothesis is not UTF-8")
	}
	return text, nil
}

// familyOf is the block of lab.json with the options in place of its fields.
func familyOf(c *project.Config, o PlanOptions) (project.Family, error) {
	if c.Family == nil || c.Family.Space.Len() == 0 {
		return project.Family{}, refuse(request.CodeLabJSON, "pointer", "/family/space",
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

// windowsFit refuses splits without what the trials are judged on.
func windowsFit(f project.Family, windows int) error {
	if windows < 1 {
		return refuse(request.CodeLabJSON, "pointer", "/splits",
			"/splits has no walk-forward windows, which a search is judged on: take the scheme default")
	}
	if f.SHA != nil && f.SHA.MinWindows > windows {
		return refuse(request.CodeLabJSON, "pointer", "/family/sha/min_windows",
			"/family/sha/min_windows is more than the %d windows that there are", windows)
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

func (p *Plan) amend(old *PlanFile) error {
	if old == nil {
		return nil
	}
	if old.Plan.Slug != p.Slug || old.Plan.FamilyID != p.FamilyID {
		return refuse("USAGE", "flag", "--amends",
			"--amends %.12s… is a plan of %s in the family %s, not of %s in %s",
			old.Hash, old.Plan.Slug, old.Plan.FamilyID, p.Slug, p.FamilyID)
	}
	hash := old.Hash
	p.Amends = &hash
	return nil
}

// points picks the trials; its refusals are those of Make.
func (p *Plan) points(o PlanOptions) (*design.Points, error) {
	fixed, err := p.Fixed()
	if err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(p.Seed, 10, 64)
	if err != nil {
		return nil, err
	}
	points, err := Points(p.Family, fixed, seed)
	var refused *request.Error
	if errors.As(err, &refused) && o.MaxTrials != nil && refused.Details["pointer"] == "/family/max_trials" {
		refused.Details = map[string]any{"flag": "--max-trials"}
	}
	return points, err
}

// Points picks the trials of a family; fixed are the other parameters, which a
// constraint may name. The error is an *request.Error: PLAN_SPACE_TOO_TIGHT,
// PLAN_TOO_LARGE, LAB_JSON_INVALID.
func Points(f project.Family, fixed json.RawMessage, seed uint64) (*design.Points, error) {
	points, err := design.Design{Space: f.Space, Constraints: f.Constraints, Fixed: fixed, Method: f.Method,
		Seed: seed, Max: f.MaxTrials}.Enumerate()
	var tight *design.TightError
	var large *design.LargeError
	switch {
	case errors.As(err, &tight):
		e := refuse(CodeSpaceTooTight, "pointer", "/family/space", "%v", tight)
		e.Details["wanted"], e.Details["found"], e.Details["draws"] = tight.Wanted, tight.Found, tight.Draws
		return nil, e
	case errors.As(err, &large):
		return nil, refuse(CodePlanTooLarge, "pointer", "/family"+large.Pointer, "%v", large)
	case err != nil:
		list := design.FieldErrors(err)
		if list == nil {
			return nil, err
		}
		e := refuse(request.CodeLabJSON, "pointer", "/family"+list[0].Pointer, "/family%v", list[0])
		if n := len(list) - 1; n > 0 {
			e.Message += fmt.Sprintf(", and %d more", n)
		}
		return nil, e
	}
	return points, nil
}
