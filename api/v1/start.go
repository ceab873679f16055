package v1

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

func (a *API) startBacktest(r *request[startRequest]) (*edge.Answer, error) {
	return a.start(r, runner.ModeBacktest, a.opts.Backtests)
}

func (a *API) startLive(r *request[startRequest]) (*edge.Answer, error) {
	return a.start(r, cmp.Or(r.in.Mode, runner.ModePaper), a.opts.Trading)
}

// start starts a run, or repeats the answer to an earlier start with the same key.
func (a *API) start(r *request[startRequest], mode string, by Launcher) (*edge.Answer, error) {
	key, err := header(r.Header, "Idempotency-Key")
	if err != nil {
		return nil, err
	}
	replaced, err := header(r.Header, "Replace-Run")
	if err != nil {
		return nil, err
	}
	req := r.in.complete(mode)
	return a.keys.once(key, r.URL.Path+"\n"+replaced, r.body, func() (*edge.Answer, error) {
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
		return a.opts.Runner.Start(ctx, req, l)
	}
	return a.opts.Runner.Replace(ctx, replaced, req, l)
}

func launch(req runner.StartRequest, by Launcher) runner.LaunchFunc {
	return func(ctx context.Context, runID string) (runner.Execution, error) {
		if by == nil {
			return nil, &run.RequestError{Code: string(problem.ModeNotSupported),
				Message: fmt.Sprintf("This service does not run mode %s.", req.Mode),
				Details: map[string]any{"reason": "mode"}}
		}
		return by.Launch(ctx, runID, req)
	}
}

// started returns the message of a start, with why it is ungated, if it is.
func started(req runner.StartRequest, ungated string) string {
	if ungated != "" {
		ungated = ". " + ungated
	}
	kind := map[string]string{runner.ModeBacktest: "Backtest", runner.ModePaper: "Paper run",
		runner.ModeLive: "Live run"}[req.Mode]
	return fmt.Sprintf("%s of %s on %s %s started%s", kind, req.StrategyName, strings.Join(req.Symbols, ", "),
		req.Timeframe, ungated)
}

func (a *API) stop(r *http.Request) (*edge.Answer, error) {
	s, err := a.opts.Runner.Stop(context.WithoutCancel(r.Context()))
	if err != nil {
		return nil, err
	}
	return stopAnswer(s)
}

func (a *API) reset(r *http.Request) (*edge.Answer, error) {
	s, err := a.opts.Runner.Reset(context.WithoutCancel(r.Context()))
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

// controlRequest is the body of POST /run/controls.
type controlRequest struct {
	Action    string `json:"action"`
	Symbol    string `json:"symbol"`
	OrderID   string `json:"order_id"`
	AlarmID   string `json:"alarm_id"`
	Positions string `json:"positions"`
	Who       string `json:"who"`
	Why       string `json:"why"`
}

// check holds the rules between the action and the other fields.
func (r *controlRequest) check() []schema.Violation {
	var bad []schema.Violation
	for _, f := range []struct {
		pointer, value, action string
		required               bool
	}{
		{"/symbol", r.Symbol, "close", true},
		{"/order_id", r.OrderID, "cancel", false},
		{"/alarm_id", r.AlarmID, "acknowledge", true},
		{"/positions", r.Positions, "stop", false},
	} {
		switch {
		case f.value != "" && r.Action != f.action:
			say := "is for the action " + f.action + " only"
			bad = append(bad, schema.Violation{Pointer: f.pointer, Message: say, Rule: f.action + "_only"})
		case f.value == "" && f.required && r.Action == f.action:
			say := "is missing: the action " + f.action + " needs it"
			bad = append(bad, schema.Violation{Pointer: f.pointer, Message: say, Rule: "required"})
		}
	}
	return bad
}

// control hands a control to the run.
func (a *API) control(r *request[controlRequest]) (*edge.Answer, error) {
	in := r.in
	if slices.Contains([]string{"release", "adopt"}, in.Action) {
		say := fmt.Sprintf("This version has no deployments that could %s anything: it is for later.",
			in.Action)
		return nil, problem.WithMessage(problem.ModeNotSupported, say).With("reason", "action")
	}
	// A client that hangs up does not take back its request.
	s, err := a.opts.Runner.Control(context.WithoutCancel(r.Context()), runner.Command{
		Action: runner.Action(in.Action), Symbol: in.Symbol, OrderID: in.OrderID, AlarmID: in.AlarmID,
		Positions: in.Positions, Who: in.Who, Why: in.Why,
	})
	if err != nil {
		return nil, err
	}
	if runner.Action(in.Action) == runner.StopRun {
		return stopAnswer(s)
	}
	return runAnswer(s, s.Message)
}

// stopAnswer returns what a stop has come to.
func stopAnswer(s runner.Snapshot) (*edge.Answer, error) {
	message := s.Message
	switch {
	case s.Status == runner.StatusRunning:
		message = "The run is stopping"
	case message == "":
		message = "The run was stopped"
	}
	return runAnswer(s, message)
}

// startRequest is the body of POST /run/backtest and /run/live; their schemas name the
// fields of each.
type startRequest struct {
	runner.StartRequest
	ExchangeConfig secret `json:"exchange_config"`
}

// secret is JSON that is shown nowhere.
type secret struct{ exchange.Secret }

// UnmarshalJSON implements json.Unmarshaler.
func (s *secret) UnmarshalJSON(b []byte) error {
	s.Secret = exchange.NewSecret(string(b))
	return nil
}

// checkCash refuses what the schema takes and the ledger would round to nothing.
func checkCash(n json.Number) []schema.Violation {
	if n == "" {
		return nil
	}
	cash, err := decimal.Parse(string(n))
	if err != nil { // more digits or a smaller exponent than a decimal has
		f, _ := n.Float64()
		cash, err = decimal.NewFromFloat64(f)
	}
	if err == nil && sim.RoundCash(cash).IsPos() {
		return nil
	}
	return []schema.Violation{{Pointer: "/initial_cash",
		Message: "is 0 once rounded to the money unit: write at least 1e-10", Rule: "exclusiveMinimum"}}
}

// check holds the rules between fields.
func (r *startRequest) check() []schema.Violation {
	var bad []schema.Violation
	if r.Resume == "adopt" {
		bad = append(bad, schema.Violation{
			Pointer: "/resume", Rule: "enum",
			Message: "is not offered yet: no run takes over positions of another; write flat, release or " +
				"refuse",
		})
	}
	if r.Mode != runner.ModeLive {
		return append(bad, checkCash(r.InitialCash)...)
	}
	if r.Exchange == "" {
		bad = append(bad,
			schema.Violation{Pointer: "/exchange", Message: "is missing: mode live needs an exchange",
				Rule: "required"})
	}
	if r.InitialCash != "" {
		bad = append(bad,
			schema.Violation{Pointer: "/initial_cash",
				Message: "is for paper only: live trades the account's own cash", Rule: "paper_only"})
	}
	if r.Execution != nil {
		bad = append(bad,
			schema.Violation{Pointer: "/execution",
				Message: "is for paper only: the exchange fills live orders", Rule: "paper_only"})
	}
	return bad
}

// complete returns the request for the run machine, with every default.
func (r *startRequest) complete(mode string) runner.StartRequest {
	req := r.StartRequest
	req.Mode, req.InitialCash, req.ExchangeConfig = mode, cmp.Or(r.InitialCash, "10000"),
		r.ExchangeConfig.Secret
	for _, m := range []*json.RawMessage{&req.StrategyParams, &req.Execution} {
		if *m == nil {
			*m = json.RawMessage("{}")
		}
	}
	return req
}
