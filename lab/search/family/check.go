package family

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
)

// maxHypothesis is that of lab.json, in bytes as far as ASCII goes.
const maxHypothesis = 2000

func refuse(code, kind, place, format string, args ...any) *request.Error {
	e := &request.Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if place != "" {
		e.Details = map[string]any{kind: place}
	}
	return e
}

func wrong(pointer, format string, args ...any) error {
	return &design.FieldError{Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

// check is what decoding has not looked at.
func (p *Plan) check() error {
	if p.Schema != PlanSchema {
		return wrong("/schema", "must be %s", PlanSchema)
	}
	var errs []error
	if err := project.CheckSlug(p.Slug); err != nil {
		errs = append(errs, wrong("/slug", "%v", err))
	}
	if strings.TrimSpace(p.Hypothesis) == "" {
		errs = append(errs, wrong("/hypothesis", "must say why this should work"))
	}
	if p.Amends != nil && !digest.IsSHA256(*p.Amends) {
		errs = append(errs, wrong("/amends", "must be the hash of a plan"))
	}
	if seed, err := strconv.ParseUint(p.Seed, 10, 64); err != nil || strconv.FormatUint(seed, 10) != p.Seed {
		errs = append(errs, wrong("/seed", "must be a decimal number below 2^64"))
	}
	if p.StopRule.MaxFailures < 1 || !(p.StopRule.MaxFailureShare > 0 && p.StopRule.MaxFailureShare <= 1) {
		errs = append(errs,
			wrong("/stop_rule", "must have max_failures from 1 up and a max_failure_share in (0, 1]"))
	}
	if p.PriorTrials < 0 {
		errs = append(errs, wrong("/prior_trials", "must not be negative"))
	}
	if _, err := readRequest(p.Request, p.FamilyID); err != nil {
		errs = append(errs, design.Below("/request", err))
	}
	return errors.Join(append(errs, p.checkTrials())...)
}

// checkTrials holds every trial against the space and the constraints.
func (p *Plan) checkTrials() error {
	if n := len(p.Trials); n < 1 || n > design.MostPoints || n > p.MaxTrials {
		return wrong("/trials", "must be 1 to %d", min(design.MostPoints, p.MaxTrials))
	}
	fixed, err := p.Fixed()
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(p.Trials))
	for i, t := range p.Trials {
		at := fmt.Sprintf("/trials/%d", i)
		var given map[string]json.RawMessage
		_, err = p.Space.Position(t.Params)
		switch {
		case t.Index != i:
			return wrong(at+"/index", "must be %d", i)
		case err != nil:
			return design.Below(at+"/params", err)
		case json.Unmarshal(t.Params, &given) != nil || len(given) != p.Space.Len():
			return wrong(at+"/params", "has parameters that are not in the space")
		case seen[string(t.Params)]:
			return wrong(at+"/params", "is there already")
		}
		seen[string(t.Params)] = true
		if err := p.allows(fixed, t.Params, at); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) allows(fixed, params json.RawMessage, at string) error {
	if len(p.Constraints) == 0 {
		return nil
	}
	all, err := design.Merge(fixed, params)
	if err != nil {
		return err
	}
	if ok, err := design.Allowed(p.Constraints, all); !ok || err != nil {
		return errors.Join(err, wrong(at+"/params", "is not what the constraints allow"))
	}
	return nil
}

// readRequest reads a canonical request of kind trial.
func readRequest(text json.RawMessage, familyID string) (*artifact.Request, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &artifact.Request{}
	if err := d.Decode(r); err != nil {
		return nil, wrong("", "%v", err)
	}
	var params map[string]json.RawMessage
	switch {
	case r.Schema != "evaluation-request/v1":
		return nil, wrong("/schema", "must be evaluation-request/v1")
	case r.Kind != artifact.KindTrial:
		return nil, wrong("/kind", "must be %s", artifact.KindTrial)
	case r.FamilyID != familyID:
		return nil, wrong("/family_id", "must be %q", familyID)
	case json.Unmarshal(r.StrategyParams, &params) != nil || params == nil:
		return nil, wrong("/strategy_params", "must be an object")
	}
	return r, nil
}

const (
	fileName = "plan.json"
	dirMode  = 0o700
)

// PlanDir is the folder of a plan, which also gets what its family puts out.
func PlanDir(stateDir, slug, planID string) string {
	return filepath.Join(stateDir, "families", slug, planID)
}

// WritePlan puts a plan into its folder: all of it or nothing. A plan that is there already
// stays; one whose bytes are others is PLAN_HASH_MISMATCH.
func WritePlan(stateDir string, f *PlanFile) error {
	dir := PlanDir(stateDir, f.Plan.Slug, f.ID)
	path := filepath.Join(dir, fileName)
	switch known, err := readBounded(path); {
	case err == nil && bytes.Equal(known, f.Text):
		return nil
	case err == nil:
		return mismatch(f.ID, f.Hash, digest.SHA256Hex(known))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	if err := file.Write(path, f.Text, 0o600); err != nil {
		return err
	}
	// The plan's folder may be new in that of the strategy, and that one in its own.
	for range 3 {
		if err := file.SyncDir(dir); err != nil {
			return err
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// ReadPlan reads the plan that was registered with a hash. The error is an *request.Error:
// PLAN_NOT_FOUND, or PLAN_HASH_MISMATCH when the file is not what was registered.
func ReadPlan(stateDir, slug, planHash string) (*PlanFile, error) {
	planID, err := PlanID(planHash)
	if err != nil {
		return nil, err
	}
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	text, err := readBounded(filepath.Join(PlanDir(stateDir, slug, planID), fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &request.Error{
			Code: CodePlanNotFound, Cause: err, Details: map[string]any{"plan_id": planID},
			Message: fmt.Sprintf("the file of %s is not in the state directory any more", planID),
		}
	}
	if err != nil {
		return nil, err
	}
	if now := digest.SHA256Hex(text); now != planHash {
		return nil, mismatch(planID, planHash, now)
	}
	f, err := ParsePlan(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", planID, err)
	}
	if f.Plan.Slug != slug {
		return nil, fmt.Errorf("%s is a plan of %s, not of %s", planID, f.Plan.Slug, slug)
	}
	return f, nil
}

// readBounded reads a plan.json; of one that is too large only a byte too many.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	return text, errors.Join(err, file.Close())
}

func mismatch(planID, registered, now string) error {
	return &request.Error{
		Code: CodeHashMismatch,
		Message: fmt.Sprintf(
			"%s of %s was changed after it was registered: its hash is %.12s…, not %.12s…; nothing was "+
				"executed. A change is a new plan: lab family plan --amends %s",
			fileName, planID, now, registered, registered),
		Details: map[string]any{"plan_id": planID, "plan_hash": registered, "found": now},
	}
}
