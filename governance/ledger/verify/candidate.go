package verify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// candidate is a candidate bundle with what is computed from its bytes.
type candidate struct {
	name      string
	data      []byte
	doc       document
	canonical []byte
	id        string // computed, not claimed
	sha       string // file_sha256: of the canonical form
	artifacts []artifact
}

// artifact is one that the bundle lists.
type artifact struct {
	name, sha256 string
	size         int64
	required     bool
}

// ownSteps are the refusals that a step of its own shows, with what was expected.
var ownSteps = []bundle.Code{bundle.RevisionMismatch, bundle.ParamsHashMismatch, bundle.SealSubjectMismatch,
	bundle.SealDigestMismatch}

// readCandidate reads a bundle. The candidate is nil only where not even the JSON can be
// read.
func readCandidate(f File) (*candidate, error) {
	doc, err := parse(f.Data)
	if err != nil {
		return nil, err
	}
	c := &candidate{name: f.Name, data: f.Data, doc: doc, canonical: doc.canonical()}
	c.sha = digest.SHA256Hex(c.canonical)
	c.id = bundle.RevisionPrefix + digest.SHA256Hex(doc.canonical("candidate_revision_id", "seal_request"))
	for _, v := range doc.list("artifacts") {
		if a, ok := v.(map[string]any); ok {
			a := document(a)
			required, stated := a["required"].(bool)
			c.artifacts = append(c.artifacts,
				artifact{a.text("name"), a.text("sha256"), a.count("size"), required || !stated})
		}
	}
	if _, refused := bundle.Decode(f.Data); refused != nil && !slices.Contains(ownSteps, refused.Code) {
		return c, refused
	}
	return c, nil
}

// checkBundle takes the steps that need nothing but the bundle and its artifacts.
func (v *verifier) checkBundle(c *candidate) {
	var err error
	if !bytes.Equal(c.data, c.canonical) {
		err = mismatch("", "the canonical form, sha256 "+c.sha, "sha256 "+digest.SHA256Hex(c.data))
	}
	v.step("canonical bytes "+c.name, err)
	request := c.doc.object("seal_request")
	v.step("candidate_revision_id "+c.name, cmp.Or(
		same("", c.id, c.doc.text("candidate_revision_id")),
		same("seal_request.subject_id", c.id, request.text("subject_id")),
		same("seal_request.bundle_digest", bundle.DigestPrefix+c.id[len(bundle.RevisionPrefix):],
			request.text("bundle_digest"))))
	strategy := c.doc.object("strategy")
	v.step("params_sha256 "+c.name,
		same("", digest.SHA256Hex(strategy.object("params").canonical()), strategy.text("params_sha256")))
	if v.opts.Artifacts != nil {
		v.checkArtifacts(c)
	}
}

// checkArtifacts reads every listed artifact below the root. One step reports how many are
// equal; each that is not has a step of its own.
func (v *verifier) checkArtifacts(c *candidate) {
	equal, absent := 0, 0
	for _, a := range c.artifacts {
		switch err := checkArtifact(v.opts.Artifacts, a); {
		case err == nil:
			equal++
		case errors.Is(err, fs.ErrNotExist) && !a.required:
			absent++
		default:
			v.step("artifact "+a.name, err)
		}
	}
	if n := len(c.artifacts); equal > 0 || n == 0 {
		v.step(fmt.Sprintf("artifacts: %d of %d read and equal", equal, n), nil)
	}
	if absent > 0 {
		v.skip("%s: not required and not there", plural(absent, "artifact"))
	}
}

// maxArtifact is the largest size that an artifact may have, in bytes.
const maxArtifact = 1 << 32

// checkArtifact compares size and hash of one file. It reads no further than the size
// that the bundle declares, and only regular files: opening a pipe would wait.
func checkArtifact(files fs.FS, a artifact) error {
	info, err := fs.Stat(files, a.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no such file below --artifact-root: %w", fs.ErrNotExist)
	case err != nil:
		return errors.New("the file cannot be opened below --artifact-root")
	case !info.Mode().IsRegular():
		return mismatch("", "a regular file", "something else")
	case a.size < 0 || a.size > maxArtifact:
		return mismatch("size", fmt.Sprintf("0 to %d", int64(maxArtifact)), fmt.Sprint(a.size))
	}
	f, err := files.Open(a.name)
	if err != nil {
		return errors.New("the file cannot be opened below --artifact-root")
	}
	defer f.Close()
	sum, n, err := hashUpTo(f, a.size+1)
	if err != nil {
		return errors.New("the file cannot be read")
	}
	if n != a.size {
		return mismatch("size", fmt.Sprint(a.size), atLeast(n, a.size))
	}
	return same("sha256", a.sha256, sum)
}

func atLeast(n, limit int64) string {
	if n > limit {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

func hashUpTo(r io.Reader, limit int64) (string, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(r, limit))
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// document is a JSON object that was read strictly: see digest.Strict for the types of
// its members.
type document map[string]any

// parse reads one JSON object by the contract's strict rules.
func parse(text []byte) (document, error) {
	v, refused := field.Parse(text)
	if refused != nil {
		return nil, refused
	}
	d, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	return d, nil
}

// text is a string member, "" when there is none.
func (d document) text(name string) string {
	s, _ := d[name].(string)
	return s
}

// object is a member that is an object, empty when there is none.
func (d document) object(name string) document {
	o, _ := d[name].(map[string]any)
	return o
}

// list is a member that is an array, empty when there is none.
func (d document) list(name string) []any {
	l, _ := d[name].([]any)
	return l
}

// count is a whole number, -1 when there is none.
func (d document) count(name string) int64 {
	x, ok := d[name].(float64)
	if n := int64(x); ok && float64(n) == x {
		return n
	}
	return -1
}

// time is a time as the contract writes them.
func (d document) time(name string) (time.Time, bool) { return field.ParseTime(d.text(name)) }

// canonical is the document's canonical JSON without some members.
func (d document) canonical(without ...string) []byte {
	rest := maps.Clone(d)
	for _, name := range without {
		delete(rest, name)
	}
	return digest.Tree(map[string]any(rest))
}

// readEnvelope reads a DSSE envelope strictly.
func readEnvelope(text []byte) (*dsse.Signed, error) {
	signed, refused := bundle.DecodeEnvelope(text)
	if refused != nil {
		return nil, refused
	}
	return signed, nil
}

// checkAttestations takes one step for each envelope: it must be what the ingest would
// have taken with one of the bundles, by --trust, at the time at which it claims to be made.
func (v *verifier) checkAttestations() {
	packers := v.packers()
	for _, f := range v.envelopes {
		signed, err := readEnvelope(f.Data)
		switch {
		case err != nil:
			err = mismatch("", "an envelope that can be read", "none")
		case v.trust == nil:
			err = mismatch("", "trusted keys given by --trust", "none")
		default:
			err = mismatch("", "a given bundle that it is about", "none")
			for _, c := range v.bundles {
				if err = v.checkAttestation(c, f.Data, signed, packers); err == nil {
					break
				}
			}
		}
		v.step("attestation "+f.Name, err)
	}
}

// checkAttestation judges one envelope as the ingest does.
func (v *verifier) checkAttestation(c *candidate, text []byte, signed *dsse.Signed, packers []string) error {
	found, err := v.judge(c, text, signed, packers)
	if err != nil {
		return mismatch("", "an attestation that the ingest takes", err.Error())
	}
	for _, a := range found {
		if a.Parsed.Known() {
			return nil
		}
	}
	return mismatch("predicateType", "one that counts", found[0].Parsed.Statement.PredicateType)
}

func (v *verifier) judge(c *candidate, text []byte, signed *dsse.Signed,
	packers []string) ([]bundle.Attestation, error) {
	body := fmt.Appendf(nil, `{"bundle":%s,"attestations":[%s]}`, c.canonical, text)
	post, refused := bundle.ReadPost(body)
	if refused != nil {
		return nil, refused
	}
	request := post.Bundle.SealRequest
	found, refused := post.Attestations(bundle.Judge{Trust: v.trust, Now: madeAt(signed, c),
		Origin: request.LogOrigin, Excluded: packers})
	if refused != nil {
		return nil, refused
	}
	return found, nil
}

// madeAt is when a statement reports that it was made. A signature of the bundle has no
// time: it is judged at the time of the request that it goes with.
func madeAt(signed *dsse.Signed, c *candidate) time.Time {
	if stated, refused := bundle.ReadStatement(signed.Payload); refused == nil && stated.Common != nil {
		return document{"made_at": stated.Common.MadeAt}.must("made_at")
	}
	return c.doc.object("seal_request").must("requested_at")
}

// must is a time member, the zero time when there is none.
func (d document) must(name string) time.Time {
	t, _ := d.time(name)
	return t
}

// packers is who signed a bundle among the envelopes: they may not approve it.
func (v *verifier) packers() []string {
	var names []string
	for _, f := range v.envelopes {
		signed, err := readEnvelope(f.Data)
		if err != nil || v.trust == nil {
			continue
		}
		for _, c := range v.bundles {
			found, _ := v.judge(c, f.Data, signed, nil)
			for _, a := range found {
				if a.Parsed.Statement.PredicateType == bundle.TypeBundle {
					names = append(names, a.Principal)
				}
			}
		}
	}
	return names
}
