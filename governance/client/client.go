// Package client talks to a control plane over HTTP: what the lab and the service link.
//
// Nothing that a plane answers is believed as it comes. Ingest checks the receipt's seal
// with package ledger/verify, against the statement key that the caller has pinned or else
// against the keys that the plane publishes under /trust; a bundle that is fetched must be
// the one that its id names. The registry of deployables is read by the host alone, see
// host/deploy.
//
// Errors are of four types: *UnreachableError when nobody answers as a plane does,
// *RefusedError with the code of the plane's error envelope, *UntrustedError when an answer
// does not hold, and those of ctx. It is a typed layer over [deploy.Plane].
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/deploy"
)

// DefaultURL is where `governance serve` listens by default.
const DefaultURL = "http://127.0.0.1:8010"

// DefaultTimeout is how long one request may take.
const DefaultTimeout = 30 * time.Second

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
		return nil, errors.New("the address of the control plane is no URL: write one such as " + DefaultURL)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "", base.RawQuery != "", base.Fragment != "":
		return nil, fmt.Errorf("%s is no address of a control plane: write one such as %s", base.Redacted(), DefaultURL)
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
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if status/100 == 2 {
		return answer, nil
	}
	if e := deploy.ReadProblem(answer); e != nil {
		return nil, &RefusedError{Status: status, Problem: *e}
	}
	return nil, c.unreachable(ctx, fmt.Errorf("%s /%s was answered with %d %s, which is not how a control plane refuses",
		method, strings.Join(path, "/"), status, http.StatusText(status)))
}

// unreachable leaves what the caller has ended to the caller.
func (c *Client) unreachable(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &UnreachableError{URL: c.URL(), Cause: cause}
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
		return nil, &UntrustedError{What: "the bundle of " + revision, Problems: []string{"it is " + doc.Bundle.CandidateRevisionID}}
	}
	return doc, nil
}

// UnreachableError says that no control plane answered: nothing listens, the connection
// broke, time ran out, or what answers is something else.
type UnreachableError struct {
	URL   string // without credentials
	Cause error
}

// Error says where a plane was looked for.
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

// UntrustedError says that an answer does not hold: it is not signed by the key that was
// given or published, or is about something else than what was asked.
type UntrustedError struct {
	What     string   // what was checked
	Problems []string // never empty
}

// Error lists the problems.
func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s cannot be trusted: %s", e.What, strings.Join(e.Problems, "; "))
}
