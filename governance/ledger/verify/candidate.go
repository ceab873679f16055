package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
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
var ownSteps = []bundle.Code{field.RevisionMismatch, field.ParamsHashMismatch, field.SealSubjectMismatch, field.SealDigestMismatch}

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
			required, said := a["required"].(bool)
			c.artifacts = append(c.artifacts, artifact{a.text("name"), a.text("sha256"), a.count("size"), required || !said})
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
	v.step("candidate_revision_id "+c.name, first(
		same("", c.id, c.doc.text("candidate_revision_id")),
		same("seal_request.subject_id", c.id, request.text("subject_id")),
		same("seal_request.bundle_digest", bundle.DigestPrefix+c.id[len(bundle.RevisionPrefix):], request.text("bundle_digest"))))
	strategy := c.doc.object("strategy")
	v.step("params_sha256 "+c.name, same("", digest.SHA256Hex(strategy.object("params").canonical()), strategy.text("params_sha256")))
	if v.opts.ArtifactRoot != "" {
		v.checkArtifacts(c)
	}
}

// checkArtifacts reads every listed artifact below the root. One step says how many are
// equal; each that is not has a step of its own.
func (v *verifier) checkArtifacts(c *candidate) {
	root, err := os.OpenRoot(v.opts.ArtifactRoot)
	if err != nil {
		v.step("artifacts", mismatch("", "a folder", "none that can be opened"))
		return
	}
	defer root.Close()
	equal, absent := 0, 0
	for _, a := range c.artifacts {
		switch err := checkArtifact(root, a); {
		case err == nil:
			equal++
		case errors.Is(err, os.ErrNotExist) && !a.required:
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
func checkArtifact(root *os.Root, a artifact) error {
	info, err := root.Stat(a.name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no such file below --artifact-root: %w", os.ErrNotExist)
	case err != nil:
		return errors.New("the file cannot be opened below --artifact-root")
	case !info.Mode().IsRegular():
		return mismatch("", "a regular file", "something else")
	case a.size < 0 || a.size > maxArtifact:
		return mismatch("size", fmt.Sprintf("0 to %d", int64(maxArtifact)), fmt.Sprint(a.size))
	}
	f, err := root.Open(a.name)
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
