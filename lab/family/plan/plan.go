package plan

import (
	"bytes"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/project"
)

// Schema names the format.
const Schema = "family-plan/v1"

// FalsifyProfile is the profile that the selected run will be attacked with.
const FalsifyProfile = "falsify-profile/2"

// maxBytes bounds plan.json.
const maxBytes = 64 << 20

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
	PriorTrials int     `json:"prior_trials"`
	Trials      []Trial `json:"trials"`
}

// StopRule ends a family: so many failures in a row, or more than this share of the
// trials after as many of them.
type StopRule struct {
	MaxFailures     int     `json:"max_failures"`
	MaxFailureShare float64 `json:"max_failure_share"`
}

// DefaultStopRule is the one of every plan.
func DefaultStopRule() StopRule { return StopRule{MaxFailures: 20, MaxFailureShare: 0.5} }

// Trial is one point: the parameters of the space, canonical JSON.
type Trial struct {
	Index  int             `json:"index"`
	Params json.RawMessage `json:"params"`
}

// File is a plan and its bytes.
type File struct {
	Plan *Plan
	// Text is canonical JSON, Hash its SHA-256 in lower-case hex, ID the plan's name.
	Text     []byte
	Hash, ID string
}

// seal makes the bytes of a plan.
func seal(p *Plan) (*File, error) {
	text, err := digest.JCS(p)
	if err != nil {
		return nil, err
	}
	return fileOf(p, text), nil
}

func fileOf(p *Plan, text []byte) *File {
	hash := digest.SHA256Hex(text)
	return &File{Plan: p, Text: text, Hash: hash, ID: idOf(hash)}
}

// idOf is plan_ and the first 10 bytes of a good hash in lower-case base32.
func idOf(hash string) string {
	sum, _ := hex.DecodeString(hash)
	return "plan_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// ID is the name of the plan with a hash, 64 digits of lower-case hex.
func ID(hash string) (string, error) {
	if !isHash(hash) {
		return "", fmt.Errorf("%q is not a SHA-256", hash)
	}
	return idOf(hash), nil
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
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

// Parse reads plan.json strictly: the canonical bytes of a good plan and nothing else.
// The error is a *design.FieldError, or several joined, where a place can be named.
func Parse(text []byte) (*File, error) {
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
		return nil, errors.New("the plan is no JSON object")
	}
	p := &Plan{}
	// The block has its own strict decoder, with defaults: what is missing differs from
	// the bytes below.
	block := map[string]json.RawMessage{}
	for _, name := range []string{"space", "constraints", "method", "sha", "max_trials", "objective", "secondary", "selection_rule"} {
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
		return nil, fmt.Errorf("the plan is not %s: fields are missing, unknown or not normal", Schema)
	}
	return f, nil
}
