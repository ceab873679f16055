package v1

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
)

func (a *API) startBacktest(r *request[backtestRequest]) (*edge.Answer, error) {
	return a.start(r.Request, r.body, r.in.start(), a.opts.Backtests)
}

func (a *API) startLive(r *request[liveRequest]) (*edge.Answer, error) {
	return a.start(r.Request, r.body, r.in.start(), a.opts.Trading)
}

// start starts a run, or repeats the answer to an earlier start with the same key.
func (a *API) start(r *http.Request, body []byte, req runner.StartRequest, by Launcher) (*edge.Answer, error) {
	key, err := header(r.Header, "Idempotency-Key")
	if err != nil {
		return nil, err
	}
	replaced, err := header(r.Header, "Replace-Run")
	if err != nil {
		return nil, err
	}
	return a.keys.once(key, r.URL.Path+"\n"+replaced, body, func() (*edge.Answer, error) {
		// A client that hangs up does not take back its start.
		s, err := a.begin(context.WithoutCancel(r.Context()), replaced, req, launch(req, by))
		if err != nil {
			return nil, err
		}
		answer, err := runAnswer(s, started(req, s.Ungated))
		if err == nil {
			answer.Header = http.Header{"Location": {Base + "/status"}}
		}
		return answer, err
	})
}

// begin starts a run, in the place of another one if that is named.
func (a *API) begin(
	ctx context.Context, replaced string, req runner.StartRequest, l runner.LaunchFunc,
) (runner.Snapshot, error) {
	if replaced == "" {
		return a.opts.Control.Start(ctx, req, l)
	}
	return a.opts.Control.Replace(ctx, replaced, req, l)
}

func launch(req runner.StartRequest, by Launcher) runner.LaunchFunc {
	return func(ctx context.Context, runID string) (runner.Execution, error) {
		if by == nil {
			return nil, &run.RequestError{Code: "MODE_NOT_SUPPORTED",
				Message: fmt.Sprintf("This service does not run mode %s.", req.Mode), Details: map[string]any{"reason": "mode"}}
		}
		return by.Launch(ctx, runID, req)
	}
}

// started is the message of a start, with why it is ungated, if it is.
func started(req runner.StartRequest, ungated string) string {
	if ungated != "" {
		ungated = ". " + ungated
	}
	kind := map[string]string{runner.ModeBacktest: "Backtest", runner.ModePaper: "Paper run", runner.ModeLive: "Live run"}[req.Mode]
	return fmt.Sprintf("%s of %s on %s %s started%s", kind, req.StrategyName, strings.Join(req.Symbols, ", "), req.Timeframe, ungated)
}

func (a *API) stop(r *http.Request) (*edge.Answer, error) {
	s, err := a.opts.Control.Stop(context.WithoutCancel(r.Context()))
	if err != nil {
		return nil, err
	}
	return stopAnswer(s)
}

func (a *API) reset(r *http.Request) (*edge.Answer, error) {
	s, err := a.opts.Control.Reset(context.WithoutCancel(r.Context()))
	if err != nil {
		return nil, err
	}
	message := "The run was cleared; its files and its registry row stay"
	if s.RunID == "" {
		message = "There was no run to clear"
	}
	return runAnswer(s, message)
}

// runAnswer is encoded at once, so that it can be repeated byte by byte.
func runAnswer(s runner.Snapshot, message string) (*edge.Answer, error) {
	body, err := edge.Encode(view.RunResponse{RunID: s.RunID, Status: s.Status, Message: message})
	return &edge.Answer{Raw: body}, err
}
