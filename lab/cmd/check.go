package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/project/scaffold"
	"github.com/assay-run/assay/lab/python"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/family"
)

// The states of a check.
const (
	OK      = "ok"
	Warned  = "warning"
	Failed  = "failed"
	Skipped = "skipped"
)

// CheckOutcome is how one check went.
type CheckOutcome struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`
	// Code and Details are those of the error of a failed check.
	Code    string         `json:"code,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// CheckSubject is what is checked, and what the checks have made of it so far.
type CheckSubject struct {
	Slug, Dir, Working string
	Host               *request.Host
	// NoTest leaves the author's tests out.
	NoTest bool
	// TestTimeout is how long they may run, TestTimeout if 0.
	TestTimeout time.Duration

	project  *project.Project
	built    project.Built
	prepared *request.Prepared
}

// errNeeds reports that an earlier check has not provided what this one needs.
var errNeeds = errors.New("an earlier check failed")

// note is an outcome that is neither good nor a failure.
type note struct{ status, message string }

func (n *note) Error() string { return n.message }

// checks in the order of the report, each with what an earlier one must have provided.
var checks = []struct {
	id    string
	needs func(*CheckSubject) bool
	run   func(*CheckSubject, context.Context) (string, error)
}{
	{"lab_json", nil, (*CheckSubject).labJSON},
	{"sdk", (*CheckSubject).hasProject, (*CheckSubject).sdk},
	{"build", (*CheckSubject).hasProject, (*CheckSubject).build},
	{"plugin", (*CheckSubject).hasProgram, (*CheckSubject).plugin},
	{"parameters", (*CheckSubject).hasProgram, (*CheckSubject).parameters},
	{"data", (*CheckSubject).hasProgram, (*CheckSubject).data},
	{"splits", (*CheckSubject).hasPrepared, (*CheckSubject).splits},
	{"tests", (*CheckSubject).hasProject, (*CheckSubject).tests},
	{"determinism", (*CheckSubject).hasPrepared, (*CheckSubject).determinism},
	{"source", (*CheckSubject).hasProject, (*CheckSubject).source},
}

func (s *CheckSubject) hasProject() bool  { return s.project != nil }
func (s *CheckSubject) hasProgram() bool  { return s.built.Path != "" }
func (s *CheckSubject) hasPrepared() bool { return s.prepared != nil }

// RunChecks runs every check. heard, if set, is called with each outcome at once. The error is only
// that of the context.
func RunChecks(ctx context.Context, s *CheckSubject, heard func(CheckOutcome)) ([]CheckOutcome, error) {
	defer func() {
		if s.prepared != nil {
			s.prepared.Close()
		}
	}()
	var list []CheckOutcome
	for _, c := range checks {
		message, err := "", errNeeds
		if c.needs == nil || c.needs(s) {
			message, err = c.run(s, ctx)
		}
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

func outcomeOf(id, message string, err error) CheckOutcome {
	var other *note
	var refused *request.Error
	o := CheckOutcome{ID: id, Status: OK, Message: message}
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

func (s *CheckSubject) labJSON(context.Context) (string, error) {
	p, err := project.Find(s.Slug, s.Dir, s.Working)
	if err != nil {
		return "", err
	}
	if p.Config.Slug != s.Slug {
		return "", request.Errorf(request.CodeNameMismatch, "lab.json has the slug %q, not %q", p.Config.Slug,
			s.Slug).
			With("pointer", "/slug")
	}
	s.project = p
	return p.Dir, nil
}

func (s *CheckSubject) build(ctx context.Context) (string, error) {
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
func (s *CheckSubject) sdk(context.Context) (string, error) {
	switch c := s.project.Config.Plugin; {
	case c.Path != "":
		return "", &note{Skipped, "the program is not built here"}
	case c.Python != "":
		return python.Version + ", that of this lab", nil
	}
	from, err := project.ReplacedSDK(s.project.Dir)
	if err != nil {
		return "", err
	}
	if from == "" {
		return "that of the module around the folder", nil
	}
	update := "lab sdk update " + s.Slug
	stated, sum, err := project.ReadSDK(filepath.Join(s.project.Dir, project.SDKFolder))
	if errors.Is(err, fs.ErrNotExist) || filepath.ToSlash(filepath.Clean(from)) != project.SDKFolder {
		return "", warn(
			"go.mod takes the SDK from %s, so the folder does not build elsewhere: %s puts it into the "+
				"folder",
			from, update)
	}
	if err != nil {
		return "", err
	}
	own, err := scaffold.Own()
	switch {
	case err != nil:
		return "", err
	case sum != stated.SHA256:
		return "", warn(
			"sdk has been edited: its runs are marked debug and cannot be packed; %s puts it back", update)
	case stated != own:
		return "", warn("sdk is %s, lab brings %s: %s takes that", named(stated), named(own), update)
	}
	return named(stated), nil
}

func warn(format string, args ...any) error { return &note{Warned, fmt.Sprintf(format, args...)} }

// named is an SDK in a few words.
func named(s project.SDK) string {
	return fmt.Sprintf("%s, %s, %.12s", s.Version, s.SimID, s.SHA256)
}

func (s *CheckSubject) plugin(ctx context.Context) (string, error) {
	strategy, err := s.Host.Describe(ctx, request.FromProject(s.project, s.built))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s, protocol %d, SDK %s", strategy.Name, strategy.Version,
		strategy.ProtocolVersion, strategy.SDKVersion), nil
}

func (s *CheckSubject) parameters(ctx context.Context) (string, error) {
	q := request.FromProject(s.project, s.built)
	strategy, err := s.Host.Describe(ctx, q)
	if err != nil {
		return "", errNeeds
	}
	params, bad := strategy.ValidateParams(q.Params)
	if len(bad) > 0 {
		return "", request.Errorf(request.CodeParams, "/params%s %s", bad[0].Pointer, bad[0].Message).
			With("pointer", "/params"+bad[0].Pointer)
	}
	message := string(params)
	own := s.project.Config.Family
	block, err := family.FamilyOf(s.project.Config, strategy.ParamsSchema)
	if err != nil || block == nil {
		return message, err
	}
	whose := "of the family"
	if own == nil || own.Space.Len() == 0 {
		whose = "that the parameters give a family"
	}
	points, err := pointsOf(block, strategy, params, q.Seed)
	if err != nil && own == nil {
		return "", warn("lab family plan would refuse the space %s: %v", whose, err)
	}
	if err != nil {
		return "", err
	}
	return message + fmt.Sprintf("; %d in the space %s, %d points", block.Space.Len(), whose, points), nil
}

// pointsOf counts the points of a family whose space fits the strategy.
func pointsOf(block *project.Family, strategy *catalog.Strategy, params json.RawMessage,
	seed uint64) (int, error) {
	if err := CheckSpace(block, strategy, strategy.ParamsSchema); err != nil {
		return 0, err
	}
	points, err := family.Points(*block, params, seed)
	if err != nil {
		return 0, err
	}
	return len(points.Params), nil
}

func (s *CheckSubject) data(ctx context.Context) (string, error) {
	prepared, err := s.Host.Prepare(ctx, request.FromProject(s.project, s.built))
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
				return "", request.Errorf(run.CodeDataUnavailable, "the candles of %s are damaged: %s",
					d.Symbol, checked.Problem)
			}
			missing += gaps(checked)
			break
		}
	}
	return fmt.Sprintf("%d candles, %d missing in gaps", prepared.Manifest.Splits.Candles, missing), nil
}

func gaps(c candle.Checked) int { return int(c.Gaps.Missing) }

func (s *CheckSubject) splits(context.Context) (string, error) {
	m := s.prepared.Manifest
	return fmt.Sprintf("%s: %d splits; request %s", m.Splits.Scheme, len(m.Splits.Splits),
		s.prepared.RequestHash), nil
}

// determinismCandles is how long the short runs are.
const determinismCandles = 2000

func (s *CheckSubject) determinism(ctx context.Context) (string, error) {
	hashes, failure, err := s.Host.Decisions(ctx, s.prepared, determinismCandles, 2)
	if err != nil {
		return "", err
	}
	if failure != nil {
		return "", request.Errorf(request.CodeRunFailed, "%s: %s", failure.Code, failure.Message).
			With("log_tail", failure.LogTail)
	}
	if hashes[0] != hashes[1] {
		return "", request.Errorf(request.CodeNondeterminism,
			"two runs of the same candles decide differently: %.12s and %.12s", hashes[0], hashes[1])
	}
	return "two runs, decisions " + hashes[0], nil
}

// Validator knows what parameters a strategy takes.
type Validator interface {
	// ValidateParams gives the parameters with every default, or what is wrong with them.
	ValidateParams(json.RawMessage) (json.RawMessage, []catalog.FieldError)
}

// CheckSpace holds the space of a family against the JSON Schema of the parameters: every
// name is one of them, and each end of a range, a value between and every choice would be
// accepted. The error is an *request.Error, LAB_JSON_INVALID.
func CheckSpace(family *project.Family, v Validator, schema json.RawMessage) error {
	var known struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &known); err != nil {
		return err
	}
	for _, p := range family.Space.Parameters() {
		place := "/family/space/" + digest.PointerStep(p.Name)
		if known.Properties[p.Name] == nil {
			return bad(place, "is not a parameter of this strategy: %s",
				hint.Names(p.Name, slices.Sorted(maps.Keys(known.Properties))))
		}
		for _, probe := range probes(p) {
			params, err := digest.JCS(map[string]any{p.Name: probe.value})
			if err != nil {
				return err
			}
			if _, faults := v.ValidateParams(params); len(faults) > 0 {
				return bad(place+probe.at, "%s", faults[0].Message)
			}
		}
	}
	return nil
}

// probe is a value of a parameter, and the place that is to blame if it is refused.
type probe struct {
	at    string
	value any
}

// between is where a value lies that is neither round nor near an end.
const between = 0.381966

func probes(p design.Parameter) []probe {
	switch p.Kind {
	case design.Choice:
		var list []probe
		for i, v := range p.Values {
			list = append(list, probe{fmt.Sprintf("/values/%d", i), v})
		}
		return list
	case design.Bool:
		return []probe{{"/type", true}, {"/type", false}}
	}
	return []probe{{"/low", p.Low}, {"/high", p.At(1 - 0x1p-53)}, {"/type", p.At(between)}}
}

func bad(pointer, format string, args ...any) error {
	return request.Errorf(request.CodeLabJSON, pointer+" "+format, args...).
		With("pointer", pointer)
}

// tests runs what the author has written.
func (s *CheckSubject) tests(ctx context.Context) (string, error) {
	switch {
	case s.NoTest:
		return "", &note{Skipped, "--no-test"}
	case s.project.Config.Plugin.Path != "":
		return "", &note{Skipped, "the program is not built here"}
	}
	limit := cmp.Or(s.TestTimeout, TestTimeout)
	if s.project.Config.Plugin.Python != "" {
		output, none, err := python.Test(ctx, s.project.Dir, limit)
		switch {
		case none != "":
			return "", &note{Warned, none}
		case err != nil && output != "":
			return "", fmt.Errorf("pytest failed:\n%s", tail(output, 30))
		case err != nil:
			return "", err
		}
		return "pytest passes", nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-trimpath", "-ldflags=-w",
		"-timeout="+limit.String(), ".")
	cmd.Dir, cmd.Env = s.project.Dir, project.BuildEnv()
	// What a test has started may outlive it and hold its output.
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if test := hanging(out.String()); test != "" {
			return "", fmt.Errorf(
				"%s does not end within %v: look for an endless loop, or give it longer with --test-timeout",
				test, limit)
		}
		return "", fmt.Errorf("go test failed:\n%s", tail(out.String(), 30))
	}
	if strings.Contains(out.String(), "[no test files]") {
		return "", &note{Warned, "there are no tests"}
	}
	return "go test passes", nil
}

// TestTimeout is how long the author's tests may run once they are compiled.
const TestTimeout = 2 * time.Minute

var hangingTest = regexp.MustCompile(`(?m)^panic: test timed out after [^\n]*\n\s+running tests:\n\s+(\S+)`)

// hanging is the test that was running when the time of go test was over; "" where it was
// not.
func hanging(output string) string {
	if m := hangingTest.FindStringSubmatch(output); m != nil {
		return m[1]
	}
	return ""
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
