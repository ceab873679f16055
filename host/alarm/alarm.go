// Package alarm holds what an operator has to know of a paper or live run: the alarms of one run, each with
// its severity, its beginning, its last occurrence, its count and whether it was acknowledged.
//
// It is plain data and pure: package trade raises and clears by the table of the engine, the runner keeps
// what is open from the end of a run until its reset, and api/v1 shows it. It imports the nouns of the
// market only.
//
// It is a package of its own because the runner, which knows nothing of trading, shows alarms too.
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
	// Shadow reports whether nothing is done about it: it is a warning then, whatever the code.
	Shadow bool
	// Once reports whether only the first text of its kind is worth a note: those that follow differ in
	// numbers.
	Once bool
}

// What happens to an alarm, as the journal has it.
const (
	Raised       = "raised"
	Cleared      = "cleared"
	Acknowledged = "acknowledged"
)

// Set is the alarms of one run. It is not safe for concurrent use.
type Set struct {
	// Table has the severity of every code.
	Table []Row
	open  []Alarm
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
		severity := s.of(o.Code).Severity
		if o.Shadow {
			severity = Warning
		}
		s.open = append(s.open, Alarm{
			ID: fmt.Sprintf("a-%06d", s.made), Code: o.Code, Severity: severity, Since: now,
			Subject: o.Subject,
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
		ends := s.of(a.Code).EndsWithRun
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

// Open returns what holds, the worst first and then in the order in which it came.
func (s *Set) Open() []Alarm {
	list := slices.Clone(s.open)
	slices.SortStableFunc(list, func(a, b Alarm) int { return rank(a.Severity) - rank(b.Severity) })
	return list
}

func rank(s Severity) int { return slices.Index(Severities(), s) }

func (s *Set) find(code, subject string) int {
	return slices.IndexFunc(s.open, func(a Alarm) bool { return a.Code == code && a.Subject == subject })
}

// Severity is how bad it is.
type Severity string

// The severities, the worst first.
const (
	// Critical: money may be lost unwatched.
	Critical Severity = "critical"
	// Error: the trading is not what was ordered.
	Error Severity = "error"
	// Warning: the rest.
	Warning Severity = "warning"
)

// Severities are all, the worst first.
func Severities() []Severity { return []Severity{Critical, Error, Warning} }

// Row is one code.
type Row struct {
	Code     string
	Severity Severity
	// EndsWithRun reports whether it is about the trading itself, so that it means nothing once the run is
	// over.
	EndsWithRun bool
}

// of returns the row of a code. A code without one counts as an error: it must not be overlooked.
func (s *Set) of(code string) Row {
	if i := slices.IndexFunc(s.Table, func(r Row) bool { return r.Code == code }); i >= 0 {
		return s.Table[i]
	}
	return Row{Code: code, Severity: Error}
}
