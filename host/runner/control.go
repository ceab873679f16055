package runner

import (
	"context"
	"slices"
)

// Action is what an operator wants of a run.
type Action string

// The actions.
const (
	Pause       Action = "pause"   // no entry leaves until resume
	Resume      Action = "resume"  // ends a pause
	Flatten     Action = "flatten" // pause, entries cancelled, everything sold
	Close       Action = "close"   // one symbol is sold
	Cancel      Action = "cancel"  // one order, or all entries
	Acknowledge Action = "acknowledge"
	StopRun     Action = "stop"
)

// Command is one control of a paper or live run.
type Command struct {
	Action Action
	// Symbol of a close, OrderID of a cancel ("": all entries), AlarmID of an acknowledgement.
	Symbol, OrderID, AlarmID string
	// Positions is what a stop does with them: leave, cancel or flatten; "" is the service's --on-stop.
	Positions string
	// Who and Why are what the operator says; nothing checks them.
	Who, Why string
}

// Controlled is an Execution that an operator can intervene in.
type Controlled interface {
	// Control carries a command out, or has a stop know what to do with positions. The answer is for people.
	Control(context.Context, Command) (string, error)
}

// Control hands a command to the run. Of a run that has ended alarms can be acknowledged. The answer is where
// the run stands then, its message what was done. A refusal is an *Error or what the execution says.
func (r *Runner) Control(ctx context.Context, c Command) (Snapshot, error) {
	exec, run := r.current()
	if exec == nil {
		return r.controlEnded(c)
	}
	message := ""
	controlled, ok := exec.(Controlled)
	switch {
	case ok:
		var err error
		if message, err = controlled.Control(ctx, c); err != nil {
			return Snapshot{}, err
		}
	case c.Action != StopRun || c.Positions != "":
		return Snapshot{}, newError(ControlNotSupported, r.Status(), nil)
	}
	if c.Action == StopRun {
		return r.Stop(ctx)
	}
	r.opts.Logger.Info("control", "run_id", run.id, "action", string(c.Action), "who", c.Who, "why", c.Why,
		"outcome", message)
	now := r.Status()
	now.Message = message
	return now, nil
}

func (r *Runner) controlEnded(c Command) (Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.snapshotLocked()
	if c.Action != Acknowledge || r.run == nil {
		return Snapshot{}, newError(RunNotActive, now, nil)
	}
	p := &r.run.report.Snapshot.Progress
	list := slices.Clone(p.Alarms)
	for i := range list {
		if list[i].ID == c.AlarmID {
			list[i].Acknowledged = true
			p.Alarms = list
			r.opts.Logger.Info("control", "run_id", r.run.id, "action", string(c.Action), "alarm", c.AlarmID,
				"who", c.Who, "why", c.Why)
			now = r.snapshotLocked()
			now.Message = "Alarm " + c.AlarmID + " is acknowledged"
			return now, nil
		}
	}
	return Snapshot{}, newError(NoAlarm, now, nil)
}
