package v1

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
)

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
		say := fmt.Sprintf("This version has no deployments that could %s anything: it is for later.", in.Action)
		return nil, problem.Say(problem.ModeNotSupported, say).With("reason", "action")
	}
	// A client that hangs up does not take back what it wanted.
	s, err := a.opts.Control.Control(context.WithoutCancel(r.Context()), runner.Command{
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

// stopAnswer is what a stop has come to.
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
