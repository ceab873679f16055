package judge

// Overall is the verdict of the whole battery.
type Overall struct {
	Verdict Verdict
	// Refuted are the claims of the failed gates in the order of the tests, each with its
	// detail; empty, never nil, when none is refuted.
	Refuted []string
	// GatesFailed counts them.
	GatesFailed int
}

// Conclude reduces the tests: a failed gate refutes; else a gate that says nothing, or
// that the user left out, leaves it open; else a warning warns. A failed test of class W
// is a warning, one of class D nothing. A gate that does not apply does not count.
func Conclude(tests []*Test) Overall {
	out := Overall{Verdict: Pass, Refuted: []string{}}
	open, warned := false, false
	for _, t := range tests {
		switch {
		case t.Class == Description:
		case t.Verdict == Warn || t.Class == Warning && t.Verdict == Fail:
			warned = true
		case t.Class != Gate:
		case t.Verdict == Fail:
			out.GatesFailed++
			out.Refuted = append(out.Refuted, t.refuted())
		case t.Verdict == Inconclusive, t.Verdict == Error, t.Verdict == Skipped && t.ReasonCode == SkippedByUser:
			open = true
		}
	}
	switch {
	case out.GatesFailed > 0:
		out.Verdict = Fail
	case open:
		out.Verdict = Inconclusive
	case warned:
		out.Verdict = Warn
	}
	return out
}

// ExitCode is that of `lab falsify`: 0, 1 when refuted, 3 when open.
func (o Overall) ExitCode() int {
	switch o.Verdict {
	case Fail:
		return 1
	case Inconclusive:
		return 3
	}
	return 0
}

// Upstream says that one of the tests that everything else rests on has failed:
// determinism, lockstep_replay or lookahead_prefix. The others are then skipped with
// UpstreamFailure.
func Upstream(tests []*Test) bool {
	for _, t := range tests {
		if t.Verdict == Fail && (t.ID == Determinism || t.ID == LockstepReplay || t.ID == LookaheadPrefix) {
			return true
		}
	}
	return false
}
