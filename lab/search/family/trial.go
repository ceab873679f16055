package family

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
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

	session    bool // it was played in a session
	windows    int  // that it was to be played on
	resultHash string
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

// errBusy is that of a trial that another process is at.
var errBusy = errors.New("another process is at this trial")

// play is how a trial is to be played.
type play struct {
	index   int
	windows int // the first ones
	// patient waits for another process that is at it.
	patient bool
	// session plays it where other trials were played before; nil gives each play a process of its own, and
	// does not take what was played in a session.
	session *run.Session
	// elsewhere plays it on another machine; nil: here.
	elsewhere request.Player
	waiting   func(owner string)
	// noFolder keeps it without a folder.
	noFolder bool
}

// playTrial answers one trial, with the stored run if there is a sound one; fresh is whether
// something was executed. The error is errBusy when another process is at it, unless the play is
// patient.
func (s *Search) playTrial(ctx context.Context, o play) (t *Trial, fresh bool, err error) {
	t = &Trial{Index: o.index, Params: s.Plan.Trials[o.index].Params, windows: o.windows}
	host := *s.host
	host.Session, host.Elsewhere = o.session, o.elsewhere
	p, err := s.prepareTrial(o.index, o.windows)
	var answer *request.Result
	if err == nil {
		answer, err = host.Known(ctx, p)
	}
	if err == nil && answer != nil && o.session == nil && inSession(answer) {
		answer, err = nil, p.Forget(ctx, &host, o.waiting)
	}
	if err == nil && answer == nil && !o.patient {
		var now registry.Claim
		now, err = registry.Foresee(ctx, s.host.Registry, p.RequestHash)
		if err == nil && now.Standing == registry.Busy {
			err = errBusy
		}
	}
	if err == nil && answer == nil {
		answer, err = host.Run(ctx, p, request.Options{
			Compact: true, Plan: request.Plan{ID: s.ID, Index: int64(o.index)}, Waiting: o.waiting,
			NoFolder: o.noFolder,
		})
	}
	if err == nil && answer.NoFolder && !o.noFolder {
		answer, err = p.Restore(ctx, &host, request.Options{Waiting: o.waiting})
	}
	var refused *request.Error
	if errors.As(err, &refused) && request.Refuses(refused.Code) {
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
		if report, err = s.readReport(answer.RunID); err != nil {
			return nil, fresh, err
		}
	}
	t.RunID, t.Key = answer.RunID, answer.Metadata.TrialKey
	t.session, t.resultHash = inSession(answer), report.ResultHash
	t.read(report, s.Plan.Objective.Metric)
	if t.Status == Failed {
		t.FailureCode = failureCode(answer)
	}
	return t, fresh, nil
}

// playAhead begins to play a trial on another machine before it is known to count; nil where it does not.
func (s *Search) playAhead(ctx context.Context, index, windows int, o Options) *request.Ahead {
	host := *s.host
	host.Elsewhere = o.Elsewhere
	if !o.Apart {
		host.Session = &run.Session{}
	}
	p, err := s.prepareTrial(index, windows)
	if err != nil {
		return nil
	}
	a, err := request.PlayAhead(ctx, &host, p, request.Plan{ID: s.ID, Index: int64(index)})
	if err != nil {
		return nil
	}
	return a
}

func failureCode(a *request.Result) string {
	switch {
	case a.Failure != nil:
		return a.Failure.Code
	case a.Metadata.Failure != nil:
		return a.Metadata.Failure.Code
	}
	return request.CodeRunFailed
}

// read takes a report over; key is the objective.
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

func value(v metric.Values, key string) *float64 {
	if x, defined := v.Get(key); defined {
		return &x
	}
	return nil
}

// ResultSchema names the format of family_result.json.
const ResultSchema = "family-result/v1"

// The statuses of a family.
const (
	StatusCompleted = "completed"
	StatusAborted   = "aborted"
)

// Result is family_result.json. What is undefined is null and has a reason in Undefined,
// by its JSON name.
type Result struct {
	Schema   string `json:"schema"`
	PlanHash string `json:"plan_hash"`
	// Status is completed, or aborted by the stop rule: then nothing is selected.
	Status string `json:"status"`
	// Selected is what the plan's rule selects, null if no trial has an objective.
	Selected  *Selected  `json:"selected"`
	Optimised *Optimised `json:"walk_forward_optimised"`
	// Selection is what so many trials have done to the numbers of the selected one.
	Selection *selection.Selection `json:"selection"`
	StepM     StepM                `json:"stepm"`
	// Importance and Plateau are over the trials that were played on all windows.
	Importance []selection.Importance `json:"importance"`
	Plateau    Plateau                `json:"plateau"`
	Counts     Counts                 `json:"counts"`
	Undefined  map[string]stat.Reason `json:"undefined"`
	// ResultHash is the SHA-256 of the canonical JSON of all the rest.
	ResultHash string `json:"result_hash,omitempty"`
}

// Selected is the trial that the rule selects. RunID is that of the trial; the run of kind
// run that follows has the same parameters.
type Selected struct {
	TrialIndex int             `json:"trial_index"`
	RunID      string          `json:"run_id"`
	Params     json.RawMessage `json:"params"`
	Rule       string          `json:"rule"`
}

// StepM is the trials that beat holding, with a familywise error of at most 5 %.
type StepM struct {
	// Rejected are indices of trials whose null hypothesis is rejected, ascending.
	Rejected []int `json:"rejected"`
}

// Plateau is the median objective around the selected trial and the best one there is.
type Plateau struct {
	Selected *float64 `json:"selected"`
	Best     *float64 `json:"best"`
}

// Counts are the trials by how they ended.
type Counts struct {
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Pruned    int `json:"pruned"`
}

func (r *Result) seal() (err error) {
	rest := *r
	rest.ResultHash = ""
	r.ResultHash, err = digest.Of(&rest)
	return err
}

func counts(trials []*Trial) Counts {
	var c Counts
	for _, t := range trials {
		switch t.Status {
		case Completed:
			c.Completed++
		case Failed:
			c.Failed++
		case Pruned:
			c.Pruned++
		}
	}
	return c
}

// Outcome is a family with everything that is known about it.
type Outcome struct {
	*Searched
	Result *Result
	// Verdict is that of selection_bias on the selected trial, nil without one. Series
	// counts the trials that line up with it, Days its returns; SmallestP is the least that
	// the p-values of the tests against holding can be. Again counts the runs of the same
	// parameters under other seeds or on other splits, which are no part of N.
	Verdict      *selection.Verdict
	Series, Days int
	SmallestP    float64
	Again        int
	// Equity is the stitched walk-forward of the selected trial: one unit of money, day by
	// day.
	Equity   []Level
	Warnings []artifact.ReportWarning
}

// Level is what one unit of money has become at the end of a day, like 2024-01-01.
type Level struct {
	Date  string
	Value float64
}
