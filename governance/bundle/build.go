package bundle

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

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
func (d *Document) Attest(predicateType string, predicate any, key *ecdsa.PrivateKey) (dsse.Envelope, error) {
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
		return field.Refuse(SealRequestNotYetValid, at+"/requested_at", "the request is dated more than 5 minutes ahead")
	}
	return nil
}
