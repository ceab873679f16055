package promotion

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/field"
)

// challenges looks at the answers to challenges in a World.
type challenges struct{ w *World }

// answer is what one key says that a program decides in the window of a seal.
type answer struct {
	by             By
	kind           string // answerReplay, answerShadow or answerCommitted
	schema         string // of the window
	leaf, decision string
	seq            int64
}

// same reports whether two answers are to the same window, so that they can be compared.
func (a answer) same(o answer) bool { return a.leaf == o.leaf && a.schema == o.schema }

// The statements that answers come in.
const (
	answerReplay    = "replay"
	answerShadow    = "shadow"
	answerCommitted = "reveal"
)

// draw draws the window of a revision, and the one that earlier versions drew of it: what a log has of
// answers to that keeps its effect. Where its bundle has none, gap is why.
func (r *revision) draw(leaf string) {
	if leaf == "" {
		return
	}
	var err error
	b := &bundle.Bundle{Strategy: r.bundle.Strategy, Data: r.bundle.Data}
	if r.challenge, err = bundle.ChallengeOf(leaf, b); err != nil {
		r.gap = err.Error()
	}
	if r.earlier, err = bundle.EarlierChallengeOf(leaf, b); err != nil {
		r.earlier = nil // for the same reason
	}
}

// drew reports whether a challenge is one that was drawn of the revision.
func (r *revision) drew(c *bundle.Challenge) bool {
	return r.challenge != nil && *c == *r.challenge || r.earlier != nil && *c == *r.earlier
}

// take keeps the first answer of a key to the challenge of a revision: who could answer again
// would wait for the answers of others. One to another window is none.
func (d *deployable) take(r *revision, f *Fact, by By, kind string, a *bundle.ChallengeAnswer) {
	if a == nil || !r.drew(&a.Challenge) {
		return
	}
	own := answer{by, kind, a.Schema, a.Leaf, a.DecisionSHA256, f.Seq}
	if !slices.ContainsFunc(d.answers, func(o answer) bool {
		return o.same(own) && o.kind == kind && o.by.KeyID == by.KeyID
	}) {
		d.answers = append(d.answers, own)
	}
}

// to are the answers to one challenge whose keys still count, in their order.
func (c challenges) to(r *revision) []answer {
	var list []answer
	for _, a := range c.w.deployable(r.bundle.DeployableID).answers {
		roles := []string{bundle.TrustShadow}
		if a.kind != answerShadow {
			roles = []string{bundle.TrustLab, bundle.TrustReplay}
		}
		if a.leaf == r.leaf && c.w.signatureCounts(a.by, roles...) {
			list = append(list, a)
		}
	}
	return list
}

// dispute is the disagreement among answers in words, with two of their keys; "" where all agree.
func dispute(list []answer) string {
	for i := range list {
		b := &list[i]
		a := &list[slices.IndexFunc(list, b.same)]
		if a.decision != b.decision {
			return fmt.Sprintf("answers to the challenge differ: %.12s… by %s (key %.16s) and %.12s… by %s "+
				"(key %.16s); neither counts while both keys are trusted", a.decision, a.by.Principal,
				a.by.KeyID, b.decision, b.by.Principal, b.by.KeyID)
		}
	}
	return ""
}

// mark adds to a replay what became of its answer. One that is older than the rule needs none.
func (c challenges) mark(replay *Replay, out *policy.ReplayResult) {
	out.Answered, out.Earlier = out.Seq < c.w.since.challenged, out.Seq < c.w.since.independent
	r, ok := c.w.revisions[replay.CandidateRevisionID]
	if !ok {
		return
	}
	list := c.to(r)
	if slices.ContainsFunc(list, func(a answer) bool { return a.by.KeyID == replay.KeyID }) {
		out.Answered, out.Disputed = true, dispute(list)
		out.Confirmed = slices.ContainsFunc(list, func(a answer) bool {
			return a.by.KeyID == replay.KeyID && (c.executed(r, list, a) || c.confirmed(r, list, a))
		})
		c.markCommitted(r, list, replay.KeyID, out)
	}
}

// CheckChallenge holds a new answer against the window that the log draws. at is the pointer of
// the statement.
func CheckChallenge(w *World, id string, a *bundle.ChallengeAnswer, at string) *bundle.Error {
	if a == nil {
		return nil
	}
	refuse := func(reason, format string, args ...any) *bundle.Error {
		e := field.Refuse(bundle.InvalidChallenge, at, format, args...)
		e.Reason = reason
		return e
	}
	r, ok := w.revisions[id]
	switch {
	case !ok || r.challenge == nil && r.gap == "":
		return refuse(bundle.ReasonUnknown, "the revision has no seal yet: submit its bundle first, then "+
			"replay it with --submit")
	case r.challenge == nil:
		return refuse(bundle.ReasonWindow, "the seal draws no window: %s", r.gap)
	}
	pointer, found, want := a.Differs(r.challenge)
	if pointer == "" {
		return nil
	}
	e := refuse(bundle.ReasonWindow, "/predicate/challenge%s is not that of the window of the seal, %s: "+
		"replay it again with --submit", pointer, want)
	e.Declared, e.Computed = found, want
	return e
}

// The verdicts of a ChallengeView.
const (
	challengeOpen        = "open"
	challengeUnconfirmed = "unconfirmed"
	challengeAgreed      = "agreed"
	challengeDisputed    = "disputed"
)

// ChallengeView is the window that a seal draws, and what keys have said about it.
type ChallengeView struct {
	SealLogIndex int64  `json:"seal_log_index"`
	Leaf         string `json:"seal_leaf_sha256"`
	// Start is null and Candles 0 where the seal draws no window; Reason is why.
	Start   *string `json:"start"`
	Candles int64   `json:"candles"`
	// Verdict is open (no answer), unconfirmed (of one principal), agreed or disputed.
	Verdict string            `json:"verdict"`
	Reason  string            `json:"reason"`
	Answers []ChallengeAnswer `json:"answers"`
	// Commitments are of keys that still count, absent where there are none.
	Commitments []CommitmentView `json:"commitments,omitempty"`
}

// ChallengeAnswer is the answer of one key. What came later may have been copied.
type ChallengeAnswer struct {
	Statement string `json:"statement"` // replay, shadow or reveal
	// Schema is that of the window, absent where it is the one that is shown.
	Schema         string `json:"schema,omitempty"`
	Principal      string `json:"principal"`
	KeyID          string `json:"key_id"`
	DecisionSHA256 string `json:"decision_sha256"`
	Seq            int64  `json:"seq"`
}

// ReplayView is who has replayed, and where the candles of that replay came from, by their word.
type ReplayView struct {
	Principal string                `json:"principal"`
	Seq       int64                 `json:"seq"`
	Candles   []bundle.CandleSource `json:"candles,omitempty"`
}

// view is what a state shows of a revision; nil while the leaf of its seal is not known.
func (c challenges) view(r *revision) *ChallengeView {
	if r.leaf == "" {
		return nil
	}
	out := &ChallengeView{SealLogIndex: r.seq, Leaf: r.leaf, Verdict: challengeOpen,
		Reason: "nobody has answered", Answers: []ChallengeAnswer{}}
	if r.challenge == nil {
		out.Reason = r.gap
		return out
	}
	out.Start, out.Candles = &r.challenge.Start, r.challenge.Candles
	list := c.to(r)
	for i, a := range list {
		shown := ChallengeAnswer{a.kind, a.schema, a.by.Principal, a.by.KeyID, a.decision, a.seq}
		if a.schema == r.challenge.Schema {
			shown.Schema = ""
		}
		out.Answers = append(out.Answers, shown)
		if slices.ContainsFunc(list[:i], func(o answer) bool {
			return o.same(a) && !bundle.SamePrincipal(o.by.Principal, a.by.Principal)
		}) {
			out.Verdict, out.Reason = challengeAgreed, "answers of different principals are equal"
		} else if out.Verdict == challengeOpen {
			out.Verdict, out.Reason = challengeUnconfirmed, "nobody else has answered: it may be made up"
		}
		if c.confirmed(r, list, a) {
			out.Reason = "answers are equal" + policy.ByCommitments
		}
	}
	c.commitments(r, out)
	if why := dispute(list); why != "" {
		out.Verdict, out.Reason = challengeDisputed, why
	}
	return out
}

// executed reports whether a worker of shadows that is independent of the packer has come to another
// principal's answer.
func (c challenges) executed(r *revision, list []answer, own answer) bool {
	return dispute(list) == "" && slices.ContainsFunc(list, func(a answer) bool {
		return a.kind == answerShadow && a.same(own) && !r.packs(a.by.Principal) &&
			!(disinterested(c.w) && bundle.Among(interestedIn(c.w, r), a.by.Principal)) &&
			!bundle.SamePrincipal(a.by.Principal, own.by.Principal)
	})
}

// unanswered reports whether a worker of shadows has to answer the window: once a replay has. Before that its
// answer, which all can read, could be copied.
func (c challenges) unanswered(r *revision) bool {
	list := slices.DeleteFunc(c.to(r), func(a answer) bool {
		return r.challenge == nil || a.schema != r.challenge.Schema
	})
	return len(list) > 0 && !slices.ContainsFunc(list, func(a answer) bool { return a.kind == answerShadow })
}
