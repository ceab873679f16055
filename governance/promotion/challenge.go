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
	kind           string // answerReplay or answerShadow
	leaf, decision string
	seq            int64
}

// The statements that answers come in.
const (
	answerReplay = "replay"
	answerShadow = "shadow"
)

// draw draws the window of a revision. Where its bundle has none, gap is why.
func (r *revision) draw(leaf string) {
	if leaf == "" {
		return
	}
	var err error
	b := &bundle.Bundle{Strategy: r.bundle.Strategy, Data: r.bundle.Data}
	if r.challenge, err = bundle.ChallengeOf(leaf, b); err != nil {
		r.gap = err.Error()
	}
}

// take keeps the first answer of a key to the challenge of a revision: who could answer again
// would wait for the answers of others. One to another window is none.
func (d *deployable) take(r *revision, f *Fact, by By, kind string, a *bundle.ChallengeAnswer) {
	if a == nil || r.challenge == nil || a.Challenge != *r.challenge ||
		slices.ContainsFunc(d.answers, func(o answer) bool {
			return o.leaf == a.Leaf && o.kind == kind && o.by.KeyID == by.KeyID
		}) {
		return
	}
	d.answers = append(d.answers, answer{by, kind, a.Leaf, a.DecisionSHA256, f.Seq})
}

// to are the answers to one challenge whose keys still count, in their order.
func (c challenges) to(r *revision) []answer {
	if r.challenge == nil {
		return nil
	}
	var list []answer
	for _, a := range c.w.deployable(r.bundle.DeployableID).answers {
		roles := []string{bundle.TrustShadow}
		if a.kind == answerReplay {
			roles = []string{bundle.TrustLab, bundle.TrustReplay}
		}
		if a.leaf == r.challenge.Leaf && c.w.signatureCounts(a.by, roles...) {
			list = append(list, a)
		}
	}
	return list
}

// dispute is the disagreement among answers in words, with two of their keys; "" where all agree.
func dispute(list []answer) string {
	for i := range list {
		if a, b := &list[0], &list[i]; a.decision != b.decision {
			return fmt.Sprintf("answers to the challenge differ: %.12s… by %s (key %.16s) and %.12s… by %s "+
				"(key %.16s); neither counts while both keys are trusted", a.decision, a.by.Principal,
				a.by.KeyID, b.decision, b.by.Principal, b.by.KeyID)
		}
	}
	return ""
}

// mark adds to a replay what became of its answer. One that is older than the rule needs none.
func (c challenges) mark(said *Replay, out *policy.ReplayResult) {
	out.Answered = out.Seq < c.w.challenged
	r, ok := c.w.revisions[said.CandidateRevisionID]
	if !ok {
		return
	}
	list := c.to(r)
	if slices.ContainsFunc(list, func(a answer) bool { return a.by.KeyID == said.KeyID }) {
		out.Answered, out.Disputed = true, dispute(list)
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
}

// ChallengeAnswer is the answer of one key. What came later may have been copied.
type ChallengeAnswer struct {
	Statement      string `json:"statement"` // replay or shadow
	Principal      string `json:"principal"`
	KeyID          string `json:"key_id"`
	DecisionSHA256 string `json:"decision_sha256"`
	Seq            int64  `json:"seq"`
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
	for _, a := range list {
		out.Answers = append(out.Answers,
			ChallengeAnswer{a.kind, a.by.Principal, a.by.KeyID, a.decision, a.seq})
		switch {
		case bundle.SamePrincipal(a.by.Principal, list[0].by.Principal):
			if out.Verdict == challengeOpen {
				out.Verdict, out.Reason = challengeUnconfirmed, "nobody else has answered: it may be made up"
			}
		default:
			out.Verdict, out.Reason = challengeAgreed, "answers of different principals are equal"
		}
	}
	if why := dispute(list); why != "" {
		out.Verdict, out.Reason = challengeDisputed, why
	}
	return out
}

// unanswered reports whether a worker of shadows has to answer: once a replay has. Before that its
// answer, which all can read, could be copied.
func (c challenges) unanswered(r *revision) bool {
	list := c.to(r)
	return len(list) > 0 && !slices.ContainsFunc(list, func(a answer) bool { return a.kind == answerShadow })
}
