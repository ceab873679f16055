package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/translog"
)

// Challenge is the window that a replay of a sealed revision has to answer. The plane names only
// the place of its seal: signature, place in the tree and window are worked out here.
func (c *Client) Challenge(ctx context.Context, b *bundle.Bundle) (*bundle.Challenge, error) {
	var state struct {
		Challenge *struct {
			SealLogIndex int64 `json:"seal_log_index"`
		} `json:"challenge"`
	}
	id := b.CandidateRevisionID
	if err := c.read(ctx, &state, "promotion-state", bundle.SubjectRevision, id); err != nil {
		return nil, err
	}
	if state.Challenge == nil {
		return nil, c.unreachable(ctx, fmt.Errorf("it draws no challenges: it is of an earlier version"))
	}
	seal, err := c.sealAt(ctx, state.Challenge.SealLogIndex, id)
	if err != nil {
		return nil, err
	}
	return bundle.ChallengeOf(seal.LeafSHA256, b)
}

// sealAt is the seal of a revision at a place of the log, verified against the key that was pinned
// or is published.
func (c *Client) sealAt(ctx context.Context, index int64, revision string) (*ledger.Seal, error) {
	var entry struct {
		Seal json.RawMessage `json:"seal"`
	}
	if err := c.read(ctx, &entry, "facts", strconv.FormatInt(index, 10)); err != nil {
		return nil, err
	}
	pem, root, err := c.Trust(ctx)
	if err != nil {
		return nil, err
	}
	seal, err := c.checkSeal(ctx, entry.Seal, pem, root, index, revision)
	if err != nil {
		return nil, &UntrustedError{What: "the seal of " + revision, Problems: []string{err.Error()}}
	}
	return seal, nil
}

// checkSeal reads the seal of a revision that is at a place of a log.
func (c *Client) checkSeal(
	ctx context.Context, text, pem, root []byte, index int64, revision string,
) (*ledger.Seal, error) {
	seal, err := ledger.ParseSeal(text)
	if err != nil {
		return nil, err
	}
	key, err := ledger.ParseKey(pem)
	if err != nil {
		return nil, err
	}
	logs, err := ledger.ParseTrustedRoot(root)
	if err != nil {
		return nil, err
	}
	known, err := c.known(ctx, &seal.Sigstore, key, translog.Quorum{}, logs...)
	if err != nil {
		return nil, err
	}
	if _, err := included(seal, index, key, known, logs...); err != nil {
		return nil, err
	}
	signed, err := seal.Sigstore.Entry()
	if err != nil {
		return nil, err
	}
	stated, refused := bundle.ReadStatement(signed.Payload)
	if refused != nil {
		return nil, refused
	}
	var p struct {
		Revision string `json:"candidate_revision_id"`
		Part     int    `json:"part"`
	}
	if err := json.Unmarshal(stated.Statement.Predicate, &p); err != nil {
		return nil, err
	}
	if stated.Statement.PredicateType != bundle.TypeSeal || p.Revision != revision || p.Part != 1 {
		return nil, fmt.Errorf("entry %d differs", index)
	}
	return seal, nil
}

// Committed is what has become of the challenge of a revision where packer and replayer commit to their
// answers. It is not signed.
type Committed struct {
	Verdict     string `json:"verdict"`
	Reason      string `json:"reason"`
	Commitments []struct {
		Side       string `json:"side"`
		Principal  string `json:"principal"`
		KeyID      string `json:"key_id"`
		Commitment string `json:"commitment_sha256"`
		Shown      bool   `json:"shown"`
	} `json:"commitments"`
}

// Committed asks who has committed to an answer to the challenge of a revision.
func (c *Client) Committed(ctx context.Context, revision string) (*Committed, error) {
	var state struct {
		Challenge Committed `json:"challenge"`
	}
	return &state.Challenge, c.read(ctx, &state, "promotion-state", bundle.SubjectRevision, revision)
}

// Find reports what a key has committed to, whether it has shown it, and whether the other side has
// committed as well.
func (c *Committed) Find(keyID string) (sum string, shown, opposed bool) {
	side := ""
	for _, o := range c.Commitments {
		if o.KeyID == keyID {
			sum, shown, side = o.Commitment, o.Shown, o.Side
		}
	}
	for _, o := range c.Commitments {
		opposed = opposed || side != "" && o.Side != side
	}
	return sum, shown, opposed
}
