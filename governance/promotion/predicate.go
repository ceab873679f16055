package promotion

import "github.com/assay-run/assay/governance/bundle"

// LogStart is the predicate log-start/v1: the first entry of a log. Times in this file
// are RFC 3339 in UTC.
type LogStart struct {
	Origin     string     `json:"origin"`
	PublicKeys PublicKeys `json:"public_keys"`
	RecordedAt string     `json:"recorded_at"`
}

// PublicKeys are the keys of a log: of its statements as PEM, of its checkpoints as a
// verifier key of signed notes.
type PublicKeys struct {
	Statement string `json:"statement"`
	Log       string `json:"log"`
}

// Seal is the predicate seal/v1: these exact bytes were accepted. TrustDigest is null in
// open mode. A seal whose artifacts are more than one statement can name is split in
// Parts, of which Part is the 1-based number.
type Seal struct {
	CandidateRevisionID string             `json:"candidate_revision_id"`
	FamilyID            string             `json:"family_id"`
	RequestedStage      bundle.Stage       `json:"requested_stage"`
	ReceivedAt          string             `json:"received_at"`
	Rungs               []string           `json:"rungs"`
	PolicyDigest        string             `json:"policy_digest"`
	TrustDigest         *string            `json:"trust_digest"`
	SealRequest         bundle.SealRequest `json:"seal_request"`
	Part                int                `json:"part"`
	Parts               int                `json:"parts"`
	// Evidence is what the files of all runs came to, in the order of the bundle; empty
	// where one of them was not read, in further parts, and in seals of earlier versions.
	Evidence []bundle.RunEvidence `json:"evidence,omitempty"`
}

// Recorded is the predicate attestation-recorded/v1: an attestation was verified with
// this key, which then belonged to this principal and had these roles.
type Recorded struct {
	PAESHA256  string   `json:"pae_sha256"`
	Type       string   `json:"type"` // the attestation's predicate type
	KeyID      string   `json:"key_id"`
	Principal  string   `json:"principal"`
	Roles      []string `json:"roles"`
	RecordedAt string   `json:"recorded_at"`
}

// StageDecision is the predicate stage-decision/v1: what the machine decided. From and To
// are "stage/status"; From is null for a revision's first place.
type StageDecision struct {
	From         *string `json:"from"`
	To           string  `json:"to"`
	Cause        Cause   `json:"cause"`
	PlanDigest   *string `json:"plan_digest"`
	PolicyDigest string  `json:"policy_digest"`
	EvaluatedAt  string  `json:"evaluated_at"`
	// RelatedRevisionID is the revision that superseded this one, or from which it
	// inherits its place.
	RelatedRevisionID string `json:"related_revision_id,omitempty"`
}

// Cause is why a stage decision was made.
type Cause string

// The causes.
const (
	CauseFirst       Cause = "first_submission"
	CauseInherited   Cause = "inherited"
	CausePromoted    Cause = "promoted"
	CauseSuperseded  Cause = "superseded"
	CauseResumed     Cause = "resumed"
	CauseResubmitted Cause = "resubmitted"
	CauseFailed      Cause = "plan_failed"
)

// Text is the predicate policy/v1 or trust/v1: a policy or trust.json as canonical JSON.
//
// Rules is, of a policy, the version of the rules by which gates are judged from here on; 0
// stands for the first.
type Text struct {
	Digest     string `json:"digest"`
	Version    int64  `json:"version"`
	Text       string `json:"text"`
	Rules      int64  `json:"rules,omitempty"`
	RecordedAt string `json:"recorded_at"`
}

// RulesVerified is the version of the rules under which a gate judges only what the plane has
// worked out of files that it has read. Before it gates believed what a bundle declares.
const RulesVerified = 2
