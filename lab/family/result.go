package family

import (
	"encoding/json"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/selection"
	"github.com/assay-run/assay/lab/selection/surface"
	"github.com/assay-run/assay/lab/stat"
)

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
	Importance []surface.Importance   `json:"importance"`
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

// seal computes the hash.
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
	// Verdict is what selection_bias says of the selected trial, nil without one. Series
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
