package family

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

// CodeStateLeak is the code of a family whose strategy keeps state from one play to the next: a trial that
// was played in a process with others has another result in a process of its own.
const CodeStateLeak = "STATE_LEAK"

// inSession reports whether an answer was played in a process with other plays.
func inSession(a *request.Result) bool { return a.Metadata.Volatile.Environment.Session }

// confirmedShare is one in so many trials that are drawn to be confirmed.
const confirmedShare = 20

// evidence are the trials of sessions that the results of a family rest on, and some that are drawn by the
// seed of the plan.
func (s *Search) evidence(out *Outcome) []*Trial {
	played := which(out.Trials, func(t *Trial) bool { return t.session })
	drawn := slices.Clone(played)
	place := func(t *Trial) string {
		return digest.SHA256Hex(fmt.Appendf(nil, "%s confirm %d", s.Plan.Seed, t.Index))
	}
	slices.SortFunc(drawn, func(a, b *Trial) int { return cmp.Compare(place(a), place(b)) })
	drawn = drawn[:(len(drawn)+confirmedShare-1)/confirmedShare]
	chosen := out.Result.Selected
	return which(played, func(t *Trial) bool {
		return slices.Contains(drawn, t) || chosen != nil && chosen.TrialIndex == t.Index
	})
}

// findLeak plays trials once more, each play in a process of its own, and returns the first by index that
// has another result then; nil if there is none.
func (s *Search) findLeak(ctx context.Context, out *Outcome) (*Trial, error) {
	if known, err := ReadResult(s.Dir); err == nil && known.ResultHash == out.Result.ResultHash {
		return nil, nil // they were confirmed before it was written
	}
	list := s.evidence(out)
	same := make([]bool, len(list))
	err := request.FirstCause(request.SideBySide(workers(out.options), len(list), func(i int) error {
		p, err := s.prepareTrial(list[i].Index, list[i].windows)
		if err != nil {
			return err
		}
		same[i], err = p.Confirm(ctx, s.host, list[i].resultHash)
		return err
	}))
	if err != nil {
		return nil, fmt.Errorf("confirm trials: %w", err)
	}
	if i := slices.Index(same, false); i >= 0 {
		return list[i], nil
	}
	return s.diverged(out), nil
}

// diverged is the first trial played in a session whose test has been decided otherwise when it was played
// again for the choices of the windows.
func (s *Search) diverged(out *Outcome) *Trial {
	x := out.Result.Optimised
	if x == nil || x.Undefined["metrics"] != ReasonNondeterministic {
		return nil
	}
	for _, t := range out.Trials {
		if t.session && slices.ContainsFunc(x.Windows, func(c Choice) bool {
			return c.ChosenTrial != nil && *c.ChosenTrial == t.Index
		}) {
			return t
		}
	}
	return nil
}

// playApart plays all trials of sessions again, each play in a process of its own.
func (s *Search) playApart(ctx context.Context, in *Searched) (*Outcome, map[int]*selection.Series, error) {
	o := in.options
	o.Apart = true
	again, err := s.Run(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	again.Executed, again.Elapsed = again.Executed+in.Executed, again.Elapsed+in.Elapsed
	return s.judge(ctx, again)
}

// leakWarning speaks to the author in the words of the language: bundle reports whether that is Python.
func leakWarning(t *Trial, bundle bool) artifact.ReportWarning {
	cause := "the strategy keeps state from one run to the next, as in package variables"
	remedy := "Keep the state in what the constructor returns, or set FreshProcess in the Spec"
	if bundle {
		cause = "the strategy depends on what its process holds, as module or class variables, a set " +
			"that is iterated, random numbers without a seed or the clock"
		remedy = "Keep the state in self, made in start(), iterate over sorted(...), and draw from v.rand"
	}
	return artifact.ReportWarning{Code: CodeStateLeak, Message: fmt.Sprintf(
		"trial t%d has another result in a process of its own: %s. All trials were played again, each "+
			"window in a process of its own. %s", t.Index, cause, remedy)}
}
