package store

import (
	"bytes"
	"crypto/ecdsa"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// SubjectLog is the subject type of entries about the log itself.
const SubjectLog = "log"

// row is one entry as the truth has it, with the submission or attestation that it names.
type row struct {
	seq                          int64
	kind, subjectType, subjectID string
	payload, signature, leaf     []byte
	recordedAt                   string
	fileSHA, submissionID        *string
	body                         []byte
	paeSHA, keyID, envelope      *string
	entry                        *promotion.Entry
	hash                         tlog.Hash
	signed                       *dsse.Signed // of a recorded attestation
	facts                        []promotion.Fact
	factRows                     [][]any
	fault                        error
}

const rowsQuery = `
SELECT l.seq, l.statement_type, l.subject_type, l.subject_id, l.payload, l.signature, l.leaf_hash, l.recorded_at,
       s.file_sha256, s.candidate_revision_id, s.body, a.pae_sha256, a.key_id, a.envelope
FROM ledger l LEFT JOIN submissions s ON s.seq = l.seq LEFT JOIN attestations a ON a.seq = l.seq
WHERE l.seq >= ? AND l.seq < ? ORDER BY l.seq`

func (r *row) scan(scan func(...any) error) error {
	return scan(&r.seq, &r.kind, &r.subjectType, &r.subjectID, &r.payload, &r.signature, &r.leaf, &r.recordedAt,
		&r.fileSHA, &r.submissionID, &r.body, &r.paeSHA, &r.keyID, &r.envelope)
}

// read takes the row for what its bytes say, compares the columns with that, and makes its
// facts: all that does not depend on the entries before it.
func (r *row) read(origin string, key *ledger.Key) {
	if r.fault = r.check(origin, key); r.fault != nil {
		return
	}
	if r.facts, r.fault = promotion.FactsOf(r.entry); r.fault != nil {
		return
	}
	r.factRows, r.fault = factRows(r.facts)
}

func (r *row) check(origin string, key *ledger.Key) error {
	e, err := promotion.ReadEntry(r.seq, r.payload)
	if err != nil {
		return err
	}
	r.entry = e
	r.hash = ledger.LeafHash(ledger.Leaf(r.ledgerEntry(), key))
	if !bytes.Equal(r.hash[:], r.leaf) {
		return fmt.Errorf("its leaf is another one")
	}
	if e.Type != r.kind {
		return fmt.Errorf("its type is another one")
	}
	subjectType, subjectID := subjectOf(e, origin)
	if subjectType != r.subjectType || subjectID != r.subjectID {
		return fmt.Errorf("its subject is another one")
	}
	if recordedAt(e) != r.recordedAt {
		return fmt.Errorf("its time is another one")
	}
	if err := r.checkSubmission(); err != nil {
		return err
	}
	return r.checkAttestation()
}

func (r *row) ledgerEntry() ledger.Entry {
	return ledger.Entry{PayloadType: bundle.PayloadInToto, Payload: r.payload, Signature: r.signature}
}

// checkSubmission reads the bundle that a seal accepts.
func (r *row) checkSubmission() error {
	seal, is := r.entry.Predicate.(*promotion.Seal)
	if is = is && seal.Part == 1; is != (r.fileSHA != nil) {
		return fmt.Errorf("a seal without its submission, or a submission without its seal")
	}
	if !is {
		return nil
	}
	// The payload, which the leaf proves, names the hash of the bytes that were accepted.
	if len(r.entry.Subject) == 0 || r.entry.Subject[0].Digest["sha256"] != *r.fileSHA {
		return fmt.Errorf("its submission is of another file")
	}
	doc, refused := bundle.Accepted(r.body, *r.fileSHA)
	if refused != nil {
		return fmt.Errorf("its submission: %w", refused)
	}
	if doc.Bundle.CandidateRevisionID != *r.submissionID || *r.submissionID != seal.CandidateRevisionID {
		return fmt.Errorf("its submission is another one")
	}
	r.entry.Document = doc
	return nil
}

// checkAttestation reads the attestation that an entry records. Its signature is checked
// when the trust of its time is known.
func (r *row) checkAttestation() error {
	recorded, is := r.entry.Predicate.(*promotion.Recorded)
	if is != (r.envelope != nil) {
		return fmt.Errorf("a record without its attestation, or an attestation without its record")
	}
	if !is {
		return nil
	}
	signed, refused := bundle.DecodeEnvelope([]byte(*r.envelope))
	if refused != nil {
		return fmt.Errorf("its attestation: %w", refused)
	}
	text, err := digest.JCS(signed.Envelope)
	if err != nil {
		return err
	}
	sum := digest.SHA256Hex(signed.PAE())
	if string(text) != *r.envelope || sum != *r.paeSHA || sum != recorded.PAESHA256 || *r.keyID != recorded.KeyID {
		return fmt.Errorf("its attestation is another one")
	}
	said, refused := bundle.ReadStatement(signed.Payload)
	if refused != nil {
		return fmt.Errorf("its attestation: %w", refused)
	}
	r.entry.Said, r.signed = said, signed
	return nil
}

// checkSigner says whether the key that an attestation is recorded with made it: the key
// as trust.json had it then.
func (r *row) checkSigner(trust *bundle.Trust) error {
	if r.signed == nil {
		return nil
	}
	if key := trustedKey(trust, *r.keyID); key != nil && len(r.signed.Verify(key)) == 1 {
		return nil
	}
	return fmt.Errorf("its attestation is not signed by the recorded key")
}

func trustedKey(trust *bundle.Trust, id string) *ecdsa.PublicKey {
	if trust == nil {
		return nil
	}
	for _, k := range trust.Keys {
		if k.KeyID == id {
			key, err := dsse.ParseP256([]byte(k.PublicKey))
			if err != nil {
				return nil
			}
			return key
		}
	}
	return nil
}

// subjectOf is how the ledger's columns name what an entry is about.
func subjectOf(e *promotion.Entry, origin string) (subjectType, subjectID string) {
	if id := e.Revision(); id != "" {
		return bundle.SubjectRevision, id
	}
	return SubjectLog, origin
}

// recordedAt is the time of an entry as it is written there.
func recordedAt(e *promotion.Entry) string {
	switch p := e.Predicate.(type) {
	case *promotion.LogStart:
		return p.RecordedAt
	case *promotion.Seal:
		return p.ReceivedAt
	case *promotion.Recorded:
		return p.RecordedAt
	case *promotion.StageDecision:
		return p.EvaluatedAt
	case *promotion.Text:
		return p.RecordedAt
	}
	return ""
}
