package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
)

// The kinds of job.
const (
	jobFalsification = "falsification"
	jobFamily        = "family"
)

// labProject is the lab.json that the service makes.
type labProject struct {
	Schema      string          `json:"schema"`
	Slug        string          `json:"slug"`
	FamilyID    string          `json:"family_id,omitempty"`
	Hypothesis  string          `json:"hypothesis,omitempty"`
	Exchange    string          `json:"exchange"`
	Symbols     []string        `json:"symbols"`
	Timeframe   string          `json:"timeframe"`
	Data        labData         `json:"data"`
	InitialCash json.RawMessage `json:"initial_cash,omitempty"`
	Execution   json.RawMessage `json:"execution,omitempty"`
	Seed        string          `json:"seed,omitempty"`
	Params      json.RawMessage `json:"params,omitempty"`
	Family      *labFamily      `json:"family,omitempty"`
}

type labData struct {
	Start *string           `json:"start"`
	End   *string           `json:"end"`
	Pins  map[string]string `json:"pins,omitempty"`
}

type labFamily struct {
	Space     json.RawMessage `json:"space"`
	Method    string          `json:"method,omitempty"`
	MaxTrials int             `json:"max_trials,omitempty"`
	Objective json.RawMessage `json:"objective,omitempty"`
}

// keep makes the project in the state directory, named by what it has, so that none that a job
// uses is ever changed. It returns the arguments that name it and the program. The error is also a
// *project.ConfigError.
func (p labProject) keep(stateDir, pluginSHA256 string) ([]string, error) {
	p.Schema = "lab/v1"
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := project.CheckSlug(p.Slug); err != nil {
		return nil, &project.ConfigError{Faults: []project.Fault{{Pointer: "/slug", Message: err.Error()}}}
	}
	if _, err := project.Parse(project.FileName, text); err != nil {
		return nil, err
	}
	dir := filepath.Join(stateDir, "projects", p.Slug, digest.SHA256Hex(text)[:16])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	program := filepath.Join(stateDir, "plugins", pluginSHA256)
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("the program of the strategy is gone: %w", err)
	}
	return []string{p.Slug, "--dir", dir, "--plugin", program},
		file.Write(filepath.Join(dir, project.FileName), append(text, '\n'), 0o600)
}

// Falsify implements v1.Lab.
func (l *lab) Falsify(ctx context.Context, runID string, full bool) (job.Job, error) {
	row, err := l.runs.Get(ctx, runID)
	if err != nil {
		return job.Job{}, unread(err, runID)
	}
	var play []string // what makes the run of the lab, where there is none yet
	links := job.Links{}
	switch m, err := artifact.DecodeMetadata(row.Payload); {
	case err != nil:
		return job.Job{}, err
	case row.Status == artifact.StatusCompleted && row.Kind == artifact.KindRun:
		links.RunID = &runID
	case row.Status == artifact.StatusCompleted && m.Service != nil && m.Service.Mode == runner.ModeBacktest:
		if play, err = l.replay(row, m); err != nil {
			return job.Job{}, err
		}
	default:
		return job.Job{}, run.Invalid("/run_id",
			errors.New("is neither a completed run of the lab nor a completed backtest"))
	}
	return l.attack(row.Slug, links, play, full)
}

// attack begins the job that attacks a run: that of the links, or the one that play makes.
func (l *lab) attack(slug string, links job.Links, play []string, full bool) (job.Job, error) {
	return l.jobs.Add(jobFalsification, links, func(ctx context.Context, call job.Call) (job.Links, error) {
		made := links
		if play != nil {
			base, err := madeBy(call(ctx, play...))
			if err != nil {
				return job.Links{}, err
			}
			made.RunID = &base
		}
		found, err := madeBy(call(ctx, "falsify", slug, "--run", *made.RunID, fmt.Sprintf("--full=%t", full)))
		if err == nil {
			made.Falsification = &found
		}
		return made, err
	})
}

// FalsifyBacktest implements v1.Lab. What a backtest would be refused for is refused before the job.
func (l *lab) FalsifyBacktest(ctx context.Context, b runner.StartRequest, full bool) (job.Job, error) {
	select {
	case l.checking <- struct{}{}:
	case <-ctx.Done():
		return job.Job{}, context.Cause(ctx)
	}
	found, exchange, err := l.backtests.Check(ctx, b)
	<-l.checking
	var refused *run.RequestError
	if errors.As(err, &refused) && len(refused.Fields) > 0 {
		for i := range refused.Fields {
			refused.Fields[i].Pointer = "/backtest" + refused.Fields[i].Pointer
		}
		if refused.Code == run.CodeValidationFailed { // its message has the pointer too
			err = run.InvalidFields(refused.Fields[0], refused.Fields[1:]...)
		}
	}
	if err != nil {
		return job.Job{}, err
	}
	p := labProject{Slug: found.Name, Exchange: exchange, Symbols: b.Symbols, Timeframe: b.Timeframe,
		Data: labData{Start: b.StartDate, End: b.EndDate}, InitialCash: json.RawMessage(b.InitialCash),
		Execution: b.Execution, Params: b.StrategyParams}
	args, err := p.keep(l.stateDir, found.SHA256)
	var bad *project.ConfigError
	if errors.As(err, &bad) {
		err = refuseFields(bad.Faults, backtestPlaces)
	}
	if err != nil {
		return job.Job{}, err
	}
	return l.attack(found.Name, job.Links{}, append([]string{"run"}, args...), full)
}

// replay is the command by which the lab plays what a backtest has: program, parameters, candles
// and rules.
func (l *lab) replay(row registry.Run, m *artifact.Metadata) ([]string, error) {
	text, err := l.store.Read(m, "request.json")
	if err != nil {
		return nil, err
	}
	r, err := request.ReadRequest(text)
	if err != nil {
		return nil, err
	}
	start, end := r.StartDate.String(), r.EndDate.String()
	p := labProject{Slug: row.Slug, FamilyID: r.FamilyID, Exchange: r.Exchange, Symbols: r.Symbols,
		Timeframe: r.Timeframe, Data: labData{&start, &end, map[string]string{}}, InitialCash: r.InitialCash,
		Execution: r.Execution, Seed: r.Seed, Params: r.StrategyParams}
	for _, d := range r.Inputs.Data {
		p.Data.Pins[d.Symbol] = "sha256:" + d.SHA256
	}
	args, err := p.keep(l.stateDir, r.Inputs.PluginSHA256)
	var bad *project.ConfigError
	if errors.As(err, &bad) {
		return nil, run.Invalid("/run_id", fmt.Errorf("cannot be played by the lab: %w", err))
	}
	return append([]string{"run"}, args...), err
}

// madeBy is the run that the lab has made; a verdict is no failure of the job.
func madeBy(result json.RawMessage, err error) (string, error) {
	var refused *job.LabError
	if errors.As(err, &refused) &&
		(refused.Code == request.CodeFalsified || refused.Code == request.CodeInconclusive) {
		result, err = refused.Details, nil
	}
	var made struct {
		RunID string `json:"run_id"`
	}
	if err == nil {
		err = json.Unmarshal(result, &made)
	}
	return made.RunID, err
}

// Search implements v1.Lab.
func (l *lab) Search(ctx context.Context, s v1.SearchRequest) (v1.Search, error) {
	found, err := run.FindStrategy(l.strategies, s.StrategyName)
	if err != nil {
		return v1.Search{}, err
	}
	var fixed json.RawMessage
	if len(s.StrategyParams) > 0 {
		if fixed, err = json.Marshal(s.StrategyParams); err != nil {
			return v1.Search{}, err
		}
	}
	p := labProject{Slug: found.Name, Hypothesis: s.Hypothesis, Exchange: s.Exchange, Symbols: s.Symbols,
		Timeframe: s.Timeframe, Data: labData{Start: s.StartDate, End: s.EndDate},
		InitialCash: json.RawMessage(s.InitialCash), Execution: s.Execution, Seed: string(s.Seed),
		Params: fixed, Family: &labFamily{s.Space, s.Method, s.MaxTrials, s.Objective}}
	args, err := p.keep(l.stateDir, found.SHA256)
	if err != nil {
		return v1.Search{}, refusedSearch(err)
	}
	result, err := l.jobs.Call(ctx, append([]string{"family", "plan"}, args...)...)
	if err != nil {
		return v1.Search{}, refusedSearch(err)
	}
	var plan struct {
		PlanID   string `json:"plan_id"`
		PlanHash string `json:"plan_hash"`
		NTrials  int    `json:"n_trials"`
	}
	if err := json.Unmarshal(result, &plan); err != nil {
		return v1.Search{}, err
	}
	play := append(append([]string{"family", "run"}, args...), "--plan", plan.PlanID)
	j, err := l.jobs.Add(jobFamily, job.Links{PlanID: &plan.PlanID},
		func(ctx context.Context, call job.Call) (job.Links, error) {
			_, err := call(ctx, play...)
			return job.Links{}, err
		})
	return v1.Search{Job: j, PlanID: plan.PlanID, PlanHash: plan.PlanHash, PriorTrials: plan.NTrials}, err
}

// refusedSearch turns a refusal of the project or of the plan into that of the request, with
// pointers into its body.
func refusedSearch(err error) error {
	var config *project.ConfigError
	var refused *job.LabError
	switch {
	case errors.As(err, &config):
		return refuseFields(config.Faults, searchPlaces)
	case !errors.As(err, &refused), refused.Code == job.CodeFailed, refused.Code == request.CodeInternal:
		return err
	case problem.Lookup(problem.Code(refused.Code)).Status < 500:
		return &run.RequestError{Code: refused.Code, Message: refused.Message}
	}
	var details struct {
		Pointer string          `json:"pointer"`
		Errors  []project.Fault `json:"errors"`
	}
	_ = json.Unmarshal(refused.Details, &details) // without them the fault is that of the whole
	if len(details.Errors) > 0 {
		return refuseFields(details.Errors, searchPlaces)
	}
	message := strings.TrimLeft(strings.TrimPrefix(refused.Message, details.Pointer), ": ")
	return refuseFields([]project.Fault{{Pointer: details.Pointer, Message: message}}, searchPlaces)
}

// The places of lab.json in the bodies that it is made of, by the beginning of a pointer.
var (
	searchPlaces = [][2]string{{"/family/", "/"}, {"/data/start", "/start_date"}, {"/data/end", "/end_date"},
		{"/params/", "/strategy_params/"}, {"/slug", "/strategy_name"}}
	backtestPlaces = [][2]string{{"/data/start", "/backtest/start_date"}, {"/data/end", "/backtest/end_date"},
		{"/params/", "/backtest/strategy_params/"}, {"/slug", "/backtest/strategy_name"}, {"/", "/backtest/"}}
)

// refuseFields has faults of lab.json as those of a body.
func refuseFields(faults []project.Fault, places [][2]string) error {
	var fields []run.FieldError
	for _, f := range faults {
		pointer := f.Pointer
		for _, p := range places {
			if rest, ok := strings.CutPrefix(pointer, p[0]); ok {
				pointer = p[1] + rest
				break
			}
		}
		fields = append(fields, run.FieldError{Pointer: pointer, Message: f.Message, Rule: "lab"})
	}
	return run.InvalidFields(fields[0], fields[1:]...)
}
