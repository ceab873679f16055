package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// WatchInterval is the time between two questions about a run that is on.
const WatchInterval = time.Minute

// Act is what a run has to do.
type Act string

// The acts. Stop is the last one: a controlled stop, as if it had been requested.
const (
	Stop   Act = "stop"
	Reduce Act = "reduce"
	// Resume ends a Reduce.
	Resume Act = "resume"
	// Alarm is for people: the run goes on. Clear ends it.
	Alarm Act = "alarm"
	Clear Act = "clear"
)

// Event is an act with its reason.
type Event struct {
	Act Act
	Notice
}

// Watch follows the registry while a run is on.
type Watch struct {
	Policy    *Policy
	Admission Admission
	// On is called from Run's goroutine, once for each change; it must not block for long.
	On func(Event)
	// Interval is WatchInterval if zero.
	Interval time.Duration

	alarm   Notice
	reduced bool
}

// Run asks again at each interval until ctx ends or a stop was told. A run that the policy only
// warns about is told alarms alone; one that nothing is asked about just waits for ctx.
func (w *Watch) Run(ctx context.Context) {
	if !w.Admission.watched {
		<-ctx.Done()
		return
	}
	every := w.Interval
	if every <= 0 {
		every = WatchInterval
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.look(ctx) {
				return
			}
		}
	}
}

// look asks once and reports whether the run must stop.
func (w *Watch) look(ctx context.Context) (stopped bool) {
	got, err := w.Policy.ask(ctx, w.Admission.Family)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		// What does not count decides nothing, neither to stop nor to go on as before.
		w.raise(noticeOf(err))
		return false
	}
	e, gone := w.find(got.registry)
	if w.Admission.Ungated != "" {
		w.raise(w.warning(e, gone))
		return false
	}
	if gone != nil {
		w.On(Event{Stop, *gone})
		return true
	}
	w.reduce(e)
	switch {
	case got.away != nil:
		w.raise(notice(got.away))
	case got.notKept != nil:
		w.raise(Notice{RegistryNotKept, got.notKept.Error()})
	case e.expired(w.Policy.opts.Now()):
		w.raise(Notice{DeploymentExpired,
			fmt.Sprintf("The evidence for this deployment expired at %s; the run goes on.",
				e.ExpiresAt.Format(time.RFC3339))})
	default:
		w.raise(Notice{})
	}
	return false
}

func noticeOf(err error) Notice {
	var r *Refusal
	if errors.As(err, &r) {
		return notice(r)
	}
	return Notice{RegistryUnavailable, err.Error()}
}

// find returns the entry that the run is on by, or why there is none any more.
func (w *Watch) find(reg *Registry) (*Entry, *Notice) {
	r := &w.Admission.request
	fit, _ := reg.entries(r)
	var e *Entry
	for _, one := range fit {
		if one.DeployableID == w.Admission.DeployableID {
			e = one
			break
		}
	}
	revoked := func(format string, args ...any) *Notice {
		return &Notice{DeploymentRevoked, fmt.Sprintf(format, args...)}
	}
	switch {
	case e == nil:
		return nil, revoked("The registry of %s, version %d, has no entry for this deployment any more.",
			reg.FamilyID, reg.Version)
	case e.Kill:
		return e, revoked("The deployment was killed%s.", e.because())
	case e.Status != StatusActive && e.Status != StatusSuspended:
		return e, revoked("The deployment is %s%s.", e.Status, e.because())
	case !e.Allows(r.Mode):
		return e, revoked("The deployment is not approved for mode %s any more.", r.Mode)
	}
	return e, nil
}

// warning returns what a run would be told if the policy were enforced.
func (w *Watch) warning(e *Entry, gone *Notice) Notice {
	switch {
	case gone != nil:
		return *gone
	case e.Status == StatusSuspended:
		return suspended(e)
	}
	return Notice{}
}

func suspended(e *Entry) Notice {
	return Notice{DeploymentSuspended,
		fmt.Sprintf("The deployment is suspended%s: positions may only shrink.", e.because())}
}

// reduce raises a change between active and suspended.
func (w *Watch) reduce(e *Entry) {
	switch now := e.Status == StatusSuspended; {
	case now && !w.reduced:
		w.reduced = true
		w.On(Event{Reduce, suspended(e)})
	case !now && w.reduced:
		w.reduced = false
		w.On(Event{Resume, Notice{DeploymentSuspended, "The deployment is active again."}})
	}
}

// raise sends an alarm when its code changes; the zero notice clears it.
func (w *Watch) raise(n Notice) {
	if n.Code == w.alarm.Code {
		return
	}
	before := w.alarm
	w.alarm = n
	if n.Code == "" {
		w.On(Event{Clear, before})
		return
	}
	w.On(Event{Alarm, n})
}
