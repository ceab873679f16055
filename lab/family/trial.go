package family

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The statuses of a trial.
const (
	Completed = "completed"
	Failed    = "failed"
	// Pruned is a trial that successive halving has left behind: its numbers are those of
	// the windows that it was played on.
	Pruned = "pruned"
)

// Trial is how one point of the plan went, read from the stored run.
type Trial struct {
	Index int
	// Params are those of the space, canonical JSON.
	Params json.RawMessage
	// RunID is the run of the last rung that the trial has reached, empty where the
	// strategy refused the parameters, so that nothing could be stored. Key is its trial_key.
	RunID, Key string
	Status     string
	// Objective is the metric that is searched for, over the stitched windows; nil with the
	// reason Why where it is undefined.
	Objective *float64
	Why       metric.Reason
	// Windows are the walk-forward windows that were played to their end.
	Windows []Window
	// Metrics are those of the stitched windows, nil of a failed trial.
	Metrics metric.Values
	// FailureCode is that of a failed trial.
	FailureCode string
	// Rank counts from 1 for the best objective; 0 for a trial without one. Of trials that
	// were played on more windows each is before all that were played on fewer.
	Rank int
	// Plateau is the median objective around the trial, nil where there is none.
	Plateau *float64
	// CPCV is its score by the rule cpcv, nil unless that is the rule.
	CPCV *float64
}

// Window is one pair of a trial: the objective on the training part and on the test that
// follows, nil where it is undefined.
type Window struct {
	SplitID     string
	Train, Test *float64
	// Undefined has the reason for each that is nil, by the names of Choice.
	Undefined    map[string]metric.Reason
	DecisionHash string // of the test
}

// refusals are the codes of questions that a strategy does not take: they fail the trial,
// not the family.
var refusals = map[string]bool{"PARAMS_INVALID": true, "RUN_FAILED": true}

// errBusy says that another process is at a trial.
var errBusy = errors.New("another process is at this trial")

// busy says whether somebody holds the lease of a question.
func (s *Search) busy(ctx context.Context, p *evaluate.Prepared) (bool, error) {
	r, err := s.host.Registry.GetRequest(ctx, p.RequestHash)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return r.Status == artifact.StatusRunning && r.LeaseUntil > market.FromTime(time.Now()).String(), err
}

// play answers one trial over the first windows, with the stored run if there is a sound
// one; fresh says that something was executed. The error is errBusy when another process
// is at it, unless play is patient.
func (s *Search) play(ctx context.Context, index, windows int, patient bool, waiting func(string)) (t *Trial, fresh bool, err error) {
	t = &Trial{Index: index, Params: s.Plan.Trials[index].Params}
	p, err := s.trial(index, windows)
	var answer *evaluate.Answer
	if err == nil {
		answer, err = s.host.Known(ctx, p)
	}
	if err == nil && answer == nil && !patient {
		var taken bool
		if taken, err = s.busy(ctx, p); err == nil && taken {
			err = errBusy
		}
	}
	if err == nil && answer == nil {
		answer, err = s.host.Run(ctx, p, evaluate.Options{
			Compact: true, Plan: evaluate.Plan{ID: s.ID, Index: int64(index)}, Waiting: waiting,
		})
	}
	var refused *evaluate.Error
	if errors.As(err, &refused) && refusals[refused.Code] {
		t.Status, t.FailureCode, t.Why = Failed, refused.Code, metric.NotApplicable
		return t, true, nil
	}
	if err != nil {
		return nil, fresh, err
	}
	fresh = !answer.Reused // another process may have answered it meanwhile
	// What was executed is read back like what was there: the bytes that are put out come
	// from the files in either case.
	report := answer.Report
	if !answer.Reused {
		if report, err = artifact.ReadReport(s.host.Artifacts.Dir(answer.RunID)); err != nil {
			return nil, fresh, err
		}
	}
	t.RunID, t.Key = answer.RunID, answer.Metadata.TrialKey
	t.read(report, s.Plan.Objective.Metric)
	if t.Status == Failed {
		t.FailureCode = failureCode(answer)
	}
	return t, fresh, nil
}

func failureCode(a *evaluate.Answer) string {
	switch {
	case a.Failure != nil:
		return a.Failure.Code
	case a.Metadata.Failure != nil:
		return a.Metadata.Failure.Code
	}
	return "RUN_FAILED"
}

// read takes over what a report says; key is the objective.
func (t *Trial) read(r *artifact.Report, key string) {
	t.Status = Completed
	if r.Status != artifact.StatusCompleted {
		t.Status = Failed
	}
	var train *artifact.SplitReport
	for i := range r.Splits {
		sp := &r.Splits[i]
		switch {
		case sp.Status == Failed:
		case sp.Role == split.RoleTrain:
			train = sp
		case sp.Role == split.RoleWalkForward && train != nil:
			w := Window{SplitID: sp.ID, Undefined: map[string]metric.Reason{}, DecisionHash: sp.DecisionHash}
			w.Train = w.value("train_objective", train, key)
			w.Test = w.value("test_objective", sp, key)
			t.Windows, train = append(t.Windows, w), nil
		}
	}
	t.Why = metric.NotApplicable
	if wf := r.WalkForward; wf != nil && t.Status == Completed {
		t.Metrics = wf.Metrics
		if t.Objective = value(wf.Metrics, key); t.Objective != nil {
			t.Why = ""
		} else if why := wf.Meta.Undefined[key]; why != "" {
			t.Why = why
		}
	}
}

// value is a metric of a split; what is undefined is noted.
func (w *Window) value(name string, of *artifact.SplitReport, key string) *float64 {
	x := value(of.Metrics, key)
	if x == nil {
		if w.Undefined[name] = of.Meta.Undefined[key]; w.Undefined[name] == "" {
			w.Undefined[name] = metric.NotApplicable
		}
	}
	return x
}

// value is a metric, nil where it is undefined.
func value(v metric.Values, key string) *float64 {
	if x, defined := v.Get(key); defined {
		return &x
	}
	return nil
}
