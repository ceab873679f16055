package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/deploy"
)

const (
	// incidentLife is for how long the statement holds; its effect is there when it arrives.
	incidentLife = 24 * time.Hour
	// callTime bounds one call; the whole is tried again.
	callTime = 15 * time.Second
)

// reporter signs incidents as this host and posts them. It is a [deploy.Reporter].
type reporter struct {
	plane *client.Client
	key   *ecdsa.PrivateKey
	now   func() time.Time
}

// Report implements [deploy.Reporter]. A statement is posted beside the bundle that it is about,
// so the bundle is fetched first. What people can still mend is no final refusal for a day:
// that the key is not trusted yet, that clocks differ.
func (r *reporter) Report(ctx context.Context, i deploy.Incident) error {
	doc, err := r.plane.Bundle(ctx, i.CandidateRevisionID)
	if err != nil {
		return r.judge(err, i)
	}
	info, err := r.plane.Log(ctx)
	if err != nil {
		return r.judge(err, i)
	}
	err = r.post(ctx, doc, info.Origin, i, i.At)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Reason == field.ReasonExpired {
		// With the time of the incident it is the same statement each time, and one entry; that
		// time may be too long ago by now.
		err = r.post(ctx, doc, info.Origin, i, r.now())
	}
	return r.judge(err, i)
}

// judge makes a refusal final that will stay, or has stayed for a day.
func (r *reporter) judge(err error, i deploy.Incident) error {
	var refused *client.RefusedError
	var untrusted *client.UntrustedError
	stays := errors.As(err, &refused) && refused.Status < http.StatusInternalServerError &&
		(!passes(refused) || !r.now().Before(i.At.Add(incidentLife)))
	if stays || errors.As(err, &untrusted) {
		return fmt.Errorf("%w: %w", deploy.ErrRefused, err)
	}
	return err
}

// passes reports whether the same statement may be taken later.
func passes(e *client.RefusedError) bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests ||
		e.Code == string(field.InvalidSignature) || e.Reason == field.ReasonExpired
}

// post signs the statement that an incident is open, and posts it.
func (r *reporter) post(
	ctx context.Context, doc *bundle.Document, origin string, i deploy.Incident, at time.Time,
) error {
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
	_, err = r.plane.Post(ctx, body)
	return err
}
