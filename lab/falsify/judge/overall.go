package judge

// Overall is the verdict of the whole battery.
type Overall struct {
	Verdict Verdict
	// Refuted are the sentences of the failed gates in the order of the tests; empty, never
	// nil, when none failed.
	Refuted []string
	// GatesFailed counts them.
	GatesFailed int
	// Reasons are why the verdict is not better than it is, beside what the tests have
	// found; never nil.
	Reasons []Reason
}

// Reason is why a verdict is not better, for people and for programs.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of reasons: SkippedByUser of a test of class W, and
const (
	// LooserThreshold is of a threshold that lets more through than that of the default
	// profile.
	LooserThreshold = "looser_threshold"
	// ProfileDeviation is of a profile that is not the one of the base's plan.
	ProfileDeviation = "profile_deviation"
)

// Conclude reduces the tests: a failed gate refutes; else a gate that says nothing, or
// that the user left out, leaves it open; else a warning warns. A failed test of class W
// is a warning, one of class D nothing. One of class W that the user left out might have
// failed, so it is a warning, too. A gate that does not apply does not count.
func Conclude(tests []*Test) Overall {
	out := Overall{Verdict: Pass, Refuted: []string{}, Reasons: []Reason{}}
	open, warned := false, false
	for _, t := range tests {
		switch {
		case t.Class == Description:
		case t.Verdict == Warn || t.Class == Warning && t.Verdict == Fail:
			warned = true
		case t.Class == Warning && t.LeftOut():
			warned = true
			out.Reasons = append(out.Reasons, Reason{SkippedByUser, t.ID + " was left out, which counts as a warning"})
		case t.Class != Gate:
		case t.Verdict == Fail:
			out.GatesFailed++
			out.Refuted = append(out.Refuted, t.Sentence())
		case t.Verdict == Inconclusive, t.Verdict == Error, t.LeftOut():
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

// LeftOut reports whether the user did not want the test.
func (t *Test) LeftOut() bool { return t.Verdict == Skipped && t.ReasonCode == SkippedByUser }

// Cap makes an open verdict of one that thresholds looser than the default's have let
// through. What they refute stays refuted.
func (o *Overall) Cap(looser []Loosened) {
	for _, l := range looser {
		o.Reasons = append(o.Reasons, Reason{LooserThreshold, l.String()})
	}
	if len(looser) > 0 && o.Verdict != Fail {
		o.Verdict = Inconclusive
	}
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
