package command

import (
	"bufio"
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
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
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

func newClient(set *cli.Flags, base string) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("%s: %q is not an address such as http://127.0.0.1:8010",
			set.Source("control-url"), base)
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
	text, at := e.Message, slices.DeleteFunc([]string{e.Details.Reason, e.Details.Pointer},
		func(s string) bool { return s == "" })
	if len(at) > 0 {
		text += " (" + strings.Join(at, ", ") + ")"
	}
	if hint := hints[e.Code+e.Details.Reason]; hint != "" {
		text += "; " + hint
	}
	return nil, refusef("%s: %s", e.Code, text)
}

// hints are what to do about a refusal, by its code and reason.
var hints = map[string]string{
	string(bundle.InvalidSignature): "the plane does not count this key, or counts no key: whoever " +
		"runs it enters it with governance keys trust, and sends a SIGHUP",
	"INVALID_ATTESTATIONself_approval": "another person has to sign",
	"INVALID_ATTESTATIONrole": "sign with another key, or have the role given to this one (governance keys " +
		"trust --role)",
	"INVALID_ATTESTATIONexpired": "look at --valid and at this machine's clock",
	store.Corrupt: "whoever runs the plane looks at its log with governance verify " +
		"--log",
	store.Rollback: "whoever runs the plane puts the newest copy of its log back",
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
		return "", usagef(
			"--role is missing: write --role risk or --role approver (the plane does not say which this "+
				"key has: %v)", err)
	}
	trust, refused := bundle.ParseTrust(text)
	if refused != nil {
		return "", refusef("the control plane's trust.json: %v", refused)
	}
	var roles []string
	for _, k := range trust.Keys {
		if k.KeyID == id && k.Status == bundle.KeyActive {
			roles = slices.DeleteFunc(k.Roles, func(r string) bool {
				return r != bundle.TrustRisk && r != bundle.TrustApprover
			})
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

// signing is what all commands that sign have in common.
type signing struct {
	controlOption
	KeyFile string `flag:"key" usage:"file of your private key, or agent:SHA256:... of one that an SSH agent holds"`
	passphraseOption
	Reason string `flag:"reason" usage:"why, for the log"`
	Valid  string `flag:"valid" usage:"how long the statement holds, such as 12h or 7d"`
	Yes    bool   `flag:"yes" usage:"do not ask"`
	JSON   bool   `flag:"json" usage:"print the plane's receipt as JSON, of an approval with the plan; what people read goes to the error stream"`

	w    World
	set  *cli.Flags
	plan *promotion.Plan // what was shown, nil where it was none
}

// valid is for how long a statement holds by default: stops have their effect when
// they arrive, approvals wait for others.
const (
	validApproval = "7d"
	validStop     = "1d"
)

// out is where people read.
func (s *signing) out() io.Writer {
	if s.JSON {
		return s.w.Err
	}
	return s.w.Out
}

// open reads the arguments that every such command has.
func (s *signing) open(id string) (*client, crypto.Signer, error) {
	if !field.IsRevision(id) {
		return nil, nil, usagef("%q is no candidate_revision_id: it begins with cr-", id)
	}
	if s.KeyFile == "" {
		return nil, nil,
			usagef("--key is missing: the file of your private key (governance keys new NAME makes one)")
	}
	if _, err := parseValid(s.Valid); err != nil {
		return nil, nil, usagef("--valid: %v", err)
	}
	key, err := dsse.ReadP256(s.KeyFile, s.unlock(s.w))
	if err != nil {
		return nil, nil, usagef("--key: %v", err)
	}
	c, err := newClient(s.set, s.ControlURL)
	return c, key, err
}

func parseValid(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 3650 {
			return 0, fmt.Errorf("%q is not a number of days", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration such as 12h or 7d", s)
	}
	return d, nil
}

// common is what all statements carry.
func (s *signing) common(sub *subject) bundle.Common {
	now := s.w.Now().UTC()
	valid, _ := parseValid(s.Valid) // was checked
	return bundle.Common{
		LogOrigin: sub.origin, CandidateRevisionID: sub.doc.Bundle.CandidateRevisionID,
		MadeAt:    now.Format(time.RFC3339Nano),
		ExpiresAt: bundle.FormatTime(now.Add(valid)), Reason: s.Reason,
	}
}

// confirm asks, unless --yes is given; no answer is no.
func (s *signing) confirm(question string) error {
	if s.Yes {
		return nil
	}
	fmt.Fprintf(s.out(), "%s [y/N] ", question)
	line, _ := bufio.NewReader(s.w.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return refusef("nothing was signed: answer y, or give --yes")
}

// post signs a predicate about a bundle and reports what it has come to.
func (s *signing) post(ctx context.Context, c *client, sub *subject, kind string, predicate any,
	key crypto.Signer) error {
	env, err := sub.doc.Attest(kind, predicate, key)
	if err != nil {
		return usagef("the statement: %v", err)
	}
	body, err := bundle.EncodePost(sub.doc.Canonical, env)
	if err != nil {
		return err
	}
	answer, err := c.call(ctx, http.MethodPost, "/candidate-bundles/ingest", body)
	if err != nil {
		return err
	}
	var rec struct {
		Duplicate bool
		State     struct {
			Stage       string
			StageStatus string `json:"stage_status"`
		} `json:"promotion_state"`
		Warnings []struct{ Code, Message string }
	}
	if err := json.Unmarshal(answer, &rec); err != nil {
		return &unreachable{err}
	}
	for _, warning := range rec.Warnings {
		fmt.Fprintf(s.w.Err, "warning: %s: %s\n", warning.Code, warning.Message)
	}
	if s.JSON {
		return s.printAnswer(answer)
	}
	fmt.Fprintf(s.w.Out, "%s %s/%s\n", sub.doc.Bundle.CandidateRevisionID, rec.State.Stage,
		rec.State.StageStatus)
	return nil
}

// printAnswer prints the receipt, with the plan that was shown as its member plan.
func (s *signing) printAnswer(receipt []byte) error {
	if s.plan == nil {
		_, err := fmt.Fprintf(s.w.Out, "%s\n", receipt)
		return err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(receipt, &members); err != nil {
		return &unreachable{err}
	}
	var err error
	if members["plan"], err = json.Marshal(s.plan); err != nil {
		return err
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.w.Out, "%s\n", text)
	return err
}
