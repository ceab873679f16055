package candidate

import (
	"crypto"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/file"
)

const schemaSecret = "lab-commitment/v1"

// Secret is the answer that a key has committed to, with the nonce that hides it until it is shown.
type Secret struct {
	Schema              string                 `json:"schema" is:"oneof lab-commitment/v1"`
	LogOrigin           string                 `json:"log_origin" is:"filled"`
	CandidateRevisionID string                 `json:"candidate_revision_id" is:"revision"`
	KeyID               string                 `json:"key_id" is:"sha256"`
	Nonce               string                 `json:"nonce" is:"sha256"`
	Challenge           bundle.ChallengeAnswer `json:"challenge"`
}

// NewSecret hides an answer behind a nonce of its own.
func NewSecret(origin, revision string, key crypto.Signer, a *bundle.ChallengeAnswer) (*Secret, error) {
	id, err := dsse.KeyID(key.Public())
	if err != nil {
		return nil, err
	}
	var nonce [32]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	return &Secret{schemaSecret, origin, revision, id, hex.EncodeToString(nonce[:]), *a}, nil
}

// ParseSecret reads a secret strictly.
func ParseSecret(text []byte) (*Secret, error) {
	v, refused := field.Parse(text)
	if refused != nil {
		return nil, refused
	}
	r, s := &field.Reader{}, &Secret{}
	if r.Struct(v, "", s); r.Failed() {
		return nil, r.Err()
	}
	return s, nil
}

// secretPath is where a state directory keeps the secret of a key about a revision.
func secretPath(stateDir, revision, keyID string) string {
	return filepath.Join(stateDir, "commitments", revision+"-"+keyID[:16]+".json")
}

// Keep stores the secret, for its owner only.
func (s *Secret) Keep(stateDir string) error {
	text, err := digest.JCS(s)
	if err != nil {
		return err
	}
	path := secretPath(stateDir, s.CandidateRevisionID, s.KeyID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Write(path, text, 0o600)
}

// LoadSecret is the secret of a key about a revision, nil where there is none.
func LoadSecret(stateDir, revision, keyID string) (*Secret, error) {
	path := secretPath(stateDir, revision, keyID)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := ParseSecret(text)
	if err == nil && (s.CandidateRevisionID != revision || s.KeyID != keyID) {
		err = errors.New("it is of another revision or key")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not what was kept: %w; remove it to commit anew", path, err)
	}
	return s, nil
}

// Commitment is what binds the key to its answer.
func (s *Secret) Commitment() (string, error) {
	return bundle.CommitmentOf(s.LogOrigin, s.CandidateRevisionID, s.KeyID, s.Nonce, &s.Challenge)
}

// Commit signs the commitment, which shows nothing of the answer.
func (s *Secret) Commit(doc *bundle.Document, key crypto.Signer, now time.Time) (dsse.Envelope, error) {
	sum, err := s.Commitment()
	if err != nil {
		return dsse.Envelope{}, err
	}
	return doc.Attest(bundle.TypeCommitment, bundle.Commitment{Common: s.common(now, "commits to an answer"),
		Challenge: s.Challenge.Challenge, Commitment: sum}, key)
}

// Reveal signs answer and nonce.
func (s *Secret) Reveal(doc *bundle.Document, key crypto.Signer, now time.Time) (dsse.Envelope, error) {
	return doc.Attest(bundle.TypeReveal, bundle.Reveal{Common: s.common(now, "shows its answer"),
		Challenge: s.Challenge, Nonce: s.Nonce}, key)
}

func (s *Secret) common(now time.Time, reason string) bundle.Common {
	return bundle.Common{LogOrigin: s.LogOrigin, CandidateRevisionID: s.CandidateRevisionID,
		MadeAt: now.UTC().Format(time.RFC3339Nano), ExpiresAt: bundle.FormatTime(now.Add(replayValid)),
		Reason: reason}
}

// Progress is how far a key has come with its answer.
type Progress struct {
	// Step is committed or shown.
	Step       string `json:"step"`
	Commitment string `json:"commitment_sha256"`
	// Reason is what the plane says of the challenge.
	Reason string `json:"reason"`
}

// The steps of a Progress.
const (
	StepCommitted = "committed"
	StepShown     = "shown"
)

// Text says how far it is, and what is to be done.
func (p *Progress) Text() string {
	if p.Step == StepCommitted {
		return "committed: " + p.Reason + "; give the same command again then, or wait with --wait 1h"
	}
	return "shown: " + p.Reason
}
