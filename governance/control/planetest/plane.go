// Package planetest runs a control plane over a real socket and a real database for tests
// and benchmarks, with people whose keys are always the same, a clock that the test sets,
// and bundles that pass.
package planetest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/failpoint"
)

// Options are what a plane is started with.
type Options struct {
	Dir          string         // the state directory
	Database     string         // the address of a database that planes share; the file in Dir if ""
	Policy       *policy.Policy // the first that was built in if nil
	Trust        *bundle.Trust
	Engines      []string // the programs whose runs count, by SHA-256
	ArtifactRoot string
	At           failpoint.Hook
	// Logger receives the log lines of the plane; none if nil.
	Logger hclog.Logger
	// Witnesses are asked to cosign, all of them.
	Witnesses []witness.At
	// RealTime takes the system's clock instead of one that stands at Start.
	RealTime bool
}

// Plane is a running plane.
type Plane struct {
	Store *store.Store
	URL   string
	Addr  string

	// Root is the folder that the plane reads artifacts from.
	Root string

	offset atomic.Int64
	mu     sync.Mutex
	given  map[string]bool // file_sha256 of the bundles whose files are there
	real   bool
	cancel context.CancelFunc
	ended  chan error
	client *http.Client
}

// Open starts a plane on a free port of loopback.
func Open(o Options) (*Plane, error) {
	if o.ArtifactRoot == "" {
		o.ArtifactRoot = filepath.Join(filepath.Dir(o.Dir), filepath.Base(o.Dir)+"-artifacts")
	}
	if o.Policy == nil {
		o.Policy = policy.First()
	}
	p := &Plane{
		Root: o.ArtifactRoot, given: map[string]bool{}, real: o.RealTime, ended: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
	var err error
	if p.Store, err = store.Open(context.Background(), store.Options{
		Dir: o.Dir, Origin: Origin, Policy: o.Policy, Trust: o.Trust, Engines: o.Engines,
		Now: p.Now, At: o.At, Database: o.Database,
	}); err != nil {
		return nil, err
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, p.Store.Close())
	}
	ln := edge.Limit(inner, edge.MaxConnections, control.Refuse)
	p.URL, p.Addr = edge.URL(inner), inner.Addr().String()
	if err := p.Store.Announce(context.Background(), p.URL); err != nil {
		return nil, errors.Join(err, inner.Close(), p.Store.Close())
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	var asked *witness.Witnesses
	if len(o.Witnesses) > 0 {
		if asked, err = control.OpenWitnesses(p.Store, o.Dir, o.Witnesses, 0); err != nil {
			return nil, errors.Join(err, inner.Close(), p.Store.Close())
		}
	}
	root, err := bucket.NewRoot(o.ArtifactRoot, os.Getenv)
	if err != nil {
		return nil, errors.Join(err, inner.Close(), p.Store.Close())
	}
	plane := control.New(control.Options{Store: p.Store, Artifacts: root, Now: p.Now,
		Logger: o.Logger, Witnesses: asked, At: o.At})
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { p.ended <- plane.Serve(ctx, ln) }()
	return p, nil
}

// Close ends the plane.
func (p *Plane) Close() error {
	p.client.CloseIdleConnections()
	p.cancel()
	return errors.Join(<-p.ended, p.Store.Close())
}

// Now is the plane's time.
func (p *Plane) Now() time.Time {
	if p.real {
		return time.Now()
	}
	return Start.Add(time.Duration(p.offset.Load()))
}

// Advance lets time pass.
func (p *Plane) Advance(d time.Duration) { p.offset.Add(int64(d)) }

// Answer is an answer of the plane.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Code is the error code of a refusal, "" of a success.
func (a Answer) Code() string {
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal(a.Body, &e) // of what is no envelope there is no code
	return e.Error.Code
}

// Decode reads the body.
func (a Answer) Decode(into any) error { return json.Unmarshal(a.Body, into) }

// Do sends a request.
func (p *Plane) Do(method, path string, body []byte, header http.Header) (Answer, error) {
	req, err := http.NewRequest(method, p.URL+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, text}, err
}

// Get reads a path.
func (p *Plane) Get(path string) (Answer, error) { return p.Do(http.MethodGet, path, nil, nil) }

// Post posts bytes to the ingest. The files of a bundle of Good are put where the plane finds
// them.
func (p *Plane) Post(body []byte) (Answer, error) {
	if post, refused := bundle.ReadPost(body); refused == nil {
		if err := p.give(&post.Document); err != nil {
			return Answer{}, err
		}
	}
	return p.Do(http.MethodPost, "/candidate-bundles/ingest", body,
		http.Header{"Content-Type": {"application/json"}})
}

// give writes the files of a bundle whose hashes are theirs, unless this was done.
func (p *Plane) give(doc *bundle.Document) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given[doc.FileSHA256] {
		return nil
	}
	if p.given[doc.FileSHA256] = true; Evidence(&doc.Bundle) == nil {
		return nil
	}
	return Put(p.Root, Files(&doc.Bundle))
}

// Statement is a statement with its signer.
type Statement struct {
	By, Type  string
	Predicate any
}

// Submit posts a bundle with statements about it.
func (p *Plane) Submit(doc *bundle.Document, statements ...Statement) (Answer, error) {
	var list []dsse.Envelope
	for _, s := range statements {
		env, err := doc.Attest(s.Type, s.Predicate, Key(s.By))
		if err != nil {
			return Answer{}, err
		}
		list = append(list, env)
	}
	body, err := bundle.EncodePost(doc.Canonical, list...)
	if err != nil {
		return Answer{}, err
	}
	return p.Post(body)
}

// Answer is an answer to the challenge of a revision that the plane has sealed. Decisions are made up:
// no program runs here.
func (p *Plane) Answer(doc *bundle.Document, decisions string) (*bundle.ChallengeAnswer, error) {
	var state struct {
		Challenge struct {
			Leaf string `json:"seal_leaf_sha256"`
		} `json:"challenge"`
	}
	a, err := p.Get("/promotion-state/candidate_revision/" + doc.Bundle.CandidateRevisionID)
	if err == nil {
		err = a.Decode(&state)
	}
	if err != nil {
		return nil, err
	}
	c, err := bundle.ChallengeOf(state.Challenge.Leaf, &doc.Bundle)
	if err != nil {
		return nil, err
	}
	return &bundle.ChallengeAnswer{Challenge: *c, DecisionSHA256: digest.SHA256Hex([]byte(decisions))}, nil
}

// Replayed is the replayer's replay of a sealed bundle with its answer to the challenge.
func (p *Plane) Replayed(doc *bundle.Document) (Statement, error) {
	r := Replay(doc, p.Now())
	var err error
	r.Challenge, err = p.Answer(doc, "decisions")
	return Statement{"replayer", bundle.TypeReplay, r}, err
}

// SubmitReplayed posts a bundle that its packer has signed, and a host its runs, with statements about
// it, and then the replayer's replay: its challenge is known once the bundle is sealed. It returns the
// last answer.
func (p *Plane) SubmitReplayed(doc *bundle.Document, statements ...Statement) (Answer, error) {
	statements = append(append([]Statement{Signed()}, Hosted(doc, p.Now())...), statements...)
	if a, err := p.Submit(doc, statements...); err != nil || a.Status/100 != 2 {
		return a, err
	}
	again, err := p.Replayed(doc)
	if err != nil {
		return Answer{}, err
	}
	return p.Submit(doc, again)
}

// Signed is the packer's signature of a bundle.
func Signed() Statement { return Statement{"packer", bundle.TypeBundle, map[string]any{}} }

// Hosted are the host's signatures of the paper and live runs of a bundle.
func Hosted(doc *bundle.Document, now time.Time) []Statement {
	var list []Statement
	for _, r := range doc.Bundle.Runs {
		if r.Role.Venue() {
			list = append(list, Statement{"host", bundle.TypeRun, bundle.HostedRun{Common: Common(doc, now),
				RunID: r.RunID, ReportSHA256: r.ReportSHA256, MetadataSHA256: r.MetadataSHA256}})
		}
	}
	return list
}

// people are the principals that a test can sign as, and their roles.
var people = map[string][]string{
	"packer": {bundle.TrustLab}, "replayer": {bundle.TrustReplay}, "rita": {bundle.TrustRisk},
	"anna": {bundle.TrustApprover},
	"ruth": {bundle.TrustRisk, bundle.TrustApprover}, "otto": {bundle.TrustOperator},
	"host": {bundle.TrustHost},
	Owner:  {bundle.TrustRisk, bundle.TrustApprover},
}

// Owner owns the bundles of Good.
const Owner = "owner@example.com"

// Key is a principal's key, made from the name alone: it is worth nothing but in tests.
func Key(name string) *ecdsa.PrivateKey {
	sum := sha256.Sum256([]byte("TEST ONLY " + name))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
	if err != nil {
		panic(err) // a scalar beyond the order: not of these names
	}
	return key
}

// TrustKey is an entry of trust.json for a name and its roles.
func TrustKey(principal, name string, roles ...string) bundle.TrustKey {
	pub := Key(name).Public()
	pem, err := dsse.PublicPEM(pub)
	if err != nil {
		panic(err)
	}
	id, err := dsse.KeyID(pub)
	if err != nil {
		panic(err)
	}
	return bundle.TrustKey{
		KeyID: id, PublicKey: string(pem), Principal: principal, Roles: roles, Status: bundle.KeyActive,
		ValidFrom: "2020-01-01T00:00:00Z", ValidUntil: "2040-01-01T00:00:00Z",
	}
}

// Trust is a trust.json with everybody in it, and with what edit makes of it.
func Trust(version int64, edit ...func(*bundle.Trust)) *bundle.Trust {
	t := &bundle.Trust{Schema: bundle.SchemaTrust, Version: version, ExpiresAt: "2039-01-01T00:00:00Z",
		Keys: []bundle.TrustKey{}}
	for name, roles := range people {
		t.Keys = append(t.Keys, TrustKey(name, name, roles...))
	}
	slices.SortFunc(t.Keys, func(a, b bundle.TrustKey) int {
		return strings.Compare(a.Principal, b.Principal)
	})
	for _, e := range edit {
		e(t)
	}
	text, err := t.Encode()
	if err != nil {
		panic(err)
	}
	read, refused := bundle.ParseTrust(text)
	if refused != nil {
		panic(refused)
	}
	return read
}

// Common is what a statement about a bundle carries at this time.
func Common(doc *bundle.Document, now time.Time) bundle.Common {
	return bundle.Common{
		LogOrigin: Origin, CandidateRevisionID: doc.Bundle.CandidateRevisionID,
		MadeAt:    bundle.FormatTime(now),
		ExpiresAt: bundle.FormatTime(now.Add(5 * 24 * time.Hour)), Reason: "because",
	}
}
