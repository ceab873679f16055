package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/evalue"
)

// figureLeftOut is how many tests a user has left out of a falsification, figureReserves how many other
// reasons one has that plausibility alone has refuted, figureKnown whether the program was made with some of
// its candles.
const (
	figureLeftOut  = "tests_left_out"
	figureReserves = "reserves"
	figureKnown    = "candles_known"
)

// known is why a falsification says nothing, "" for one on candles that the program was not made with.
func known(run *Run, read *bundle.RunEvidence) string {
	if read.Derived == nil || read.Derived.Figures[figureKnown] == 0 {
		return ""
	}
	return run.RunID + " attacks candles that the program was made with: what it comes to is no evidence; " +
		"let data.start of lab.json be after trained_until"
}

// falsified passes when every falsification came to at_most or better. One that came to a
// warning where a pass is asked for still passes if only accepted tests warn and the e-value
// of unseen candles is large enough; until then it waits. A refuted one fails, unless it is only too
// good to be true: then it waits for unseen candles. An inconclusive one waits.
func falsified(g *Gate, e *Evidence, now time.Time) Result {
	runs := e.with(bundle.RoleFalsification)
	blame := string(bundle.RoleFalsification)
	r := Result{Verdict: Pass, Op: "<=", Threshold: g.AtMost, Reason: "no claim is refuted"}
	if len(runs) == 0 || !e.Strict {
		r.Verdict, r.Blame, r.Reason = Pending, blame, "there is no run with role falsification that was read"
		return r
	}
	for i := range runs {
		r.Evidence = append(r.Evidence, runs[i].piece())
		read := e.Read[runs[i].RunID]
		f := read.Falsification
		if f == nil {
			r.worse(Pending, blame, runs[i].RunID+" has no verdict")
			continue
		}
		if r.Observed == nil || badness(f.Overall) > badness(r.Observed.(string)) {
			r.Observed = f.Overall
		}
		switch {
		case f.Overall == overallFail && e.liftable(&read):
			r.tooGood(g, e, now, &runs[i], read)
		case f.Overall == overallFail:
			r.Verdict, r.Blame = Fail, blame
			r.Reason = fmt.Sprintf("%s refutes: %s", runs[i].RunID, strings.Join(f.Failed(), ", "))
		case r.Verdict == Fail:
		case known(&runs[i], &read) != "":
			r.worse(Pending, blame, known(&runs[i], &read))
		case f.Overall == overallPass, f.Overall == overallWarn && g.AtMost == overallWarn:
		case f.Overall != overallWarn:
			r.worse(Pending, blame, runs[i].RunID+" is "+f.Overall)
		default:
			r.warned(g, e.prospective(now), e.Witnessed, &runs[i], read)
		}
	}
	if why := e.unattacked(); r.Verdict == Pass && why != "" {
		r.Verdict, r.Blame, r.Reason = Pending, blame, why
	}
	return r
}

// The verdicts of a falsification, from best to worst.
const (
	overallPass = "pass"
	overallWarn = "warn"
	overallFail = "fail"
)

func badness(overall string) int {
	return slices.Index([]string{overallPass, overallWarn, "inconclusive", overallFail}, overall)
}

// liftable reports whether a falsification refutes nothing but that its result can be true, with every
// other test made as usual.
func (e *Evidence) liftable(read *bundle.RunEvidence) bool {
	if !e.Lifts || read.Derived == nil || !read.Falsification.TooGood() || read.Falsification.Open() {
		return false
	}
	figures := read.Derived.Figures
	reserves, counted := figures[figureReserves]
	return counted && reserves == 0 && figures[figureLeftOut] == 0 && figures[figureKnown] == 0
}

// tooGood judges a falsification that refutes nothing else: by its other tests, once unseen candles show
// what was too good to be true. Until then, and while a day is missing, it waits: it demotes nothing.
func (r *Result) tooGood(g *Gate, e *Evidence, now time.Time, run *Run, read bundle.RunEvidence) {
	shown := e.prospective(now)
	if r.Verdict == Fail {
		return
	}
	if shown < evalue.LiveBar {
		r.worse(Pending, "", fmt.Sprintf("%s refutes: plausibility, which E of %d on candles after the seal "+
			"would lift; it is %.4g", run.RunID, evalue.LiveBar, shown))
		return
	}
	if g.AtMost == overallPass && len(read.Falsification.Warned()) > 0 {
		r.warned(g, shown, e.Witnessed, run, read)
	}
	if r.Verdict == Pass {
		r.Reason = fmt.Sprintf("too good to be true, lifted by E of at least %d; %s", evalue.LiveBar,
			r.Reason)
	}
}

// accepted are the reasons for which the warnings of a test that a policy accepts are: what cannot be
// shown, not what was found. Of other tests all are.
var accepted = map[string][]string{
	"param_neighbourhood": {"no_sources", "no_literals", "without_effect"},
	"metamorphic":         {"calendar_both"},
	"price_noise":         {"noise_beyond_gate"},
}

// accepts reports whether the gate accepts a warning, by the reason that the seal has: a test of the
// policy stands for its reasons in accepted, test:reason for that one. Without byReason, by the rules
// before Witnessed, the test suffices.
func (g *Gate) accepts(t *bundle.TestVerdict, byReason bool) bool {
	if !byReason {
		return slices.Contains(g.Accept, t.ID)
	}
	reasons, known := accepted[t.ID]
	return t.Reason != "" && (slices.Contains(g.Accept, t.ID+":"+t.Reason) ||
		slices.Contains(g.Accept, t.ID) && (!known || slices.Contains(reasons, t.Reason)))
}

// warned judges a falsification that warns where a pass is asked for.
func (r *Result) warned(g *Gate, evalue float64, byReason bool, run *Run, read bundle.RunEvidence) {
	warnings := read.Falsification.Warned()
	leftOut := read.Derived == nil || read.Derived.Figures[figureLeftOut] > 0
	var tests, other, unsaid []string
	for i := range warnings {
		t := &warnings[i]
		text := t.ID
		if byReason {
			text += " (" + cmp.Or(t.Reason, "without a reason") + ")"
		}
		tests = append(tests, text)
		switch {
		case g.accepts(t, byReason):
		case t.Reason == "" && g.accepts(t, false): // not refused: it may be one that is accepted
			unsaid = append(unsaid, t.ID)
		default:
			other = append(other, t.ID)
		}
	}
	switch {
	case len(tests) == 0 || leftOut || len(other) > 0:
		r.Verdict, r.Blame = Fail, string(bundle.RoleFalsification)
		r.Reason = fmt.Sprintf("%s warns: %s", run.RunID, strings.Join(tests, ", "))
		if leftOut {
			r.Reason += " (tests were left out)"
		}
	case len(unsaid) > 0:
		r.worse(Pending, string(bundle.RoleFalsification), fmt.Sprintf("%s does not say why %s warns: "+
			"an earlier version has made or sealed it; falsify it again, or submit it again", run.RunID,
			strings.Join(unsaid, ", ")))
	case evalue < g.AcceptFromE:
		r.worse(Pending, "",
			fmt.Sprintf("%s warns: %s, which E of %v on candles after the seal would lift; it is %v",
				run.RunID, strings.Join(tests, ", "), g.AcceptFromE, evalue))
	default:
		if r.Verdict == Pass {
			r.Reason = fmt.Sprintf("%s, accepted with E of at least %v", strings.Join(tests, ", "),
				g.AcceptFromE)
		}
	}
}

// prospective is the e-value of the days after the seal that may lift a warning: on candles that
// the worker has fetched itself, with no day missing; 0 where it counts for nothing.
func (e *Evidence) prospective(now time.Time) float64 {
	s := e.Shadow
	if s == nil || e.live && len(s.Lacking) > 0 || !s.Attested || !s.Trusted || s.Ruined || s.Bound == 0 ||
		s.Drifted() || s.Missing(now) {
		return 0
	}
	return s.E
}

// engine passes when baselines and falsifications were made by listed programs. It waits for
// others, and passes while neither gate nor plane lists any.
func engine(g *Gate, e *Evidence, _ time.Time) Result {
	listed := g.Engines
	if len(listed) == 0 {
		listed = e.Engines
	}
	r := Result{Verdict: Pass, Op: "in", Threshold: listed, Evidence: e.core(),
		Reason: "made by a listed lab"}
	if len(listed) == 0 {
		r.Reason = "no lab is listed: any build counts"
		return r
	}
	var seen []string
	for _, run := range e.with(bundle.RoleBaseline, bundle.RoleFalsification) {
		made := ""
		if d := e.Read[run.RunID].Derived; d != nil {
			made = d.EngineSHA256
		}
		if made != "" && !slices.Contains(seen, made) {
			seen = append(seen, made)
		}
		if r.Verdict == Pass && !slices.Contains(listed, made) {
			r.Verdict, r.Blame = Pending, string(run.Role)
			r.Reason = fmt.Sprintf("run %s was made by a lab that is not listed, sha256 %.12s", run.RunID,
				made)
		}
	}
	r.Observed = seen
	return r
}
