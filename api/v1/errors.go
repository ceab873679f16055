package v1

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
)

// maxShown keeps a long pointer from becoming a long message.
const maxShown = 120

// invalid returns the answer to a body that does not match the schema.
func invalid(list []schema.Violation) error {
	list = hint.Sorted(list)
	message := fmt.Sprintf("The request is not valid: %s.", describe(list[0]))
	if len(list) > 1 {
		message = fmt.Sprintf("The request is not valid: %s, and %d more.", describe(list[0]), len(list)-1)
	}
	return problem.WithMessage(problem.ValidationFailed, message).With("errors", list)
}

func describe(v schema.Violation) string {
	where := v.Pointer
	switch {
	case where == "":
		where = "the body"
	case len(where) > maxShown:
		where = where[:maxShown] + "…"
	}
	return where + " " + v.Message
}

// translate turns an error of the host into the problem that the client sees, and
// logs what the client does not see.
func (a *API) translate(r *http.Request, err error) error {
	var known *problem.Problem
	var refused *run.RequestError
	var gate *deploy.Refusal
	var state *runner.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		return a.refusal(refused)
	case errors.As(err, &gate):
		return problem.WithMessage(problem.Code(gate.Code), gate.Message).WithCause(gate).
			WithAll(gate.Details)
	case errors.As(err, &state):
		return a.stateProblem(r, state)
	case archiveProblem(err) != nil:
		return archiveProblem(err)
	case jobProblem(err) != nil:
		return jobProblem(err)
	case errors.Is(err, context.Canceled), errors.Is(err, http.ErrServerClosed):
		return problem.New(problem.ShuttingDown)
	}
	a.opts.Logger.Error("a request failed", "path", r.URL.Path, "request_id",
		edge.From(r.Context()).RequestID, "error", err)
	return problem.New(problem.InternalError).WithCause(err)
}

func (a *API) refusal(e *run.RequestError) error {
	p := problem.WithMessage(problem.Code(e.Code), e.Message).WithCause(e).WithAll(e.Details)
	if len(e.Fields) > 0 {
		p.With("errors", hint.Sorted(slices.Clone(e.Fields)))
	}
	if p.Code == problem.RunStartFailed {
		a.opts.Logger.Warn("a run could not be started", "reason", e.Details["reason"])
	}
	return p
}

func (a *API) stateProblem(r *http.Request, e *runner.Error) error {
	p := problem.WithMessage(problem.Code(e.Code), e.Message).WithCause(e)
	switch e.Code {
	case runner.Internal:
		a.opts.Logger.Error("the run machine refused an event", "path", r.URL.Path, "error", e)
		return problem.New(problem.InternalError).WithCause(e)
	case runner.RunStartFailed:
		reason := ""
		if e.Cause != nil {
			reason = e.Cause.Error()
		}
		a.opts.Logger.Warn("a run could not be started", "reason", reason)
		return p.With("reason", reason).With("log_tail", []string{})
	case runner.ShuttingDown:
		return p.WithHeader("Retry-After", "1")
	case runner.ControlNotSupported:
		return problem.WithMessage(problem.ModeNotSupported, e.Message).WithCause(e).With("reason", "mode")
	case runner.NoAlarm:
		return invalid([]schema.Violation{{Pointer: "/alarm_id", Message: e.Message, Rule: "no_alarm"}})
	case runner.ResultsNotReady:
		p.WithHeader("Retry-After", "1")
	}
	p.With("status", e.Status).With("run_id", e.RunID).With("mode", e.Mode)
	if e.Hint != "" {
		p.With("hint", e.Hint)
	}
	return p
}
