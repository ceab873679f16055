package bundle

import (
	"github.com/assay-run/assay/host/base/digest"
)

// The predicate types of answers to a challenge that were committed to before they are shown.
const (
	TypeCommitment = URIBase + "commitment/v1"
	TypeReveal     = URIBase + "reveal/v1"
)

// Commitment binds its signer to an answer to the challenge of a seal, and shows nothing of it.
type Commitment struct {
	Common
	Challenge  Challenge `json:"challenge"`
	Commitment string    `json:"commitment_sha256" is:"sha256"`
}

// Reveal shows the answer that its signer has committed to.
type Reveal struct {
	Common
	Challenge ChallengeAnswer `json:"challenge"`
	// Nonce is 32 random bytes in hex, which keep the answer from being guessed.
	Nonce string `json:"nonce" is:"sha256"`
}

// CommitmentOf is the commitment of a key to an answer: the SHA-256 of the canonical form of all that it
// is bound to. It is of no use to another key, or to another log or revision.
func CommitmentOf(origin, revision, keyID, nonce string, a *ChallengeAnswer) (string, error) {
	return digest.Of(map[string]any{
		"schema": "challenge-commitment/v1", "log_origin": origin, "candidate_revision_id": revision,
		"key_id": keyID, "challenge": a, "nonce": nonce,
	})
}
