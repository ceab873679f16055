// Package alarm holds what an operator has to know of a paper or live run: the table of codes with their
// severities, and the alarms of one run, each with its beginning, its last occurrence, its count and whether
// somebody has acknowledged it.
//
// It is plain data and pure: package live raises and clears, the runner keeps what is open through the end of
// a run until its reset, and api/v1 shows it. It imports the nouns of the market only.
package alarm

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Alarm is something that an operator has to know, as long as it holds.
type Alarm struct {
	// ID is unique in a run.
	ID       string
	Code     string
	Severity Severity
	// Text is for people, of the last occurrence.
	Text string
	// Since is the first occurrence since it was last clear, Last the newest one; Count has all of the run.
	Since, Last  market.Time
	Count        int
	Acknowledged bool
	// Subject is what it is about, for instance a symbol; there is one alarm a code and subject.
	Subject string
}

// Occurrence is one time that something happens.
type Occurrence struct {
	Code, Subject, Text string
	// Shadow says that nothing is done about it: it is a warning then, whatever the code.
	Shadow bool
	// Once says that only the first text of its kind is worth a note: those that follow differ in numbers.
	Once bool
}

// What happens to an alarm, as the journal has it.
const (
	Raised       = "raised"
	Cleared      = "cleared"
	Acknowledged = "acknowledged"
)

// Set is the alarms of one run. It is not safe for concurrent use; its zero value is empty.
type Set struct {
	open []Alarm
	// counts are the occurrences of all kinds, those that are clear included.
	counts map[string]int
	made   int
}

func key(code, subject string) string { return code + "\n" + subject }

// Raise takes an occurrence. The alarm is new unless one of its code and subject is open.
func (s *Set) Raise(o Occurrence, now market.Time) (a Alarm, isNew bool) {
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	k := key(o.Code, o.Subject)
	s.counts[k]++
	i := s.find(o.Code, o.Subject)
	if i < 0 {
		s.made++
		severity := of(o.Code).Severity
		if o.Shadow {
			severity = Warning
		}
		s.open = append(s.open, Alarm{
			ID: fmt.Sprintf("a-%06d", s.made), Code: o.Code, Severity: severity, Since: now, Subject: o.Subject,
		})
		i, isNew = len(s.open)-1, true
	}
	at := &s.open[i]
	at.Text, at.Last, at.Count = o.Text, now, s.counts[k]
	return *at, isNew
}

// Clear ends an alarm whose condition is over; false where there is none.
func (s *Set) Clear(code, subject string) (Alarm, bool) {
	i := s.find(code, subject)
	if i < 0 {
		return Alarm{}, false
	}
	a := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	return a, true
}

// EndRun clears what means nothing once the run is over, and returns it.
func (s *Set) EndRun() []Alarm {
	var over []Alarm
	s.open = slices.DeleteFunc(s.open, func(a Alarm) bool {
		ends := of(a.Code).EndsWithRun
		if ends {
			over = append(over, a)
		}
		return ends
	})
	return over
}

// Acknowledge marks an open alarm as seen; false where there is none.
func (s *Set) Acknowledge(id string) (Alarm, bool) {
	for i := range s.open {
		if s.open[i].ID == id {
			s.open[i].Acknowledged = true
			return s.open[i], true
		}
	}
	return Alarm{}, false
}

// Restore puts an alarm back that the journal has.
func (s *Set) Restore(a Alarm) {
	if i := s.find(a.Code, a.Subject); i >= 0 {
		s.open[i] = a
	} else {
		s.open = append(s.open, a)
	}
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[key(a.Code, a.Subject)] = a.Count
	var n int
	if _, err := fmt.Sscanf(a.ID, "a-%d", &n); err == nil {
		s.made = max(s.made, n)
	}
}

// Open is what holds, the worst first and then in the order in which it came.
func (s *Set) Open() []Alarm {
	list := slices.Clone(s.open)
	slices.SortStableFunc(list, func(a, b Alarm) int { return rank(a.Severity) - rank(b.Severity) })
	return list
}

func rank(s Severity) int { return slices.Index(Severities(), s) }

func (s *Set) find(code, subject string) int {
	return slices.IndexFunc(s.open, func(a Alarm) bool { return a.Code == code && a.Subject == subject })
}

// Severity says how bad it is.
type Severity string

// The severities, the worst first.
const (
	// Critical: money may be lost while nobody looks.
	Critical Severity = "critical"
	// Error: the trading is not what was ordered.
	Error Severity = "error"
	// Warning: the rest.
	Warning Severity = "warning"
)

// Severities are all, the worst first.
func Severities() []Severity { return []Severity{Critical, Error, Warning} }

// The codes that belong to no package below.
const (
	// PositionUnprotected: a position lacks the protection that it was given.
	PositionUnprotected = "POSITION_UNPROTECTED"
	// PositionsLeft: a run has ended and left positions or orders behind.
	PositionsLeft = "POSITIONS_LEFT"
	// OrderRejected: an order of the strategy was rejected.
	OrderRejected = "ORDER_REJECTED"
)

// Row is one code.
type Row struct {
	Code     string
	Severity Severity
	// EndsWithRun says that it is about the trading itself, so that it means nothing once the run is over.
	EndsWithRun bool
}

// Table is every code, the worst first. docs/operators.md says of each what to do.
func Table() []Row {
	return []Row{
		{PositionUnprotected, Critical, false},
		{"ORDER_FATE_UNKNOWN", Critical, false},
		{PositionsLeft, Error, false},
		{"EXIT_NOT_PLACED", Error, false},
		{"BALANCE_DRIFT", Error, false},
		{"OVERFILL", Error, false},
		{"FILL_CONFLICT", Error, false},
		{"ORDER_CONFLICT", Error, false},
		{"DEPLOYMENT_REVOKED", Error, false},
		{"DEPLOYMENT_SUSPENDED", Error, true},
		{"RISK_KILL", Error, false},
		{"BANKRUPT", Error, false},
		{"DAILY_LOSS_EXCEEDED", Error, true},
		{"FILL_RATE_EXCEEDED", Error, true},
		{"REJECTS_EXCEEDED", Error, true},
		{"CANDLES_MISSING", Error, true},
		{"CONNECTOR_CRASHED", Error, true},
		{"BANNED", Error, true},
		{"MARKET_STATUS", Error, true},
		{OrderRejected, Error, true},
		{"ORDER_NOTIONAL_EXCEEDED", Error, true},
		{"POSITION_NOTIONAL_EXCEEDED", Error, true},
		{"GROSS_NOTIONAL_EXCEEDED", Error, true},
		{"PRICE_OUTSIDE_COLLAR", Error, true},
		{"CANDLE_STALE", Error, true},
		{"ORDER_RATE_EXCEEDED", Error, true},
		{"ORDER_DUPLICATE", Error, true},
		{"STATE_REDUCING", Error, true},
		{"STATE_HALTED", Error, true},
		{"CANDLE_CORRECTED", Warning, true},
		{"CANDLE_MISSING", Warning, true},
		{"CANDLE_INVALID", Warning, true},
		{"CANDLE_UNREACHABLE", Warning, true},
		{"STREAM_RECONCILING", Warning, true},
		{"ORDER_UNKNOWN", Warning, false},
		{"NEVER_REACHED_VENUE", Warning, true},
		{"CALL_UNANSWERED", Warning, true},
		{"LATE_FILL", Warning, false},
		{"FOREIGN_ORDERS", Warning, false},
		{"TRANSFER_BOOKED", Warning, false},
		{"FEES_NOT_VALUED", Warning, false},
		{"SIZE_CLAMPED", Warning, true},
		{"CLOCK_SKEW", Warning, true},
		{"CONNECTOR_RELAUNCHED", Warning, true},
		{"OPERATOR_PAUSED", Warning, true},
		{"DEPLOYMENT_EXPIRED", Warning, true},
		{"DEPLOYMENT_NOT_APPROVED", Warning, true},
		{"DEPLOYMENT_MODE_NOT_ALLOWED", Warning, true},
		{"DEPLOYMENT_LIMIT_EXCEEDED", Warning, true},
		{"REGISTRY_INVALID", Warning, true},
		{"REGISTRY_UNSIGNED", Warning, true},
		{"REGISTRY_SIGNATURE_INVALID", Warning, true},
		{"REGISTRY_FAMILY_MISMATCH", Warning, true},
		{"REGISTRY_EXPIRED", Warning, true},
		{"REGISTRY_ROLLBACK", Warning, true},
		{"REGISTRY_UNAVAILABLE", Warning, true},
		{"REGISTRY_NOT_KEPT", Warning, true},
	}
}

// of is the row of a code. One that nobody has entered counts as an error: it must not be overlooked.
func of(code string) Row {
	for _, r := range Table() {
		if r.Code == code {
			return r
		}
	}
	return Row{Code: code, Severity: Error}
}

// Known says whether the table has a code.
func Known(code string) bool {
	for _, r := range Table() {
		if r.Code == code {
			return true
		}
	}
	return false
}
