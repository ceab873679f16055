package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/family/plan"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/project/scaffold"
)

// The states of a check.
const (
	OK      = "ok"
	Warned  = "warning"
	Failed  = "failed"
	Skipped = "skipped"
)

// Outcome is how one check went.
type Outcome struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`
	// Code and Details are those of the error of a failed check.
	Code    string         `json:"code,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// Subject is what is checked, and what the checks have made of it so far.
type Subject struct {
	Slug, Dir, Working string
	Host               *evaluate.Host
	// NoTest leaves the author's tests out.
	NoTest bool
	// TestTimeout is how long they may run, TestTimeout if 0.
	TestTimeout time.Duration

	project  *project.Project
	built    project.Built
	prepared *evaluate.Prepared
}

// errNeeds says that an earlier check has not provided what this one needs.
var errNeeds = errors.New("an earlier check failed")

// note is an outcome that is neither good nor a failure.
type note struct{ status, message string }

func (n *note) Error() string { return n.message }

// checks in the order of the report.
var checks = []struct {
	id  string
	run func(*Subject, context.Context) (string, error)
}{
	{"lab_json", (*Subject).labJSON},
	{"sdk", (*Subject).sdk},
	{"build", (*Subject).build},
	{"plugin", (*Subject).plugin},
	{"parameters", (*Subject).parameters},
	{"data", (*Subject).data},
	{"splits", (*Subject).splits},
	{"tests", (*Subject).tests},
	{"determinism", (*Subject).determinism},
	{"source", (*Subject).source},
}

// All runs every check. heard, if set, hears each outcome at once. The error is only
// that of the context.
func All(ctx context.Context, s *Subject, heard func(Outcome)) ([]Outcome, error) {
	defer func() {
		if s.prepared != nil {
			s.prepared.Close()
		}
	}()
	var list []Outcome
	for _, c := range checks {
		message, err := c.run(s, ctx)
		if ctx.Err() != nil {
			return list, context.Cause(ctx)
		}
		o := outcomeOf(c.id, message, err)
		list = append(list, o)
		if heard != nil {
			heard(o)
		}
	}
	return list, nil
}

func outcomeOf(id, message string, err error) Outcome {
	var other *note
	var refused *evaluate.Error
	o := Outcome{ID: id, Status: OK, Message: message}
	switch {
	case err == nil:
	case errors.Is(err, errNeeds):
		o.Status, o.Message = Skipped, err.Error()
	case errors.As(err, &other):
		o.Status, o.Message = other.status, other.message
	case errors.As(err, &refused):
		o.Status, o.Message, o.Code, o.Details = Failed, refused.Message, refused.Code, refused.Details
	default:
		o.Status, o.Message = Failed, err.Error()
	}
	return o
}

func (s *Subject) labJSON(context.Context) (string, error) {
	p, err := project.Find(s.Slug, s.Dir, s.Working)
	if err != nil {
		return "", err
	}
	if p.Config.Slug != s.Slug {
		return "", &evaluate.Error{
			Code: "NAME_MISMATCH", Message: fmt.Sprintf("lab.json has the slug %q, not %q", p.Config.Slug, s.Slug), Details: map[string]any{"pointer": "/slug"},
		}
	}
	s.project = p
	return p.Dir, nil
}

func (s *Subject) build(ctx context.Context) (string, error) {
	if s.project == nil {
		return "", errNeeds
	}
	built, err := s.project.Build(ctx, s.Host.StateDir)
	if err != nil {
		return "", err
	}
	s.built = built
	again, err := s.project.Build(ctx, s.Host.StateDir)
	if err != nil {
		return "", err
	}
	if again.SHA256 != s.built.SHA256 {
		return "", fmt.Errorf("two builds differ: %.12s and %.12s", s.built.SHA256, again.SHA256)
	}
	return "sha256 " + s.built.SHA256, nil
}

// sdk compares the SDK in the folder with the one of this program.
func (s *Subject) sdk(context.Context) (string, error) {
	if s.project == nil {
		return "", errNeeds
	}
	if s.project.Config.Plugin.Path != "" {
		return "", &note{Skipped, "the program is not built here"}
	}
	from, err := project.ReplacedSDK(s.project.Dir)
	if err != nil {
		return "", err
	}
	if from == "" {
		return "that of the module around the folder", nil
	}
	update := "lab sdk update " + s.Slug
	said, sum, err := project.ReadSDK(filepath.Join(s.project.Dir, project.SDKFolder))
	if errors.Is(err, fs.ErrNotExist) || filepath.ToSlash(filepath.Clean(from)) != project.SDKFolder {
		return "", warn("go.mod takes the SDK from %s, so the folder does not build elsewhere: %s puts it into the folder",
			from, update)
	}
	if err != nil {
		return "", err
	}
	own, err := scaffold.Own()
	switch {
	case err != nil:
		return "", err
	case sum != said.SHA256:
		return "", warn("sdk has been edited: its runs are marked debug and cannot be packed; %s puts it back", update)
	case said != own:
		return "", warn("sdk is %s, lab brings %s: %s takes that", named(said), named(own), update)
	}
	return named(said), nil
}

func warn(format string, args ...any) error { return &note{Warned, fmt.Sprintf(format, args...)} }

// named is an SDK in a few words.
func named(s project.SDK) string {
	return fmt.Sprintf("%s, %s, %.12s", s.Version, s.SimID, s.SHA256)
}

func (s *Subject) plugin(ctx context.Context) (string, error) {
	if s.built.Path == "" {
		return "", errNeeds
	}
	strategy, err := s.Host.Describe(ctx, evaluate.Ask(s.project, s.built))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s, protocol %d, SDK %s", strategy.Name, strategy.Version, strategy.ProtocolVersion, strategy.SDKVersion), nil
}

func (s *Subject) parameters(ctx context.Context) (string, error) {
	if s.built.Path == "" {
		return "", errNeeds
	}
	q := evaluate.Ask(s.project, s.built)
	strategy, err := s.Host.Describe(ctx, q)
	if err != nil {
		return "", errNeeds
	}
	params, bad := strategy.ValidateParams(q.Params)
	if len(bad) > 0 {
		return "", &evaluate.Error{
			Code: "PARAMS_INVALID", Message: fmt.Sprintf("/params%s %s", bad[0].Pointer, bad[0].Message), Details: map[string]any{"pointer": "/params" + bad[0].Pointer},
		}
	}
	message := string(params)
	family := s.project.Config.Family
	if family == nil || family.Space.Len() == 0 {
		return message, nil
	}
	if err := Space(family, strategy, strategy.ParamsSchema); err != nil {
		return "", err
	}
	points, err := plan.Points(*family, params, q.Seed)
	if err != nil {
		return "", err
	}
	return message + fmt.Sprintf("; %d in the space of the family, %d points", family.Space.Len(), len(points.Params)), nil
}

func (s *Subject) data(ctx context.Context) (string, error) {
	if s.built.Path == "" {
		return "", errNeeds
	}
	prepared, err := s.Host.Prepare(ctx, evaluate.Ask(s.project, s.built))
	if err != nil {
		return "", err
	}
	s.prepared = prepared
	missing := 0
	for _, d := range prepared.Manifest.Data {
		list, err := s.Host.Candles.List(ctx)
		if err != nil {
			return "", err
		}
		for _, known := range list {
			if known.SHA256 != d.SHA256 || known.Exchange != s.project.Config.Exchange {
				continue
			}
			checked, err := s.Host.Candles.Check(ctx, known)
			if err != nil {
				return "", err
			}
			if checked.Problem != "" {
				return "", &evaluate.Error{Code: "DATA_UNAVAILABLE", Message: fmt.Sprintf("the candles of %s are damaged: %s", d.Symbol, checked.Problem)}
			}
			missing += gaps(checked)
			break
		}
	}
	return fmt.Sprintf("%d candles, %d missing in gaps", prepared.Manifest.Splits.Candles, missing), nil
}

func gaps(c candle.Checked) int { return int(c.Gaps.Missing) }

func (s *Subject) splits(context.Context) (string, error) {
	if s.prepared == nil {
		return "", errNeeds
	}
	m := s.prepared.Manifest
	return fmt.Sprintf("%s: %d splits; request %s", m.Splits.Scheme, len(m.Splits.Splits), s.prepared.RequestHash), nil
}

// determinismCandles is how long the short runs are.
const determinismCandles = 2000

func (s *Subject) determinism(ctx context.Context) (string, error) {
	if s.prepared == nil {
		return "", errNeeds
	}
	hashes, failure, err := s.Host.Decisions(ctx, s.prepared, determinismCandles, 2)
	if err != nil {
		return "", err
	}
	if failure != nil {
		return "", &evaluate.Error{Code: "RUN_FAILED", Message: failure.Code + ": " + failure.Message, Details: map[string]any{"log_tail": failure.LogTail}}
	}
	if hashes[0] != hashes[1] {
		return "", &evaluate.Error{Code: "NONDETERMINISM", Message: fmt.Sprintf("two runs of the same candles decide differently: %.12s and %.12s", hashes[0], hashes[1])}
	}
	return "two runs, decisions " + hashes[0], nil
}
