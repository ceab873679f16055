package candidate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/lab/request"
)

// The files of a candidate's folder, besides bundle.FileName.
const (
	EnvelopeName = "candidate_bundle.dsse.json"
	ReceiptName  = "ingest_receipt.json"
	SigstoreName = "candidate_bundle.sigstore.json"
	ProofName    = "candidate_bundle.tlog-proof"
)

// derived are the files that are about exactly one candidate_bundle.json. What comes first
// goes first when that changes.
var derived = []string{ProofName, SigstoreName, ReceiptName, EnvelopeName}

// maxBundle bounds what is read as a bundle, in bytes.
const maxBundle = bundle.MaxBody

// Shelf is the folder of all candidates of a state directory. Writers hold its lock.
type Shelf struct{ dir string }

// NewShelf is the shelf of a state directory; it is made when the first candidate is kept.
func NewShelf(stateDir string) *Shelf { return &Shelf{filepath.Join(stateDir, "candidates")} }

// Dir is the folder of a revision.
func (s *Shelf) Dir(revision string) string { return filepath.Join(s.dir, revision) }

// lock makes the folder and waits for whoever else is packing.
func (s *Shelf) lock() (*file.Lock, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	l, err := file.LockDir(s.dir)
	if err != nil {
		return nil, err
	}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// sweep removes what a crash has left half made, here and in the folders; the lock says that
// nobody is making it.
func (s *Shelf) sweep() error {
	var errs []error
	for _, pattern := range []string{file.TempPrefix + "*", filepath.Join("*", file.TempPrefix+"*")} {
		left, err := filepath.Glob(filepath.Join(s.dir, pattern))
		errs = append(errs, err)
		for _, path := range left {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// IDs are the revisions that are there, sorted.
func (s *Shelf) IDs() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), bundle.RevisionPrefix) {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// Load reads one revision. The error is fs.ErrNotExist if there is none, and an
// *request.Error ARTIFACT_MISMATCH when its bytes are not those that its name stands for.
func (s *Shelf) Load(revision string) (*bundle.Document, error) {
	path := filepath.Join(s.Dir(revision), bundle.FileName)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	changed := func(why string) error {
		return request.Errorf(request.CodeArtifactMismatch, "%s is not what was packed (%s): move the folder away and pack again", path, why).
			With("candidate_revision_id", revision, "problems", []string{bundle.FileName + ": " + why})
	}
	if info.Size() > maxBundle {
		return nil, changed("it is too large")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, refused := bundle.Decode(text)
	switch {
	case refused != nil:
		return nil, changed(refused.Error())
	case doc.Bundle.CandidateRevisionID != revision:
		return nil, changed("it is " + doc.Bundle.CandidateRevisionID)
	case !bytes.Equal(doc.Canonical, text):
		return nil, changed("it is not canonical JSON")
	}
	return doc, nil
}

// ofCandidate are the revisions of a candidate_id, sorted by revision.
func (s *Shelf) ofCandidate(candidateID string) ([]*bundle.Document, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	var list []*bundle.Document
	for _, id := range ids {
		doc, err := s.Load(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a folder that somebody is taking away
		}
		if err != nil {
			return nil, err
		}
		if doc.Bundle.Candidate.CandidateID == candidateID {
			list = append(list, doc)
		}
	}
	return list, nil
}

// last is the revision that was packed last: the one that is nobody's parent. Where folders
// were taken away there can be several, and the newest request decides.
func last(list []*bundle.Document) *bundle.Document {
	var tip *bundle.Document
	for _, d := range list {
		parent := slices.ContainsFunc(list, func(o *bundle.Document) bool {
			p := o.Bundle.Candidate.Lineage.ParentRevisionID
			return p != nil && *p == d.Bundle.CandidateRevisionID
		})
		if !parent && (tip == nil || d.Bundle.SealRequest.RequestedAt > tip.Bundle.SealRequest.RequestedAt) {
			tip = d
		}
	}
	return tip
}

// keep puts a bundle in its place, with its envelope unless that is nil. A new revision
// appears whole; one that is there loses the files about its old bytes before it gets the
// new ones, so that at no moment two files disagree.
func (s *Shelf) keep(doc *bundle.Document, envelope []byte) error {
	dir := s.Dir(doc.Bundle.CandidateRevisionID)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return s.place(dir, doc, envelope)
	}
	for _, name := range derived {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := put(dir, bundle.FileName, doc.Canonical); err != nil || envelope == nil {
		return err
	}
	return put(dir, EnvelopeName, envelope)
}

// place makes a folder beside its place and moves it there.
func (s *Shelf) place(dir string, doc *bundle.Document, envelope []byte) error {
	temp, err := os.MkdirTemp(s.dir, file.TempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := put(temp, bundle.FileName, doc.Canonical); err != nil {
		return err
	}
	if envelope != nil {
		if err := put(temp, EnvelopeName, envelope); err != nil {
			return err
		}
	}
	return file.MoveDir(temp, dir)
}

// unread says whether a plane has sealed the kept bundle without reading the files of its runs.
func (s *Shelf) unread(revision string) bool {
	text, err := os.ReadFile(filepath.Join(s.Dir(revision), ReceiptName))
	if err != nil {
		return false // it was not submitted yet
	}
	var receipt struct {
		Seal struct {
			Sigstore struct {
				Envelope struct {
					Payload []byte `json:"payload"`
				} `json:"dsseEnvelope"`
			} `json:"sigstore_bundle"`
		} `json:"seal"`
	}
	if err := json.Unmarshal(text, &receipt); err != nil {
		return false
	}
	var sealed struct {
		Predicate struct {
			Evidence []bundle.RunEvidence `json:"evidence"`
		} `json:"predicate"`
	}
	err = json.Unmarshal(receipt.Seal.Sigstore.Envelope.Payload, &sealed)
	return err == nil && len(sealed.Predicate.Evidence) == 0
}

// put replaces a file.
func put(dir, name string, content []byte) error {
	return file.Write(filepath.Join(dir, name), content, 0o600)
}
