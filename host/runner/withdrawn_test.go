package runner

import (
	"context"
	"errors"
	"testing"
)

// TestWithdrawnRunEndsAsStopped: a run that may not go on ends in good order, with the stop reason of
// a stop, although nobody had called Stop; a stop that comes later is late.
func TestWithdrawnRunEndsAsStopped(t *testing.T) {
	r := newRunner(t, Options{})
	c := newControlled()
	mustStart(t, r, c)
	c.finish(Outcome{Stopped: true, Withdrawn: true, Message: "Stopped: the deployment was killed."})
	s := waitFor(t, r, StatusCompleted)
	if s.StopReason != StopStopped || !s.Partial || s.Failure != nil ||
		s.Message != "Stopped: the deployment was killed." {
		t.Errorf("%+v", s)
	}
	var refused *Error
	if _, err := r.Stop(t.Context()); !errors.As(err, &refused) || refused.Code != RunNotActive {
		t.Errorf("a late stop: %v", err)
	}
}

// TestWithdrawnWhileStopping: of a stop and a withdrawal the stop is what is shown.
func TestWithdrawnWhileStopping(t *testing.T) {
	r := newRunner(t, Options{})
	f := &fakeExec{run: untilStopped}
	inner := f.run
	f.run = func(ctx context.Context) Outcome {
		o := inner(ctx)
		o.Withdrawn = true
		return o
	}
	mustStart(t, r, f)
	s, err := r.Stop(t.Context())
	if err != nil || s.Status != StatusCompleted || s.StopReason != StopStopped {
		t.Errorf("%+v %v", s, err)
	}
}
