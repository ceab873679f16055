package policy

import "time"

// ChallengeResult is what has become of the window that the seal draws.
type ChallengeResult struct {
	// Verdict is open, unconfirmed, agreed or disputed, and Reason why.
	Verdict, Reason string
	// Confirmed reports that nobody can have copied what agrees: a worker of shadows has executed the program,
	// or packer and replayer had both committed.
	Confirmed bool
	// Earlier reports that it was replayed before a policy could ask for more, which keeps its effect.
	Earlier, Disputed bool
	Pieces            []Piece
}

// challenged passes where the answer to the challenge is confirmed. Else it waits: nobody knows who is right.
func challenged(_ *Gate, e *Evidence, _ time.Time) Result {
	c := &e.Challenge
	r := Result{Verdict: Pass, Observed: c.Verdict, Op: "==", Threshold: "confirmed", Evidence: c.Pieces, Reason: c.Reason}
	switch {
	case c.Confirmed:
	case c.Earlier && !c.Disputed:
		r.Reason = "replayed before this rule: " + c.Reason
	default:
		r.Verdict, r.Reason = Pending, c.Reason+": a worker of shadows answers, or packer and replayer each replay "+
			"with --commit before either shows an answer"
	}
	return r
}
