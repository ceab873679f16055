package evidence

import (
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
)

// How metadata.json tells that the kill switch has ended a run: by the drawdown limit of the
// host, or because the registry said so.
const (
	codeRiskKill  = "RISK_KILL"
	messageKilled = "Stopped by the deployment policy: The deployment was killed"
)

// Killed says whether the kill switch has ended the run.
func (m *Metadata) Killed() bool {
	return m.Failure != nil && m.Failure.Code == codeRiskKill ||
		m.Service != nil && strings.HasPrefix(m.Service.Message, messageKilled)
}

// CheckDrill holds a drill against the record of its run, which it carries: a paper or live
// run of the program of the bundle, which is over at this time, and in which the kill switch
// acted where the drill passed. at is the pointer of the statement. What is checked is the
// text that whoever signs vouches for: no host has signed it.
func CheckDrill(d *bundle.Drill, b *bundle.Bundle, at string, now time.Time) *bundle.Error {
	refuse := func(reason, format string, args ...any) *bundle.Error {
		e := field.Refuse(field.InvalidDrill, at, format, args...)
		e.Reason = reason
		return e
	}
	if d.Metadata == "" {
		return refuse(field.ReasonNoRecord, "a drill carries the metadata.json of its run: "+
			"governance incident --drill reads it from the state directory")
	}
	m, err := ParseMetadata([]byte(d.Metadata))
	if err != nil {
		return refuse(field.ReasonRecord, "the record of the run: %v", err)
	}
	sum := digest.SHA256Hex([]byte(d.Metadata))
	for _, run := range b.Runs {
		if run.RunID == d.RunID && run.MetadataSHA256 != "" && run.MetadataSHA256 != sum {
			return refuse(field.ReasonRecord, "the record is not the one that the bundle pins for this run")
		}
	}
	from, _ := field.ParseTime(m.Volatile.StartedAt)
	until, ended := field.ParseTime(m.Volatile.CompletedAt)
	done, _ := field.ParseTime(d.DoneAt)
	switch {
	case m.RunID != d.RunID:
		return refuse(field.ReasonRecord, "the record is of another run than the drill")
	case m.Kind != kindService || m.VenueRole() == "":
		return refuse(field.ReasonMode,
			"the run is neither a paper nor a live run: only those have a kill switch")
	case !m.SameProgram(&b.Strategy):
		return refuse(field.ReasonOtherProgram,
			"the run is not of the plugin, parameters and markets of the bundle")
	case !ended || m.Status != statusCompleted && m.Status != statusFailed:
		return refuse(field.ReasonNotOver, "the run has not ended")
	case done.After(now) || until.After(now):
		return refuse(field.ReasonAhead, "the drill or the end of its run is dated ahead")
	case done.Before(from.Truncate(time.Second)) || done.After(until):
		return refuse(field.ReasonOutside,
			"done_at is not within the run, which ended at %s", bundle.FormatTime(until))
	case d.Result == "pass" && !m.Killed():
		return refuse(field.ReasonNotKilled, "the kill switch did not act in this run: it ended otherwise")
	}
	return nil
}
