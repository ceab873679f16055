// Package client talks to a control plane over HTTP: what the lab and the service link.
//
// Nothing that a plane answers is believed as it comes. Ingest checks the receipt's seal
// with package ledger/verify, against the statement key that the caller has pinned or else
// against the keys that the plane publishes under /trust; a bundle that is fetched must be
// the one that its id names. The registry of deployables is read by the host alone, see
// host/deploy.
//
// Errors are of four types: *UnreachableError when nothing answers as a plane does,
// *RefusedError with the code of the plane's error envelope, *UntrustedError when an answer
// does not hold, and those of ctx. It is a typed layer over [deploy.Plane]. A [Reader] reads for people:
// with a short limit, the last good answer, and the entry of the log that an answer rests on.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/deploy"
)

// DefaultURL is where `governance serve` listens by default.
const DefaultURL = "http://127.0.0.1:8010"

// DefaultTimeout is how long one request may take.
const DefaultTimeout = 30 * time.Second

// CodeUnreachable is the code of programs for an UnreachableError.
const CodeUnreachable = "CONTROL_UNREACHABLE"

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

// Options name the plane that a client talks to.
type Options struct {
	// URL is the plane's address, DefaultURL if empty; a path in it is kept as a prefix.
	URL string
	// HTTP makes the requests; http.DefaultClient if nil. Redirects are never followed.
	HTTP *http.Client
	// Timeout is for each request; DefaultTimeout if zero.
	Timeout time.Duration
	// Key is the plane's statement key, the text of governance.pub. Empty takes the one that
	// the plane publishes, which shows that its answers agree with each other, no more.
	Key []byte
}

// Client talks to one plane. It may be used by several goroutines.
type Client struct {
	base    *url.URL
	plane   *deploy.Plane
	timeout time.Duration
	key     []byte
}

// New checks the options; nothing is sent yet.
func New(o Options) (*Client, error) {
	base, err := url.Parse(cmp.Or(o.URL, DefaultURL))
	switch {
	case err != nil:
		return nil, errors.New("the control plane's address is not a URL: write one such as " + DefaultURL)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "", base.RawQuery != "",
		base.Fragment != "":
		return nil, fmt.Errorf("%s is not the address of a control plane: write one such as %s",
			base.Redacted(), DefaultURL)
	}
	if len(o.Key) > 0 {
		if _, err := ledger.ParseKey(o.Key); err != nil {
			return nil, fmt.Errorf("the control plane's key: %w", err)
		}
	}
	plane, err := deploy.NewPlane(base.String(), *cmp.Or(o.HTTP, http.DefaultClient))
	if err != nil {
		return nil, err
	}
	plane.MaxAnswer = maxAnswer
	return &Client{base: base, plane: plane, timeout: cmp.Or(o.Timeout, DefaultTimeout), key: o.Key}, nil
}

// URL is the plane's address without credentials.
func (c *Client) URL() string { return c.base.Redacted() }

// call sends one request and returns the body of a success.
func (c *Client) call(ctx context.Context, method string, body []byte, path ...string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	status, answer, err := c.plane.Do(limited, method, body, path...)
	return c.judge(ctx, status, answer, err, method, path)
}

// judge is the body of a success, or the error that an answer is.
func (c *Client) judge(ctx context.Context, status int, answer []byte, err error, method string,
	path []string) ([]byte, error) {
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if status/100 == 2 {
		return answer, nil
	}
	if e := deploy.ReadProblem(answer); e != nil {
		return nil, &RefusedError{Status: status, Problem: *e}
	}
	return nil, c.unreachable(ctx,
		fmt.Errorf("%s /%s was answered with %d %s, which is not how a control plane refuses",
			method, strings.Join(path, "/"), status, http.StatusText(status)))
}

// unreachable leaves what the caller has ended to the caller.
func (c *Client) unreachable(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &UnreachableError{URL: c.URL(), Cause: cause}
}

// Read is the body of a GET, unread.
func (c *Client) Read(ctx context.Context, path ...string) ([]byte, error) {
	return c.call(ctx, http.MethodGet, nil, path...)
}

// Log is the plane's log: its name, size and root. It is not signed; a seal is.
func (c *Client) Log(ctx context.Context) (*ledger.Info, error) {
	body, err := c.call(ctx, http.MethodGet, nil, "trust", "log.json")
	if err != nil {
		return nil, err
	}
	info, err := ledger.ParseInfo(body)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	return info, nil
}

// Trust is what answers are checked by: the pinned key, or else the published one, and the
// published trusted root.
func (c *Client) Trust(ctx context.Context) (key, trustedRoot []byte, err error) {
	if key = c.key; len(key) == 0 {
		if key, err = c.call(ctx, http.MethodGet, nil, "trust", "governance.pub"); err != nil {
			return nil, nil, err
		}
	}
	trustedRoot, err = c.call(ctx, http.MethodGet, nil, "trust", "trusted_root.json")
	return key, trustedRoot, err
}

// rotations is how the log has changed its keys; nil of a plane of an earlier version.
func (c *Client) rotations(ctx context.Context) ([]byte, error) {
	text, err := c.call(ctx, http.MethodGet, nil, "trust", "rotations.json")
	var refused *RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil, nil
	}
	return text, err
}

// known is all keys of the log where an entry is signed by another one than key, or its checkpoint by none of
// logs; else nil. Witnesses must have cosigned the changes to keys that are newer than key.
func (c *Client) known(ctx context.Context, s *ledger.Sigstore, key *ledger.Key, witnesses translog.Quorum,
	logs ...ledger.TrustedLog) (*ledger.Known, error) {
	if _, _, err := ledger.OpenTrusted(s.Note(), logs); err == nil && s.By(key) {
		return nil, nil
	}
	text, err := c.rotations(ctx)
	if text == nil || err != nil {
		return nil, err
	}
	chain, err := ledger.ParseChain(text)
	if err != nil {
		return nil, err
	}
	if len(chain.Changes) == 0 {
		return nil, nil // its signature or checkpoint is judged as it is
	}
	return chain.Keys(key, witnesses)
}

// TrustFile is the trust.json that the plane has in force, nil in open mode. It is not signed.
func (c *Client) TrustFile(ctx context.Context) (*bundle.Trust, error) {
	body, err := c.call(ctx, http.MethodGet, nil, "trust", "trust.json")
	var refused *RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	trust, no := bundle.ParseTrust(body)
	if no != nil {
		return nil, c.unreachable(ctx, no)
	}
	return trust, nil
}

// Bundle is the newest submission of a revision. It is proven to be the one that the id
// names, the seal request apart, which is not part of the id.
func (c *Client) Bundle(ctx context.Context, revision string) (*bundle.Document, error) {
	body, err := c.call(ctx, http.MethodGet, nil, "candidate-bundles", revision)
	if err != nil {
		return nil, err
	}
	doc, refused := bundle.Decode(body)
	switch {
	case refused != nil:
		return nil, &UntrustedError{What: "the bundle of " + revision, Problems: []string{refused.Error()}}
	case doc.Bundle.CandidateRevisionID != revision:
		return nil, &UntrustedError{What: "the bundle of " + revision,
			Problems: []string{"it is " + doc.Bundle.CandidateRevisionID}}
	}
	return doc, nil
}

// UnreachableError reports that no control plane answered: nothing listens, the connection
// broke, time ran out, or what answers is something else.
type UnreachableError struct {
	URL   string // without credentials
	Cause error
}

// Error names the address of the plane.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no control plane answers at %s: %v", e.URL, e.Cause)
}

// Unwrap is the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// RefusedError is the plane's error envelope.
type RefusedError struct {
	Status int
	deploy.Problem
}

// Error is code, reason, message and pointer.
func (e *RefusedError) Error() string {
	text := e.Code
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	text += ": " + e.Message
	if e.Pointer != "" {
		text += ", at " + e.Pointer
	}
	return text
}

// UntrustedError reports that an answer does not hold: it is not signed by the key that was
// given or published, or is about something else than what was asked.
type UntrustedError struct {
	What     string   // what was checked
	Problems []string // never empty
}

// Error lists the problems.
func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s cannot be trusted: %s", e.What, strings.Join(e.Problems, "; "))
}

// SchemaReceipt is the schema of a receipt.
const SchemaReceipt = "ingest-receipt/v1"

// Receipt is ingest-receipt/v1: what became of a post. Its seal was verified; the rest is
// the plane's word.
type Receipt struct {
	CandidateRevisionID string       `json:"candidate_revision_id"`
	FileSHA256          string       `json:"file_sha256"`
	Duplicate           bool         `json:"duplicate"`
	Assurance           string       `json:"assurance"`
	Rungs               []string     `json:"rungs"`
	Facts               []FactName   `json:"facts"`
	FactsTotal          int          `json:"facts_total"`
	Seal                *ledger.Seal `json:"-"`
	State               Standing     `json:"promotion_state"`
	PendingExperiments  int          `json:"pending_experiments"`
	Warnings            []Warning    `json:"warnings"`
	// Body is the answer as it came: the content of ingest_receipt.json.
	Body []byte `json:"-"`
}

// FactName names a fact that the post has made; RunID is empty for most.
type FactName struct {
	Seq    int64  `json:"seq"`
	Type   string `json:"type"`
	FactID string `json:"fact_id"`
	RunID  string `json:"run_id"`
}

// Standing is where the revision stands now.
type Standing struct {
	Stage       string `json:"stage"`
	StageStatus string `json:"stage_status"`
	Href        string `json:"href"`
	// Shadow is what the days after the seal have shown; not in receipts.
	Shadow struct {
		Reason string `json:"reason"`
	} `json:"shadow,omitzero"`
}

// Warning is something that did not refuse the post.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
}

// SealFiles are the seal as files beside a bundle: what cosign and tlog tools read.
type SealFiles struct {
	Sigstore []byte // candidate_bundle.sigstore.json
	Proof    []byte // candidate_bundle.tlog-proof
}

// Files splits the receipt's seal.
func (r *Receipt) Files() (SealFiles, error) {
	text, err := r.Seal.Sigstore.Canonical()
	return SealFiles{Sigstore: text, Proof: []byte(r.Seal.TlogProof)}, err
}

// Ingest posts a bundle with attestations about it and checks the answer: that the receipt
// is about exactly these bytes, and that its seal is signed, in the log, and included under
// a signed checkpoint. What was accepted before is answered again.
func (c *Client) Ingest(ctx context.Context, doc *bundle.Document,
	envelopes ...dsse.Envelope) (*Receipt, error) {
	body := doc.Canonical
	if len(envelopes) > 0 {
		var err error
		if body, err = bundle.EncodePost(doc.Canonical, envelopes...); err != nil {
			return nil, err
		}
	}
	answer, err := c.Post(ctx, body)
	if err != nil {
		return nil, err
	}
	return c.checkReceipt(ctx, doc, answer)
}

// PlanReceipt is the plane's answer to the registration of a search.
type PlanReceipt struct {
	PlanID       string `json:"plan_id"`
	PlanSHA256   string `json:"plan_sha256"`
	RegisteredAt string `json:"registered_at"`
	Duplicate    bool   `json:"duplicate"`
}

// RegisterPlan names a search in the plane's log.
func (c *Client) RegisterPlan(ctx context.Context, plan *bundle.PlanRegistration) (*PlanReceipt, error) {
	body, err := digest.JCS(plan)
	if err != nil {
		return nil, err
	}
	answer, err := c.call(ctx, http.MethodPost, body, "plans")
	if err != nil {
		return nil, err
	}
	out := &PlanReceipt{}
	if err := json.Unmarshal(answer, out); err != nil || out.PlanSHA256 != plan.PlanSHA256 {
		return nil, c.unreachable(ctx, errors.New("the answer is not about this plan"))
	}
	return out, nil
}

// Post posts a body of [bundle.EncodePost] and returns the receipt unread.
func (c *Client) Post(ctx context.Context, body []byte) ([]byte, error) {
	return c.call(ctx, http.MethodPost, body, "candidate-bundles", "ingest")
}

func (c *Client) checkReceipt(ctx context.Context, doc *bundle.Document, answer []byte) (*Receipt, error) {
	untrusted := func(format string, args ...any) error {
		return &UntrustedError{What: "the receipt", Problems: []string{fmt.Sprintf(format, args...)}}
	}
	// Strictly first: a member that comes twice could be read in two ways.
	canonical, err := digest.CanonicalJSON(answer)
	if err != nil {
		return nil, untrusted("%v", err)
	}
	var schema struct {
		Schema string          `json:"schema"`
		Seal   json.RawMessage `json:"seal"`
	}
	r := &Receipt{Body: answer}
	if err := json.Unmarshal(canonical, &schema); err != nil || schema.Schema != SchemaReceipt {
		return nil, untrusted("it is not %s", SchemaReceipt)
	}
	if err := json.Unmarshal(canonical, r); err != nil {
		return nil, untrusted("%v", err)
	}
	switch b := &doc.Bundle; {
	case r.CandidateRevisionID != b.CandidateRevisionID:
		return nil, untrusted("it is about %.80q, not %s", r.CandidateRevisionID, b.CandidateRevisionID)
	case r.FileSHA256 != doc.FileSHA256:
		return nil, untrusted("its file_sha256 is %.80q, not %s", r.FileSHA256, doc.FileSHA256)
	}
	if r.Seal, err = ledger.ParseSeal(schema.Seal); err != nil {
		return nil, untrusted("%v", err)
	}
	key, root, err := c.Trust(ctx)
	if err != nil {
		return nil, err
	}
	files := []verify.File{
		{Name: bundle.FileName, Data: doc.Canonical}, {Name: "ingest_receipt.json", Data: answer},
	}
	if public, err := ledger.ParseKey(key); err == nil { // another one fails below
		// A bundle that was posted before may have a seal of an earlier key.
		if !r.Seal.Sigstore.By(public) {
			changes, err := c.rotations(ctx)
			if err != nil {
				return nil, err
			}
			if changes != nil {
				files = append(files, verify.File{Name: "rotations.json", Data: changes})
			}
		}
	}
	report := verify.Verify(files, verify.Options{Key: key, TrustedRoot: root})
	if !report.OK() {
		failed := &UntrustedError{What: "the receipt's seal"}
		for _, s := range report.Steps {
			if !s.OK {
				failed.Problems = append(failed.Problems,
					fmt.Sprintf("%s: expected %s, found %s", s.Name, s.Expected, s.Found))
			}
		}
		return nil, failed
	}
	return r, nil
}
