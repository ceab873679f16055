package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/deploy/plane"
)

// incidentLife is for how long the statement holds; its effect is there when it arrives.
const incidentLife = 24 * time.Hour

// reporter signs incidents as this host and posts them. It is a deploy.Reporter.
type reporter struct {
	plane *plane.Plane
	key   *ecdsa.PrivateKey
	now   func() time.Time
}

// Report implements deploy.Reporter. A statement is posted beside the bundle that it is about,
// so the bundle is fetched first. What people can still mend is no final refusal for a day:
// that the key is not trusted yet, that clocks differ.
func (r *reporter) Report(ctx context.Context, i deploy.Incident) error {
	text, err := r.call(ctx, http.MethodGet, "/candidate-bundles/"+i.CandidateRevisionID, nil)
	if err != nil {
		return r.judge(err, i)
	}
	doc, refused := bundle.Decode(text)
	if refused != nil || doc.Bundle.CandidateRevisionID != i.CandidateRevisionID {
		return fmt.Errorf("%w: its bundle is not %s", deploy.ErrRefused, i.CandidateRevisionID)
	}
	if text, err = r.call(ctx, http.MethodGet, "/trust/log.json", nil); err != nil {
		return r.judge(err, i)
	}
	info, err := ledger.ParseInfo(text)
	if err != nil {
		return fmt.Errorf("%w: log.json: %w", deploy.ErrRefused, err)
	}
	err = r.post(ctx, doc, info.Origin, i, i.At)
	var no *refusal
	if errors.As(err, &no) && no.reason == field.ReasonExpired {
		// Said at the time of the incident it is the same statement each time, and one entry;
		// that time may be too long ago by now.
		err = r.post(ctx, doc, info.Origin, i, r.now())
	}
	return r.judge(err, i)
}

// judge makes a refusal final that will stay, or has stayed for a day.
func (r *reporter) judge(err error, i deploy.Incident) error {
	var no *refusal
	if errors.As(err, &no) && (!no.passes() || !r.now().Before(i.At.Add(incidentLife))) {
		return fmt.Errorf("%w: %w", deploy.ErrRefused, err)
	}
	return err
}

// post says that an incident is open.
func (r *reporter) post(ctx context.Context, doc *bundle.Document, origin string, i deploy.Incident, at time.Time) error {
	at = at.UTC()
	env, err := doc.Attest(bundle.TypeIncident, bundle.Incident{
		Common: bundle.Common{
			LogOrigin: origin, CandidateRevisionID: i.CandidateRevisionID, Reason: i.Reason,
			MadeAt: bundle.FormatTime(at), ExpiresAt: bundle.FormatTime(at.Add(incidentLife)),
		},
		IncidentID: i.ID, Event: "open", Severity: "critical",
	}, r.key)
	if err != nil {
		return fmt.Errorf("%w: %w", deploy.ErrRefused, err)
	}
	body, err := bundle.EncodePost(doc.Canonical, env)
	if err != nil {
		return errors.Join(deploy.ErrRefused, err)
	}
	_, err = r.call(ctx, http.MethodPost, "/candidate-bundles/ingest", body)
	return err
}

// refusal is an error envelope of the plane.
type refusal struct {
	status       int
	method, path string
	code, reason string
}

func (e *refusal) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.method, e.path, e.code)
	if e.reason != "" {
		text += " (" + e.reason + ")"
	}
	return text
}

// passes says whether the same statement may be taken later.
func (e *refusal) passes() bool {
	return e.status == http.StatusRequestTimeout || e.status == http.StatusTooManyRequests || e.code == string(field.InvalidSignature) ||
		e.reason == field.ReasonExpired
}

// callTime bounds one call; the whole is tried again.
const callTime = 15 * time.Second

// call returns the body of a success. What the plane refuses is a *refusal.
func (r *reporter) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	status, answer, err := r.plane.Do(ctx, method, path, body)
	switch {
	case err != nil:
		return nil, err
	case status/100 == 2:
		return answer, nil
	case status >= 400 && status < 500 && plane.Code(answer) != "":
		no := &refusal{status: status, method: method, path: path, code: plane.Code(answer)}
		var said struct {
			Error struct{ Details struct{ Reason string } }
		}
		if json.Unmarshal(answer, &said) == nil {
			no.reason = said.Error.Details.Reason
		}
		return nil, no
	}
	return nil, fmt.Errorf("%s %s: it answered %d", method, path, status)
}
