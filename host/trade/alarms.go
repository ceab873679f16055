package live

import (
	"context"
	"encoding/json"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// alarms are those of one run, guarded by its gate.
type alarms struct {
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
	row := x.raiseLocked(o)
	x.gate.Unlock()
	if row != nil {
		x.tell(row.Kind, row.Data)
	}
}

// raiseLocked is Raise with the gate held; the caller writes what it returns into the journal.
func (x *Execution) raiseLocked(o alarm.Occurrence) *journal.Entry {
	x.noteLocked(o)
	a, isNew := x.alarms.set.Raise(o, market.FromTime(x.clock()))
	if !isNew {
		return nil
	}
	log := x.log.Warn
	if a.Severity != alarm.Warning {
		log = x.log.Error
	}
	log("alarm raised", "code", a.Code, "severity", string(a.Severity), "id", a.ID, "run_id", x.runID,
		"count", a.Count, "text", a.Text)
	row := rowOf(alarm.Raised, a)
	return &row
}

// noteLocked makes an alarm a warning of the results: each text once, of those that differ in numbers the
// first.
func (x *Execution) noteLocked(o alarm.Occurrence) {
	if x.alarms.noted == nil {
		x.alarms.noted = map[string]bool{}
	}
	key := o.Code + "\n" + o.Text
	if o.Once {
		key = "once\n" + o.Code + "\n" + o.Subject
	}
	if x.alarms.noted[key] {
		return
	}
	x.alarms.noted[key] = true
	x.warnings = append(x.warnings, artifact.Note{Code: o.Code, Message: o.Text})
	x.said.Host(x.lastStepLocked(), "warn", o.Text, market.Fields{{Key: "code", Value: o.Code}})
}

// Clear tells that something holds no more.
func (x *Execution) Clear(code, subject string) {
	x.gate.Lock()
	row := x.clearLocked(code, subject)
	x.gate.Unlock()
	if row != nil {
		x.tell(row.Kind, row.Data)
	}
}

func (x *Execution) clearLocked(code, subject string) *journal.Entry {
	a, was := x.alarms.set.Clear(code, subject)
	if !was {
		return nil
	}
	row := x.cleared(a)
	return &row
}

func (x *Execution) cleared(a alarm.Alarm) journal.Entry {
	x.log.Info("alarm cleared", "code", a.Code, "severity", string(a.Severity), "id", a.ID, "run_id", x.runID,
		"count", a.Count)
	return rowOf(alarm.Cleared, a)
}

// endAlarms clears what is about trading: the run is over.
func (x *Execution) endAlarms() {
	x.gate.Lock()
	over := x.alarms.set.EndRun()
	x.gate.Unlock()
	for _, a := range over {
		row := x.cleared(a)
		x.tell(row.Kind, row.Data)
	}
}

// warn raises what there is one of in a run.
func (x *Execution) warn(code, message string) { x.Raise(alarm.Occurrence{Code: code, Text: message}) }

// alarmsLeft are the alarms of a run that a crash cut short: what is about its trading ended with it.
func (l *Launcher) alarmsLeft(ctx context.Context, runID string) ([]alarm.Alarm, error) {
	var set alarm.Set
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
				ID: r.ID, Code: r.Code, Severity: r.Severity, Text: r.Message, Since: r.Since, Last: r.Last, Count: r.Count,
				Acknowledged: r.Acknowledged, Subject: r.Subject,
			})
		}
		return nil
	})
	set.EndRun()
	return set.Open(), err
}
