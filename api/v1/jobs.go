package v1

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/runner"
)

// jobAPI is the operations on what runs beside the service.
type jobAPI struct{ of *API }

// routes are the operations with their paths.
func (j jobAPI) routes() []edge.Route {
	return append(j.importRoutes(), []edge.Route{
		{Method: http.MethodPost, Path: Base + "/falsifications",
			Handler: op(j.of, j.of.schemas.falsify, j.startFalsification)},
		{Method: http.MethodPost, Path: Base + "/families",
			Handler: op(j.of, j.of.schemas.search, j.startSearch)},
		{Method: http.MethodGet, Path: Base + "/jobs", Handler: j.of.handler(j.listJobs)},
		{Method: http.MethodGet, Path: Base + "/jobs/{job_id}", Handler: j.of.handler(j.getJob)},
		{Method: http.MethodDelete, Path: Base + "/jobs/{job_id}", Handler: j.of.bodiless(j.cancelJob)},
	}...)
}

// falsificationRequest names the run to be attacked, or has the backtest that is made for it.
type falsificationRequest struct {
	RunID    string        `json:"run_id"`
	Backtest *startRequest `json:"backtest"`
	Full     bool          `json:"full"`
}

// check holds the rules between the fields.
func (f *falsificationRequest) check() []schema.Violation {
	switch {
	case f.Backtest != nil && f.RunID != "":
		return []schema.Violation{{Pointer: "/backtest", Rule: "run_id_or_backtest",
			Message: "excludes run_id: name the run to attack, or describe the backtest to make"}}
	case f.Backtest == nil && f.RunID == "":
		return []schema.Violation{{Pointer: "/run_id", Rule: "required",
			Message: "is missing: name the run to attack, or describe the backtest to make in backtest"}}
	case f.Backtest == nil:
		return nil
	}
	bad := f.Backtest.check()
	for i := range bad {
		bad[i].Pointer = "/backtest" + bad[i].Pointer
	}
	return bad
}

// jobAnswer has the job that was begun.
type jobAnswer struct {
	Job job.Job `json:"job"`
}

func (j jobAPI) startFalsification(r *request[falsificationRequest]) (*edge.Answer, error) {
	return j.accept(r.Request, r.body, func(ctx context.Context) (any, job.Job, error) {
		var begun job.Job
		var err error
		if b := r.in.Backtest; b != nil {
			begun, err = j.of.opts.Lab.FalsifyBacktest(ctx, b.complete(runner.ModeBacktest), r.in.Full)
		} else {
			begun, err = j.of.opts.Lab.Falsify(ctx, r.in.RunID, r.in.Full)
		}
		return jobAnswer{begun}, begun, err
	})
}

// SearchRequest is the body of POST /families. Space, Execution and Objective are those of lab.json,
// StrategyParams are what every trial has besides.
type SearchRequest struct {
	StrategyName   string                     `json:"strategy_name"`
	StrategyParams map[string]json.RawMessage `json:"strategy_params"`
	Space          json.RawMessage            `json:"space"`
	Symbols        []string                   `json:"symbols"`
	Timeframe      string                     `json:"timeframe"`
	Exchange       string                     `json:"exchange"`
	StartDate      *string                    `json:"start_date"`
	EndDate        *string                    `json:"end_date"`
	InitialCash    json.Number                `json:"initial_cash"`
	Execution      json.RawMessage            `json:"execution"`
	Method         string                     `json:"method"`
	MaxTrials      int                        `json:"max_trials"`
	Seed           json.Number                `json:"seed"`
	Objective      json.RawMessage            `json:"objective"`
	Hypothesis     string                     `json:"hypothesis"`
}

// check refuses parameters that are both fixed and searched.
func (s *SearchRequest) check() []schema.Violation {
	var searched map[string]json.RawMessage
	_ = json.Unmarshal(s.Space, &searched) // the schema has found it to be an object
	var bad []schema.Violation
	for _, name := range slices.Sorted(maps.Keys(s.StrategyParams)) {
		if _, both := searched[name]; both {
			bad = append(bad, schema.Violation{Pointer: schema.Join("/strategy_params", name),
				Rule: "fixed_or_searched", Message: "is in space too: leave it out of one of them"})
		}
	}
	return bad
}

// Search is a registered search whose trials are a job.
type Search struct {
	Job      job.Job `json:"job"`
	PlanID   string  `json:"plan_id"`
	PlanHash string  `json:"plan_hash"`
	// PriorTrials counts what was tried on these days before.
	PriorTrials int `json:"prior_trials"`
}

func (j jobAPI) startSearch(r *request[SearchRequest]) (*edge.Answer, error) {
	if strings.TrimSpace(r.in.Hypothesis) == "" {
		return nil, problem.New(problem.HypothesisRequired)
	}
	return j.accept(r.Request, r.body, func(ctx context.Context) (any, job.Job, error) {
		s, err := j.of.opts.Lab.Search(ctx, r.in)
		return s, s.Job, err
	})
}

// accept begins a job, or repeats the answer to an earlier request with the same key.
func (j jobAPI) accept(r *http.Request, body []byte,
	begin func(context.Context) (any, job.Job, error)) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	key, err := header(r.Header, "Idempotency-Key")
	if err != nil {
		return nil, err
	}
	return j.of.keys.once(key, r.URL.Path, body, func() (*edge.Answer, error) {
		if err := j.of.opts.Jobs.Check(); err != nil {
			return nil, err
		}
		// A client that hangs up does not take back its request.
		answer, begun, err := begin(context.WithoutCancel(r.Context()))
		if err != nil {
			return nil, err
		}
		text, err := edge.Encode(answer)
		return &edge.Answer{Raw: text, Status: http.StatusAccepted,
			Header: http.Header{"Location": {Base + "/jobs/" + begun.ID}}}, err
	})
}

func (j jobAPI) listJobs(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "cursor", "limit")
	offset, limit := q.page(r, 200)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	all := j.of.opts.Jobs.List()
	offset = follow(q, all, offset, func(one *job.Job) string { return one.ID })
	return tagged(listOf(r, q, cut(all, offset, limit), offset, len(all)))
}

func (j jobAPI) getJob(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	found, err := j.of.opts.Jobs.Get(param(r, 0))
	if err != nil {
		return nil, err
	}
	return tagged(found)
}

func (j jobAPI) cancelJob(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	ended, err := j.of.opts.Jobs.Cancel(r.Context(), param(r, 0))
	return &edge.Answer{Body: ended}, err
}

// jobProblem returns the answer to an error of the jobs, nil to any other.
func jobProblem(err error) error {
	for _, known := range []struct {
		err  error
		code problem.Code
	}{
		{job.ErrNotFound, problem.JobNotFound}, {job.ErrQueueFull, problem.JobQueueFull},
		{job.ErrUnavailable, problem.LabUnavailable}, {job.ErrClosed, problem.ShuttingDown},
	} {
		if errors.Is(err, known.err) {
			return problem.New(known.code).WithCause(err)
		}
	}
	return nil
}
