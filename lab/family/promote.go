package family

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/assay-run/assay/lab/evaluate"
)

// Evaluate runs the selected parameters once as kind run, on all splits: the base of a
// falsification and of a candidate. Its validation split is contaminated: the parameters
// were chosen on candles that are part of it. It is executed once however often it is
// asked for.
func (s *Search) Evaluate(ctx context.Context, selected *Selected, o evaluate.Options) (*evaluate.Answer, error) {
	params, err := s.fullParams(selected.TrialIndex)
	if err != nil {
		return nil, err
	}
	p, err := s.runQuestion(params)
	if err != nil {
		return nil, err
	}
	o.Plan = evaluate.Plan{ID: s.ID, Index: int64(selected.TrialIndex), Contaminated: true}
	answer, err := s.whole.Run(ctx, p, o)
	if err != nil || answer.Failure != nil {
		return answer, err
	}
	if m := answer.Metadata; m.PlanID != nil && *m.PlanID == s.ID && m.ValidationContaminated && !m.Deviation {
		return answer, nil
	}
	// Somebody has asked this question before, perhaps as the choice of an earlier plan.
	return s.whole.Enlist(ctx, p, o.Plan)
}

// Expand executes one trial in full and puts its full artifacts in the place of the
// compact ones; the result must be the same, else the error is an
// *evaluate.MismatchError. A trial that the plan's rule has not selected, or not yet, is
// marked as a deviation in its record.
func (s *Search) Expand(ctx context.Context, index int, o evaluate.Options) (*evaluate.Answer, error) {
	if index < 0 || index >= len(s.Plan.Trials) {
		return nil, &evaluate.Error{
			Code: "USAGE", Details: map[string]any{"flag": "--trial"},
			Message: fmt.Sprintf("%s has the trials 0 to %d, there is no %d", s.ID, len(s.Plan.Trials)-1, index),
		}
	}
	windows, err := s.reached(ctx, index)
	if err != nil {
		return nil, err
	}
	p, err := s.trial(index, windows)
	if err != nil {
		return nil, err
	}
	result, err := ReadResult(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	chosen := err == nil && result.Selected != nil && result.Selected.TrialIndex == index
	o.Plan = evaluate.Plan{ID: s.ID, Index: int64(index), Deviation: !chosen}
	return s.whole.Upgrade(ctx, p, o)
}

// reached is how many windows a trial was played on: those of the last rung that has a
// stored run of it, all of them if there is none.
func (s *Search) reached(ctx context.Context, index int) (int, error) {
	rungs, err := s.Plan.Rungs(s.Windows)
	if err != nil {
		return 0, err
	}
	for j := len(rungs) - 1; j >= 0; j-- {
		p, err := s.trial(index, rungs[j].Budget)
		if err != nil {
			return 0, err
		}
		known, err := s.host.Known(ctx, p)
		if err != nil || known != nil {
			return rungs[j].Budget, err
		}
	}
	return s.Windows, nil
}
