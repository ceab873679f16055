package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/deploy"
)

const (
	familyFlag     = "strategy-family"
	familyVariable = "SERVICE_STRATEGY_FAMILY"

	witnessFlag     = "deployment-witness"
	witnessVariable = "SERVICE_DEPLOYMENT_WITNESSES"
	// defaultControlURL is where a control plane listens that was told nothing else.
	defaultControlURL = "http://127.0.0.1:8010"
)

// control is what is configured of the control plane.
type control struct {
	url, keyFile, signFile string
	key                    *ecdsa.PublicKey
	signKey                crypto.Signer
	policy                 deploy.Mode
	given                  []string // values of --strategy-family
	families               deploy.Families
	witnesses              []string // values of --deployment-witness
	quorum                 int
	asked                  translog.Quorum
}

func setQuorum(c *config, v string) error {
	if v == "" {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of witnesses: write one from 1", v)
	}
	c.control.quorum = n
	return nil
}

func setControlURL(c *config, v string) (err error) {
	if v != "" {
		c.control.url, err = deploy.ParseURL(v)
	}
	return err
}

func setControlKey(c *config, v string) error {
	c.control.keyFile = v
	if v == "" {
		return nil
	}
	pub, err := dsse.ReadPublic(v)
	if err != nil {
		return err
	}
	var ok bool
	if c.control.key, ok = pub.(*ecdsa.PublicKey); !ok {
		return errors.New(
			"is not a P-256 key: name keys/statement.pub of the control plane's folder, which it serves " +
				"as /trust/governance.pub")
	}
	return nil
}

func setSignKey(c *config, v string) error {
	c.control.signFile = v
	return nil
}

// complete checks the options against each other.
func (c *control) complete(w world) (err error) {
	source := w.fillList(&c.given, familyFlag, familyVariable)
	if c.families, err = deploy.ParseFamilies(c.given); err != nil {
		return usagef("%s: %v", source, err)
	}
	if c.signFile != "" {
		if c.signKey, err = dsse.ReadP256(c.signFile, dsse.UnlockFrom("", w.env)); err != nil {
			return usagef("--control-sign-key (SERVICE_CONTROL_SIGN_KEY): %v", err)
		}
	}
	source = w.fillList(&c.witnesses, witnessFlag, witnessVariable)
	if c.asked, err = translog.NewQuorum(c.witnesses, c.quorum); err != nil {
		return usagef("%s: %v", source, err)
	}
	const key = "--control-key (SERVICE_CONTROL_KEY), the file of the control plane's public key"
	switch {
	case c.url != "" && c.key == nil:
		return usagef(
			"--control-url (SERVICE_CONTROL_URL) needs %s: an answer without a known signer "+
				"is worth nothing", key)
	case c.policy == deploy.Enforce && c.key == nil:
		return usagef(
			"--deployment-policy enforce (SERVICE_DEPLOYMENT_POLICY) needs --control-url "+
				"(SERVICE_CONTROL_URL) and %s", key)
	case c.asked.Need > 0 && c.key == nil:
		return usagef("--%s (%s) needs --control-url (SERVICE_CONTROL_URL) and %s: there is no log to be "+
			"cosigned", witnessFlag, witnessVariable, key)
	case c.signKey != nil && c.key == nil:
		return usagef(
			"--control-sign-key (SERVICE_CONTROL_SIGN_KEY) needs --control-url (SERVICE_CONTROL_URL) and "+
				"%s: there is no control plane to report to", key)
	}
	if c.key != nil && c.url == "" {
		c.url = defaultControlURL
	}
	return nil
}

// log shows the configuration; keys are shown by their names alone.
func (c *control) log(logger hclog.Logger) {
	var families []string
	for name, family := range c.families {
		families = append(families, name+"="+family)
	}
	slices.Sort(families)
	keyID := ""
	if c.key != nil {
		keyID, _ = dsse.KeyID(c.key) // it was read from its encoded form
	}
	logger.Info("deployment policy", "deployment_policy", string(c.policy), "effective",
		string(c.policy.Effective(c.key != nil)),
		"control_url", c.url, "control_key", c.keyFile, "control_key_id", keyID, "strategy_families",
		families, "control_sign_key", c.signFile, "witnesses", len(c.asked.Keys),
		"witness_quorum", c.asked.Need)
}

// openPolicy makes the deployment policy.
func (s *service) openPolicy(cfg config) (*deploy.Policy, error) {
	c := cfg.control
	o := deploy.Options{Mode: c.policy, StateDir: cfg.stateDir, Families: c.families,
		Logger: s.logger.Named("deploy")}
	if c.key != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		p, err := deploy.NewPlane(c.url, http.Client{Transport: transport})
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, func() error { p.Close(); return nil })
		o.Source, o.Key, o.Witnesses = p, c.key, c.asked
		if c.signKey != nil {
			told, err := client.New(client.Options{URL: c.url, HTTP: &http.Client{Transport: transport},
				Timeout: callTime})
			if err != nil {
				return nil, err
			}
			o.Reporter = &reporter{plane: told, key: c.signKey, now: time.Now}
		}
	}
	return deploy.New(o)
}

const (
	// incidentLife is for how long the statement holds; its effect is there when it arrives.
	incidentLife = 24 * time.Hour
	// callTime bounds one call; the whole is tried again.
	callTime = 15 * time.Second
)

// reporter signs incidents as this host and posts them. It is a [deploy.Reporter].
type reporter struct {
	plane *client.Client
	key   crypto.Signer
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
	if errors.As(err, &refused) && refused.Reason == bundle.ReasonExpired {
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
		e.Code == string(bundle.InvalidSignature) || e.Reason == bundle.ReasonExpired
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
