package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Incident is a critical incident to be opened at the control plane: it suspends the revision
// and everything that would run the same, and kills what runs elsewhere.
type Incident struct {
	ID                         string
	CandidateRevisionID, RunID string
	Reason                     string
	At                         time.Time
}

// Reporter signs an incident and posts it. An error that is ErrRefused is final; any other may
// pass by itself.
type Reporter interface {
	Report(ctx context.Context, i Incident) error
}

// ErrRefused is a Reporter's error where the control plane said no.
var ErrRefused = errors.New("the control plane refused the statement")

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// RiskKill tells the control plane that a run ended by RISK_KILL. It tries until the plane has
// answered or ctx ends, so call it beside the end of the run. It does nothing without a
// Reporter and for a run that no entry is known of.
func (p *Policy) RiskKill(ctx context.Context, a *Admission, runID, reason string) error {
	if p.opts.Reporter == nil || a.CandidateRevisionID == "" {
		return nil
	}
	i := Incident{
		ID: "risk-kill." + runID, CandidateRevisionID: a.CandidateRevisionID, RunID: runID, Reason: reason, At: p.opts.Now(),
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := p.opts.Reporter.Report(ctx, i)
		switch {
		case err == nil:
			p.opts.Logger.Warn("critical incident opened", "incident_id", i.ID, "candidate_revision_id", i.CandidateRevisionID)
			return nil
		case errors.Is(err, ErrRefused):
			return fmt.Errorf("incident %s: %w", i.ID, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("incident %s was not posted: %w", i.ID, errors.Join(err, context.Cause(ctx)))
		}
	}
}
