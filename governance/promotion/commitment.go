package promotion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/field"
)

// Committed are the fields of answer_committed, Revealed of answer_revealed.
type Committed struct {
	By
	bundle.Commitment
}

// Revealed are the fields of answer_revealed.
type Revealed struct {
	By
	bundle.Reveal
}

// commitment is what a key has committed to about the challenge of a revision; nonce is "" until it has
// shown it.
type commitment struct {
	by         By
	sum, nonce string
	seq        int64
}

// packs reports whether a principal has signed the bundle of a revision.
func (r *revision) packs(principal string) bool {
	return slices.ContainsFunc(r.signed, func(s signature) bool {
		return bundle.SamePrincipal(s.Principal, principal)
	})
}

// committed is the commitment that a test finds, nil for none.
func (r *revision) committed(test func(*commitment) bool) *commitment {
	for i := range r.commitments {
		if test(&r.commitments[i]) {
			return &r.commitments[i]
		}
	}
	return nil
}

// bound reports whether a principal has committed to an answer: it has no other way to give one, since
// it may have seen that of the other side by now.
func (r *revision) bound(principal string) bool {
	return r.committed(func(c *commitment) bool {
		return bundle.SamePrincipal(c.by.Principal, principal)
	}) != nil
}

// commit keeps what a key has committed to. Of one key the newest counts, until somebody shows an answer.
func (c challenges) commit(r *revision, f *Fact, p *Committed) {
	if reason, _ := c.mayCommit(r, p.KeyID, &p.Commitment); reason != "" {
		return
	}
	own := commitment{by: p.By, sum: p.Commitment.Commitment, seq: f.Seq}
	if old := r.committed(func(o *commitment) bool { return o.by.KeyID == p.KeyID }); old != nil {
		*old = own
		return
	}
	r.commitments = append(r.commitments, own)
}

// mayCommit is why a commitment counts for nothing, "" where it does.
func (c challenges) mayCommit(r *revision, keyID string, p *bundle.Commitment) (reason, text string) {
	if r.challenge == nil || p.Challenge != *r.challenge {
		return bundle.ReasonWindow, "it is not about the window of the seal"
	}
	for _, a := range c.w.deployable(r.bundle.DeployableID).answers {
		if a.leaf == r.leaf && a.schema == r.challenge.Schema {
			return bundle.ReasonShown, "an answer of " + a.by.Principal + " is in the log: who commits now " +
				"may have seen it; replay it without --commit"
		}
	}
	for _, other := range c.w.order {
		if other.committed(func(o *commitment) bool {
			return o.sum == p.Commitment && (o.by.KeyID != keyID || other != r)
		}) != nil {
			return bundle.ReasonCopied, "the same commitment is in the log, by another key or for another " +
				"revision"
		}
	}
	return "", ""
}

// reveal takes the answer that a key has committed to.
func (c challenges) reveal(r *revision, f *Fact, p *Revealed) {
	own, reason, _ := c.mayReveal(r, p.KeyID, &p.Reveal)
	if reason != "" {
		return
	}
	own.nonce = p.Nonce
	d := c.w.deployable(r.bundle.DeployableID)
	d.take(r, f, p.By, answerCommitted, &p.Reveal.Challenge)
	c.w.markDue(d.revisions)
}

// mayReveal is why an answer is not shown, or the commitment that it is held against.
func (c challenges) mayReveal(r *revision, keyID string,
	p *bundle.Reveal) (own *commitment, reason, text string) {
	own = r.committed(func(o *commitment) bool { return o.by.KeyID == keyID })
	switch {
	case r.challenge == nil || p.Challenge.Challenge != *r.challenge:
		return nil, bundle.ReasonWindow, "it is not about the window of the seal"
	case own == nil:
		return nil, bundle.ReasonUnknown, "this key has committed to nothing: replay it with --commit"
	case own.nonce != "":
		return nil, bundle.ReasonRepeated, "this key has shown its answer"
	case !c.opposed(r, own):
		return nil, bundle.ReasonOrder, "packer and replayer commit before either shows an answer: wait " +
			"for the commitment of the other one"
	}
	for _, other := range c.w.order {
		if other.committed(func(o *commitment) bool { return o.nonce == p.Nonce }) != nil {
			return nil, bundle.ReasonNonce, "its nonce was shown before: commit again with another one"
		}
	}
	sum, err := bundle.CommitmentOf(p.LogOrigin, r.id, keyID, p.Nonce, &p.Challenge)
	if err != nil || sum != own.sum {
		return nil, bundle.ReasonDiffer, "answer and nonce are not what this key has committed to"
	}
	return own, "", ""
}

// opposed reports whether the other side has committed as well: to the packer's commitment belongs one of
// somebody who has not packed the revision.
func (c challenges) opposed(r *revision, own *commitment) bool {
	return c.commits(own) && r.committed(func(o *commitment) bool {
		return c.commits(o) && c.isPacker(r, o.by) != c.isPacker(r, own.by)
	}) != nil
}

// commits reports whether a commitment is by a key that still counts.
func (c challenges) commits(o *commitment) bool {
	return c.w.signatureCounts(o.by, bundle.TrustLab, bundle.TrustReplay)
}

// isPacker reports whether somebody is on the packer's side: has signed the revision or, by the rules of
// RulesDisinterested, another one with a run of it.
func (c challenges) isPacker(r *revision, by By) bool {
	return r.packs(by.Principal) || slices.ContainsFunc(r.runs, func(run policy.Run) bool {
		return bundle.Among(c.w.packed.runPackers(c.w, &run), by.Principal)
	})
}

// confirmed reports whether an answer is that of both sides, by commitments alone.
func (c challenges) confirmed(r *revision, list []answer, own answer) bool {
	return own.kind == answerCommitted && dispute(list) == "" &&
		!slices.ContainsFunc(list, func(a answer) bool { return a.kind == answerShadow && a.same(own) }) &&
		slices.ContainsFunc(list, func(a answer) bool {
			return a.kind == answerCommitted && a.decision == own.decision &&
				c.isPacker(r, a.by) != c.isPacker(r, own.by)
		})
}

// CheckCommitment holds a new commitment of a key against the log. at is the pointer of the statement.
func CheckCommitment(w *World, id, keyID string, p *bundle.Commitment, at string) *bundle.Error {
	r, refused := sealedRevision(w, id, at)
	if refused != nil {
		return refused
	}
	reason, text := challenges{w}.mayCommit(r, keyID, p)
	return refuseCommitment(at, reason, text)
}

// CheckReveal holds an answer that a key shows against what it has committed to.
func CheckReveal(w *World, id, keyID string, p *bundle.Reveal, at string) *bundle.Error {
	r, refused := sealedRevision(w, id, at)
	if refused != nil {
		return refused
	}
	_, reason, text := challenges{w}.mayReveal(r, keyID, p)
	return refuseCommitment(at, reason, text)
}

// CheckBound refuses an answer in a replay by somebody who has committed to one.
func CheckBound(w *World, id, principal string, a *bundle.ChallengeAnswer, at string) *bundle.Error {
	if r, ok := w.revisions[id]; ok && a != nil && r.bound(principal) {
		return refuseCommitment(at, bundle.ReasonOrder, principal+" has committed to an answer, and can "+
			"only show that one: replay it with --commit")
	}
	return nil
}

func sealedRevision(w *World, id, at string) (*revision, *bundle.Error) {
	r, ok := w.revisions[id]
	if !ok {
		return nil, refuseCommitment(at, bundle.ReasonUnknown, "the revision has no seal yet: submit its "+
			"bundle first")
	}
	return r, nil
}

func refuseCommitment(at, reason, text string) *bundle.Error {
	if reason == "" {
		return nil
	}
	e := field.Refuse(bundle.InvalidCommitment, at, "%s", text)
	e.Reason = reason
	return e
}

// CommitmentView is who has committed to an answer, as a state shows it.
type CommitmentView struct {
	Side       string `json:"side"` // packer or replayer
	Principal  string `json:"principal"`
	KeyID      string `json:"key_id"`
	Commitment string `json:"commitment_sha256"`
	Seq        int64  `json:"seq"`
	// Shown reports whether the answer is in the log.
	Shown bool `json:"shown"`
}

// commitments adds to a view who has committed, and says for whom it waits.
func (c challenges) commitments(r *revision, out *ChallengeView) {
	var silent []string
	sides := map[string]bool{}
	for i := range r.commitments {
		o := &r.commitments[i]
		if !c.commits(o) {
			continue
		}
		side := "replayer"
		if c.isPacker(r, o.by) {
			side = "packer"
		}
		sides[side] = true
		out.Commitments = append(out.Commitments,
			CommitmentView{side, o.by.Principal, o.by.KeyID, o.sum, o.seq, o.nonce != ""})
		if o.nonce == "" {
			silent = append(silent, o.by.Principal)
		}
	}
	if len(silent) == 0 || out.Verdict == challengeDisputed {
		return
	}
	out.Reason = strings.Join(silent, ", ") + " committed and did not show the answer yet"
	if len(sides) < 2 {
		missing := "packer"
		if sides[missing] {
			missing = "replayer"
		}
		out.Reason = fmt.Sprintf("%s committed, and waits for the commitment of the %s",
			strings.Join(silent, ", "), missing)
	}
}

// markCommitted adds to a replay whether its answer is that of packer and replayer, by commitments.
func (c challenges) markCommitted(r *revision, list []answer, keyID string, out *policy.ReplayResult) {
	i := slices.IndexFunc(list, func(a answer) bool {
		return a.by.KeyID == keyID && a.kind == answerCommitted
	})
	out.Committed = i >= 0 && c.confirmed(r, list, list[i])
}
