package policy

import (
	"slices"
	"time"
)

// The observed values of a gate about the challenge.
const (
	ChallengeOpen = "open"
	confirmed     = "confirmed"
	unconfirmed   = "unconfirmed"
	disputed      = "disputed"
	earlier       = "earlier"
)

// challenged passes where an answer to the challenge is confirmed, and waits otherwise: a sole answer may be
// made up.
func challenged(_ *Gate, e *Evidence, _ time.Time) Result {
	r := Result{Verdict: Pending, Observed: ChallengeOpen, Op: "==", Threshold: confirmed,
		Reason: "nobody has answered the challenge of the seal"}
	has := func(what string, is func(*ReplayResult) bool) *ReplayResult {
		i := slices.IndexFunc(e.Replays, func(x ReplayResult) bool { return is(&x) })
		if i < 0 {
			return nil
		}
		r.Observed, r.Evidence = what, []Piece{e.Replays[i].Piece}
		return &e.Replays[i]
	}
	const ask = ": a worker of shadows answers, or packer and replayer each replay with --commit before " +
		"either shows an answer"
	if x := has(disputed, func(x *ReplayResult) bool { return x.Disputed != "" }); x != nil {
		r.Reason = x.Disputed
		return r
	}
	if x := has(confirmed, func(x *ReplayResult) bool { return x.Confirmed }); x != nil {
		r.Verdict, r.Reason = Pass, "a worker of shadows came to the answer of "+x.Principal
		if x.Committed {
			r.Reason = "answers are equal" + ByCommitments
		}
		return r
	}
	if has(earlier, func(x *ReplayResult) bool { return x.Earlier }) != nil {
		r.Verdict, r.Reason = Pass, "replayed before this rule"
		return r
	}
	if x := has(unconfirmed, func(x *ReplayResult) bool { return x.Answered }); x != nil {
		r.Reason = "the answer of " + x.Principal + " may be made up, and that of another one copied" + ask
		return r
	}
	r.Reason += ask
	return r
}
