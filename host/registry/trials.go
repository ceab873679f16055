package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/assay-run/assay/host/artifact"
)

// Trial is a run by which somebody could have chosen: a run of the lab, a trial of a
// search, or a backtest of the service.
type Trial struct {
	// Key is equal for runs that try the same thing, whatever the seed and the engine.
	Key             string
	RunID, FamilyID string
	CompletedAt     string
	Meta            *artifact.Metadata
}

// Trials lists what has been tried, in every family, by every command and through the
// service, oldest first. What has failed, or was stopped, counts if it has metrics:
// somebody has seen them. Falsifications with their replays, paper and live runs, legacy
// rows, and rows that cannot be read do not.
func (r *Registry) Trials(ctx context.Context) (trials []Trial, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT trial_key, run_id, family_id, status, completed_at, payload FROM run_metadata
		WHERE trial_key IS NOT NULL AND kind IN ('run', 'trial', 'service') AND status <> 'running' AND completed_at IS NOT NULL
		ORDER BY completed_at, run_id`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		t := Trial{Meta: &artifact.Metadata{}}
		var status string
		var payload []byte
		if err := rows.Scan(&t.Key, &t.RunID, &t.FamilyID, &status, &t.CompletedAt, &payload); err != nil {
			return nil, err
		}
		if json.Unmarshal(payload, t.Meta) == nil && tried(t.Meta, status) {
			trials = append(trials, t)
		}
	}
	return trials, rows.Err()
}

// tried reports whether somebody could have chosen by a run that has ended.
func tried(m *artifact.Metadata, status string) bool {
	if m.Kind == artifact.KindService && (m.Service == nil || m.Service.Mode != modeBacktest) {
		return false
	}
	measured := func(s artifact.SplitSummary) bool { return s.Metrics != artifact.Summary{} }
	return status == artifact.StatusCompleted || slices.ContainsFunc(m.Splits, measured)
}

// modeBacktest is the mode of runs of the service that play stored candles.
const modeBacktest = "backtest"

// Place is which trial a run was among all that were tried on its days, whatever the
// strategy, symbol, timeframe, exchange and command. Trials with the same daily returns
// are one.
type Place struct {
	// N counts the trials, Family those of the run's own family, Position those that there
	// were when the run ended, itself included.
	N        int `json:"n"`
	Family   int `json:"n_family"`
	Position int `json:"position"`
	// LookedAtTest says that the run has shown days that are the test of another, or that
	// its own test was revealed.
	LookedAtTest bool `json:"looked_at_test"`
}

// String is the place in a phrase, as it is shown beside a Sharpe ratio.
func (p Place) String() string {
	text := fmt.Sprintf("trial %d of %d on these days", p.Position, p.N)
	if p.Family < p.N {
		text += fmt.Sprintf(", %d of them of its family", p.Family)
	}
	if p.LookedAtTest {
		text += "; a test was seen through it"
	}
	return text
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

// NewestPlan is the id of the plan that was registered last for a strategy, "" if none
// was.
func (r *Registry) NewestPlan(ctx context.Context, slug string) (planID string, err error) {
	err = r.db.Read().QueryRowContext(ctx, `SELECT COALESCE((SELECT plan_id FROM plans WHERE slug = ?
		ORDER BY registered_at DESC, plan_id DESC LIMIT 1), '')`, slug).Scan(&planID)
	return planID, err
}
