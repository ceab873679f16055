package trade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// logControl has what an operator wanted of the run: who and why are what was said, nothing checks them.
const logControl = "control"

// controlLimit is how long the loop of a live run may take to answer.
const controlLimit = 5 * time.Second

// controlRow is an entry of the kind logControl. Refused is why nothing came of it.
type controlRow struct {
	Action    runner.Action `json:"action"`
	Who       string        `json:"who"`
	Why       string        `json:"why"`
	Symbol    string        `json:"symbol,omitempty"`
	OrderID   string        `json:"order_id,omitempty"`
	AlarmID   string        `json:"alarm_id,omitempty"`
	Positions string        `json:"positions,omitempty"`
	Refused   string        `json:"refused,omitempty"`
}

// Control implements runner.Controlled. What is wanted is in the journal before it is done.
func (x *Execution) Control(ctx context.Context, c runner.Command) (string, error) {
	if c.Symbol != "" && !slices.Contains(x.setup.plan.Symbols, market.Symbol(c.Symbol)) {
		err := fmt.Errorf("is not a symbol of the run: it trades %v", x.setup.plan.Symbols)
		return "", run.Invalid("/symbol", err)
	}
	x.gate.Lock()
	book := x.journal
	x.gate.Unlock()
	switch {
	case book == nil && c.Action == runner.StopRun:
		return "", nil // nothing has begun that the choice could be about
	case book == nil:
		return "", refusedControl(notTrading("The run is only starting."))
	}
	row := controlRow{
		Action: c.Action, Who: c.Who, Why: c.Why, Symbol: c.Symbol, OrderID: c.OrderID, AlarmID: c.AlarmID,
		Positions: c.Positions,
	}
	if err := book.Log(ctx, logControl, row); err != nil {
		return "", fmt.Errorf("the control could not be written to the journal, so nothing was done: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, controlLimit)
	defer cancel()
	text, err := x.runControl(ctx, c)
	refused, ok := errors.AsType[*engine.Refused](err)
	switch {
	case err == nil:
		return text, nil
	case ok:
		row.Refused, err = refused.Reason, refusedControl(refused)
	default:
		row.Refused = "not_supported"
	}
	x.writeLog(logControl, row)
	return "", err
}

func notTrading(message string) *engine.Refused {
	return &engine.Refused{Reason: "not_trading", Message: message}
}

func refusedControl(r *engine.Refused) error {
	pointer := map[string]string{"no_position": "/symbol", "no_order": "/order_id",
		"no_alarm": "/alarm_id"}[r.Reason]
	field := run.FieldError{Pointer: cmp.Or(pointer, "/action"), Message: r.Message, Rule: r.Reason}
	return &run.RequestError{Code: run.CodeValidationFailed, Message: r.Message,
		Fields: []run.FieldError{field}}
}

func (x *Execution) runControl(ctx context.Context, c runner.Command) (string, error) {
	x.gate.Lock()
	e, phase := x.trading, x.phase
	x.gate.Unlock()
	trades := phase == engine.Trading || phase == engine.Reducing || phase == engine.Halted
	switch {
	case c.Action == runner.Acknowledge:
		return x.acknowledgeOne(ctx, e, c.AlarmID)
	case c.Action == runner.StopRun:
		return "", x.stopAs(e, c.Positions)
	case !trades:
		return "", notTrading(fmt.Sprintf("The run is in phase %s and does not trade.", phase))
	case e == nil:
		return x.paper.controlPaper(c)
	}
	switch c.Action {
	case runner.Pause:
		return e.Pause(ctx)
	case runner.Resume:
		return e.Resume(ctx)
	case runner.Flatten:
		return e.Flatten(ctx)
	case runner.Close:
		return e.Close(ctx, market.Symbol(c.Symbol))
	case runner.Cancel:
		return e.Cancel(ctx, c.OrderID)
	}
	return "", notSupported(c.Action)
}

func notSupported(a runner.Action) error {
	return run.Refuse(run.CodeModeNotSupported, map[string]any{"reason": "action"},
		"This version has no control %q.", a)
}

// acknowledgeOne marks an alarm as seen; a difference of the balances is booked, which ends it.
func (x *Execution) acknowledgeOne(ctx context.Context, e *engine.Engine, id string) (string, error) {
	text, err := x.alarms.acknowledge(id)
	if err != nil || e == nil {
		return text, err
	}
	x.gate.Lock()
	drift := slices.ContainsFunc(x.alarms.set.Open(), func(a alarm.Alarm) bool {
		return a.ID == id && a.Code == engine.CodeBalanceDrift
	})
	x.gate.Unlock()
	if !drift {
		return text, nil
	}
	return e.AcknowledgeDrift(ctx)
}

// acknowledge marks an alarm as seen.
func (al *alarms) acknowledge(id string) (string, error) {
	al.run.gate.Lock()
	a, ok := al.set.Acknowledge(id)
	al.run.gate.Unlock()
	if !ok {
		say := fmt.Sprintf("The run has no open alarm %s.", id)
		return "", &engine.Refused{Reason: "no_alarm", Message: say}
	}
	row := rowOf(alarm.Acknowledged, a)
	al.run.writeLog(row.Kind, row.Data)
	return "Alarm " + id + " is acknowledged", nil
}

// stopAs sets what the stop that follows does with orders and positions. The books of a paper run keep
// positions, and can sell them with a candle only.
func (x *Execution) stopAs(e *engine.Engine, positions string) error {
	switch {
	case positions == "":
		return nil
	case e == nil && engine.OnStop(positions) == engine.Flatten:
		return run.Refuse(run.CodeModeNotSupported, map[string]any{"reason": "mode"},
			"A paper run sells with its next candle: flatten it, and stop it once it is flat.")
	case e != nil:
		e.StopAs(engine.OnStop(positions))
	}
	return nil
}

// controlPaper returns a control of a paper run: what it orders goes to the simulator with the next close,
// as the strategy's orders do, and is in the journal with them.
func (pp *paperRun) controlPaper(c runner.Command) (string, error) {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	d := pp.recorder
	if d == nil {
		return "", notTrading("The run does not trade yet.")
	}
	defer d.src.nudge()
	const when = " with the next candle"
	switch c.Action {
	case runner.Pause:
		d.pauseEntries()
		return "Entries are paused", nil
	case runner.Resume:
		return d.resumeEntries()
	case runner.Flatten:
		d.pauseEntries()
		n := d.cancelEntries()
		held := d.closePositions("")
		return fmt.Sprintf("Entries are paused; %d are cancelled and %d positions sold%s", n, held, when), nil
	case runner.Close:
		if d.closePositions(market.Symbol(c.Symbol)) == 0 {
			say := fmt.Sprintf("The run holds no %s.", c.Symbol)
			return "", &engine.Refused{Reason: "no_position", Message: say}
		}
		return "The position in " + c.Symbol + " is closed" + when, nil
	case runner.Cancel:
		if c.OrderID == "" {
			return fmt.Sprintf("%d entries are cancelled%s", d.cancelEntries(), when), nil
		}
		if !d.cancelOrder(c.OrderID) {
			say := fmt.Sprintf("The run has no open order %s.", c.OrderID)
			return "", &engine.Refused{Reason: "no_order", Message: say}
		}
		return "Order " + c.OrderID + " is cancelled" + when, nil
	}
	return "", notSupported(c.Action)
}

// pauseEntries lets no entry pass until resume. What follows is called with the gate held.
func (d *journalRecorder) pauseEntries() {
	const why = "the operator has paused the entries"
	d.watch.guard.Raise(risk.Reason{
		Code: engine.CodePaused, State: risk.Reducing, Clears: risk.WhenGone, Since: d.src.clock.Now(),
		Message: why,
	})
	d.Raise(alarm.Occurrence{Code: engine.CodePaused, Text: why})
}

func (d *journalRecorder) resumeEntries() (string, error) {
	if !d.watch.guard.Stands(engine.CodePaused) {
		return "", &engine.Refused{Reason: "not_paused", Message: "The run is not paused."}
	}
	d.watch.guard.Clear(engine.CodePaused)
	d.Clear(engine.CodePaused, "")
	return "Entries are let again", nil
}

// denyPaused refuses an entry while entries are paused, also where the limits only watch.
func (d *journalRecorder) denyPaused(o *market.Order, shrinks bool) string {
	if shrinks || !d.watch.guard.Stands(engine.CodePaused) {
		return ""
	}
	d.recordVerdicts(o.ID, []risk.Verdict{{
		Code: risk.StateReducing, Symbol: o.Symbol, Value: string(risk.Reducing),
		Message: "positions may only shrink: the operator has paused the entries",
	}})
	return string(risk.StateReducing)
}

func (d *journalRecorder) cancelEntries() (n int) {
	for _, o := range d.x.paper.engine.OpenOrders() {
		if o.Role == market.RoleEntry && !o.ReduceOnly {
			n++
			d.wanted = append(d.wanted, market.Intent{Action: market.Cancel, Ref: o.ID.String()})
		}
	}
	return n
}

func (d *journalRecorder) cancelOrder(id string) bool {
	open := slices.ContainsFunc(d.x.paper.engine.OpenOrders(), func(o market.Order) bool {
		return o.ID.String() == id
	})
	if open {
		d.wanted = append(d.wanted, market.Intent{Action: market.Cancel, Ref: id})
	}
	return open
}

// closePositions closes the position of a symbol, or ("") every one, and counts them.
func (d *journalRecorder) closePositions(s market.Symbol) (n int) {
	held, _ := d.x.paper.engine.Positions() // what cannot be valued ends the run elsewhere
	for _, p := range held {
		if s == "" || p.Symbol == s {
			n++
			in := market.Intent{Action: market.Close, Symbol: p.Symbol, Tag: "operator"}
			d.wanted = append(d.wanted, in)
		}
	}
	return n
}

// alarms are those of one run, guarded by its gate.
type alarms struct {
	run *Execution
	set alarm.Set
	// noted are the warnings that the results have.
	noted map[string]bool
}

// alarmRow is an entry of the journal of the kind logAlarm. Those of before the alarms were kept have code
// and message.
type alarmRow struct {
	Event        string         `json:"event,omitempty"`
	ID           string         `json:"id,omitempty"`
	Code         string         `json:"code"`
	Severity     alarm.Severity `json:"severity,omitempty"`
	Subject      string         `json:"subject,omitempty"`
	Message      string         `json:"message"`
	Since        market.Time    `json:"since,omitempty"`
	Last         market.Time    `json:"last,omitempty"`
	Count        int            `json:"count,omitempty"`
	Acknowledged bool           `json:"acknowledged,omitempty"`
}

func rowOf(event string, a alarm.Alarm) journal.Entry {
	return journal.Entry{Kind: logAlarm, Data: alarmRow{
		Event: event, ID: a.ID, Code: a.Code, Severity: a.Severity, Subject: a.Subject, Message: a.Text,
		Since: a.Since, Last: a.Last, Count: a.Count, Acknowledged: a.Acknowledged,
	}}
}

// Raise takes an occurrence: into the alarms, and the first of its kind into the warnings, the log and the
// journal.
func (x *Execution) Raise(o alarm.Occurrence) {
	x.gate.Lock()
	row := x.alarms.raiseLocked(o)
	x.gate.Unlock()
	if row != nil {
		x.writeLog(row.Kind, row.Data)
	}
}

// raiseLocked is Raise with the gate held; the caller writes what it returns into the journal.
func (al *alarms) raiseLocked(o alarm.Occurrence) *journal.Entry {
	al.noteLocked(o)
	a, isNew := al.set.Raise(o, market.FromTime(al.run.clock()))
	if !isNew {
		return nil
	}
	log := al.run.log.Warn
	if a.Severity != alarm.Warning {
		log = al.run.log.Error
	}
	log("alarm raised", "code", a.Code, "severity", string(a.Severity), "id", a.ID, "run_id", al.run.runID,
		"count", a.Count, "text", a.Text)
	row := rowOf(alarm.Raised, a)
	return &row
}

// noteLocked makes an alarm a warning of the results: each text once, of those that differ in numbers the
// first.
func (al *alarms) noteLocked(o alarm.Occurrence) {
	if al.noted == nil {
		al.noted = map[string]bool{}
	}
	key := o.Code + "\n" + o.Text
	if o.Once {
		key = "once\n" + o.Code + "\n" + o.Subject
	}
	if al.noted[key] {
		return
	}
	al.noted[key] = true
	al.run.notes.warnings = append(al.run.notes.warnings, artifact.Note{Code: o.Code, Message: o.Text})
	al.run.notes.output.Host(al.run.lastStepLocked(), "warn", o.Text,
		market.Fields{{Key: "code", Value: o.Code}})
}

// Clear ends an alarm: its condition is over.
func (x *Execution) Clear(code, subject string) {
	x.gate.Lock()
	row := x.alarms.clearLocked(code, subject)
	x.gate.Unlock()
	if row != nil {
		x.writeLog(row.Kind, row.Data)
	}
}

func (al *alarms) clearLocked(code, subject string) *journal.Entry {
	a, was := al.set.Clear(code, subject)
	if !was {
		return nil
	}
	row := al.logCleared(a)
	return &row
}

func (al *alarms) logCleared(a alarm.Alarm) journal.Entry {
	al.run.log.Info("alarm cleared", "code", a.Code, "severity", string(a.Severity), "id", a.ID, "run_id",
		al.run.runID, "count", a.Count)
	return rowOf(alarm.Cleared, a)
}

// endAlarms clears what is about trading: the run is over.
func (al *alarms) endAlarms() {
	al.run.gate.Lock()
	over := al.set.EndRun()
	al.run.gate.Unlock()
	for _, a := range over {
		row := al.logCleared(a)
		al.run.writeLog(row.Kind, row.Data)
	}
}

// warn raises what there is one of in a run.
func (x *Execution) warn(code, message string) { x.Raise(alarm.Occurrence{Code: code, Text: message}) }

// alarmsLeft are the alarms of a run that a crash cut short: what is about its trading ended with it.
func (l *Launcher) alarmsLeft(ctx context.Context, runID string) ([]alarm.Alarm, error) {
	set := alarm.Set{Table: engine.AlarmTable()}
	err := journal.Each(func(p journal.Page) (journal.Rows[journal.Entry], error) {
		return l.opts.Journal.Log(ctx, runID, p, logAlarm)
	}, func(e journal.Entry) error {
		raw, _ := e.Data.(json.RawMessage)
		var r alarmRow
		if err := json.Unmarshal(raw, &r); err != nil {
			return err
		}
		switch r.Event {
		case alarm.Cleared:
			set.Clear(r.Code, r.Subject)
		case alarm.Raised, alarm.Acknowledged:
			set.Restore(alarm.Alarm{
				ID: r.ID, Code: r.Code, Severity: r.Severity, Text: r.Message, Since: r.Since, Last: r.Last,
				Count:        r.Count,
				Acknowledged: r.Acknowledged, Subject: r.Subject,
			})
		}
		return nil
	})
	set.EndRun()
	return set.Open(), err
}
