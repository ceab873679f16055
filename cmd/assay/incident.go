package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/assay-run/assay/governance/bundle"
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
}

// Report implements deploy.Reporter. A statement is posted beside the bundle that it is about,
// so the bundle is fetched first.
func (r *reporter) Report(ctx context.Context, i deploy.Incident) error {
	text, err := r.call(ctx, http.MethodGet, "/candidate-bundles/"+i.CandidateRevisionID, nil)
	if err != nil {
		return err
	}
	doc, refused := bundle.Decode(text)
	if refused != nil || doc.Bundle.CandidateRevisionID != i.CandidateRevisionID {
		return fmt.Errorf("%w: its bundle is not %s", deploy.ErrRefused, i.CandidateRevisionID)
	}
	if text, err = r.call(ctx, http.MethodGet, "/trust/log.json", nil); err != nil {
		return err
	}
	info, err := ledger.ParseInfo(text)
	if err != nil {
		return fmt.Errorf("%w: log.json: %w", deploy.ErrRefused, err)
	}
	at := i.At.UTC()
	env, err := doc.Attest(bundle.TypeIncident, bundle.Incident{
		Common: bundle.Common{
			LogOrigin: info.Origin, CandidateRevisionID: i.CandidateRevisionID, Reason: i.Reason,
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

// callTime bounds one call; the whole is tried again.
const callTime = 15 * time.Second

// call returns the body of a success. What the plane refuses for good is deploy.ErrRefused.
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
		return nil, fmt.Errorf("%w: %s %s: %s", deploy.ErrRefused, method, path, plane.Code(answer))
	}
	return nil, fmt.Errorf("%s %s: it answered %d", method, path, status)
}
