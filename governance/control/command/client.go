package command

import (
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/flags"
)

// controlOption is the flag of commands that ask a plane.
type controlOption struct {
	ControlURL string `flag:"control-url" env:"SERVICE_CONTROL_URL" default:"http://127.0.0.1:8010" usage:"address of the control plane"`
}

// client talks to a plane. Nothing of its answers is trusted but what people look at and
// what is signed again.
type client struct {
	base string
	http *http.Client
}

const (
	callTime  = 30 * time.Second
	maxAnswer = 64 << 20
)

func newClient(set *flags.Set, base string) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("%s: %q is no address such as http://127.0.0.1:8010", set.Source("control-url"), base)
	}
	return &client{strings.TrimSuffix(base, "/"), &http.Client{Timeout: callTime}}, nil
}

// call sends a request and returns the body of a success.
func (c *client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &unreachable{err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, &unreachable{err}
	}
	if resp.StatusCode/100 == 2 {
		return answer, nil
	}
	var refused struct {
		Error struct {
			Code    string
			Message string
			Details struct{ Pointer, Reason string }
		}
	}
	if json.Unmarshal(answer, &refused) != nil || refused.Error.Code == "" {
		return nil, &unreachable{fmt.Errorf("%s %s: %s", method, path, resp.Status)}
	}
	e := refused.Error
	text := strings.Join(slices.DeleteFunc([]string{e.Message, e.Details.Reason, e.Details.Pointer}, func(s string) bool { return s == "" }), " ")
	if hint := hints[e.Code+e.Details.Reason]; hint != "" {
		text += "; " + hint
	}
	return nil, refusef("%s: %s", e.Code, text)
}

// hints are what to do about a refusal, by its code and reason.
var hints = map[string]string{
	"INVALID_SIGNATURE":                "the plane does not count this key, or counts nobody's: whoever runs it enters it with governance keys trust, and sends a SIGHUP",
	"INVALID_ATTESTATIONself_approval": "somebody else has to sign",
	"INVALID_ATTESTATIONrole":          "trust.json does not give this key the role that this takes",
	"INVALID_ATTESTATIONexpired":       "look at --valid and at this machine's clock",
	"LEDGER_CORRUPT":                   "whoever runs the plane looks at its log with governance verify --log",
	"LEDGER_ROLLBACK":                  "whoever runs the plane puts the newest copy of its log back",
}

func (c *client) get(ctx context.Context, path string, into any) error {
	body, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &unreachable{fmt.Errorf("GET %s: no control plane answers like this: %w", path, err)}
	}
	return nil
}

// subject is a revision as the plane has it.
type subject struct {
	doc    *bundle.Document
	origin string
}

// subject fetches what a statement about a revision must name. The bundle is checked to be
// the one with this id, so that people sign what they mean.
func (c *client) subject(ctx context.Context, id string) (*subject, error) {
	text, err := c.call(ctx, http.MethodGet, "/candidate-bundles/"+id, nil)
	if err != nil {
		return nil, err
	}
	doc, refused := bundle.Decode(text)
	if refused != nil || doc.Bundle.CandidateRevisionID != id {
		return nil, errors.Join(refusef("the control plane's bundle is not %s", id), asError(refused))
	}
	text, err = c.call(ctx, http.MethodGet, "/trust/log.json", nil)
	if err != nil {
		return nil, err
	}
	info, err := ledger.ParseInfo(text)
	if err != nil {
		return nil, refusef("log.json: %v", err)
	}
	return &subject{doc, info.Origin}, nil
}

// asError keeps a nil refusal from becoming an error that is not nil.
func asError(refused *bundle.Error) error {
	if refused == nil {
		return nil
	}
	return refused
}

// approvesAs is the role in which a key approves, where trust.json gives it just one.
func (c *client) approvesAs(ctx context.Context, pub crypto.PublicKey) (string, error) {
	id, err := dsse.KeyID(pub)
	if err != nil {
		return "", err
	}
	text, err := c.call(ctx, http.MethodGet, "/trust/trust.json", nil)
	var away *unreachable
	if errors.As(err, &away) {
		return "", err
	} else if err != nil {
		return "", usagef("--role is missing: write --role risk or --role approver (the plane does not say which this key has: %v)", err)
	}
	trust, refused := bundle.ParseTrust(text)
	if refused != nil {
		return "", refusef("the control plane's trust.json: %v", refused)
	}
	var roles []string
	for _, k := range trust.Keys {
		if k.KeyID == id && k.Status == bundle.KeyActive {
			roles = slices.DeleteFunc(k.Roles, func(r string) bool { return r != bundle.TrustRisk && r != bundle.TrustApprover })
		}
	}
	switch len(roles) {
	case 0:
		return "", refusef("trust.json gives this key neither risk nor approver: it cannot approve")
	case 1:
		return roles[0], nil
	}
	return "", usagef("--role is missing: this key has two, so write --role risk or --role approver")
}

func (c *client) state(ctx context.Context, id string) (*promotion.State, error) {
	s := &promotion.State{}
	return s, c.get(ctx, "/promotion-state/"+bundle.SubjectRevision+"/"+id, s)
}

func (c *client) plan(ctx context.Context, id, stage string) (*promotion.Plan, error) {
	p := &promotion.Plan{}
	return p, c.get(ctx, "/promotion-plans/"+bundle.SubjectRevision+"/"+id+"/"+stage, p)
}
