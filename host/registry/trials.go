package registry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/assay-run/assay/host/artifact"
)

// Trial is one thing that has been tried in a family: every run with the same trial
// key, whatever its seed and engine.
type Trial struct {
	Key string
	// RunID is the oldest run of the trial.
	RunID string
	// Data is the candles that it was tried on.
	Data []artifact.Dataset
}

// Trials lists what has been tried in a family, oldest first. Runs and trials count
// that are completed, or that failed with metrics: somebody could have chosen by them.
// Replays, falsifications, runs of the service and legacy rows do not. Rule: section 6
// of lab-stats/1.
func (r *Registry) Trials(ctx context.Context, familyID string) (trials []Trial, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT trial_key, run_id, status, payload FROM run_metadata
		WHERE family_id = ? AND trial_key IS NOT NULL AND kind IN ('run', 'trial') AND status <> 'running'
		ORDER BY completed_at, run_id`, familyID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	seen := map[string]bool{}
	for rows.Next() {
		var t Trial
		var status string
		var payload []byte
		if err := rows.Scan(&t.Key, &t.RunID, &status, &payload); err != nil {
			return nil, err
		}
		if seen[t.Key] {
			continue // the key covers the data
		}
		data, measured := tried(payload)
		if status == artifact.StatusFailed && !measured {
			continue
		}
		seen[t.Key], t.Data = true, data
		trials = append(trials, t)
	}
	return trials, rows.Err()
}

// PlannedTrial is a trial of a registered plan.
type PlannedTrial struct {
	// PlanID names the plan of the strategy Slug, Index the trial in it.
	PlanID, Slug string
	Index        int64
}

// Planned lists the trials of a family's plans that have a trial key, oldest first: each
// that was begun, however it went.
func (r *Registry) Planned(ctx context.Context, familyID, trialKey string) (list []PlannedTrial, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT m.plan_id, m.slug, m.trial_index FROM run_metadata m
		WHERE m.family_id = ? AND m.trial_key = ? AND m.kind = 'trial' AND m.trial_index IS NOT NULL
			AND m.plan_id IN (SELECT plan_id FROM plans)
		ORDER BY m.completed_at, m.run_id`, familyID, trialKey)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t PlannedTrial
		if err := rows.Scan(&t.PlanID, &t.Slug, &t.Index); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, rows.Err()
}

// tried is what the count needs of a metadata.json: its data, and whether any split has
// metrics. A payload that cannot be read has neither.
func tried(payload []byte) (data []artifact.Dataset, measured bool) {
	var m struct {
		Data   []artifact.Dataset      `json:"data"`
		Splits []artifact.SplitSummary `json:"splits"`
	}
	if json.Unmarshal(payload, &m) != nil {
		return nil, false
	}
	return m.Data, slices.ContainsFunc(m.Splits, func(s artifact.SplitSummary) bool { return s.Metrics != artifact.Summary{} })
}

// CountTrials is N: how many of the trials were made on data that overlaps with these,
// the same symbol and timeframe in ranges that intersect.
func CountTrials(trials []Trial, data []artifact.Dataset) int {
	n := 0
	for _, t := range trials {
		if slices.ContainsFunc(t.Data, func(d artifact.Dataset) bool { return overlapsAny(d, data) }) {
			n++
		}
	}
	return n
}

func overlapsAny(d artifact.Dataset, data []artifact.Dataset) bool {
	return slices.ContainsFunc(data, func(e artifact.Dataset) bool {
		return d.Symbol == e.Symbol && d.Timeframe == e.Timeframe && d.Start < e.End && e.Start < d.End
	})
}

// NewestPlan is the id of the plan that was registered last for a strategy, "" if none
// was.
func (r *Registry) NewestPlan(ctx context.Context, slug string) (planID string, err error) {
	err = r.db.Read().QueryRowContext(ctx, `SELECT COALESCE((SELECT plan_id FROM plans WHERE slug = ?
		ORDER BY registered_at DESC, plan_id DESC LIMIT 1), '')`, slug).Scan(&planID)
	return planID, err
}
