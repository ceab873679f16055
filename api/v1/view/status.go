package view

import (
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// RunResponse answers start, stop and reset.
type RunResponse struct {
	RunID   string `json:"run_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// Status is where the service stands.
type Status struct {
	RunID            string          `json:"run_id"`
	Status           string          `json:"status"`
	Mode             string          `json:"mode"`
	StartTime        market.Time     `json:"start_time"`
	RuntimeSeconds   Number          `json:"runtime_seconds"`
	Cash             Number          `json:"cash"`
	Value            Number          `json:"value"`
	PnL              Number          `json:"pnl"`
	TradeCount       int64           `json:"trade_count"`
	Phase            string          `json:"phase"`
	EndTime          market.Time     `json:"end_time"`
	UpdatedAt        market.Time     `json:"updated_at"`
	Progress         *Number         `json:"progress"`
	SimulatedTime    market.Time     `json:"simulated_time"`
	CandlesDone      int64           `json:"candles_done"`
	CandlesTotal     *int64          `json:"candles_total"`
	CandlesPerSecond Number          `json:"candles_per_second"`
	ETASeconds       *Number         `json:"eta_seconds"`
	StopReason       *string         `json:"stop_reason"`
	Partial          bool            `json:"partial"`
	Ungated          bool            `json:"ungated"`
	Message          string          `json:"message"`
	Error            *string         `json:"error"`
	ErrorDetails     *FailureDetails `json:"error_details"`
	Alarms           []Alarm         `json:"alarms"`
}

// Alarm is something that the operator has to know.
type Alarm struct {
	ID           string      `json:"id"`
	Code         string      `json:"code"`
	Severity     string      `json:"severity"`
	Text         string      `json:"text"`
	Since        market.Time `json:"since"`
	Last         market.Time `json:"last"`
	Count        int         `json:"count"`
	Acknowledged bool        `json:"acknowledged"`
}

// AlarmsOf shows alarms.
func AlarmsOf(all []alarm.Alarm) []Alarm {
	return List(all, func(a *alarm.Alarm) Alarm {
		return Alarm{
			ID: a.ID, Code: a.Code, Severity: string(a.Severity), Text: a.Text, Since: a.Since, Last: a.Last,
			Count:        a.Count,
			Acknowledged: a.Acknowledged,
		}
	})
}

// FailureDetails is why a run failed; the stored form is the one of the API.
type FailureDetails = artifact.Failure

// StatusOf shows a snapshot.
func StatusOf(s runner.Snapshot) Status {
	p := s.Progress
	v := Status{
		RunID: s.RunID, Status: s.Status, Mode: s.Mode, Phase: s.Phase,
		StartTime: moment(s.StartTime), EndTime: moment(s.EndTime), UpdatedAt: moment(s.UpdatedAt),
		RuntimeSeconds: rounded(s.Runtime.Seconds(), 3),
		Cash:           Number(p.Cash), Value: Number(p.Equity), PnL: Difference(p.Equity, p.InitialCash),
		TradeCount: p.TradeCount, SimulatedTime: p.SimulatedTime, CandlesDone: p.CandlesDone,
		CandlesPerSecond: rounded(p.CandlesPerSecond, 0),
		StopReason:       text(s.StopReason), Partial: s.Partial, Ungated: s.Ungated != "",
		Message: s.Message,
		Error:   text(s.Error), ErrorDetails: failureOf(s.Failure), Alarms: AlarmsOf(p.Alarms),
	}
	if s.Mode == runner.ModePaper || s.Mode == runner.ModeLive {
		return v
	}
	progress, eta, total := Number(0), rounded(p.ETASeconds, 2), p.CandlesTotal
	if total > 0 {
		progress = rounded(float64(p.CandlesDone)/float64(total), 6)
	}
	v.Progress, v.CandlesTotal, v.ETASeconds = &progress, &total, &eta
	return v
}

// moment is null for the zero time.
func moment(t time.Time) market.Time {
	if t.IsZero() {
		return 0
	}
	return market.FromTime(t)
}

// failureOf returns a failure without null for what is empty.
func failureOf(f *artifact.Failure) *FailureDetails {
	if f == nil {
		return nil
	}
	d := *f
	if d.LogTail == nil {
		d.LogTail = []string{}
	}
	if d.Data == nil {
		d.Data = map[string]any{}
	}
	return &d
}
