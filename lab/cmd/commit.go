package cmd

import (
	"context"
	"crypto"
	"fmt"
	"io"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/lab/candidate"
	"github.com/assay-run/assay/lab/request"
)

// pollCommitments is how often the plane is asked whether the other side has committed.
const pollCommitments = 2 * time.Second

// committing is one side of a challenge that is answered by commitments.
type committing struct {
	plane  *client.Client
	key    crypto.Signer
	keyID  string
	host   *request.Host
	doc    *bundle.Document // as the plane has it newest
	origin string
	secret *candidate.Secret // nil until it has committed
}

// openCommitting asks the plane and the state directory how far a key has come. The secret is that of the
// commitment that the plane has, nil where there is none: then the window is still to be played.
func openCommitting(ctx context.Context, a *App, h *request.Host, revision string, key crypto.Signer,
	o *planeOptions) (c *committing, err error) {
	c = &committing{key: key, host: h}
	if c.plane, err = openPlane(a, o); err != nil {
		return nil, err
	}
	if c.keyID, err = dsse.KeyID(key.Public()); err != nil {
		return nil, err
	}
	info, err := c.plane.Log(ctx)
	if err != nil {
		return nil, candidate.PlaneError(err)
	}
	c.origin = info.Origin
	if c.doc, err = c.plane.Bundle(ctx, revision); err != nil {
		return nil, candidate.PlaneError(err)
	}
	known, err := c.plane.Committed(ctx, revision)
	if err != nil {
		return nil, candidate.PlaneError(err)
	}
	kept, err := candidate.LoadSecret(h.StateDir, revision, c.keyID)
	if err != nil || kept == nil {
		return c, err
	}
	sum, err := kept.Commitment()
	if err != nil {
		return nil, err
	}
	if stored, _, _ := known.Find(c.keyID); stored == sum {
		c.secret = kept
	}
	return c, nil
}

// resumeCommitting shows what was committed to before, or gives the side that is to commit.
func resumeCommitting(ctx context.Context, a *App, h *request.Host, key crypto.Signer,
	o *replayOptions) (*committing, *shownAnswer, error) {
	c, err := openCommitting(ctx, a, h, o.Candidate, key, &o.planeOptions)
	if err != nil || c.secret == nil {
		return c, nil, err
	}
	p, err := c.show(ctx, o.Wait)
	if err != nil {
		return nil, nil, err
	}
	return nil, &shownAnswer{o.Candidate, p}, nil
}

// commit keeps an answer and signs the commitment to it.
func (c *committing) commit(a *bundle.ChallengeAnswer) (dsse.Envelope, error) {
	s, err := candidate.NewSecret(c.origin, c.doc.Bundle.CandidateRevisionID, c.key, a)
	if err != nil {
		return dsse.Envelope{}, err
	}
	if err := s.Keep(c.host.StateDir); err != nil { // before anybody can wait for it
		return dsse.Envelope{}, err
	}
	c.secret = s
	return s.Commit(c.doc, c.key, time.Now())
}

// show shows the answer once the other side has committed, for which it waits so long.
func (c *committing) show(ctx context.Context, wait time.Duration) (*candidate.Progress, error) {
	id := c.doc.Bundle.CandidateRevisionID
	sum, err := c.secret.Commitment()
	if err != nil {
		return nil, err
	}
	out := &candidate.Progress{Step: candidate.StepCommitted, Commitment: sum}
	for end := time.Now().Add(wait); ; {
		known, err := c.plane.Committed(ctx, id)
		if err != nil {
			return out, candidate.PlaneError(err)
		}
		out.Reason = known.Reason
		_, shown, opposed := known.Find(c.keyID)
		if shown {
			out.Step = candidate.StepShown
			return out, nil
		}
		if opposed {
			envelope, err := c.secret.Reveal(c.doc, c.key, time.Now())
			if err != nil {
				return out, err
			}
			if _, err := c.plane.Ingest(ctx, c.doc, envelope); err != nil {
				return out, candidate.PlaneError(err)
			}
			continue
		}
		left := time.Until(end)
		if left <= 0 {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-time.After(min(left, pollCommitments)):
		}
	}
}

// shownAnswer is the result of a command that had only to show what it had committed to.
type shownAnswer struct {
	CandidateRevisionID string              `json:"candidate_revision_id"`
	Commitment          *candidate.Progress `json:"commitment"`
}

// Print writes how far it has come.
func (s *shownAnswer) Print(out io.Writer) {
	fmt.Fprintf(out, "%s\n%s\n", s.CandidateRevisionID, s.Commitment.Text())
}
