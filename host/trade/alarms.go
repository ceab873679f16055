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
	al.run.notes.said.Host(al.run.lastStepLocked(), "warn", o.Text, market.Fields{{Key: "code", Value: o.Code}})
}

// Clear tells that something holds no more.
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
	al.run.log.Info("alarm cleared", "code", a.Code, "severity", string(a.Severity), "id", a.ID, "run_id", al.run.runID,
		"count", a.Count)
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
