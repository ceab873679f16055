package bundle

import (
	"crypto"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// MaxBody is the largest body of an ingest, in bytes; the edge holds it.
const MaxBody = 4 << 20

// MaxAttestations is how many attestations a body may have.
const MaxAttestations = 64

// Document is a bundle that was read, with what its bytes come to.
type Document struct {
	Bundle Bundle
	// Canonical is the canonical form: what candidate_bundle.json holds.
	Canonical []byte
	// FileSHA256 is the SHA-256 of Canonical in hex: the subject of statements.
	FileSHA256 string
}

// Post is a body of the ingest: a bare bundle, or one with attestations.
type Post struct {
	Document
	at        string // the pointer of the bundle in the body
	signed    bool   // is there a member "attestations"?
	envelopes any    // its value, not looked at yet
}

// Decode reads the text of one bare bundle: steps 1 to 3 of the ingest as far as they
// concern the bytes. The first fault is the error.
func Decode(text []byte) (*Document, *Error) {
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	return readDocument(v, "", "")
}

// Accepted reads a bundle that a plane has taken before, by the SHA-256 of its text: text
// with this hash is what was read by Decode then, so that its id and its form need not be
// worked out again. The error is an *Error; of text with another hash, INVALID_DIGEST.
func Accepted(text []byte, fileSHA256 string) (*Document, *Error) {
	if digest.SHA256Hex(text) != fileSHA256 {
		return nil, field.Refuse(field.InvalidDigest, "", "the text is not the one that was accepted")
	}
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	d, err := readDocument(v, "", fileSHA256)
	if err != nil {
		return nil, err
	}
	d.Canonical = text
	return d, nil
}

// ReadPost reads a body of the ingest like Decode. Its attestations are read later,
// after the times of the seal request: see Attestations.
func ReadPost(body []byte) (*Post, *Error) {
	v, err := field.Parse(body)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, field.Refuse(InvalidBundle, "", "must be an object")
	}
	post := &Post{}
	_, inside := o["bundle"]
	_, bare := o["schema"]
	post.envelopes, post.signed = o["attestations"]
	if inside || post.signed && !bare {
		r := &field.Reader{}
		r.Object(v, "", field.Names("bundle"), field.Names("attestations"))
		if r.Failed() {
			return nil, r.Err()
		}
		v, post.at = o["bundle"], "/bundle"
	}
	d, err := readDocument(v, post.at, "")
	if err != nil {
		return nil, err
	}
	post.Document = *d
	return post, nil
}

// readDocument reads a bundle; accepted is the SHA-256 of its text where that is known to
// be its canonical form.
func readDocument(v any, at, accepted string) (*Document, *Error) {
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, field.Refuse(InvalidBundle, at, "must be an object")
	}
	r := &field.Reader{}
	top := r.Free(v, at)
	top.Schema("schema", SchemaBundle)
	r.Members(v, at, Bundle{})
	if accepted == "" {
		secrets(r, v, at)
	}
	id := top.Form("revision", "candidate_revision_id")
	if r.Failed() {
		return nil, r.Err()
	}
	if accepted == "" {
		if core := coreDigest(tree); id != RevisionPrefix+core {
			err := field.Refuse(RevisionMismatch, top.At("candidate_revision_id"),
				"the core of the bundle is %s%s", RevisionPrefix, core)
			err.Declared = id
			return nil, err
		}
	}
	var b Bundle
	top.Into(&b)
	if r.Failed() {
		return nil, r.Err()
	}
	d := &Document{Bundle: b, FileSHA256: accepted}
	if accepted == "" {
		d.Canonical = digest.Tree(v)
		d.FileSHA256 = digest.SHA256Hex(d.Canonical)
	}
	return d, nil
}

// coreDigest is the SHA-256 of the core: the bundle without its own id and without the
// request, so that the same evidence can be submitted again for another stage.
func coreDigest(tree map[string]any) string {
	core := maps.Clone(tree)
	delete(core, "candidate_revision_id")
	delete(core, "seal_request")
	return digest.SHA256Hex(digest.Tree(core))
}

var (
	secretName = regexp.MustCompile(
		`(?i)^(api_?key|api_?secret|secret|password|passphrase|private_?key|token)$`)
	privatePEM = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`)
)

// secrets looks through everything, also what is free of form, for what must never be
// handed over. What it finds is not quoted.
func secrets(r *field.Reader, v any, at string) {
	if r.Failed() {
		return
	}
	switch v := v.(type) {
	case string:
		if holdsKey(v) {
			r.Fail(SecretInBundle, at, "holds a private key")
		}
	case []any:
		for i, e := range v {
			secrets(r, e, at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := at + "/" + digest.PointerStep(name)
			if secretName.MatchString(name) {
				r.Fail(SecretInBundle, below, "this name is one of a secret")
			}
			if holdsKey(name) {
				r.Fail(SecretInBundle, at, "holds a private key")
			}
			secrets(r, v[name], below)
		}
	}
}

func holdsKey(s string) bool { return strings.Contains(s, "PRIVATE KEY") && privatePEM.MatchString(s) }

// Pointer is where a member of the bundle stands in the body.
func (p *Post) Pointer(inBundle string) string { return p.at + inBundle }

// distinctRuns returns the ids of the runs of a document: there is one at least, and none stands there twice.
func distinctRuns[R any](o field.Object, document string, list []R, id func(*R) string) map[string]bool {
	if len(list) == 0 {
		o.Fail(field.MissingField, "runs", "at least one run is required")
	}
	runs := map[string]bool{}
	for i := range list {
		run := id(&list[i])
		if runs[run] {
			at := fmt.Sprintf("runs/%d/run_id", i)
			o.FailAt(field.DuplicateItem, at, "this run stands twice in the %s", document)
		}
		runs[run] = true
	}
	return runs
}

// Check implements [field.Checker], as do the methods below.
func (b *Bundle) Check(o field.Object) {
	runs := distinctRuns(o, "bundle", b.Runs, func(r *Run) string { return r.RunID })
	names := map[string]bool{}
	for i, a := range b.Artifacts {
		at := fmt.Sprintf("artifacts/%d/", i)
		folded := strings.ToLower(a.Name) // disks that ignore case would keep one file for two hashes
		switch {
		case !runs[a.RunID]:
			o.FailAt(UnknownRunReference, at+"run_id", "is not a run of this bundle")
		case !ValidArtifactPath(a.Name, a.RunID):
			o.FailAt(InvalidArtifactPath, at+"name", "is not a plain relative path under runs/<its run_id>/")
		case names[folded]:
			o.FailAt(field.DuplicateItem, at+"name", "this artifact stands twice in the bundle, case ignored")
		}
		names[folded] = true
	}
	if b.SealRequest.SubjectID != b.CandidateRevisionID {
		o.FailAt(SealSubjectMismatch, "seal_request/subject_id", "is not the revision of this bundle")
	}
	if b.SealRequest.BundleDigest != digestOf(b.CandidateRevisionID) {
		o.FailAt(SealDigestMismatch, "seal_request/bundle_digest", "is not the digest of this bundle's core")
	}
}

// Check holds the parameters to their hash. A deployment is held to symbols and timeframes, and
// an empty list would hold it to nothing.
func (s *Strategy) Check(o field.Object) {
	if s.ParamsSHA256 != digest.SHA256Hex(s.Params) {
		o.Fail(ParamsHashMismatch, "params_sha256", "is not the hash of params")
	}
	if len(s.Symbols) == 0 {
		o.Fail(field.InvalidField, "symbols", "must not be empty")
	}
	if len(s.Timeframes) == 0 {
		o.Fail(field.InvalidField, "timeframes", "must not be empty")
	}
}

// Check implements [field.Checker].
func (s *SealRequest) Check(o field.Object) {
	o.OneOf("subject_type", InvalidSubjectType, SubjectRevision)
	o.Schema("schema", SchemaSealRequest)
	from, _ := field.ParseTime(s.RequestedAt)
	switch to, _ := field.ParseTime(s.ExpiresAt); {
	case !to.After(from):
		o.Fail(field.InvalidTimestamp, "expires_at", "is not after requested_at")
	case to.Sub(from) > MaxValidity:
		o.Fail(field.InvalidTimestamp, "expires_at", "is more than 90 days after requested_at")
	}
}

// FileName is the name of a bundle on disk and as the subject of statements.
const FileName = "candidate_bundle.json"

// Seal completes a bundle: schemas, hash of the parameters, id, and the request's
// subject and digest. All else is the caller's, and is checked as strictly as a bundle
// that comes from elsewhere; the error then is an *Error. The given bundle is not
// changed.
func Seal(b Bundle) (*Document, error) {
	b.Schema, b.CandidateRevisionID = SchemaBundle, ""
	if len(b.Strategy.Params) == 0 {
		b.Strategy.Params = json.RawMessage("{}")
	}
	params, err := field.Parse(b.Strategy.Params)
	if err != nil {
		err.Pointer = "/strategy/params" + err.Pointer
		return nil, err
	}
	b.Strategy.ParamsSHA256 = digest.SHA256Hex(digest.Tree(params))
	withoutNull(&b)
	tree, failure := treeOf(b)
	if failure != nil {
		return nil, failure
	}
	core := coreDigest(tree)
	id := RevisionPrefix + core
	tree["candidate_revision_id"] = id
	request, ok := tree["seal_request"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("seal request: not an object")
	}
	request["schema"], request["subject_type"] = SchemaSealRequest, SubjectRevision
	request["subject_id"], request["bundle_digest"] = id, DigestPrefix+core
	d, err := Decode(digest.Tree(tree))
	if err != nil {
		return nil, err
	}
	return d, nil
}

// withoutNull puts empty lists and objects where Go has nil: the contract has no null.
func withoutNull(b *Bundle) {
	b.Data = append([]Dataset{}, b.Data...)
	b.Artifacts = append([]Artifact{}, b.Artifacts...)
	b.Strategy.Symbols = append([]string{}, b.Strategy.Symbols...)
	b.Strategy.Timeframes = append([]string{}, b.Strategy.Timeframes...)
	b.Runs = append([]Run{}, b.Runs...)
	for i, run := range b.Runs {
		if run.Summary == nil {
			b.Runs[i].Summary = map[string]float64{}
		}
		b.Runs[i].Splits = slices.Clone(run.Splits)
		for k, split := range run.Splits {
			if split.Metrics == nil {
				b.Runs[i].Splits[k].Metrics = map[string]float64{}
			}
		}
	}
}

func treeOf(b Bundle) (map[string]any, error) {
	text, err := digest.JCS(b)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	v, refused := field.Parse(text)
	if refused != nil {
		return nil, refused
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("bundle: not an object")
	}
	return tree, nil
}

// DeployableID names what would run: "dep-" and 32 hex digits of the SHA-256 of plugin,
// parameters and markets. The lists count in their order; no exchanges is the empty list.
func DeployableID(s Strategy) string {
	list := func(in []string) []any {
		out := make([]any, len(in))
		for i, v := range in {
			out[i] = v
		}
		return out
	}
	sum := digest.SHA256Hex(digest.Tree(map[string]any{
		"plugin_sha256": s.Plugin.SHA256, "params_sha256": s.ParamsSHA256,
		"symbols": list(s.Symbols), "timeframes": list(s.Timeframes), "exchanges": list(s.Exchanges),
	}))
	return "dep-" + sum[:32]
}

// FormatTime writes a time as the contract does: UTC, whole seconds.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// NewStatement is the canonical text of a statement about files: subjects with name and
// SHA-256. The predicate is one of this package's types, or any other value.
func NewStatement(predicateType string, subjects []Subject, predicate any) ([]byte, error) {
	text, err := digest.JCS(struct {
		Type          string    `json:"_type"`
		Subject       []Subject `json:"subject"`
		PredicateType string    `json:"predicateType"`
		Predicate     any       `json:"predicate"`
	}{StatementType, subjects, predicateType, predicate})
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	return text, nil
}

// FileSubject is the subject of a file.
func FileSubject(name, sha256 string) Subject {
	return Subject{Name: name, Digest: map[string]string{"sha256": sha256}}
}

// Attest signs a statement about a bundle that was read. What would be refused as an
// attestation is refused here; the error then is an *Error.
func (d *Document) Attest(predicateType string, predicate any, key crypto.Signer) (dsse.Envelope, error) {
	payload, err := NewStatement(predicateType, []Subject{FileSubject(FileName, d.FileSHA256)}, predicate)
	if err != nil {
		return dsse.Envelope{}, err
	}
	if _, refused := ReadStatement(payload); refused != nil {
		return dsse.Envelope{}, refused
	}
	return dsse.Sign(PayloadInToto, payload, key)
}

// EncodePost is a body for the ingest: the bytes of a bundle with attestations about it.
func EncodePost(canonical []byte, envelopes ...dsse.Envelope) ([]byte, error) {
	return digest.JCS(struct {
		Bundle       json.RawMessage `json:"bundle"`
		Attestations []dsse.Envelope `json:"attestations"`
	}{canonical, append([]dsse.Envelope{}, envelopes...)})
}

// MaxValidity is how long a seal request may be valid.
const MaxValidity = 90 * 24 * time.Hour

// MaxAhead is how far a time of a request or statement may lie ahead of the plane's
// clock: clocks differ.
const MaxAhead = 5 * time.Minute

// digestOf is the digest of the core of a revision: its id names it.
func digestOf(id string) string { return DigestPrefix + id[len(RevisionPrefix):] }

// CheckSeal is step 4 of the ingest as far as clock and name of the plane decide it: is
// the request for this log, and is it valid now? It concerns only a file that the plane
// has not taken before.
func (p *Post) CheckSeal(now time.Time, origin string) *Error {
	s, at := p.Bundle.SealRequest, p.at+"/seal_request"
	if s.LogOrigin != origin {
		return field.Refuse(SealAudienceMismatch, at+"/log_origin", "this log is %s", origin)
	}
	from, ok1 := field.ParseTime(s.RequestedAt)
	to, ok2 := field.ParseTime(s.ExpiresAt)
	switch {
	case !ok1 || !ok2:
		return field.Refuse(field.InvalidTimestamp, at, "has no times")
	case !now.Before(to):
		return field.Refuse(SealRequestExpired, at+"/expires_at", "the request has expired")
	case from.Sub(now) > MaxAhead:
		return field.Refuse(SealRequestNotYetValid, at+"/requested_at",
			"the request is dated more than 5 minutes ahead")
	}
	return nil
}
