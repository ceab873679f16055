package policy

import "slices"

// ByCommitments ends the sentence of a replay that no shadow has executed, and to whose answer packer and
// replayer had committed.
const ByCommitments = ", by commitments of packer and replayer"

// byCommitments is ByCommitments where one of these pieces of evidence is such a replay.
func (e *Evidence) byCommitments(pieces []Piece) string {
	if slices.ContainsFunc(e.Replays, func(r ReplayResult) bool {
		return r.Committed && slices.Contains(pieces, r.Piece)
	}) {
		return ByCommitments
	}
	return ""
}
